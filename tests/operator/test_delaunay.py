"""Intrinsic Delaunay triangulations in the lengths of an operator."""

import numpy as np
import pytest

import finsler
from finsler import TriMesh, primitives
from finsler.operator.delaunay import delaunay_laplacian


def constant_tensor(mesh, tensor):
    full = np.zeros((3, 3))
    full[:2, :2], full[2, 2] = tensor, 1.0
    return np.tile(full, (mesh.n_faces, 1, 1))


def jittered_plane(size=16, seed=0):
    mesh = primitives.plane(size, size)
    inner = np.abs(mesh.vertices[:, :2] - 0.5).max(axis=1) < 0.5 - 1e-9
    move = np.random.default_rng(seed).uniform(-0.3, 0.3, (mesh.n_vertices, 2)) / size
    vertices = mesh.vertices.copy()
    vertices[inner, :2] += move[inner]
    return TriMesh(vertices, mesh.faces)


def curved(frequency=8, alpha=10.0, **settings):
    mesh = primitives.bumpy_sphere(frequency)
    frames = finsler.principal_frames(mesh)
    metric = finsler.RandersMetric.from_curvature(mesh, frames, alpha=alpha, **settings)
    return mesh, metric.diffusivity()


def energy(stiffness, function):
    return float(function @ (stiffness @ function))


@pytest.mark.parametrize("ratio", [1.0, 5.0, 50.0])
def test_plane_with_a_constant_tensor_has_exact_energies_of_linear_functions(ratio):
    mesh = jittered_plane()
    turn = np.array([[np.cos(0.4), -np.sin(0.4)], [np.sin(0.4), np.cos(0.4)]])
    tensor = turn @ np.diag([1.0, 1.0 / ratio]) @ turn.T
    found = delaunay_laplacian(mesh, constant_tensor(mesh, tensor), cover=False)
    assert found.shortened == 0.0
    for slope in ([1.0, 0.0], [0.0, 1.0], [0.6, -0.8]):
        expected = np.array(slope) @ tensor @ slope
        linear = mesh.vertices[:, :2] @ slope
        assert energy(found.laplacian.stiffness, linear) == pytest.approx(expected, rel=1e-9)


def test_isotropic_and_already_delaunay_is_the_cotangent_laplacian():
    mesh = primitives.sphere(6)
    found = delaunay_laplacian(mesh, np.tile(np.eye(3), (mesh.n_faces, 1, 1)))
    assert found.flips == 0 and found.negative_before == found.negative_after == 0.0
    difference = abs(found.laplacian.stiffness - finsler.lbo(mesh).stiffness)
    assert difference.max() < 1e-12


def test_agrees_with_the_reference_implementation_where_isotropic():
    robust = pytest.importorskip("robust_laplacian")
    mesh = jittered_plane(12, seed=3)
    found = delaunay_laplacian(mesh, np.tile(np.eye(3), (mesh.n_faces, 1, 1)))
    expected, _ = robust.mesh_laplacian(mesh.vertices, mesh.faces, mollify_factor=0.0)
    assert found.flips > 0
    assert abs(found.laplacian.stiffness - expected).max() < 1e-9


@pytest.mark.parametrize("alpha", [3.0, 10.0, 30.0])
@pytest.mark.parametrize("theta", [0.0, 0.7])
def test_no_weight_has_the_wrong_sign(alpha, theta):
    mesh, diffusivity = curved(alpha=alpha, theta=theta)
    found = delaunay_laplacian(mesh, diffusivity)
    assert found.negative_before > 0.02
    assert found.negative_after == 0.0
    stiffness = found.laplacian.stiffness
    off = stiffness - np.diag(stiffness.diagonal())
    assert off.max() <= 1e-9 * stiffness.diagonal().max()
    assert np.abs(stiffness.sum(axis=1)).max() < 1e-9
    assert abs(stiffness - stiffness.T).max() < 1e-12


def test_heat_stays_between_its_bounds_where_the_plain_scheme_does_not():
    mesh, diffusivity = curved(frequency=10, alpha=30.0)
    start = np.zeros(mesh.n_vertices)
    start[0] = 1.0
    lowest = {}
    for name, operator in (
        ("plain", finsler.laplacian(mesh, diffusivity)),
        ("delaunay", delaunay_laplacian(mesh, diffusivity).laplacian),
    ):
        lowest[name] = finsler.diffuse(operator, start, 0.01).min()
    assert lowest["plain"] < -1e-6
    assert lowest["delaunay"] > -1e-12


