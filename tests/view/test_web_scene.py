"""What the page shows, without a page: functions, colours, segments, and what a click means."""

import io
import json
import threading

import numpy as np
import pytest
import trimesh

import finsler
from finsler.errors import InputError
from finsler.mesh import primitives
from finsler.spec import OperatorSpec
from finsler.view.colors import GREY
from finsler.view.panel import Panel, resolve_colors
from finsler.view.surfaces import position_colors
from finsler.view.upright import Viewpoint
from finsler.view.web import Scene, Settings, Shown, functions
from finsler.view.web.drawing import as_glb, colors_and_levels
from finsler.view.web.functions import MeshFunctions
from finsler.view.web.scene import Picked
from finsler.view.web.worker import Worker

MESH = primitives.bumpy_sphere(6)
MASS = finsler.lbo(MESH).mass
TWISTED = {"operator": OperatorSpec(alpha=4.0, tau=1.2), "theta": 30.0}


@pytest.fixture(scope="module")
def surface():
    return MeshFunctions(MESH)


def at(shown, **choices):
    return Settings(shown=shown, **{**TWISTED, **choices})


def vertex_colors(panel):
    """The colour of each vertex, (n, 3) in 0..1."""
    table, levels = colors_and_levels(panel)
    return table[np.minimum((levels * len(table)).astype(int), len(table) - 1)]


def two_spheres():
    one = primitives.sphere(3)
    far = one.vertices + np.array([5.0, 0.0, 0.0])
    faces = np.concatenate([one.faces, one.faces + one.n_vertices])
    return finsler.TriMesh(np.concatenate([one.vertices, far]), faces)


def test_a_kernel_of_order_zero_is_the_unit_of_mass_at_the_vertex(surface):
    expected = np.zeros(MESH.n_vertices)
    expected[17] = 1.0 / MASS[17]
    found = surface.values(at(Shown.kernel, order=0), 17)
    assert np.allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("shown", [Shown.kernel, Shown.wide, Shown.heat])
def test_kernels_are_symmetric(surface, shown):
    from_3, from_200 = (surface.values(at(shown, order=4), v) for v in (3, 200))
    assert from_3[200] == pytest.approx(from_200[3], rel=1e-6, abs=1e-9 * np.abs(from_3).max())
    assert np.ptp(from_3) > 0


def test_a_kernel_ends_after_as_many_rings_as_its_order(surface):
    near = finsler.lbo(MESH).stiffness.astype(bool)
    rings = (near @ near @ near).toarray()[50].astype(bool)
    values = surface.values(at(Shown.kernel, order=3), 50)
    assert not values[~rings].any() and np.abs(values[rings]).min() > 0


def test_heat_has_mean_one_and_spreads(surface):
    early, late = (surface.values(at(Shown.heat, time=t), 5) for t in (0.001, 0.1))
    for heat in (early, late):
        assert MASS @ heat == pytest.approx(MASS.sum(), rel=1e-9)
    assert early.argmax() == 5 and early[5] > 3 * late[5]


def test_what_is_sent_forwards_comes_back_backwards(surface):
    # Turning the drift round transposes its operator.
    sent = surface.values(at(Shown.directed, theta=40.0, time=0.02), 8)[90]
    returned = surface.values(at(Shown.directed, theta=220.0, time=0.02), 90)[8]
    assert sent == pytest.approx(returned, rel=1e-6)
    assert sent != pytest.approx(surface.values(at(Shown.directed, theta=220.0, time=0.02), 8)[90])


def test_the_way_there_from_here_is_the_way_back_from_there(surface):
    there, back = surface.values(at(Shown.there), 8), surface.values(at(Shown.back), 90)
    assert there[90] == pytest.approx(back[8], rel=0.03)
    difference = surface.values(at(Shown.difference), 8)
    assert np.array_equal(difference, there - surface.values(at(Shown.back), 8))
    assert np.abs(difference).max() > 0.1 * there.max()
    still = OperatorSpec(alpha=4.0, tau=0.0)
    assert not surface.values(at(Shown.difference, operator=still), 8).any()


def test_omega_that_follows_curvature_changes_the_kernel(surface):
    constant, curved = (
        surface.values(at(Shown.wide, operator=OperatorSpec(omega=kind)), 8)
        for kind in ("constant", "curved")
    )
    assert np.abs(constant - curved).max() > 0.01 * np.abs(constant).max()


