import numpy as np
import pytest

import finsler
from finsler import primitives

MESH = primitives.bumpy_sphere(8)
FRAMES = finsler.principal_frames(MESH)
NORMALIZATIONS = ["acscnn", "reference", "plain"]


def stack(tau=0.3):
    return finsler.angle_stack(MESH, tau=tau, angles=3, frames=FRAMES)


def symmetric(operators, angle, mass):
    """S^(1/2) L̂ S^(−1/2), which must be symmetric."""
    half = np.sqrt(mass)
    return half[:, None] * operators[angle].toarray() / half[None, :]


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
@pytest.mark.parametrize("bound", ["lanczos", "gershgorin", "converged"])
def test_spectrum_lies_in_minus_one_to_one(normalization, bound):
    laplacians = stack()
    operators = finsler.chebyshev_operators(laplacians, normalization=normalization, bound=bound)
    for angle in range(3):
        matrix = symmetric(operators, angle, laplacians.mass)
        assert np.allclose(matrix, matrix.T, atol=1e-12)
        values = np.linalg.eigvalsh(0.5 * (matrix + matrix.T))
        assert values[0] >= -1 - 1e-9 and values[-1] <= 1 + 1e-9
        if bound == "converged":
            assert values[-1] == pytest.approx(1.0, abs=1e-9)


def test_plain_is_the_scaled_operator():
    laplacians = stack()
    operators = finsler.chebyshev_operators(laplacians, normalization="plain")
    dense = laplacians[1].stiffness.toarray() / laplacians.mass[:, None]
    expected = 2 * dense / operators.lambda_max[1] - np.eye(MESH.n_vertices)
    assert np.allclose(operators[1].toarray(), expected)


def test_what_omega_does_after_rescaling():
    varying = finsler.tau_of_strength(MESH, finsler.curvature_strength(MESH, peak=0.9))

    def change(tau, normalization):
        before, after = (
            finsler.chebyshev_operators(stack(t), normalization=normalization, bound="converged")
            for t in (0.0, tau)
        )
        return np.linalg.norm(after.values - before.values) / np.linalg.norm(before.values)

    # A constant τ is cancelled by "acscnn" and "plain".
    assert change(0.9, "acscnn") < 1e-10
    assert change(0.9, "plain") < 1e-10
    # A varying one is nearly cancelled by "acscnn" and kept by the others.
    assert change(varying, "acscnn") < 0.05
    assert change(varying, "reference") > 0.1
    assert change(varying, "plain") > 0.1


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "mesh",
    [
        primitives.bumpy_sphere(12),
        primitives.plane(25, 25, jitter=0.4),
        primitives.torus(50, 20, jitter=0.4),
        primitives.cylinder(120, 4),
    ],
    ids=repr,
)
def test_bounds_are_safe(mesh, seed):
    laplacian = finsler.lbo(mesh)
    half = 1.0 / np.sqrt(laplacian.mass)
    matrix = laplacian.stiffness.multiply(half[:, None]).multiply(half[None, :]).tocsr()
    exact = np.linalg.eigvalsh(matrix.toarray())[-1]
    lanczos = finsler.largest_eigenvalue(matrix, seed=seed)
    gershgorin = finsler.largest_eigenvalue(matrix, bound="gershgorin")
    assert exact <= lanczos <= gershgorin
    assert lanczos < 1.06 * exact
    converged = finsler.largest_eigenvalue(matrix, bound="converged", seed=seed)
    assert converged == pytest.approx(exact, rel=1e-10)


def test_refusals():
    with pytest.raises(finsler.InputError, match="normalization must be"):
        finsler.chebyshev_operators(stack(), normalization="none")
    with pytest.raises(finsler.InputError, match="bound must be"):
        finsler.chebyshev_operators(stack(), bound="power")
