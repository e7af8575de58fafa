"""Rescaling operators to [−1, 1], where Chebyshev polynomials live (ACSCNN; paper section 5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigvalsh_tridiagonal
from scipy.sparse import linalg

from finsler.compute.memory import require
from finsler.errors import ConvergenceError, InputError
from finsler.mesh.arguments import checked, require_seed
from finsler.mesh.summary import one_line
from finsler.operator.angles import AngleStack
from finsler.typing import FloatArray

NORMALIZATIONS = ("acscnn", "reference", "plain")
# Accepted probability that the Lanczos bound is too small.
_FAILURE = 1e-6


@one_line("theta", "values", "lambda_max")
@dataclass(frozen=True, eq=False)
class ChebyshevOperators:
    """Operators L̂_θ with spectrum in [−1, 1], on the pattern of the stack they come from.

    L̂ acts on functions, so it is self-adjoint in the mass (but for a drift), not symmetric as an
    array.

    Attributes
    ----------
    theta : (a,)
    indptr, indices : (n + 1,), (nnz,) int32
    values : (a, nnz)
    lambda_max : (a,)
        The bound on the largest eigenvalue that was divided by.
    """

    theta: FloatArray
    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    values: FloatArray
    lambda_max: FloatArray

    def __len__(self) -> int:
        return len(self.theta)

    def __getitem__(self, angle: int) -> sparse.csr_array:
        """L̂ at one angle as a sparse matrix."""
        n = len(self.indptr) - 1
        return sparse.csr_array((self.values[angle], self.indices, self.indptr), shape=(n, n))


@checked
def chebyshev_operators(
    stack: AngleStack, *, normalization: str = "acscnn", bound: str = "lanczos"
) -> ChebyshevOperators:
    """L̂ = 2 L'/λ_max − I, L' = S⁻¹ N (W + C) N, per angle; C = 0 but for directed operators.

    N and λ_max are those of W. A drift moves the spectrum from [−1, 1] into an ellipse around it,
    see [`growth_bound`][finsler.operator.growth_bound].

    Parameters
    ----------
    stack : AngleStack
    normalization : {"acscnn", "reference", "plain"}
        N = diag(S⁻¹W)^(−1/2) ("acscnn", the authors': evens out face sizes, and also hides where
        ω is strong); the same from the operator at ω = 0 ("reference": keeps what ω does); or I.
    bound : {"lanczos", "gershgorin", "converged"}
        How λ_max is bounded, see [`largest_eigenvalue`][finsler.operator.largest_eigenvalue].

    Raises
    ------
    InputError
        An unknown normalization or bound, or more memory is needed than is free.
    """
    if normalization not in NORMALIZATIONS:
        raise InputError(
            f'normalization must be "acscnn", "reference" or "plain", not {normalization!r}'
        )
    n = len(stack.mass)
    require("chebyshev", n, angles=len(stack))
    rows = np.repeat(np.arange(n), np.diff(stack.indptr))
    values = np.empty_like(stack.values)
    lambda_max = np.empty(len(stack))
    half = np.sqrt(stack.mass)
    for angle, stiffness in enumerate(stack.values):
        if normalization == "plain":
            scale = np.ones(n)
        else:
            own = normalization == "acscnn"
            diagonal = stiffness[stack.diagonal] if own else stack.reference_diagonal[angle]
            scale = np.sqrt(stack.mass / diagonal)
        # S^(-1/2) N W N S^(-1/2): symmetric, same eigenvalues as S^(-1) N W N.
        weight = scale / half
        symmetric = stiffness * weight[rows] * weight[stack.indices]
        matrix = sparse.csr_array((symmetric, stack.indices, stack.indptr), shape=(n, n))
        lambda_max[angle] = largest_eigenvalue(matrix, bound=bound)
        if stack.drift is not None:
            # C becomes skew in the same way, so that N and λ_max are those of W.
            symmetric += stack.drift[angle] * weight[rows] * weight[stack.indices]
        values[angle] = symmetric * (2.0 / lambda_max[angle])
        values[angle] *= half[stack.indices] / half[rows]
        values[angle, stack.diagonal] -= 1.0
    return ChebyshevOperators(stack.theta, stack.indptr, stack.indices, values, lambda_max)


@checked
def largest_eigenvalue(
    matrix: sparse.csr_array, *, bound: str = "lanczos", steps: int = 50, seed: int = 0
) -> float:
    """An upper bound on the largest eigenvalue of a symmetric positive semidefinite matrix.

    - "gershgorin": the largest row sum of absolute values. Always safe, one pass over the matrix,
      up to 40% too large on meshes.
    - "lanczos": the largest Ritz value θ after `steps` Lanczos steps from a random start, divided
      by 1 − ε with ε = (ln(1.648 √n / p) / (2 steps − 1))². By Kuczyński and Woźniakowski (1992,
      theorem 4.2) that is too small with probability below p = 1e-6, whatever the matrix; 50 steps
      make it 3 to 5% too large. Never above Gershgorin. `steps` products with the matrix.
    - "converged": the eigenvalue itself to 1e-12, hundreds of products.

    An eigenvalue outside [−1, 1] after rescaling is not harmless: T_15 grows by a factor of 15
    where λ_max was taken 1.3% too small, as 20 Lanczos steps and their residual can.
    """
    if bound not in ("lanczos", "gershgorin", "converged"):
        raise InputError(f'bound must be "lanczos", "gershgorin" or "converged", not {bound!r}')
    require_seed(seed)
    n = matrix.shape[0]
    gershgorin = float(abs(matrix).sum(axis=1).max())
    if bound == "gershgorin":
        return gershgorin
    if n <= 2 * steps:
        return float(np.linalg.eigvalsh(matrix.toarray())[-1]) * (1.0 + 1e-12)
    start = np.random.default_rng(seed).standard_normal(n)
    if bound == "lanczos":
        short = lanczos_margin(n, steps)
        ritz = _largest_ritz_value(matrix, start, steps)
        return float(min(gershgorin, ritz / max(1.0 - short, 1e-3)))
    try:
        top = linalg.eigsh(matrix, k=1, which="LA", v0=start, tol=1e-13, maxiter=100_000)[0]
    except linalg.ArpackNoConvergence as error:
        raise ConvergenceError(f"the largest eigenvalue did not converge: {error}") from error
    return float(top[0])


def lanczos_margin(n: int, steps: int) -> float:
    """ε of the bound above: the share by which the largest Ritz value may be too small."""
    return float((np.log(1.648 * np.sqrt(n) / _FAILURE) / (2 * steps - 1)) ** 2)


def _largest_ritz_value(matrix: sparse.csr_array, start: FloatArray, steps: int) -> float:
    """Largest eigenvalue of the Lanczos tridiagonal matrix.

    Without reorthogonalisation: lost orthogonality repeats Ritz values but does not move the
    extreme ones, and three vectors of storage are enough.
    """
    alpha, beta = np.zeros(steps), np.zeros(steps)
    before, vector = np.zeros_like(start), start / np.linalg.norm(start)
    for step in range(steps):
        image = matrix @ vector - (beta[step - 1] if step else 0.0) * before
        alpha[step] = vector @ image
        image -= alpha[step] * vector
        beta[step] = np.linalg.norm(image)
        if beta[step] <= 1e-14 * np.abs(alpha).max():
            steps = step + 1
            break
        before, vector = vector, image / beta[step]
    values = eigvalsh_tridiagonal(alpha[:steps], beta[: steps - 1])
    return float(values[-1])
