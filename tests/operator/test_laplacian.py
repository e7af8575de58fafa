"""Exact cases and laws of the assembly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import eigsh

import finsler
from exact import relabelled, rotation
from finsler import FaceFrames, TriMesh, primitives


def in_plane(tensor, mesh):
    """The same 2×2 tensor on every face of a mesh at z = 0, as (m, 3, 3)."""
    full = np.zeros((3, 3))
    full[:2, :2] = tensor
    return np.tile(full, (mesh.n_faces, 1, 1))


def turned(angle, slow, fast):
    c, s = np.cos(angle), np.sin(angle)
    rotation2 = np.array([[c, -s], [s, c]])
    return rotation2 @ np.diag([slow, fast]) @ rotation2.T


def relative(a, b):
    return abs(a - b).max() / abs(b).max()


def test_equilateral_triangle():
    mesh = TriMesh([[0, 0, 0], [1, 0, 0], [0.5, np.sqrt(0.75), 0]], [[0, 1, 2]])
    laplacian = finsler.lbo(mesh)
    weight = 0.5 / np.tan(np.pi / 3)
    expected = weight * (3 * np.eye(3) - np.ones((3, 3)))
    assert np.allclose(laplacian.stiffness.toarray(), expected)
    assert np.allclose(laplacian.mass, np.sqrt(0.75) / 2 / 3)


def test_right_triangle_with_an_anisotropic_tensor():
    # Hat gradients (−1, −1), (1, 0), (0, 1), area 1/2: W = ½ G D Gᵀ by hand.
    mesh = TriMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    tensor = np.array([[2.0, 0.5], [0.5, 3.0]])
    gradients = np.array([[-1.0, -1.0], [1.0, 0.0], [0.0, 1.0]])
    found = finsler.laplacian(mesh, in_plane(tensor, mesh)).stiffness.toarray()
    assert np.allclose(found, 0.5 * gradients @ tensor @ gradients.T)


@given(
    angle=st.floats(0, np.pi),
    fast=st.floats(0.1, 10),
    slow=st.floats(0.1, 10),
    direction=st.tuples(st.floats(-1, 1), st.floats(-1, 1)),
)
@settings(max_examples=30, deadline=None)
def test_energy_of_linear_functions_is_exact(angle, fast, slow, direction):
    # ∫ ∇uᵀ D ∇v = area · gᵀ D h for linear u, v on any triangulation: the law that D acts on
    # gradients, in the right direction and sense of rotation.
    mesh = primitives.plane(5, 4, size=(2.0, 1.0), jitter=0.3)
    tensor = turned(angle, slow, fast)
    stiffness = finsler.laplacian(mesh, in_plane(tensor, mesh)).stiffness
    g, h = np.array(direction), np.array([0.3, -0.7])
    u, v = mesh.vertices[:, :2] @ g, mesh.vertices[:, :2] @ h
    assert u @ (stiffness @ v) == pytest.approx(2.0 * g @ tensor @ h, abs=1e-10)


def test_a_tensor_turned_by_90_degrees_is_told_apart():
    mesh = primitives.plane(5, 4, jitter=0.3)
    u = mesh.vertices[:, 0]
    slow_along_x = finsler.laplacian(mesh, in_plane(np.diag([0.1, 1.0]), mesh)).stiffness
    slow_along_y = finsler.laplacian(mesh, in_plane(np.diag([1.0, 0.1]), mesh)).stiffness
    assert u @ (slow_along_x @ u) == pytest.approx(0.1)
    assert u @ (slow_along_y @ u) == pytest.approx(1.0)


def test_albo_slows_the_direction_of_maximal_curvature():
    # On a cylinder û_M runs around the axis; the height z does not vary along it.
    mesh = primitives.cylinder(60, 20, height=2.0)
    z = mesh.vertices[:, 2]
    area = finsler.mesh.surface_area(mesh)
    free = finsler.albo(mesh, alpha=9.0, theta=0.0).stiffness
    slowed = finsler.albo(mesh, alpha=9.0, theta=np.pi / 2).stiffness
    assert z @ (free @ z) == pytest.approx(area, rel=1e-6)
    assert z @ (slowed @ z) == pytest.approx(area / 10.0, rel=1e-6)


def test_theta_turns_counter_clockwise_seen_from_outside():
    mesh = primitives.plane(6, 6, jitter=0.2)
    frames = FaceFrames.from_directions(mesh, np.tile([1.0, 0.0, 0.0], (mesh.n_faces, 1)))
    theta = 0.4
    tensor = turned(theta, 1 / 11, 1.0)
    found = finsler.albo(mesh, alpha=10.0, theta=theta, frames=frames).stiffness
    assert relative(found, finsler.laplacian(mesh, in_plane(tensor, mesh)).stiffness) < 1e-13
    other = finsler.albo(mesh, alpha=10.0, theta=-theta, frames=frames).stiffness
    assert relative(found, other) > 0.1


OPERATORS = {
    "lbo": lambda mesh: finsler.lbo(mesh),
    "albo": lambda mesh: finsler.albo(mesh, theta=0.5),
    "flbo": lambda mesh: finsler.flbo(mesh, tau=0.9, theta=1.0),
}
SHAPES = [
    primitives.bumpy_sphere(7),
    primitives.plane(7, 9, jitter=0.3),
    primitives.torus(14, 9, jitter=0.2),
]


@pytest.mark.parametrize("mesh", SHAPES, ids=repr)
@pytest.mark.parametrize("build", OPERATORS.values(), ids=OPERATORS.keys())
class TestLaws:
    def test_symmetric_semidefinite_with_constants_in_the_kernel(self, mesh, build):
        laplacian = build(mesh)
        dense = laplacian.stiffness.toarray()
        assert np.abs(dense - dense.T).max() < 1e-14 * np.abs(dense).max()
        values = np.linalg.eigvalsh(dense)
        assert values[0] > -1e-12 * values[-1]
        assert values[1] > 1e-4 * values[-1]
        assert np.abs(dense.sum(axis=1)).max() < 1e-12 * values[-1]
        assert (np.diag(dense) > 0).all()

    def test_mass_is_the_area(self, mesh, build):
        laplacian = build(mesh)
        assert laplacian.mass.sum() == pytest.approx(finsler.mesh.surface_area(mesh))
        assert (laplacian.mass > 0).all()

    def test_scaling_rotation_and_numbering(self, mesh, build):
        moved = TriMesh(100.0 * mesh.vertices @ rotation(1).T + 7.0, mesh.faces)
        renamed, old, _ = relabelled(moved, 5)
        here, there = build(mesh), build(renamed)
        assert relative(there.stiffness, here.stiffness[old][:, old]) < 1e-7
        assert np.allclose(there.mass, 1e4 * here.mass[old])

    def test_apply(self, mesh, build):
        laplacian = build(mesh)
        functions = np.random.default_rng(0).standard_normal((mesh.n_vertices, 3))
        expected = (laplacian.stiffness @ functions) / laplacian.mass[:, None]
        assert np.allclose(laplacian.apply(functions), expected)
        assert np.allclose(laplacian.apply(functions[:, 0]), expected[:, 0])


def test_no_anisotropy_and_no_drift_is_the_laplace_beltrami_operator():
    mesh = SHAPES[0]
    assert relative(
        finsler.flbo(mesh, alpha=0.0, tau=0.0).stiffness, finsler.lbo(mesh).stiffness
    ) < (1e-12)


@pytest.mark.parametrize(("axis", "c"), [("max", 1 / 11), ("min", 1.0)])
@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_constant_tau_only_scales_the_albo(axis, c, tau):
    # FLBO(τ) = ALBO / (1 − c τ²): what the paper does not state.
    mesh = SHAPES[0]
    frames = finsler.principal_frames(mesh)
    plain = finsler.albo(mesh, theta=0.3, frames=frames).stiffness
    drifting = finsler.flbo(mesh, tau=tau, theta=0.3, frames=frames, omega_axis=axis).stiffness
    assert relative(drifting * (1 - c * tau**2), plain) < 1e-13


def test_varying_omega_is_not_a_multiple_of_the_albo():
    mesh = SHAPES[0]
    frames = finsler.principal_frames(mesh)
    tau = finsler.tau_of_strength(mesh, finsler.curvature_strength(mesh, peak=0.9))
    plain = finsler.albo(mesh, frames=frames).stiffness
    varying = finsler.flbo(mesh, tau=tau, frames=frames).stiffness
    best = (plain.data @ varying.data) / (plain.data @ plain.data)
    assert relative(best * plain, varying) > 0.1


def test_consistent_mass():
    mesh = SHAPES[1]
    consistent = finsler.consistent_mass(mesh)
    assert np.allclose(consistent.sum(axis=1), finsler.lumped_mass(mesh))
    # ∫ x² over the unit square, exact for the interpolated function: compare quadrature by hand.
    x = mesh.vertices[:, 0]
    corners = x[mesh.faces]
    areas = finsler.mesh.face_areas(mesh)
    exact = areas @ ((corners**2).sum(axis=1) + corners.sum(axis=1) ** 2) / 12
    assert x @ (consistent @ x) == pytest.approx(exact)


def test_bad_meshes_are_refused_with_a_remedy():
    square = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [5, 5, 5]]
    with pytest.raises(finsler.InputError, match=r"vertex 4 belongs to no face .* finsler.repair"):
        finsler.lbo(TriMesh(square, [[0, 1, 2], [0, 2, 3]]))
    with pytest.raises(finsler.InputError, match=r"face 1 has no area .* finsler.repair"):
        finsler.lbo(TriMesh(square, [[0, 1, 2], [0, 2, 2], [0, 3, 4]]))


def test_bad_diffusivities_are_refused():
    mesh = primitives.plane(2, 2)
    with pytest.raises(finsler.InputError, match="must have shape"):
        finsler.laplacian(mesh, np.eye(2))
    for bad in (np.diag([1.0, -1.0, 0.0]), np.full((3, 3), np.nan), np.triu(np.ones((3, 3)))):
        tensors = in_plane(np.eye(2), mesh)
        tensors[3] = bad
        with pytest.raises(finsler.InputError, match="face 3"):
            finsler.laplacian(mesh, tensors)


def test_needles_and_extreme_units_do_not_lose_digits():
    for scale in (1e-9, 1.0, 1e9):
        mesh = TriMesh(scale * np.array([[0, 0, 0], [1, 0, 0], [0.5, 1e-5, 0]]), [[0, 1, 2]])
        stiffness = finsler.lbo(mesh).stiffness.toarray()
        # cot of the flat corner's half angles: exact for this needle.
        tangent = 1e-5 / 0.5
        expected = 0.5 * np.array([1 / tangent, 1 / tangent])
        assert np.allclose([-stiffness[0, 2], -stiffness[1, 2]], expected, rtol=1e-9)


def test_a_laplacian_unpacks_into_two_matrices():
    mesh = primitives.bumpy_sphere(6)
    laplacian = finsler.lbo(mesh)
    W, S = laplacian
    assert W is laplacian.stiffness
    np.testing.assert_array_equal(S.toarray(), np.diag(laplacian.mass))
    values = np.sort(eigsh(W, 4, S, sigma=-1e-3, return_eigenvectors=False))
    np.testing.assert_allclose(values, finsler.spectrum(laplacian, 4).eigenvalues, atol=1e-8)
