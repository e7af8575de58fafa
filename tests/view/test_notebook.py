"""What a notebook shows: a frame with the whole page in it, alive in a browser."""

import html
import re
import shutil

import numpy as np
import pytest

import finsler
from finsler import InputError, primitives
from finsler.view import Panel

MESH = primitives.bumpy_sphere(6)
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
SOFTWARE = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")


@pytest.fixture(scope="module")
def match():
    turned = finsler.TriMesh(MESH.vertices[::-1], MESH.n_vertices - 1 - MESH.faces)
    return finsler.match(MESH, turned, k=30)


def inside(viewer):
    """The page in the frame, as a browser reads the attribute."""
    [page] = re.findall(r'srcdoc="([^"]*)"', viewer._repr_html_())
    return html.unescape(page)


def test_the_frame_holds_the_page_and_nothing_else():
    viewer = finsler.show(MESH, {'a "name" & <tag>': MESH.vertices[:, 2]}, height=300)
    assert inside(viewer) == viewer.page
    assert 'height="300"' in viewer._repr_html_() and "src=" not in viewer._repr_html_()
    assert "http" not in re.sub(r"http-equiv", "", viewer.page)
    assert repr(viewer).startswith(f"Viewer({MESH!r}, ")


@pytest.mark.parametrize(
    ("scalars", "names"),
    [
        (None, [""]),
        (MESH.vertices[:, 0], ["values"]),
        (MESH.vertices, ["values 0", "values 1", "values 2"]),
        ({"x": MESH.vertices[:, 0], "b": MESH.vertices[:, :2]}, ["x", "b 0", "b 1"]),
    ],
)
def test_every_function_can_be_chosen(scalars, names):
    [fields] = re.findall(r'"fields": \{(.*)\}, "partners"', finsler.show(MESH, scalars).page)
    assert re.findall(r'"([^"]*)": \{"marker"', fields) == names


def test_a_match_is_shown_with_what_it_was_made_of(match):
    own = finsler.show(match)
    assert match.verdict.sentence[1:] in html.unescape(own.page)
    # The meshes are the repaired ones, numbered as given.
    drawn, own_shape = match.mesh_1.vertices, MESH.vertices / finsler.mesh.surface_area(MESH) ** 0.5
    np.testing.assert_allclose(drawn - drawn[0], own_shape - own_shape[0], atol=1e-12)
    np.testing.assert_array_equal(match.mesh_1.faces, MESH.faces)
    given = finsler.show(match, mesh_1=MESH, mesh_2=(match.mesh_2.vertices, match.mesh_2.faces))
    assert len(given.page) == pytest.approx(len(own.page), rel=0.05)


def test_what_cannot_be_shown_is_said(match, tmp_path):
    with pytest.raises(InputError, match="scalars are for one mesh"):
        finsler.show(match, MESH.vertices[:, 0])
    with pytest.raises(InputError, match="mesh_1 and mesh_2 are for a match"):
        finsler.show(MESH, mesh_2=MESH)
    with pytest.raises(InputError, match="mesh_2 has 42 vertices; the one that was matched has"):
        finsler.show(match, mesh_2=primitives.sphere(2))
    with pytest.raises(InputError, match=r"scalars\['x'\]: .* one value for each of the 362"):
        finsler.show(MESH, {"x": [1.0, 2.0]})
    with pytest.raises(InputError, match=r"must end in \.html"):
        finsler.show(MESH).save(tmp_path / "a.txt")


def test_meshes_of_other_libraries_are_shown(tmp_path):
    path = finsler.show((MESH.vertices, MESH.faces)).save(tmp_path / "a.html")
    assert path.read_text(encoding="utf-8") == finsler.show(MESH).page


def test_a_panel_shows_itself():
    panel = Panel(MESH, MESH.vertices[:, 0], title="from left to right", marker=3)
    page = inside(panel)
    assert page == finsler.show(panel).page
    assert '"title": "from left to right"' in page and '"marker": 3' in page


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")
def test_the_frame_is_alive_in_a_browser(match, tmp_path):
    playwright = pytest.importorskip("playwright.sync_api")
    notebook = tmp_path / "notebook.html"
    frames = [finsler.show(MESH, MESH.vertices[:, 2]), finsler.show(match)]
    notebook.write_text("".join(frame._repr_html_() for frame in frames), encoding="utf-8")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=SOFTWARE)
        page = browser.new_page(viewport={"width": 900, "height": 1400})
        heard, asked = [], []
        page.on("console", lambda message: heard.append(message.text))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(notebook.as_uri())
        inner = [frame for frame in page.frames if frame is not page.main_frame]
        assert len(inner) == 2
        if inner[0].query_selector(".missing"):
            pytest.skip("this Chromium has no WebGL 2")
        assert [len(frame.query_selector_all(".view > canvas")) for frame in inner] == [1, 2]
        assert not heard
        assert all(url.startswith(("file:", "about:")) for url in asked)
        browser.close()
