import errno
import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from matplotlib import rc_context

from finsler.errors import InputError
from finsler.mesh.trimesh import TriMesh
from finsler.view import (
    Camera,
    Panel,
    plot_spectrum,
    render_panel,
    save_figure,
)
from finsler.view.figures import STYLE
from finsler.view.layout import Sheet, compose
from finsler.view.panel import resolve_colors
from finsler.view.scene import AMBIENT, DIFFUSE, SHEEN, projection_of

FRONT = Camera(direction=(0, 0, 1))
SIZE = (120, 120)
PNG = b"\x89PNG"


def sphere(rings=24, sides=48):
    """Unit sphere, poles on the y axis, faces outwards."""
    polar = np.linspace(0, np.pi, rings + 1)[1:-1, None]
    around = np.linspace(0, 2 * np.pi, sides, endpoint=False)
    x, y, z = np.broadcast_arrays(
        np.sin(polar) * np.sin(around), np.cos(polar), np.sin(polar) * np.cos(around)
    )
    vertices = np.vstack([np.stack([x, y, z], axis=2).reshape(-1, 3), [0, 1, 0], [0, -1, 0]])
    i, j = (k.ravel() for k in np.meshgrid(np.arange(rings - 2), np.arange(sides), indexing="ij"))
    a, d = i * sides + j, i * sides + (j + 1) % sides
    side, north = np.arange(sides), np.full(sides, len(vertices) - 2)
    last = (rings - 2) * sides
    faces = [
        np.stack([a, a + sides, d + sides], axis=1),
        np.stack([a, d + sides, d], axis=1),
        np.stack([north, side, (side + 1) % sides], axis=1),
        np.stack([north + 1, last + (side + 1) % sides, last + side], axis=1),
    ]
    return TriMesh(vertices, np.vstack(faces))


def square(z=0.0, half=1.0):
    corners = [[-half, -half, z], [half, -half, z], [half, half, z], [-half, half, z]]
    return TriMesh(corners, [[0, 1, 2], [0, 2, 3]])


@pytest.fixture(scope="module")
def ball():
    return sphere()


def draw(panel, camera=FRONT):
    """`render_panel`, as floats."""
    return render_panel(panel, camera=camera, size=SIZE).astype(float)


def _covered(image):
    return (image < 250).any(axis=2)


def _pinkish(image):
    return (image[..., 0] > 100) & (image[..., 1] < 0.4 * image[..., 0])


def test_sphere_is_a_disc_of_the_expected_radius(ball):
    covered = _covered(draw(Panel(ball)))
    radius = 60 / 1.04
    assert covered.sum() == pytest.approx(np.pi * radius**2, rel=0.02)
    rows, columns = np.nonzero(covered)
    assert rows.mean() == pytest.approx(59.5, abs=0.2)
    assert columns.mean() == pytest.approx(59.5, abs=0.2)


def test_zoom_scales_the_outline(ball):
    half = _covered(draw(Panel(ball), camera=Camera((0, 0, 1), zoom=0.5)))
    assert half.sum() == pytest.approx(np.pi * (30 / 1.04) ** 2, rel=0.03)


def test_background_is_white(ball):
    image = draw(Panel(ball))
    assert (image[[0, 0, -1, -1], [0, -1, 0, -1]] == 255).all()


def test_a_face_towards_the_lamp_has_the_promised_brightness():
    view = projection_of(square(), FRONT, *SIZE)
    cosine = view.light[2]
    mirrored = 2 * cosine - cosine
    expected = 255 * (
        (AMBIENT + DIFFUSE * cosine) * np.array([0.80, 0.82, 0.85]) + SHEEN * mirrored**2
    )
    np.testing.assert_allclose(draw(Panel(square()))[60, 60], expected, atol=1.5)


