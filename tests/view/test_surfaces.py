"""Figures of functions on surfaces: which panels are drawn, from where, in which colours."""

import numpy as np
import pytest

from finsler import primitives
from finsler.analysis import spectrum
from finsler.errors import InputError
from finsler.mesh import TriMesh
from finsler.operator import lbo
from finsler.view import Camera, Panel, render_panel, surfaces
from finsler.view.level_sets import distance_panels, front_panel, level_steps
from finsler.view.surfaces import (
    figure_correspondence,
    figure_distances,
    figure_eigenfunctions,
    figure_heat,
    figure_kernels,
    heat_panels,
    position_colors,
)


@pytest.fixture(scope="module")
def ball():
    return primitives.bumpy_sphere(6)


@pytest.fixture
def drawn(monkeypatch):
    """What would be drawn: the rows of panels and the options."""
    calls = []

    def watched(path, rows, **options):
        calls.append(([list(row) for row in rows], options))
        return path

    monkeypatch.setattr(surfaces, "save_figure", watched)
    return calls


def draw(panel):
    return render_panel(panel, camera=Camera((0, 0, 1)), size=(60, 60)).astype(float)


def square():
    return TriMesh([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], [[0, 1, 2], [0, 2, 3]])


def test_vertex_colours_are_interpolated():
    # Red grows to the right, green upwards, blue is missing.
    image = draw(Panel(square(), colors=[[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]))
    white, dark = (draw(Panel(square(), colors=np.full((4, 3), c))) for c in (1.0, 0.0))
    share = ((image - dark)[30] / (white - dark)[30].clip(1))[15:45]
    steps = np.diff(share[:, 0])
    assert steps.min() > 0 and steps.max() < 0.06
    np.testing.assert_allclose(share[:, 1], 0.5, atol=0.03)
    np.testing.assert_allclose(share[:, 2], 0.0, atol=0.03)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"colors": np.zeros((3, 3))}, r"colors have shape \(3, 3\)"),
        ({"colors": np.full((4, 3), 2.0)}, r"0\.\.1; divide bytes by 255"),
        ({"colors": np.full((4, 3), np.nan)}, "divide bytes"),
        ({"colors": np.zeros((4, 3)), "scalars": np.zeros(4)}, "not both"),
    ],
)
def test_colours_that_do_not_fit_are_refused(options, sentence):
    with pytest.raises(InputError, match=sentence):
        Panel(square(), **options)


