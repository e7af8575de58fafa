"""The page in a real browser: what a click, a slider and a second visitor do."""

import io
import shutil
import time

import numpy as np
import pytest

from finsler.mesh import primitives
from finsler.mesh.measures import vertex_normals
from finsler.view.web import Page, Scene, Shown

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

    def __init__(self, browser, page):
        before = set(page.sessions)
        self.page, self.complaints, self.requests = page, [], []
        self.tab = browser.new_page(viewport=SIZE)
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
        content = self.tab.screenshot(clip=OPEN)
        return np.asarray(Image.open(io.BytesIO(content)).convert("RGB")).astype(int)

    def after(self, action):
        """Act, and return the picture once it has become another and stays as it is."""
        before, drawn = self.picture(), self.session.drawn
        action()
        self.wait(lambda: self.session.drawn is not drawn)
        self.wait(lambda: np.abs(self.picture() - before).max() > 60)
        self.tab.wait_for_timeout(700)
        return self.picture()

    def pixel_of(self, vertex):
        """Where a vertex is drawn: the pinhole camera of the session, written out."""
        camera = self.session._client.camera
        place = self.page.scene.to_page(0, self.page.scene.surfaces[0].mesh.vertices[vertex])
        ahead = camera.look_at - camera.position
        ahead = ahead / np.linalg.norm(ahead)
        right = np.cross(ahead, camera.up_direction)
        right = right / np.linalg.norm(right)
        up = np.cross(right, ahead)
        offset = place - camera.position
        focal = 0.5 * SIZE["height"] / np.tan(0.5 * camera.fov)
        depth = offset @ ahead
        x = 0.5 * camera.image_width + focal * (offset @ right) / depth
        y = 0.5 * SIZE["height"] - focal * (offset @ up) / depth
        return float(x), float(y)

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


def seen_vertices(visit):
    """Vertices of the convex mesh on the camera's side, in the open part of the picture."""
    surface = visit.page.scene.surfaces[0].mesh
    camera = visit.session._client.camera.position
    away = camera - visit.page.scene.to_page(0, surface.vertices)
    slope = np.einsum("vi,vi->v", vertex_normals(surface), away) / np.linalg.norm(away, axis=1)
    pixels = np.array([visit.pixel_of(v) for v in range(surface.n_vertices)])
    open_part = (pixels[:, 0] < OPEN["width"] - 10) & (pixels[:, 1] > OPEN["y"] + 10)
    return np.flatnonzero((slope > 0.5) & open_part)


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
