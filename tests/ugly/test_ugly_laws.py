"""What must hold on ugly meshes: units, whole numbers, components, warnings, maximum principle."""

import warnings

import numpy as np
import pytest
from ugly_meshes import MESHES, base, interpenetrating, joined, tetrahedra, turned_over

import finsler
from finsler import primitives
from finsler.analysis.log_maps import vertex_support
from finsler.mesh import TriMesh, health, surface_area
from finsler.mesh.crossings import crossing_faces
from finsler.mesh.health import MeshWarning


def in_units(mesh):
    """Results of many functions, each multiplied so that the unit of length cancels."""
    s = float(np.sqrt(surface_area(mesh)))
    frames = finsler.principal_frames(mesh)
    strength = finsler.curvature_strength(mesh)
    metric = finsler.RandersMetric.from_curvature(mesh, frames, alpha=3.0, tau=0.3)
    operator = finsler.laplacian(mesh, metric.diffusivity())
    spectrum = finsler.spectrum(operator, 8)
    start = np.eye(mesh.n_vertices)[0]
    support = vertex_support(mesh, 0.3 * s)
    eikonal = finsler.randers_distance(metric, 0)
    stack = finsler.angle_stack(mesh, angles=2, frames=frames)
    return {
        "curvature": finsler.principal_curvature(mesh).maximal * s,
        "frames": frames.u_max[:, :, None] * frames.u_max[:, None, :],
        "strength": strength,
        "stiffness": operator.stiffness.toarray(),
        "mass": operator.mass / s**2,
        "delaunay": finsler.delaunay_laplacian(
            mesh, metric.diffusivity()
        ).laplacian.stiffness.toarray(),
        "chebyshev": finsler.chebyshev_operators(stack).values,
        "drift": finsler.drift_operator(metric).matrix.toarray() / s**2,
        "eigenvalues": spectrum.eigenvalues[1:] * s**2,
        "heat": finsler.diffuse(operator, start, 0.01 * s**2),
        "heat kernel": finsler.heat_kernel(spectrum, 0.05 * s**2, 0) * s**2,
        "nonlinear heat": finsler.finsler_heat_step(metric, start, 0.01 * s**2).u,
        "geodesic heat": finsler.geodesic_distance(mesh, 0) / s,
        "fast marching": finsler.geodesic_distance(mesh, 0, method="fmm") / s,
        "exact": finsler.geodesic_distance(mesh, 0, method="exact") / s,
        "eikonal": eikonal / s,
        "randers heat": finsler.randers_distance(metric, 0, method="heat") / s,
        "path": finsler.geodesic_path(metric, eikonal, 0, 50).points / s,
        "shot": finsler.shot(mesh, radius=0.3 * s),
        "hks": finsler.hks(spectrum) * s**2,
        "wks": finsler.wks(spectrum) * s**2,
        "support": support.r / s,
    }


@pytest.fixture(scope="module")
def at_one():
    return in_units(TriMesh(*base()))


@pytest.mark.parametrize("factor", [1e-12, 1e12])
def test_units_do_not_matter(at_one, factor):
    points, faces = base()
    result = in_units(TriMesh(factor * points, faces))
    wrong = {
        name: float(np.abs(result[name] - values).max() / np.abs(values).max())
        for name, values in at_one.items()
    }
    assert {name: error for name, error in wrong.items() if not error < 1e-6} == {}


@pytest.mark.parametrize("factor", [1e-12, 1e12])
@pytest.mark.parametrize("name", list(MESHES))
def test_health_and_repair_do_not_depend_on_the_unit(name, factor):
    points, faces = MESHES[name]()
    if not np.isfinite(points).all():
        return
    one, other = TriMesh(points, faces), TriMesh(factor * points, faces)
    assert health(one).problems == health(other).problems
    assert finsler.repair(one).changes == finsler.repair(other).changes


SHEETS = ["touching fingers", "closed mouth", "coincident sheets", "doubled skin", "thin plate"]


@pytest.mark.parametrize("name", SHEETS)
def test_sheets_that_touch_are_no_defect_and_stay_apart(name):
    mesh = TriMesh(*MESHES[name]())
    assert len(np.unique(mesh.vertices, axis=0)) < mesh.n_vertices
    assert health(mesh).problems == []
    done = finsler.repair(mesh)
    assert not done.changed
    assert np.array_equal(done.mesh.vertices, mesh.vertices)
    assert np.array_equal(done.mesh.faces, mesh.faces)
    again = finsler.repair(mesh, merge_tolerance=1e-9)
    assert not again.changed


def test_fingers_that_a_file_welded_come_apart():
    mesh = TriMesh(*MESHES["touching fingers"]())
    points, index = np.unique(mesh.vertices, axis=0, return_inverse=True)
    welded = TriMesh(points, index.reshape(-1)[mesh.faces])
    assert health(welded).nonmanifold_edges == 16 and health(welded).duplicate_faces == 8
    report = health(finsler.repair(welded).mesh)
    assert (report.n_vertices, report.n_faces) == (mesh.n_vertices, mesh.n_faces)
    assert report.genus == 0 and report.problems == []


def test_whole_numbers_give_exactly_the_floats_result():
    points, faces = MESHES["whole numbers"]()
    assert points.dtype == np.int64 and faces.dtype == np.int32
    one, other = TriMesh(points, faces), TriMesh(points.astype(float), faces.astype(np.int64))
    for first, second in ((points, faces), (points.tolist(), faces.astype(np.uint16))):
        assert np.array_equal(TriMesh(first, second).vertices, other.vertices)
    assert np.array_equal(finsler.flbo(one).stiffness.data, finsler.flbo(other).stiffness.data)
    spectra = [finsler.spectrum(finsler.lbo(mesh), 6).eigenvectors for mesh in (one, other)]
    assert np.array_equal(*spectra)