# Little smoothing on a coarse mesh: a warning says that distances may be off.
@pytest.mark.filterwarnings("ignore:the mesh is too coarse:finsler.MeshWarning")
def test_the_page_shows_the_operators_that_a_spec_means(surface):
    meant = OperatorSpec(omega="curved", smoothing=3)
    shown = surface.values(at(Shown.there, operator=meant), 8)
    assert np.array_equal(shown, finsler.randers_distance(meant.metric(MESH, np.radians(30.0)), 8))
    usual = surface.values(at(Shown.there, operator=OperatorSpec(omega="curved")), 8)
    assert np.abs(shown - usual).max() > 0.01


def test_a_metric_that_is_none_is_refused_with_a_remedy(surface):
    with pytest.raises(InputError, match="lower tau"):
        surface.values(at(Shown.there, operator=OperatorSpec(alpha=0.0, tau=1.5)), 0)


def test_a_spectrum_is_computed_once_for_a_metric(monkeypatch):
    calls = []
    plain = functions.spectrum
    monkeypatch.setattr(functions, "spectrum", lambda *a: calls.append(1) or plain(*a))
    fresh = MeshFunctions(primitives.sphere(4))
    for vertex, order in ((0, 3), (7, 3), (7, 9)):
        fresh.values(at(Shown.wide, order=order), vertex)
    assert len(calls) == 1
    fresh.values(at(Shown.wide, theta=10.0), 0)
    assert len(calls) == 2


def along_axes(surface):
    segments = (surface.direction_segments(OperatorSpec(), axis) for axis in ("max", "min"))
    return [np.diff(ends, axis=1)[:, 0] for ends in segments]


def test_directions_are_tangent_perpendicular_and_equally_long(surface):
    ways = along_axes(surface)
    lengths = [np.linalg.norm(way, axis=1) for way in ways]
    assert np.allclose(lengths, lengths[0][0])
    assert np.abs(np.einsum("fi,fi->f", *ways)).max() < 1e-12
    faces = np.unique(np.linspace(0, MESH.n_faces - 1, len(ways[0])).astype(int))
    assert np.abs(np.einsum("fi,fi->f", ways[0], surface.frames(10).normal[faces])).max() < 1e-12


def test_omega_turns_with_theta_and_is_as_long_as_its_strength(surface):
    along_max, along_min = along_axes(surface)
    for theta, along in ((0.0, along_max), (90.0, along_min)):
        arrows = surface.omega_arrows(OperatorSpec(alpha=3.0, tau=1.0), theta)
        # The strength is tau/√(1 + alpha), one half.
        assert np.allclose(np.diff(arrows, axis=1)[:, 0], 0.5 * along, atol=1e-12)
    assert surface.omega_arrows(OperatorSpec(tau=0.0), 0.0).shape == (0, 2, 3)


def test_a_ray_picks_the_vertex_that_it_meets_first():
    scene = Scene(MESH, primitives.sphere(5))
    for i, vertex in ((0, 40), (0, 311), (1, 17)):
        surface = scene.surfaces[i].mesh
        target = scene.to_page(i, surface.vertices[vertex])
        outward = target - scene.to_page(i, np.zeros(3))
        outward = outward / np.linalg.norm(outward)
        # A little aside of the vertex, where it is still the nearest corner.
        aside = 0.02 * np.cross(outward, [0.3, 0.5, 0.2])
        assert scene.pick(target + aside + 0.3 * outward, -outward) == Picked(i, vertex)
        assert scene.pick(target + np.array([0.0, 2.0, 0.0]), (0.0, 1.0, 0.0)) is None


def test_two_meshes_stand_apart_at_the_same_size():
    large = finsler.TriMesh(100.0 * MESH.vertices, MESH.faces)
    scene = Scene(MESH, large)
    left, right = (scene.to_page(i, s.mesh.vertices) for i, s in enumerate(scene.surfaces))
    shift = right - left
    assert np.allclose(shift, shift[0]) and abs(shift[0] @ scene.layout.camera.direction) < 1e-12
    # Seen by the usual camera there is a gap of 0.3 between them.
    across = shift[0] / np.linalg.norm(shift[0])
    assert (right @ across).min() - (left @ across).max() == pytest.approx(0.3)