@pytest.mark.parametrize(
    ("axis", "direction", "red", "blue"),
    [
        (0, (0, 0, 1), (60, 100), (60, 20)),
        (0, (0, 0, -1), (60, 20), (60, 100)),
        (1, (0, 0, 1), (20, 60), (100, 60)),
    ],
    ids=["right", "right seen from behind", "up"],
)
def test_signed_scalars_are_red_and_blue_where_they_should(ball, axis, direction, red, blue):
    image = draw(Panel(ball, ball.vertices[:, axis]), camera=Camera(direction))
    assert image[red][0] > image[red][2] + 60
    assert image[blue][2] > image[blue][0] + 60


def test_scalars_are_interpolated_before_they_are_coloured():
    # Corner values 0 and 1 only: halfway the map shows its middle, not the mean of its ends.
    image = draw(Panel(square(), [0, 1, 1, 0], cmap="viridis"))
    middle = image[60, 60] / image[60, 60].sum()
    teal = np.array([0.128, 0.567, 0.551])
    np.testing.assert_allclose(middle, teal / teal.sum(), atol=0.05)


def test_nearer_surface_hides_the_farther_one():
    near, far = square(0.5, 0.5), square(-0.5)
    both = TriMesh(np.vstack([near.vertices, far.vertices]), np.vstack([near.faces, far.faces + 4]))
    scalars = np.repeat([1.0, -1.0], 4)
    front = draw(Panel(both, scalars))
    back = draw(Panel(both, scalars), camera=Camera((0, 0, -1)))
    assert front[60, 60, 0] > front[60, 60, 2] + 60
    assert back[60, 60, 2] > back[60, 60, 0] + 60


def test_sharp_edges_stay_sharp():
    signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1], indexing="ij")).reshape(3, -1).T
    quads = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    faces = [[q[0], q[i], q[i + 1]] for q in quads for i in (1, 2)]
    image = draw(Panel(TriMesh(signs, faces)), camera=Camera((1, 1, 1)))
    colors, counts = np.unique(image.reshape(-1, 3), axis=0, return_counts=True)
    flat = colors[counts > 500]
    assert len(flat) == 4  # three faces and the background


def test_marker_is_seen_in_front_and_hidden_behind(ball):
    marker = int(np.argmax(ball.vertices @ [0.3, 0.4, 0.85]))
    seen = _pinkish(draw(Panel(ball, marker=marker)))
    x, y, _ = ball.vertices[marker]
    rows, columns = np.nonzero(seen)
    assert rows.mean() == pytest.approx(60 - y * 60 / 1.04, abs=1.5)
    assert columns.mean() == pytest.approx(60 + x * 60 / 1.04, abs=1.5)
    assert seen.sum() == pytest.approx(np.pi * (0.04 * 60 / 1.04) ** 2, rel=0.4)
    assert not _pinkish(draw(Panel(ball, marker=marker), camera=Camera((0, 0, -1)))).any()


def test_arrow_runs_from_its_origin_along_its_vector():
    panel = Panel(square(), arrows=([[0, 0, 0], [0, 0, 0]], [[0.6, 0, 0], [0, 0, 0]]))
    dark = (draw(panel) < 100).all(axis=2)
    rows, columns = np.nonzero(dark)
    pixel = 60 / (1.04 * np.sqrt(2))
    assert columns.min() == pytest.approx(60, abs=1.5)
    assert columns.max() == pytest.approx(60 + 0.6 * pixel, abs=2.5)
    assert rows.mean() == pytest.approx(59.5, abs=0.5)


def test_path_is_a_tube_of_the_promised_width_on_the_near_side(ball):
    corners = [[-0.5, 0.0, 0.0], [-0.5, 0.0, 0.0], [0.5, 0.0, 0.0], [0.5, 0.5, 0.0]]
    seen = _pinkish(draw(Panel(square(), path=corners)))
    pixel = 60 / (1.04 * np.sqrt(2))
    width = 2 * 0.015 * np.sqrt(2) * pixel
    assert seen.sum() == pytest.approx(1.5 * pixel * width, rel=0.35)
    rows, columns = np.nonzero(seen)
    assert columns.min() == pytest.approx(60 - 0.5 * pixel, abs=2)
    assert (columns.max(), rows.min()) == pytest.approx((60 + 0.5 * pixel, 60 - 0.5 * pixel), abs=2)
    angle = np.linspace(-1, 1, 40)
    equator = Panel(ball, path=np.stack([np.sin(angle), 0 * angle, np.cos(angle)], axis=1))
    assert _pinkish(draw(equator)).any()
    assert not _pinkish(draw(equator, camera=Camera((0, 0, -1)))).any()