@pytest.mark.parametrize(
    ("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_correspondence_is_written(ball, tmp_path, ending, start):
    same = np.arange(ball.n_vertices)
    path = figure_correspondence(tmp_path / f"a.{ending}", ball, [ball], {"ours": [same]})
    assert path.read_bytes().startswith(start)


def test_correspondence_carries_colours_row_by_row(ball, drawn):
    n = ball.n_vertices
    maps = {"ours": [np.arange(n)] * 2, "baseline": [np.zeros(n, int), np.arange(n)[::-1]]}
    figure_correspondence("a.png", ball, [ball, ball], maps, titles=["one", "two"])
    [(rows, options)] = drawn
    assert options["row_labels"] == ["source", "ours", "baseline"]
    assert [[panel.title for panel in row] for row in rows] == [[""], ["one", "two"], ["", ""]]
    colors = position_colors(ball)
    assert np.array_equal(rows[0][0].colors, colors) and np.array_equal(rows[1][1].colors, colors)
    assert np.array_equal(rows[2][0].colors, np.repeat(colors[:1], n, axis=0))
    assert np.array_equal(rows[2][1].colors, colors[::-1])


def test_correspondence_carries_a_function_with_level_lines(ball, drawn):
    back = np.arange(ball.n_vertices)[::-1]
    height = ball.vertices[:, 1]
    figure_correspondence("a.png", ball, [ball], {"ours": [back]}, function=height)
    [([_, [panel]], _)] = drawn
    assert np.array_equal(panel.scalars, height[back]) and panel.bands == 16
    assert panel.clim == pytest.approx((height.min(), height.max()))


@pytest.mark.parametrize(
    ("maps", "sentence"),
    [
        ([], "'x' has 0 maps for 1 shapes"),
        ([np.zeros(3, int)], "name a vertex for each vertex"),
        ([np.zeros(362)], "name a vertex for each vertex"),
        ([np.full(362, 362)], r"outside 0\.\.361"),
        ([np.full(362, -1)], r"outside 0\.\.361"),
    ],
)
def test_maps_that_do_not_fit_are_refused(ball, maps, sentence):
    with pytest.raises(InputError, match=sentence):
        figure_correspondence("a.png", ball, [ball], {"x": maps})


def test_kernels_are_seen_from_near_and_above(ball, drawn):
    vertex = int(np.argmin(ball.vertices[:, 2]))
    away = np.linalg.norm(ball.vertices - ball.vertices[vertex], axis=1)
    near = away < 0.3
    kernel = np.where(near, 1.0, 0.0)
    figure_kernels("a.png", ball, [kernel, -kernel], vertex, [0, 67.5])
    [([panels], options)] = drawn
    assert [panel.title for panel in panels] == [r"$\theta$ = 0°", r"$\theta$ = 67.5°"]
    assert options["camera"].center == pytest.approx(ball.vertices[vertex])
    assert options["camera"].radius == pytest.approx(1.5 * away[near].max())
    assert options["camera"].direction[2] < 0
    with pytest.raises(InputError, match="1 angles for 2 kernels"):
        figure_kernels("a.png", ball, [kernel, kernel], vertex, [0])


def test_the_peak_of_a_kernel_neither_sets_the_colours_nor_paints_over_them(ball, drawn):
    kernel = np.where(np.linalg.norm(ball.vertices - ball.vertices[0], axis=1) < 0.6, -1.0, 0.0)
    kernel[0] = 1000.0
    figure_kernels("a.png", ball, [kernel, 0.5 * kernel], 0)
    [([panels], _)] = drawn
    for panel, factor in zip(panels, (1.0, 0.5), strict=True):
        assert (panel.clim, panel.cmap, panel.marker) == ((-1.0, 1.0), "coolwarm", 0)
        assert panel.scalars[0] == pytest.approx(-factor)
        assert np.array_equal(panel.scalars[1:], factor * kernel[1:])
    figure_kernels("a.png", ball, [abs(kernel)], 0)
    assert drawn[1][0][0][0].clim == (0.0, 1.0)


def test_eigenfunctions_are_named_by_their_eigenvalues(ball, drawn):
    found = spectrum(lbo(ball), 6)
    figure_eigenfunctions("a.png", ball, found, [1, 5, 6])
    figure_eigenfunctions("a.png", ball, found)
    ([panels], _), (rows, _) = drawn
    titles = [rf"$\lambda_{{{i}}}$ = {found.eigenvalues[i]:.4g}" for i in (1, 5)]
    assert [panel.title for panel in panels] == titles
    assert np.array_equal(panels[1].scalars, found.eigenvectors[:, 5])
    assert [len(row) for row in rows] == [4, 2]


def test_heat_has_a_range_for_each_time_and_two_signs_where_it_is_cold(ball, drawn):
    warm = np.abs(ball.vertices[:, 0])
    figure_heat("a.png", ball, [warm, 2 * warm], [0.1, 0.2], 5)
    [([panels], _)] = drawn
    assert [panel.title for panel in panels] == ["$t$ = 0.1", "$t$ = 0.2"]
    assert [panel.clim for panel in panels] == [(0.0, warm.max()), (0.0, 2 * warm.max())]
    assert {panel.cmap for panel in panels} == {"OrRd"} and panels[0].marker == 5
    cold = heat_panels(ball, [warm, -warm], ["", ""], None)
    assert {panel.cmap for panel in cold} == {"coolwarm"}
    assert all(panel.clim == (-warm.max(), warm.max()) for panel in cold)
    with pytest.raises(InputError, match="1 titles or times for 2"):
        figure_heat("a.png", ball, [warm, warm], [0.1], 5)


def test_there_and_back_have_one_scale_and_a_difference(ball, drawn):
    x = ball.vertices[:, 0]
    there, back = 3.0 + x, 3.0 - x
    there[7] = back[7] = np.inf
    figure_distances("a.png", ball, {"there": there, "back": back}, 0)
    [([panels], _)] = drawn
    assert panels[0].clim == panels[1].clim and panels[0].title.startswith("there\nlines every")
    reached = np.arange(ball.n_vertices) != 7
    np.testing.assert_allclose(panels[2].scalars[reached], 2 * x[reached])
    low, high = panels[2].clim
    largest = 2 * abs(x[reached]).max()
    assert low == -high and largest <= high < 1.1 * largest
    for panel in panels:
        assert panel.grey_from == panel.clim[1] < panel.scalars[7]
    assert len(distance_panels(ball, {"only": there}, 0)) == 1
    with pytest.raises(InputError, match="no finite distance"):
        distance_panels(ball, {"x": np.full(ball.n_vertices, np.inf)}, 0)


def test_a_front_greys_what_is_farther(ball):
    distance = 1.5 + ball.vertices[:, 0]
    scale = level_steps([distance])
    panel = front_panel(ball, distance, 0.5, scale)
    assert panel.grey_from == 0.5 and panel.clim == (0.0, scale[1])
    assert panel.bands == round(scale[1] / scale[0]) <= 24