def test_hundreds_of_components_have_the_spectrum_of_all_of_them():
    count = 200
    mesh = TriMesh(*tetrahedra(count))
    result = finsler.spectrum(finsler.lbo(mesh), count + 30).eigenvalues
    one = finsler.spectrum(finsler.lbo(TriMesh(*tetrahedra(1))), 4).eigenvalues
    sizes = np.random.default_rng(0).uniform(0.5, 1.5, count)
    first = np.random.default_rng(0).uniform(0.5, 1.5, 1)[0]
    expected = np.sort(np.outer((first / sizes) ** 2, one).ravel())[: count + 30]
    assert np.abs(result[:count]).max() < 1e-9
    assert np.allclose(result[count:], expected[count:], rtol=1e-9)


def test_other_components_are_infinitely_far_away():
    mesh = TriMesh(*tetrahedra(200))
    metric = finsler.RandersMetric.isotropic(mesh)
    for result in (
        finsler.geodesic_distance(mesh, 0),
        finsler.randers_distance(metric, 0),
        finsler.randers_distance(metric, 0, method="heat"),
    ):
        assert np.isfinite(result[:4]).all() and np.isinf(result[4:]).all()


@pytest.mark.parametrize("name", list(MESHES))
def test_operators_warn_of_what_health_counts(name):
    points, faces = MESHES[name]()
    if not np.isfinite(points).all():
        return
    mesh = TriMesh(points, faces)
    report = health(mesh)
    if not report.usable:
        with pytest.raises(finsler.InputError, match=r"finsler\.repair\(mesh\)"):
            finsler.lbo(mesh)
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        finsler.lbo(mesh)
    assert all(w.category is MeshWarning for w in caught)
    expected = [
        f"the mesh has {count} "
        for count in (
            report.needle_faces,
            report.duplicate_faces,
            report.nonmanifold_edges,
            report.nonmanifold_vertices,
        )
        if count
    ]
    given = [str(w.message) for w in caught]
    assert len(given) == len(expected)
    assert all(words.startswith(start) for words, start in zip(given, expected, strict=True))


def test_frames_warn_of_faces_turned_over_and_operators_do_not():
    mesh = TriMesh(*turned_over(0.0))
    with pytest.warns(MeshWarning, match="3 edges between oppositely oriented faces"):
        finsler.principal_frames(mesh)
    right = finsler.lbo(TriMesh(*base())).stiffness
    assert abs(finsler.lbo(mesh).stiffness - right).max() < 1e-12


def test_python_shows_each_warning_once():
    mesh = TriMesh(*MESHES["fin on an edge"]())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        finsler.flbo(mesh)
        finsler.angle_stack(mesh)
    assert len(caught) == 2


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("vertex 1 is not finite", "OFF\n3 1 0\n0 0 0\nnan 0 0\n0 1 0\n3 0 1 2\n"),
        ("vertex 2 is not finite", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 inf 0\n3 0 1 2\n"),
    ],
)
def test_files_with_coordinates_that_are_no_numbers_are_refused(tmp_path, words, text):
    path = tmp_path / "bad.off"
    path.write_text(text, encoding="ascii")
    with pytest.raises(finsler.InputError, match=words):
        finsler.load_mesh(path)


@pytest.mark.parametrize("name", ["clean", "hemisphere", "40 fins", "half turned over"])
def test_heat_keeps_its_bounds_on_delaunay_triangles_alone(name):
    mesh = TriMesh(*MESHES[name]())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MeshWarning)
        frames = finsler.principal_frames(mesh)
        metric = finsler.RandersMetric.from_curvature(mesh, frames, alpha=10.0, tau=0.1)
        result = finsler.delaunay_laplacian(mesh, metric.diffusivity())
        plain = finsler.laplacian(mesh, metric.diffusivity())
    assert result.negative_before == plain.negative_share > 0.2
    assert result.negative_after == result.laplacian.negative_share == 0.0
    time = 0.002 * plain.mass.sum()
    start = np.eye(mesh.n_vertices)
    assert finsler.diffuse(plain, start, time).min() < -0.01
    bounded = finsler.diffuse(result.laplacian, start, time)
    assert bounded.min() > -1e-15 and bounded.max() <= 1.0


def test_crossing_faces_of_a_wall_through_a_floor():
    floor = primitives.plane(4, 4)
    wall = np.array([[0.3, -1.0, -1.0], [0.3, 2.0, -1.0], [0.3, 2.0, 1.0], [0.3, -1.0, 1.0]])
    both = joined((floor.vertices, floor.faces), (wall, np.array([[0, 1, 2], [0, 2, 3]])))
    mesh = TriMesh(*both)
    x = floor.vertices[floor.faces][:, :, 0]
    cut = (x.min(axis=1) < 0.3) & (x.max(axis=1) > 0.3)
    assert cut.sum() == 8
    assert np.array_equal(crossing_faces(mesh), np.r_[cut, True, True])
    assert health(mesh).crossing_faces == 10
    assert "10 faces that pass through others" in health(mesh).problems[-1]


def test_crossing_faces_turn_with_the_mesh_and_touching_ones_do_not_count():
    points, faces = interpenetrating()
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
    order = np.random.default_rng(4).permutation(len(faces))
    result = crossing_faces(TriMesh(points, faces))
    assert result.sum() > 50
    assert np.array_equal(crossing_faces(TriMesh(points @ turn, faces[order])), result[order])
    for name in (
        "clean",
        "book of 3 pages",
        "no shared vertices",
        "doubled vertices",
        "face twice",
    ):
        assert not crossing_faces(TriMesh(*MESHES[name]())).any(), name