def test_bands_are_level_lines():
    # Values from 0 at the left to 1 at the right: lines of 1/12 of a band at 1/4, 1/2, 3/4.
    panel = Panel(square(), [0, 1, 1, 0], cmap="gray", clim=(0, 1), bands=4)
    plain = Panel(square(), [0, 1, 1, 0], cmap="gray", clim=(0, 1))
    side = 2 * 60 / (1.04 * np.sqrt(2))
    darker = (draw(plain) - draw(panel))[60, :, 0] > 5
    columns = np.flatnonzero(darker)
    groups = np.split(columns, np.flatnonzero(np.diff(columns) > 1) + 1)
    middles = [(group.mean() + 0.5 - 60) / side + 0.5 for group in groups]
    assert middles == pytest.approx([0.25, 0.5, 0.75], abs=0.02)


def test_grey_begins_where_it_is_told():
    values = [0, 1, 1, 0]
    grey, plain = draw(Panel(square(), values, cmap="OrRd", grey_from=0.5)), draw(Panel(square()))
    same = (np.abs(grey - plain) < 2).all(axis=2)[60]
    half = 60 / (1.04 * np.sqrt(2))
    assert same[62 : int(60 + half) - 2].all() and not same[int(60 - half) + 3 : 58].any()
    # The end of the range greys only what lies beyond it.
    beyond = draw(Panel(square(), [0, 3, 3, 0], cmap="OrRd", clim=(0, 1), grey_from=1.0))
    same = (np.abs(beyond - plain) < 2).all(axis=2)[60]
    edge = int(60 - half + 2 * half / 3)
    assert same[edge + 2 : int(60 + half) - 2].all() and not same[edge - 20 : edge - 2].any()


def test_panels_with_other_bands_do_not_share_a_bar(ball):
    y = ball.vertices[:, 1]
    image = np.zeros((50, 50, 3), dtype=np.uint8)
    for bands, bars in ((None, 2), (8, 1)):
        row = resolve_colors([Panel(ball, y, bands=8), Panel(ball, y, bands=bands)])
        figure = compose(Sheet([row], (1.0, 1.0), 50), [[image] * 2])
        assert len(figure.axes) == 2 + bars


def test_tight_camera_fills_a_narrow_panel(ball):
    tall = TriMesh(ball.vertices * [1, 3, 1], ball.faces)
    camera = Camera((0, 0, 1), tight=True)
    image = render_panel(Panel(tall), camera=camera, size=(60, 180))
    rows, columns = np.nonzero(_covered(image))
    assert np.ptp(rows) == pytest.approx(180 / 1.04, abs=2.5)
    assert np.ptp(columns) == pytest.approx(60 / 1.04, abs=2.5)


def test_camera_with_a_given_sphere_keeps_the_scale_of_meshes(ball):
    small = TriMesh(0.5 * ball.vertices, ball.faces)
    camera = Camera((0, 0, 1), center=(0, 0, 0), radius=1.0)
    areas = [_covered(draw(Panel(mesh), camera=camera)).sum() for mesh in (ball, small)]
    assert areas[0] / areas[1] == pytest.approx(4, rel=0.05)


def test_units_do_not_matter(ball):
    moved = TriMesh(1e-3 * ball.vertices + 5.0, ball.faces)
    scalars = ball.vertices[:, 0]
    assert np.abs(draw(Panel(ball, scalars)) - draw(Panel(moved, scalars))).mean() < 0.5


