"""The page in a real browser: what a click, a slider and a second visitor do."""

import io
import shutil
import time

import numpy as np
import pytest

from finsler.matching.landmarks import read_landmarks
from finsler.matching.offers import OfferedMap, read_maps
from finsler.mesh import TriMesh, primitives
from finsler.mesh.measures import vertex_normals
from finsler.view.web import Outputs, Page, Scene, Shown

pytest.importorskip("viser")
playwright = pytest.importorskip("playwright.sync_api")
from PIL import Image  # noqa: E402

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")

# Three.js tells viser of its own deprecation, and drivers tell how fast they read pixels.
HARMLESS = ("THREE.Clock: This module has been deprecated", "GPU stall due to ReadPixels")
SOFTWARE = ("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--ignore-gpu-blocklist")
SIZE = {"width": 700, "height": 420}
# What no panel and no notice lies over.
OPEN = {"x": 0, "y": 190, "width": 370, "height": 230}
# A larger window, with both meshes in its open part.
WIDE, WIDE_OPEN = {"width": 1100, "height": 900}, {"x": 0, "y": 180, "width": 770, "height": 720}
PATIENCE = 60.0


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=CHROMIUM, args=[*SOFTWARE, "--enable-unsafe-swiftshader"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def page():
    mesh = primitives.ellipsoid(8)
    with Page(Scene(mesh)) as page:
        yield page


class Visit:
    """A browser window on the page, with its session and what went wrong."""

    def __init__(self, browser, page, size=SIZE, clear=OPEN):
        before = set(page.sessions)
        self.size, self.clear = size, clear
        self.page, self.complaints, self.requests = page, [], []
        self.tab = browser.new_page(viewport=size)
        self.tab.on("console", self._heard)
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.tab.on("request", lambda request: self.requests.append(request.url))
        self.tab.goto(page.url)
        self.wait(lambda: set(page.sessions) - before)
        [number] = set(page.sessions) - before
        self.session = page.sessions[number]
        self.wait(lambda: self.session.drawn is not None)
        self.wait(lambda: len(np.unique(self.picture())) > 20)

    def _heard(self, message):
        harmless = any(text in message.text for text in HARMLESS)
        if message.type in ("error", "warning") and not harmless:
            self.complaints.append(message.text)

    def wait(self, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, "the page did not get there"
            self.tab.wait_for_timeout(50)

    def picture(self):
        """The open part of the canvas."""
        content = self.tab.screenshot(clip=self.clear)
        return np.asarray(Image.open(io.BytesIO(content)).convert("RGB")).astype(int)

    def after(self, action):
        """Act, and return the picture once it has become another and stays as it is."""
        before, drawn = self.picture(), self.session.drawn
        action()
        self.wait(lambda: self.session.drawn is not drawn)
        self.wait(lambda: np.abs(self.picture() - before).max() > 60)
        self.tab.wait_for_timeout(700)
        return self.picture()

    def pixel_of(self, vertex, mesh=0):
        """Where a vertex is drawn."""
        scene = self.page.scene
        return self.pixel_at(scene.to_page(mesh, scene.surfaces[mesh].mesh.vertices[vertex]))

    def pixel_at(self, place):
        """Where a point of the page is drawn: the pinhole camera of the session, written out."""
        camera = self.session._client.camera
        ahead = camera.look_at - camera.position
        ahead = ahead / np.linalg.norm(ahead)
        right = np.cross(ahead, camera.up_direction)
        right = right / np.linalg.norm(right)
        up = np.cross(right, ahead)
        offset = place - camera.position
        focal = 0.5 * self.size["height"] / np.tan(0.5 * camera.fov)
        depth = offset @ ahead
        x = 0.5 * camera.image_width + focal * (offset @ right) / depth
        y = 0.5 * self.size["height"] - focal * (offset @ up) / depth
        return float(x), float(y)

    def drawn_after(self, action):
        """Act, and return the settings of what is drawn next."""
        drawn = self.session.drawn
        action()
        self.wait(lambda: self.session.drawn is not drawn)
        return self.session.drawn.settings

    def press(self, name):
        self.tab.get_by_role("button", name=name).click()

    def choose(self, shown):
        self.tab.get_by_role("combobox", name="Show").click()
        self.tab.get_by_role("option", name=str(shown), exact=True).click()

    def slide(self, label, value):
        box = self.tab.locator(
            f"xpath=//label[text()='{label}']/following::input[not(@type='hidden')][1]"
        )
        box.fill(str(value))
        box.press("Enter")


@pytest.fixture(scope="module")
def window(browser, page):
    window = Visit(browser, page)
    yield window
    window.tab.close()


@pytest.fixture
def visit(window):
    """The window with kernels shown, whatever was done in it before."""
    if window.session.drawn.settings.shown is not Shown.wide:
        window.after(lambda: window.choose(Shown.wide))
    yield window
    assert window.complaints == []


def seen_vertices(visit, least=0.5):
    """Vertices of the first mesh on the camera's side, in the open part of the picture."""
    given = visit.page.scene.surfaces[0].mesh
    surface = TriMesh(visit.page.scene.to_page(0, given.vertices), given.faces)
    away = visit.session._client.camera.position - surface.vertices
    slope = np.einsum("vi,vi->v", vertex_normals(surface), away) / np.linalg.norm(away, axis=1)
    pixels = np.array([visit.pixel_of(v) for v in range(surface.n_vertices)])
    width, top = visit.clear["width"], visit.clear["y"]
    open_part = (pixels[:, 0] < width - 10) & (pixels[:, 1] > top + 10)
    return np.flatnonzero((slope > least) & open_part)


def test_a_click_chooses_the_vertex_under_the_pointer(visit):
    seen = seen_vertices(visit)
    for vertex in seen[[0, len(seen) // 2, -1]]:
        visit.after(lambda v=vertex: visit.tab.mouse.click(*visit.pixel_of(v)))
        assert visit.session.drawn.settings.selected == (vertex,)
        assert visit.session.drawn.panels[0].marker == vertex


def test_sliders_and_choices_change_the_colours(visit):
    wide = visit.picture()
    heat = visit.after(lambda: visit.choose(Shown.heat))
    assert visit.session.drawn.settings.shown is Shown.heat
    assert np.abs(heat - wide).max() > 60
    later = visit.after(lambda: visit.slide("log10 time", -0.5))
    assert visit.session.drawn.settings.time == pytest.approx(10**-0.5)
    assert np.abs(later - heat).max() > 60
    visit.after(lambda: visit.choose(Shown.there))
    visit.after(lambda: visit.slide("alpha", 30))
    assert visit.session.drawn.settings.operator.alpha == 30.0


def test_a_sign_is_shown_while_something_is_computed(visit, monkeypatch):
    words, say = [], visit.session._controls.say
    monkeypatch.setattr(
        visit.session._controls, "say", lambda text: (words.append(text), say(text))
    )
    visit.after(lambda: visit.slide("order", 9))
    assert "computing" in words[0] and " ms" in words[-1]


def test_a_metric_that_is_none_is_explained_and_the_picture_stays(visit):
    visit.after(lambda: visit.choose(Shown.there))
    drawn = visit.session.drawn
    visit.slide("alpha", 0)
    visit.wait(lambda: visit.session.drawn is not drawn)
    drawn = visit.session.drawn
    visit.slide("tau", 2)
    visit.tab.get_by_text("lower tau").wait_for()
    assert visit.session.drawn is drawn
    visit.after(lambda: visit.slide("tau", 0.9))
    assert visit.session.drawn.settings.operator.tau == 0.9


def test_browsers_do_not_see_each_others_choices(browser, visit, page):
    other = Visit(browser, page)
    vertex = seen_vertices(other)[3]
    kept = visit.session.drawn
    other.after(lambda: other.tab.mouse.click(*other.pixel_of(vertex)))
    other.after(lambda: other.choose(Shown.there))
    assert other.session.drawn.settings.selected == (vertex,)
    assert visit.session.drawn is kept
    number = next(n for n, s in page.sessions.items() if s is other.session)
    other.tab.close()
    visit.wait(lambda: number not in page.sessions)
    visit.after(lambda: visit.choose(Shown.there))
    assert other.complaints == []


def test_everything_comes_from_the_page_itself(visit, page):
    own = (page.url, f"blob:{page.url}", "data:")
    assert visit.requests
    assert [url for url in visit.requests if not url.startswith(own)] == []


def test_directions_arrows_and_a_screenshot(visit):
    visit.after(lambda: visit.tab.get_by_label("principal directions").check())
    crossed = visit.picture()
    visit.after(lambda: visit.tab.get_by_label("omega as arrows").check())
    visit.after(lambda: visit.tab.get_by_label("omega as arrows").uncheck())
    assert (np.abs(visit.picture() - crossed).max(axis=2) > 60).mean() < 0.001
    with visit.tab.expect_download() as download:
        visit.tab.get_by_role("button", name="Screenshot").click()
    picture = np.asarray(Image.open(download.value.path()).convert("RGB"))
    camera = visit.session._client.camera
    assert picture.shape == (SIZE["height"], camera.image_width, 3)
    # The panel stands beside the picture, not over it.
    assert camera.image_width < SIZE["width"] - 200
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 1000


@pytest.fixture
def pair(browser, tmp_path):
    """A window on two meshes with two maps, where files may be written."""
    mesh = primitives.bumpy_sphere(5)
    same = np.arange(mesh.n_vertices)
    maps = (
        OfferedMap("best map", {"map_12": same, "probability": 0.8}),
        OfferedMap("alternative 1", {"map_12": same[::-1].copy(), "probability": 0.1}),
    )
    outputs = Outputs(tmp_path / "chosen.npz", tmp_path / "pairs.txt")
    with Page(Scene(mesh, mesh, maps=maps), outputs=outputs) as page:
        window = Visit(browser, page, WIDE, WIDE_OPEN)
        yield window
        assert window.complaints == []
        window.tab.close()


def test_a_click_chooses_another_map_and_one_more_keeps_it(pair, tmp_path):
    best = pair.picture()
    turned = pair.after(lambda: pair.press("alternative 1, 10%"))
    settings = pair.session.drawn.settings
    assert settings.chosen == 1 and settings.side_by_side and settings.shown is Shown.partners
    # It is the first mesh that has other colours now.
    assert (np.abs(turned - best).max(axis=2) > 30).mean() > 0.02
    pair.press("Keep this map")
    pair.tab.get_by_text("Wrote chosen.npz").wait_for()
    [kept] = read_maps(tmp_path / "chosen.npz")
    assert np.array_equal(kept.map_12, pair.page.scene.maps[1].map_12)
    middle = pair.page.scene.to_copy(pair.page.scene.surfaces[0].mesh.vertices, 0).mean(axis=0)
    click = pair.tab.mouse.click
    assert pair.drawn_after(lambda: click(*pair.pixel_at(middle))).chosen == 0
    hidden = pair.drawn_after(lambda: pair.tab.get_by_label("side by side").uncheck())
    assert not hidden.side_by_side
    # Nobody can choose what is not seen.
    drawn = pair.session.drawn
    click(*pair.pixel_at(middle))
    pair.tab.wait_for_timeout(500)
    assert pair.session.drawn is drawn


def test_pairs_are_clicked_drawn_saved_and_steer_a_match(pair, tmp_path, monkeypatch):
    words, say = [], pair.session._controls.say
    monkeypatch.setattr(pair.session._controls, "say", lambda text: (words.append(text), say(text)))
    click = pair.tab.mouse.click
    one, other, *_ = seen_vertices(pair, least=0.8)
    pair.drawn_after(lambda: pair.tab.get_by_label("click pairs").check())
    selected = pair.session.drawn.settings.selected
    marked = pair.after(lambda: click(*pair.pixel_of(one)))
    pair.tab.get_by_text(f"A {one} – now click B").wait_for()
    paired = pair.after(lambda: click(*pair.pixel_of(one, mesh=1)))
    assert np.abs(paired - marked).max() > 60
    pair.drawn_after(lambda: click(*pair.pixel_of(other, mesh=1)))
    settings = pair.drawn_after(lambda: click(*pair.pixel_of(other)))
    assert settings.landmarks.pairs == ((one, one), (other, other))
    assert settings.selected == selected
    pair.tab.get_by_text(f"A {other} – B {other}").wait_for()
    settings = pair.drawn_after(lambda: pair.press("Remove the last"))
    assert settings.landmarks.pairs == ((one, one),)
    pair.press("Save the pairs")
    pair.tab.get_by_text("Wrote pairs.txt").wait_for()
    assert read_landmarks(tmp_path / "pairs.txt").tolist() == [[one, one]]
    words.clear()
    pair.press("Match again")
    pair.wait(lambda: pair.session.drawn.settings.chosen == 2)
    assert "computing" in words[0] and any("descriptors of mesh 2" in text for text in words)
    found = pair.session.scene.maps[2]
    assert found.name == "with landmarks" and found.map_12[one] == one
    pair.tab.get_by_role("button", name=found.title).wait_for()
    assert len(pair.page.scene.maps) == 2, "other browsers do not see it"
    # What nobody waits for is not computed.
    pair.session.end()
    words.clear()
    pair.press("Match again")
    pair.wait(lambda: words and not pair.session._pair.match.disabled)
    assert pair.session.scene.maps[2] is found
