"""A page in a real browser: what is drawn, what a mouse does, and that names do not run."""

import io
import json
import shutil

import numpy as np
import pytest

from finsler import primitives
from finsler.storage.record import record
from finsler.view import Panel
from finsler.view.report import View, scene, write_report

playwright = pytest.importorskip("playwright.sync_api")
from PIL import Image  # noqa: E402

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")

SOFTWARE = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
OWNED = "document.title='owned'"
EVIL = f'</script><script>{OWNED}</script><img src=x onerror="{OWNED}">'


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    """A window on a page of two views, with what it complained of and asked for."""
    mesh = primitives.ellipsoid(6)
    height = mesh.vertices[:, 1]
    half = np.repeat(mesh.vertices[:, :1] > 0, 3, axis=1) * [1.0, 0.0, 0.0]
    back = np.arange(mesh.n_vertices)[::-1].copy()
    views = [
        View(EVIL, {"height": Panel(mesh, height), EVIL: Panel(mesh, colors=half)}),
        View("second", {"height": Panel(mesh, height)}, back),
    ]
    path = tmp_path_factory.mktemp("page") / "report.html"
    about = json.loads(record({EVIL: EVIL}))
    write_report(path, "mine", [scene(views, caption=EVIL)], record=about, command=EVIL)
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=SOFTWARE)
        page = browser.new_page(viewport={"width": 900, "height": 700})
        page.heard, page.asked = [], []
        page.on("console", lambda message: page.heard.append(message.text))
        page.on("pageerror", lambda error: page.heard.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(path.as_uri())
        if page.query_selector(".missing"):
            pytest.skip("this Chromium has no WebGL 2")
        settle(page)
        yield page
        browser.close()


@pytest.fixture(autouse=True)
def afresh(tab):
    """The first look, and the first field."""
    tab.select_option("select", index=0)
    tab.dblclick(".view > canvas")
    tab.mouse.move(2, 2)
    settle(tab)


def settle(tab):
    """Two frames: what was asked for is drawn in the next."""
    tab.evaluate("new Promise(d => requestAnimationFrame(() => requestAnimationFrame(d)))")


def pictures(tab):
    shots = [canvas.screenshot() for canvas in tab.query_selector_all(".view > canvas")]
    return [np.array(Image.open(io.BytesIO(shot)).convert("RGB")).astype(int) for shot in shots]


def changed(before, after):
    return [np.mean(abs(a - b).max(axis=2) > 20) for a, b in zip(before, after, strict=True)]


def drag(tab, right, down):
    box = tab.query_selector(".view > canvas").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + right, y + down, steps=4)
    tab.mouse.up()
    tab.mouse.move(2, 2)
    settle(tab)


def said(tab):
    return [line.inner_text() for line in tab.query_selector_all(".said")]


def test_nothing_but_the_page_runs_and_nothing_is_asked_for(tab):
    assert tab.title() == "mine" and tab.heard == []
    assert [url.rpartition("/")[2] for url in tab.asked] == ["report.html"]
    assert tab.query_selector("h3").inner_text() == EVIL


def test_low_is_dark_and_high_is_yellow(tab):
    for picture in pictures(tab):
        rows, columns = np.nonzero(np.ptp(picture, axis=2) > 60)
        top, bottom = (
            picture[row, columns[rows == row]].mean(axis=0)
            for row in np.percentile(rows, [5, 95]).astype(int)
        )
        assert top[0] > top[2] + 60 and bottom[2] > bottom[1] + 10


def test_dragging_turns_all_views_and_a_double_click_returns(tab):
    before = pictures(tab)
    drag(tab, 60, 40)
    assert min(changed(before, pictures(tab))) > 0.03
    tab.dblclick(".view > canvas")
    tab.mouse.move(2, 2)
    settle(tab)
    assert changed(before, pictures(tab)) == [0.0, 0.0]


def test_the_wheel_enlarges_only_what_was_clicked(tab):
    tab.evaluate("document.activeElement.blur()")
    before = pictures(tab)
    tab.hover(".view > canvas")
    tab.mouse.wheel(0, -400)
    tab.mouse.move(2, 2)
    settle(tab)
    assert changed(before, pictures(tab)) == [0.0, 0.0]
    tab.click(".view > canvas")
    tab.mouse.wheel(0, -400)
    tab.mouse.move(2, 2)
    settle(tab)
    assert min(changed(before, pictures(tab))) > 0.05


def test_another_field_has_other_colours_and_grey_where_it_is_missing(tab):
    tab.select_option("select", index=1)
    settle(tab)
    first, second = pictures(tab)
    red = (first[..., 0] > 90) & (first[..., 1] < 80)
    assert 0.1 < red.mean() < 0.4
    assert np.ptp(second, axis=2).max() < 25
    assert tab.query_selector(".scale").inner_text() == ""


def test_pointing_at_a_vertex_names_it_and_its_partner(tab):
    tab.hover(".view:nth-of-type(2) > canvas")
    settle(tab)
    partner, here = (line.split(": ") for line in said(tab))
    numbers = [int(words[0].removeprefix("vertex ")) for words in (partner, here)]
    count = 10 * 6**2 + 2
    assert sum(numbers) == count - 1
    tab.mouse.move(2, 2)
    settle(tab)
    assert said(tab) == ["", ""]