def test_topology_and_areas_survive():
    mesh, diffusivity = curved()
    found = delaunay_laplacian(mesh, diffusivity)
    assert found.flips > 0
    assert found.faces.shape == mesh.faces.shape
    assert set(found.faces.ravel()) == set(range(mesh.n_vertices))
    start, end = found.faces.ravel(), np.roll(found.faces, -1, axis=1).ravel()
    directed = np.sort(start * mesh.n_vertices + end)
    reverse = np.sort(end * mesh.n_vertices + start)
    assert np.array_equal(directed, reverse)
    assert np.array_equal(found.laplacian.mass, finsler.lbo(mesh).mass)


def test_both_triangulations_converge_to_the_same_spectrum():
    apart = []
    for frequency in (8, 32):
        mesh, diffusivity = curved(frequency)
        one = finsler.spectrum(finsler.laplacian(mesh, diffusivity), 6).eigenvalues[1:]
        other = finsler.spectrum(delaunay_laplacian(mesh, diffusivity).laplacian, 6).eigenvalues[1:]
        apart.append(np.abs(one / other - 1.0).max())
    assert apart[1] < 0.4 * apart[0] and apart[1] < 0.005


def test_varying_strength_leaves_few():
    mesh = primitives.bumpy_sphere(10)
    frames = finsler.principal_frames(mesh)
    tau = finsler.tau_of_strength(mesh, finsler.curvature_strength(mesh, peak=0.9))
    metric = finsler.RandersMetric.from_curvature(mesh, frames, tau=tau)
    found = delaunay_laplacian(mesh, metric.diffusivity())
    assert found.negative_after < 0.1 * found.negative_before


@pytest.mark.filterwarnings("ignore::finsler.mesh.health.MeshWarning")
def test_boundaries_and_edges_of_three_faces_are_kept_without_a_cover():
    fan = TriMesh(
        [[0, 0, 0], [1, 0, 0], [0.5, 1, 0], [0.5, -1, 0], [0.5, 0, 1]],
        [[0, 1, 2], [1, 0, 3], [0, 1, 4]],
    )
    found = delaunay_laplacian(fan, np.tile(np.diag([1.0, 0.01, 1.0]), (3, 1, 1)), cover=False)
    assert found.flips == 0
    assert np.array_equal(found.faces, fan.faces)


@pytest.mark.parametrize("ratio", [5.0, 50.0])
def test_on_the_cover_boundaries_have_no_negative_weights_either(ratio):
    mesh = jittered_plane()
    tensors = constant_tensor(mesh, np.diag([1.0, 1.0 / ratio]))
    kept = delaunay_laplacian(mesh, tensors, cover=False)
    found = delaunay_laplacian(mesh, tensors)
    assert found.negative_before > kept.negative_after > found.negative_after == 0.0
    assert found.faces.shape == (2 * mesh.n_faces, 3)


def test_a_face_and_its_back_make_the_closed_surface_twice():
    mesh, diffusivity = curved()
    once = delaunay_laplacian(mesh, diffusivity)
    faces = mesh.faces.copy()
    faces[::3] = faces[::3, ::-1]  # the tensors do not mind
    turned = delaunay_laplacian(TriMesh(mesh.vertices, faces), diffusivity)
    assert len(turned.faces) == 2 * len(once.faces) and turned.negative_after == 0.0
    difference = abs(turned.laplacian.stiffness - once.laplacian.stiffness)
    assert difference.max() < 1e-9 * abs(once.laplacian.stiffness).max()


def test_negative_share_of_an_obtuse_pair():
    # Two obtuse faces on one long edge: of five pairs of neighbours that one has a negative weight.
    mesh = TriMesh([[0, 0, 0], [4, 0, 0], [2, 1, 0], [2, -1, 0]], [[0, 1, 2], [1, 0, 3]])
    assert finsler.lbo(mesh).negative_share == pytest.approx(0.2)
    found = delaunay_laplacian(mesh, np.tile(np.eye(3), (2, 1, 1)), cover=False)
    assert (found.negative_before, found.negative_after, found.flips) == (0.2, 0.0, 1)
