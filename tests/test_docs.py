"""The documentation builds without a warning, is complete, and fetches nothing from elsewhere."""

import inspect
import re
import shutil
import warnings
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path

import pytest

import finsler

ROOT = Path(__file__).parent.parent
LAYERS = ["errors", "mesh", "frames", "metric", "operator", "analysis", "spec", "descriptors"]
LAYERS += ["data", "synthetic", "nn", "nn.directed", "nn.training", "baselines.field_conv"]
LAYERS += ["baselines.diffusion_net", "matching", "evaluation", "experiments", "view"]
LAYERS += ["compute.memory", "compute.cluster", "compute.batch"]
LAYERS += [f"storage.{name}" for name in ("files", "npz", "json", "record", "schema", "hashing")]
LAYERS += ["storage.outputs"]
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))
PAGES = ["index.md", "start.md", "omega.md", *(f"guides/{path.name}" for path in GUIDES)]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built strictly: every warning, also of an unknown link or name, is an error."""
    for tool in ("mkdocs", "material", "mkdocstrings"):
        pytest.importorskip(tool, reason=f"{tool} is not installed: pip install finsler[docs]")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config
    from mkdocs.exceptions import Abort

    folder = tmp_path_factory.mktemp("site")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True)
        try:
            build(config)
        except Abort as stop:
            pytest.fail(f"{stop}; the captured log says why")
    return folder


class Resources(HTMLParser):
    """Addresses that a browser fetches by itself, and the ids of a page."""

    def __init__(self, text):
        super().__init__()
        self.fetched, self.ids = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.ids.add(values.get("id"))
        key = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src"}
        if tag in key and values.get(key[tag]):
            self.fetched.append(values[key[tag]])


def pages(site):
    return {path: Resources(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}


def test_nothing_is_fetched_from_elsewhere(site):
    for path, page in pages(site).items():
        for address in page.fetched:
            assert not re.match(r"(\w+:)?//", address), f"{path.name} fetches {address}"
    for path in site.rglob("*.css"):
        for address in re.findall(r"url\(([^)]*)\)", path.read_text(encoding="utf-8")):
            assert not re.match(r"[\"']?(\w+:)?//", address), f"{path.name} fetches {address}"


def test_what_is_fetched_is_there(site):
    for path, page in pages(site).items():
        for address in page.fetched:
            local = address.split("?")[0].split("#")[0]
            if path.name != "404.html" and local and not local.startswith("data:"):
                assert (path.parent / local).exists(), f"{path.name} shows {address}"


def test_search_needs_no_server(site):
    scripts = Resources((site / "index.html").read_text(encoding="utf-8")).fetched
    assert "assets/iframe-worker.js" in scripts
    assert (site / "search" / "search_index.js").read_text(encoding="utf-8").startswith("var ")


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")
def test_pages_opened_from_disk_can_be_searched(site):
    playwright = pytest.importorskip("playwright.sync_api")
    asked = []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "gallery" / "index.html").as_uri())
        page.locator(".md-search__input").first.click()
        page.keyboard.type("geodesic_path")
        found = page.locator(".md-search-result__link")
        found.first.wait_for(timeout=60_000)
        links = [link.get_attribute("href") for link in found.all()]
        browser.close()
    assert any("api/analysis.html" in link for link in links)
    assert all(address.startswith(("file:", "data:")) for address in asked)


def test_stars_of_formulas_are_kept(site):
    for page in ("mathematics", "omega"):
        assert "M* − ω*ω*ᵀ" in (site / f"{page}.html").read_text(encoding="utf-8")


def public_names(module):
    """What a module lists, or the functions and classes that it defines."""
    own = [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isfunction(value) or inspect.isclass(value))
        and value.__module__ == module.__name__
    ]
    return getattr(module, "__all__", own)


def test_every_public_name_has_an_entry(site):
    ids = set().union(*(page.ids for page in pages(site).values()))
    for layer in LAYERS:
        module = import_module(f"finsler.{layer}")
        names = public_names(module)
        assert names, layer
        for name in names:
            home = getattr(getattr(module, name), "__module__", "")
            short = f"finsler.{layer}.{name}"
            assert {short, f"{home}.{name}"} & ids, short
    assert "finsler.mesh.primitives.bumpy_sphere" in ids
    text = (site / "api" / "index.html").read_text(encoding="utf-8")
    for name in finsler.__all__:
        assert re.search(rf'href="[a-z_]+\.html#finsler[\w.]*"><code>{name}</code>', text), name


def test_every_command_has_its_help(site):
    from finsler.cli.main import COMMANDS, load_command

    text = (site / "commands.html").read_text(encoding="utf-8")
    for name in COMMANDS:
        command = load_command(name)
        assert f'id="finsler-{name}"' in text
        for option in (option for parameter in command.params for option in parameter.opts):
            assert not option.startswith("--") or option in text, f"{name} {option}"


def test_every_script_has_its_page_and_the_commands_their_pictures(site, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "hooks")
    from scripts import NAMES, run

    for name in NAMES:
        assert (site / f"gallery/{name}.html").exists()
        assert (site / f"gallery/images/{name}.png").read_bytes() == run(name).picture
    for name in ("spectrum", "heat", "distance"):
        assert (site / f"start/{name}.png").stat().st_size > 10_000


def blocks(page):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return "\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL))


@pytest.mark.parametrize("page", PAGES)
def test_python_of_the_pages_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = blocks(page)
    assert code
    exec(compile(code, page, "exec"), {"__name__": page})