def test_meshes_stand_upright_and_partners_face_the_same_way():
    turn = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    other = finsler.TriMesh(MESH.vertices @ turn.T, MESH.faces)
    scene = Scene(MESH, other, map_12=np.arange(MESH.n_vertices))
    left, right = (scene.to_page(i, s.mesh.vertices) for i, s in enumerate(scene.surfaces))
    assert np.allclose(right - left, (right - left)[0])
    chosen = Scene(MESH, viewpoint=Viewpoint("-x")).to_page(0, MESH.vertices)
    assert np.argmax(chosen[:, 1]) == np.argmin(MESH.vertices[:, 0])


def test_the_peak_of_a_kernel_does_not_set_its_colours():
    settings = Settings(shown=Shown.kernel, selected=(100,), order=1)
    scene = Scene(MESH)
    [panel] = scene.panels(settings)
    kernel = scene.surfaces[0].values(settings, 100)
    others = np.delete(kernel, 100)
    assert panel.clim[1] == -panel.clim[0] <= abs(others).max() < 0.9 * abs(kernel[100])
    assert np.array_equal(np.delete(panel.scalars, 100), others) and panel.marker == 100


def test_a_click_selects_the_partner_too():
    ball = primitives.sphere(3)
    send = np.arange(ball.n_vertices)
    send[[4, 5]], send[6] = 9, -1
    scene = Scene(ball, ball, map_12=send)
    assert scene.select(Picked(0, 4)) == (4, 9)
    assert scene.select(Picked(0, 6)) == (6, None)
    assert scene.select(Picked(1, 9)) == (4, 9)
    assert scene.select(Picked(1, 6)) == (None, 6)
    assert Scene(ball, ball).select(Picked(1, 3)) == (None, 3)
    assert Scene(ball).select(Picked(0, 3)) == (3,)


def test_partners_have_one_colour_and_lines_between_them():
    send = np.random.default_rng(0).permutation(MESH.n_vertices)
    send[10] = -1
    scene = Scene(MESH, MESH, map_12=send)
    first, second = (p.colors for p in scene.panels(Settings(shown=Shown.partners)))
    known = send >= 0
    assert np.array_equal(first[known], second[send[known]]) and np.array_equal(first[10], GREY)
    # The colours of `match --figure`, which tell left from right.
    assert np.array_equal(second, position_colors(MESH))
    lines = scene.lines(selected=(20, send[20]))
    assert np.allclose(lines[0, 0], scene.to_page(0, MESH.vertices[20]))
    assert np.allclose(lines[0, 1], scene.to_page(1, MESH.vertices[send[20]]))
    assert len(scene.lines((10, None))) == len(lines) - 1 == 60
    assert Scene(MESH, MESH).lines().shape == (0, 2, 3)


def test_both_meshes_are_coloured_on_one_scale():
    scene = Scene(MESH, MESH, map_12=np.arange(MESH.n_vertices))
    panels = scene.panels(at(Shown.there, selected=(3, 3)))
    assert panels[0].clim == panels[1].clim and panels[0].marker == panels[1].marker == 3
    assert np.array_equal(vertex_colors(panels[0]), vertex_colors(panels[1]))
    single = scene.panels(at(Shown.kernel, selected=(3, None)))
    assert np.array_equal(vertex_colors(single[1]), np.tile(GREY, (MESH.n_vertices, 1)))
    assert np.ptp(vertex_colors(single[0])) > 0


def test_what_no_way_leads_to_is_grey():
    mesh = two_spheres()
    half = mesh.n_vertices // 2
    operator = OperatorSpec(alpha=0.0, tau=0.0)
    for shown in (Shown.there, Shown.difference):
        [panel] = Scene(mesh).panels(at(shown, selected=(0,), operator=operator))
        colors = vertex_colors(panel)
        assert np.array_equal(colors[half:], np.tile(GREY, (half, 1)))
        assert not (colors[:half] == GREY).all(axis=1).any()


def test_errors_run_from_the_first_colour_to_the_last():
    error = np.linspace(0.0, 3.0, MESH.n_vertices)
    [panel] = Scene(MESH, error=error).panels(Settings(shown=Shown.error))
    table, levels = colors_and_levels(panel)
    assert panel.cmap == "viridis" and panel.clim == (0.0, 3.0)
    assert np.allclose(levels, error / 3.0)
    assert np.array_equal(vertex_colors(panel)[[0, -1]], table[[0, -1]])
    error[5] = np.nan
    [panel] = Scene(MESH, error=error).panels(Settings(shown=Shown.error))
    assert np.array_equal(vertex_colors(panel)[5], GREY)


