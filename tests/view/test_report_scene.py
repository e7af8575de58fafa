"""Surfaces in a page: the arrays that are written for its script."""

import base64
import json
from dataclasses import replace

import numpy as np
import pytest

from finsler import primitives
from finsler.errors import InputError
from finsler.mesh import TriMesh
from finsler.storage.record import record
from finsler.view import Camera, Panel
from finsler.view.colors import color_table
from finsler.view.panel import resolve_colors
from finsler.view.report import View, scene, write_report
from finsler.view.upright import stance_of


@pytest.fixture(scope="module")
def ball():
    return primitives.bumpy_sphere(6)


def content(html):
    start = html.index('json">') + len('json">')
    return json.loads(html[start : html.index("</script>", start)])


def decoded(text, kind, width=None):
    values = np.frombuffer(base64.b64decode(text), dtype=kind)
    return values if width is None else values.reshape(-1, width)


def test_arrays_come_back(ball):
    values = np.random.default_rng(0).normal(size=ball.n_vertices)
    colors = np.random.default_rng(1).random((ball.n_vertices, 3))
    panel = Panel(ball, values, clim=(-1.0, 2.0), cmap="OrRd", bands=5, marker=3)
    [view] = [View("v", {"f": panel, "rgb": Panel(ball, colors=colors), "grey": Panel(ball)})]
    found = content(scene([view], camera=Camera()))
    [mesh], [shown] = found["meshes"], found["views"]
    positions = decoded(mesh["positions"], "<i2", 3) / 32767
    middle = 0.5 * (ball.vertices.min(axis=0) + ball.vertices.max(axis=0))
    radius = np.linalg.norm(ball.vertices - middle, axis=1).max()
    np.testing.assert_allclose(positions * radius + middle, ball.vertices, atol=radius / 65000)
    assert np.array_equal(decoded(mesh["faces"], "<u2", 3), ball.faces) and not mesh["wide"]
    field = shown["fields"]["f"]
    assert np.array_equal(decoded(field["scalars"], "<f4"), values.astype(np.float32))
    assert field["clim"] == [-1.0, 2.0] and field["marker"] == 3
    rows = decoded(field["table"], "u1", 3)
    assert np.array_equal(rows, np.rint(255 * color_table(resolve_colors([panel])[0])))
    stored = decoded(shown["fields"]["rgb"]["colors"], "u1", 3)
    assert np.abs(stored / 255 - colors).max() <= 0.5 / 255
    assert shown["fields"]["grey"] == {"marker": None}


def test_a_view_says_which_side_is_seen_at_first(ball):
    views = [View("v", {"grey": Panel(ball)})]
    usual, behind, above = (content(scene(views, view=v)) for v in (None, "back", "0,89"))
    assert usual["axes"][2][2] > 0.9 and behind["axes"][2][2] < -0.9 and above["axes"][2][1] > 0.9
    # The meshes are turned as before; the view moves the camera alone.
    assert usual["meshes"] == behind["meshes"] and behind["up"] == [0.0, 1.0, 0.0]


def test_a_mesh_of_several_views_is_stored_once(ball):
    copy = TriMesh(ball.vertices, ball.faces)
    views = [
        View("a", {"x": Panel(ball)}),
        View("b", {"x": Panel(copy)}),
        View("c", {"x": Panel(ball)}),
    ]
    found = content(scene(views))
    assert [view["mesh"] for view in found["views"]] == [0, 1, 0] and len(found["meshes"]) == 2


def test_large_meshes_have_wide_indices():
    n = 70_000
    strip = np.column_stack([np.arange(n - 2), np.arange(1, n - 1), np.arange(2, n)])
    around = np.linspace(0, 9, n)
    mesh = TriMesh(np.column_stack([np.cos(around), np.sin(around), np.arange(n) % 2]), strip)
    [found] = content(scene([View("v", {"x": Panel(mesh)})]))["meshes"]
    assert found["wide"] and np.array_equal(decoded(found["faces"], "<u4", 3), strip)


def test_two_meshes_of_five_thousand_vertices_stay_light(tmp_path):
    meshes = [primitives.bumpy_sphere(22), primitives.bumpy_sphere(23)]
    partners = np.zeros(meshes[1].n_vertices, dtype=np.int64)
    views = [
        View(
            "", {"f": Panel(m, m.vertices[:, 0]), "c": Panel(m, colors=np.ones_like(m.vertices))}, p
        )
        for m, p in zip(meshes, (None, partners), strict=True)
    ]
    path = write_report(tmp_path / "a.html", "t", [scene(views)], record=json.loads(record({})))
    assert path.stat().st_size < 600_000


def test_first_look_is_the_camera_of_figures(ball):
    found = content(scene([View("v", {"x": Panel(ball)})], camera=Camera((1, 0, 0), (0, 0, 2))))
    assert found["axes"] == [[0, 1, 0], [0, 0, 1], [1, 0, 0]] and found["up"] == [0, 0, 1]


def test_without_a_camera_meshes_stand_upright(ball):
    stance = stance_of(ball, "-x")
    view = View("v", {"x": Panel(ball)}, stance=stance)
    [mesh] = content(scene([view]))["meshes"]
    heights = decoded(mesh["positions"], "<i2", 3)[:, 1]
    assert np.argmax(heights) == np.argmin(ball.vertices[:, 0])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"fields": {}}, "each view at least one field"),
        (
            {"partners": np.zeros(3, dtype=int)},
            "partners must name a vertex of the first view, 0..361",
        ),
        ({"partners": np.full(362, 362)}, "partners must name"),
        ({"partners": np.full(362, -1)}, "partners must name"),
        ({"partners": np.zeros(362)}, "partners must name"),
    ],
)
def test_what_does_not_fit_is_refused(ball, change, sentence):
    with pytest.raises(InputError, match=sentence):
        scene([replace(View("v", {"x": Panel(ball)}), **change)])


def test_fields_of_a_view_share_its_mesh(ball):
    other = Panel(TriMesh(ball.vertices, ball.faces))
    with pytest.raises(InputError, match="'v': its fields show different meshes"):
        scene([View("v", {"x": Panel(ball), "y": other})])
    with pytest.raises(InputError, match="at least one view"):
        scene([])