def test_colors_follow_the_values(ball):
    y = ball.vertices[:, 1]
    panels = [Panel(ball, y), Panel(ball, y + 3), Panel(ball, y**2 - 1e-9), Panel(ball, 0 * y + 2)]
    own = [(p.cmap, p.clim) for p in resolve_colors(panels, share=False)]
    assert own[0] == ("coolwarm", (-1.0, 1.0))
    assert own[1] == ("viridis", (2.0, 4.0))
    assert own[2] == ("viridis", (-1e-9, 1 - 1e-9))
    assert own[3] == ("viridis", (1.0, 3.0))
    shared = resolve_colors([*panels[:2], Panel(ball, y, clim=(0, 1)), Panel(ball)])
    assert [p.clim for p in shared] == [(-4.0, 4.0), (-4.0, 4.0), (0.0, 1.0), None]
    assert [p.cmap for p in shared] == ["coolwarm", "coolwarm", "viridis", None]


def test_one_bar_for_a_shared_scale_and_one_each_otherwise(ball):
    y = ball.vertices[:, 1]
    image = np.zeros((50, 50, 3), dtype=np.uint8)
    shared = resolve_colors([Panel(ball, y), Panel(ball, 2 * y), Panel(ball)])
    single = resolve_colors([Panel(ball, y), Panel(ball, 2 * y), Panel(ball)], share=False)
    for row, bars in ((shared, 1), (single, 2), ([Panel(ball)] * 3, 0)):
        figure = compose(Sheet([row], (1.0, 1.0), 50), [[image] * 3])
        assert len(figure.axes) == 3 + bars


@pytest.mark.parametrize("factor", [1e-6, 1.0, 3e4])
def test_nothing_is_written_over_the_edge(ball, factor):
    y = factor * ball.vertices[:, 1]
    image = np.zeros((50, 50, 3), dtype=np.uint8)
    rows = [
        resolve_colors([Panel(ball, y, title="a"), Panel(ball, 2 * y)], share=False),
        resolve_colors([Panel(ball, y), Panel(ball, 2 * y, title="two\nlines")]),
        resolve_colors([Panel(ball, y), Panel(ball, 2 * y + 1e4)], share=False),
    ]
    sheet = Sheet(rows, (1.0, 1.0), 50, title="title\nof two lines", row_labels=["x", "y", "z"])
    with rc_context(STYLE):
        figure = compose(sheet, [[image] * 2] * 3)
        figure.draw_without_rendering()
        box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert box.x0 >= 0 and box.y0 >= 0
    assert box.x1 <= width and box.y1 <= height
    labels = [[t.get_window_extent() for t in axes.get_xticklabels()] for axes in figure.axes]
    gaps = [b.x0 - a.x1 for bar in labels for a, b in itertools.pairwise(bar) if b.width > 0]
    assert len(gaps) >= 6
    assert min(gaps) > 0


def test_pictures_keep_their_pixels_in_the_figure(tmp_path, ball):
    from matplotlib.image import imread

    rows = [[Panel(ball, ball.vertices[:, 0], title="a"), Panel(ball)]]
    path = save_figure(tmp_path / "a.png", rows, camera=FRONT, panel_size=(1, 1), dpi=90, title="T")
    figure = np.rint(255 * imread(path)[..., :3])
    panel = render_panel(rows[0][1], camera=FRONT, size=(90, 90))
    windows = np.lib.stride_tricks.sliding_window_view(figure, (90, 90, 3))[:, :, 0]
    assert (windows == panel).all(axis=(2, 3, 4)).any()


@pytest.mark.parametrize(
    ("suffix", "start"), [(".png", PNG), (".svg", b"<?xml"), (".pdf", b"%PDF")]
)
def test_figures_are_written_and_repeatable(tmp_path, ball, suffix, start):
    rows = [[Panel(ball, ball.vertices[:, 0], title=r"$\alpha$"), Panel(ball)], [Panel(ball)]]
    options = {"panel_size": (0.5, 0.5), "dpi": 60, "row_labels": ["a", "b"]}
    first = save_figure(tmp_path / f"first{suffix}", rows, **options)
    second = save_figure(tmp_path / f"second{suffix}", rows, **options)
    assert first.read_bytes().startswith(start)
    assert first.read_bytes() == second.read_bytes()


def test_spectra_are_written(tmp_path):
    spectra = {"isotropic": np.arange(10.0), r"$\alpha=10$": np.arange(60.0)}
    path = plot_spectrum(tmp_path / "spectrum.png", spectra, title="eigenvalues")
    assert path.read_bytes().startswith(PNG)


