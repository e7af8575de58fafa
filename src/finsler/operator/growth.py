"""How much Chebyshev polynomials of operators that are not self-adjoint can grow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import linalg

from finsler.errors import ConvergenceError, InputError
from finsler.mesh.arguments import checked, vertex_functions
from finsler.typing import FloatArray

# Accuracy of the eigenvalues, added to them.
_MARGIN = 1e-5


def numerical_range(
    operator: sparse.csr_array, mass: FloatArray, *, directions: int = 32
) -> NDArray[np.complex128]:
    """Corners (directions,) of a polygon around {⟨Lu, u⟩_S : ‖u‖_S = 1}, in the complex plane.

    The half-plane on which the polygon rests in direction φ is bounded by the largest eigenvalue of
    the Hermitian part of e^{−iφ} L; it is symmetric about the real axis, L being real.

    Raises
    ------
    ConvergenceError
        An eigenvalue did not converge.
    """
    if directions < 4 or directions % 2:
        raise InputError(f"directions is {directions}; it must be even and at least 4")
    half = np.sqrt(_checked_mass(mass, operator))
    similar = sparse.diags_array(half) @ operator @ sparse.diags_array(1.0 / half)
    even, odd = 0.5 * (similar + similar.T), 0.5 * (similar - similar.T)
    phi = 2.0 * np.pi * np.arange(directions) / directions
    upper = np.array([_top(even, odd, angle) for angle in phi[: directions // 2 + 1]])
    support = np.r_[upper, upper[-2:0:-1]]
    step = phi[1]
    along = (np.roll(support, -1) - support * np.cos(step)) / np.sin(step)
    return np.asarray(np.exp(1j * phi) * (support + 1j * along))


@checked
def growth_bound(
    operator: sparse.csr_array, mass: FloatArray, order: int, *, directions: int = 32
) -> float:
    """A bound on ‖T_s(L̂)‖_S for all s ≤ order: ρ^order, 1 for a self-adjoint L̂ in [−1, 1].

    ρ ≥ 1 is the sum of the half axes of the smallest ellipse with foci ±1 around the numerical
    range of L̂. Its Faber polynomials are 2 ρ^{−s} T_s, and their norm is at most 2 (Beckermann,
    C. R. Math. 340, 2005, theorem 1).

    Parameters
    ----------
    operator : (n, n) sparse
        L̂, e.g. `chebyshev_operators(stack)[k]`.
    mass : (n,)
    order : int

    Examples
    --------
    >>> growth_bound(sparse.csr_array([[0.5, 0.1], [0.1, -0.5]]), np.ones(2), 15)
    1.0
    """
    mass = _checked_mass(mass, operator)
    flux = sparse.diags_array(mass) @ operator
    if abs(flux - flux.T).max() <= 1e-13 * abs(flux).max():
        ends = numerical_range(operator, mass, directions=4).real
        return float(np.cosh(order * np.arccosh(max(1.0, np.abs(ends).max() - _MARGIN))))
    corners = numerical_range(operator, mass, directions=directions)
    root = np.sqrt(corners**2 - 1.0)
    return float(np.maximum(np.abs(corners + root), np.abs(corners - root)).max()) ** order


def _checked_mass(mass: FloatArray, operator: sparse.csr_array) -> FloatArray:
    given = vertex_functions(mass, operator.shape[0], "mass")
    if given.ndim != 1 or not (given > 0.0).all():
        raise InputError("mass must hold one positive number a vertex")
    return given


def _top(even: sparse.csr_array, odd: sparse.csr_array, angle: float) -> float:
    """Largest eigenvalue of cos φ H − i sin φ K, H symmetric and K skew."""
    matrix = np.cos(angle) * even - 1j * np.sin(angle) * odd
    n = matrix.shape[0]
    if n <= 100:
        return float(np.linalg.eigvalsh(matrix.toarray())[-1])
    start = np.random.default_rng(0).standard_normal(n).astype(np.complex128)
    try:
        top = linalg.eigsh(matrix.tocsr(), k=1, which="LA", v0=start, tol=_MARGIN)[0]
    except linalg.ArpackNoConvergence as error:
        raise ConvergenceError(f"the numerical range did not converge: {error}") from error
    return float(top[0]) + _MARGIN