def test_choices_are_what_the_scene_has():
    assert not {Shown.partners, Shown.error} & set(Scene(MESH).choices)
    same = np.arange(MESH.n_vertices)
    assert set(Scene(MESH, MESH, map_12=same, error=same).choices) == set(Shown)
    for shown in (Shown.partners, Shown.error):
        with pytest.raises(InputError, match=r"there (is|are) no"):
            Scene(MESH).panels(Settings(shown=shown))


def test_a_scene_that_does_not_fit_is_refused():
    n = MESH.n_vertices
    with pytest.raises(InputError, match="0 meshes"):
        Scene()
    with pytest.raises(InputError, match="needs two meshes"):
        Scene(MESH, map_12=np.arange(n))
    for wrong in (np.arange(n - 1), np.zeros(n)):
        with pytest.raises(InputError, match="one vertex number for each"):
            Scene(MESH, MESH, map_12=wrong)
    with pytest.raises(InputError, match="order of the map"):
        Scene(MESH, primitives.sphere(2), map_12=np.arange(n))
    with pytest.raises(InputError, match="one number for each"):
        Scene(MESH, error=np.zeros((n, 2)))
    with pytest.raises(InputError, match="must be finite"):
        Scene(MESH, error=np.full(n, np.inf))


def test_a_drawing_holds_the_mesh_and_where_its_colours_are():
    [panel] = resolve_colors([Panel(MESH, MESH.vertices[:, 2])])
    content = as_glb(panel, MESH.vertices)
    read = trimesh.load(io.BytesIO(content), file_type="glb", process=False).to_geometry()
    assert np.array_equal(read.faces, MESH.faces)
    assert np.allclose(read.vertices, MESH.vertices, atol=1e-6)
    table, levels = colors_and_levels(panel)
    assert np.allclose(read.visual.uv[:, 0], levels, atol=1e-6)
    image = np.asarray(read.visual.material.baseColorTexture)
    assert np.abs(image[0] / 255.0 - table).max() < 0.003
    assert b'"NORMAL"' in content
    assert b'"magFilter":9728' in content and b'"wrapS":33071' in content


def test_a_drawing_holds_the_colours_of_vertices_as_amounts_of_light():
    colors = np.tile([1.0, 0.5, 0.02], (MESH.n_vertices, 1))
    colors[7] = [0.0, 0.25, 1.0]
    content = as_glb(Panel(MESH, colors=colors), MESH.vertices)
    length = int.from_bytes(content[12:16], "little")
    tree, data = json.loads(content[20 : 20 + length]), content[28 + length :]
    accessor = tree["accessors"][tree["meshes"][0]["primitives"][0]["attributes"]["COLOR_0"]]
    start = tree["bufferViews"][accessor["bufferView"]]["byteOffset"]
    stored = np.frombuffer(data, np.uint8, 4 * MESH.n_vertices, start).reshape(-1, 4)
    assert accessor["normalized"] and (stored[:, 3] == 255).all()
    # The curve of IEC 61966-2-1: half the signal is 0.214 of the light, a quarter is 0.0509.
    assert np.abs(stored[0, :3] - 255.0 * np.array([1.0, 0.21404, 0.02 / 12.92])).max() < 0.51
    assert np.abs(stored[7, :3] - 255.0 * np.array([0.0, 0.05088, 1.0])).max() < 0.51
    assert b'"metallicFactor":0.0' in content and b'"doubleSided":true' in content


def test_the_worker_drops_what_is_overtaken_and_survives_what_fails(capsys):
    worker, done = Worker(), []
    running, go, last = threading.Event(), threading.Event(), threading.Event()

    def first():
        running.set()
        go.wait(10)
        raise ValueError("this one fails")

    worker.submit("a", first)
    assert running.wait(10)
    for job in range(5):
        worker.submit("a", lambda job=job: done.append(("a", job)))
    worker.submit("b", lambda: (done.append(("b", 0)), last.set()))
    go.set()
    assert last.wait(10)
    worker.stop()
    assert done == [("a", 4), ("b", 0)]
    assert "this one fails" in capsys.readouterr().err
    worker.submit("a", lambda: done.append("late"))
    assert len(done) == 2