def test_a_failed_write_leaves_the_old_file_alone(tmp_path, monkeypatch):
    target = tmp_path / "spectrum.png"
    target.write_bytes(b"old")

    def refuse(*_):
        raise OSError(errno.ENOSPC, "disk full")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="disk full"):
        plot_spectrum(target, {"a": [0.0, 1.0]})
    assert [p.name for p in tmp_path.iterdir()] == ["spectrum.png"]
    assert target.read_bytes() == b"old"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scalars": [1.0, 2.0]}, "4 vertices"),
        ({"scalars": np.ones((4, 1))}, "one value per vertex"),
        ({"scalars": [0, 1, np.nan, 2]}, "vertex 2 is nan"),
        ({"scalars": ["a", "b", "c", "d"]}, "real numbers"),
        ({"clim": (1.0, 1.0)}, "low < high"),
        ({"marker": 4}, r"0\.\.3"),
        ({"arrows": ([[0, 0, 0]], [[1, 0]])}, r"\(p, 3\)"),
        ({"arrows": ([[0, 0, 0]], [[1, 0, np.inf]])}, "arrow 0"),
        ({"path": [0, 0, 0]}, r"\(p, 3\)"),
        ({"path": [[0, 0, np.nan]]}, "finite"),
        ({"bands": 0}, "at least 1"),
    ],
)
def test_bad_panels_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        Panel(square(), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"direction": (0, 1, 0)}, "not parallel"),
        ({"direction": (0, 0, 0)}, "not zero"),
        ({"zoom": 0}, "zoom"),
        ({"radius": 1.0}, "go together"),
        ({"radius": -1.0, "center": (0, 0, 0)}, "positive"),
    ],
)
def test_bad_cameras_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        Camera(**options)


@pytest.mark.parametrize(
    ("name", "rows", "options", "message"),
    [
        ("a.jpg", [[Panel(square())]], {}, "must end in"),
        ("none/a.png", [[Panel(square())]], {}, "does not exist"),
        ("a.png", [], {}, "at least one row"),
        ("a.png", [[]], {}, "at least one panel"),
        ("a.png", [[Panel(square())]], {"row_labels": ["a", "b"]}, "2 row labels"),
        ("a.png", [[Panel(square())]], {"dpi": 0}, "positive"),
        ("a.png", [[Panel(square(), np.ones(4), cmap="nothing")]], {}, "no colour map 'nothing'"),
        ("a.png", [[Panel(TriMesh(np.ones((3, 3)), [[0, 1, 2]]))]], {}, "coincide"),
    ],
)
def test_bad_figures_are_refused_and_leave_nothing(tmp_path, name, rows, options, message):
    with pytest.raises(InputError, match=message):
        save_figure(tmp_path / name, rows, **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("spectra", [{}, {"a": []}, {"a": [[1.0]]}, {"a": [np.inf]}, {"a": ["x"]}])
def test_bad_spectra_are_refused(tmp_path, spectra):
    with pytest.raises(InputError, match="spectrum"):
        plot_spectrum(tmp_path / "a.png", spectra)


def test_missing_packages_are_named(monkeypatch, tmp_path):
    monkeypatch.setattr("importlib.util.find_spec", lambda module: None)
    with pytest.raises(InputError, match=r"finsler\[view\]"):
        save_figure(tmp_path / "a.png", [[Panel(square())]])
    with pytest.raises(InputError, match=r"finsler\[view\]"):
        plot_spectrum(tmp_path / "a.png", {"a": [0.0]})


def test_pictures_of_no_size_are_refused():
    with pytest.raises(InputError, match="must be positive"):
        render_panel(Panel(square()), size=(0, 10))


def test_import_loads_nothing_heavy():
    code = (
        "import sys, finsler.view;"
        "heavy = {'matplotlib', 'pyvista', 'vtk', 'vtkmodules'} & set(sys.modules);"
        "print(heavy); raise SystemExit(len(heavy))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
