import numpy as np
import pytest

import finsler
from finsler import RandersMetric, primitives
from finsler.operator.drift import default_epsilon, skew_drift


def planar(mesh, tensor, omega):
    full = np.eye(3)
    full[:2, :2] = tensor
    return RandersMetric(
        mesh,
        np.tile(full, (mesh.n_faces, 1, 1)),
        np.tile([*omega, 0.0], (mesh.n_faces, 1)),
    )


def curved(mesh, tau=2.0):
    return RandersMetric.from_curvature(mesh, finsler.principal_frames(mesh), tau=tau, theta=0.4)


def test_drift_matrix_is_skew():
    mesh = primitives.bumpy_sphere(6)
    vectors = np.random.default_rng(0).standard_normal((mesh.n_faces, 3))
    matrix = skew_drift(mesh, vectors).toarray()
    assert np.array_equal(matrix, -matrix.T)
    assert abs(matrix).max() > 0.01


def test_drift_differentiates_along_the_wind():
    # (C u)_i = ∫ φ_i ⟨v, ∇u⟩ for constant v away from the boundary, exact for linear u.
    mesh = primitives.plane(8, 8, jitter=0.3)
    wind = np.tile([0.3, -0.8, 0.0], (mesh.n_faces, 1))
    u = 2.0 * mesh.vertices[:, 0] + 5.0 * mesh.vertices[:, 1]
    inner = (np.abs(mesh.vertices[:, :2] - 0.5) < 0.49).all(axis=1)
    found = skew_drift(mesh, wind) @ u
    expected = (0.3 * 2.0 - 0.8 * 5.0) * finsler.lumped_mass(mesh)
    assert np.allclose(found[inner], expected[inner])


@pytest.mark.parametrize("mesh", [primitives.bumpy_sphere(6), primitives.plane(6, 6, jitter=0.2)])
def test_turning_omega_round_transposes_the_operator(mesh):
    metric = curved(mesh) if len(finsler.mesh.boundary_loops(mesh)) == 0 else planar(
        mesh, np.eye(2), [0.4, 0.3]
    )  # fmt: skip
    there = finsler.drift_operator(metric)
    back = finsler.drift_operator(metric.reversed())
    assert there.epsilon == back.epsilon
    assert abs(there.matrix.T - back.matrix).max() < 1e-14 * abs(there.matrix).max()
    assert abs(there.matrix - back.matrix).max() > 1e-3 * abs(there.matrix).max()


def test_symmetric_metric_has_no_drift():
    mesh = primitives.bumpy_sphere(6)
    made = finsler.drift_operator(curved(mesh, tau=0.0), epsilon=0.1)
    expected = made.laplacian.stiffness * 0.01 + np.diag(made.laplacian.mass)
    assert np.allclose(made.matrix.toarray(), expected)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_solution_decays_with_the_randers_distance(sign):
    # A thin tube with the source all around its lower end: u = exp(−(1 + ω) z / ε).
    mesh = primitives.cylinder(8, 160, radius=0.02, height=2.0)
    eye = np.tile(np.eye(3), (mesh.n_faces, 1, 1))
    metric = RandersMetric(mesh, eye, np.tile([0.0, 0.0, 0.5 * sign], (mesh.n_faces, 1)))
    made = finsler.drift_operator(metric, epsilon=0.05)
    height = mesh.vertices[:, 2]
    u = np.linalg.solve(made.matrix.toarray(), (height == 0.0).astype(float))
    assert (u > 0).all()
    middle = (height > 0.3) & (height < 1.5)
    decay = np.polyfit(height[middle], -0.05 * np.log(u[middle]), 1)[0]
    assert decay == pytest.approx(1.0 + 0.5 * sign, rel=0.02)


def test_default_epsilon_follows_size_and_resolution():
    coarse, fine = primitives.sphere(8), primitives.sphere(64)
    isotropic = RandersMetric.isotropic
    ratio = default_epsilon(isotropic(coarse)) / default_epsilon(isotropic(fine))
    assert ratio == pytest.approx(8 ** (2 / 3), rel=0.02)
    large = primitives.sphere(8, radius=100.0)
    assert default_epsilon(isotropic(large)) == pytest.approx(
        100.0 * default_epsilon(isotropic(coarse))
    )


@pytest.mark.parametrize("epsilon", [0.0, -1.0, np.nan, np.inf])
def test_bad_epsilon_is_refused(epsilon):
    mesh = primitives.sphere(2)
    with pytest.raises(finsler.InputError, match="epsilon is"):
        finsler.drift_operator(RandersMetric.isotropic(mesh), epsilon=epsilon)
