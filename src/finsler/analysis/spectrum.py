"""The low end of a Laplacian's spectrum."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, sparse
from scipy.sparse import csgraph

from finsler.analysis.lanczos import block_lanczos
from finsler.compute.memory import choose
from finsler.errors import ConvergenceError, InputError
from finsler.mesh.arguments import checked, require_positive, require_seed, vertex_functions
from finsler.mesh.summary import one_line
from finsler.operator.laplacian import Laplacian
from finsler.solvers import factorise, iterate
from finsler.typing import FloatArray

_BLOCK = 8
# The least tolerance of the iterative solver, whose systems are solved to a hundredth of it.
_ITERATIVE_TOLERANCE = 1e-8
# Of a row's sum, relative to its entries.
_ROUNDING = 1e-12
# Residual ‖Wφ − λSφ‖_{S⁻¹} relative to the largest eigenvalue asked for, above which we give up.
_WORST_RESIDUAL = 1e-5


@dataclass(frozen=True, eq=False)
class EigenPairs:
    """Eigenvalues (k,), ascending, and vectors (n, k) that are orthonormal in the mass."""

    values: FloatArray
    vectors: FloatArray


# Gives the k smallest pairs of a connected surface, from its stiffness and mass.
PairSolver = Callable[[sparse.csr_array, sparse.csr_array, int], EigenPairs]


@one_line("eigenvalues", "eigenvectors", "solver")
@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenpairs W φ = λ S φ, smallest first.

    Attributes
    ----------
    eigenvalues : (k,)
        Ascending. The first of each connected component is exactly zero where the rows of W sum
        to zero, as they do for every operator of this package.
    eigenvectors : (n, k)
        Columns φ_i with Φᵀ S Φ = I. The entry of largest magnitude is positive (the first of
        those that tie), so repeated runs agree in sign.
    mass : (n,) or (n, n) sparse
        The S in which they are orthonormal.
    residuals : (k,)
        ‖Wφ − λSφ‖ / λ_k, in the norm of the inverse (lumped) mass.
    solver : {"direct", "iterative", "dense"}
        How systems were solved on the way.
    """

    eigenvalues: FloatArray
    eigenvectors: FloatArray
    mass: FloatArray | sparse.csr_array
    residuals: FloatArray
    solver: str = "direct"

    @checked
    def coefficients(self, functions: ArrayLike) -> FloatArray:
        """Fourier coefficients Φᵀ S f, (k,) of a function (n,) or (k, c) of functions (n, c).

        Raises
        ------
        InputError
            Wrong shape, or values that are not finite.
        """
        f = vertex_functions(functions, len(self.eigenvectors))
        weighted = self.mass @ f if sparse.issparse(self.mass) else scaled_rows(self.mass, f)
        return np.asarray(self.eigenvectors.T @ weighted)

    @checked
    def synthesise(self, coefficients: ArrayLike) -> FloatArray:
        """The function Φ c, (n,) or (n, c), with the given coefficients (k,) or (k, c).

        Undoes [`coefficients`][finsler.analysis.spectrum.Spectrum.coefficients] for functions in
        the span of the basis, and in that order projects any function onto it, orthogonally in S.

        Raises
        ------
        InputError
            Not k coefficients.
        """
        c = np.asarray(coefficients, dtype=np.float64)
        k = len(self.eigenvalues)
        if c.ndim not in (1, 2) or len(c) != k:
            raise InputError(f"coefficients must have shape ({k},) or ({k}, c), not {c.shape}")
        return np.asarray(self.eigenvectors @ c)


def scaled_rows(weights: FloatArray, rows: FloatArray) -> FloatArray:
    """Rows of (k,) or (k, c) times their weights (k,)."""
    return (weights * rows.T).T


@checked
def spectrum(
    laplacian: Laplacian,
    k: int = 100,
    *,
    mass: sparse.csr_array | None = None,
    tolerance: float = 1e-9,
    seed: int = 0,
    solver: str = "auto",
) -> Spectrum:
    """The k smallest eigenpairs of a Laplacian.

    Shift-and-invert and a block Lanczos iteration; a dense solver where k is close to n. Connected
    components are solved one by one, so that equal eigenvalues of equal pieces are not missed.
    Works in any unit of length.

    Parameters
    ----------
    laplacian : Laplacian
    k : int
        1 ≤ k ≤ n.
    mass : (n, n) sparse, optional
        Another mass, e.g. [`consistent_mass`][finsler.operator.consistent_mass], instead of the
        lumped one of the Laplacian.
    tolerance, seed : float, int
        Relative residual of the inverted operator at which a pair counts as converged, eigenvalue
        errors being of the order of its square; and of the random start.
    solver : {"auto", "direct", "iterative"}
        "iterative" takes no factor but conjugate gradients, several times longer; eigenvalues agree
        to 1e-9 of the largest, tolerances below 1e-8 are raised to that. "auto" is direct where
        that fits into memory.

    Raises
    ------
    InputError
        k out of range or too large for the free memory; matrices not finite or semidefinite.
    ConvergenceError
        Some pairs did not converge, or their residual is too large to be of use.

    Examples
    --------
    >>> from finsler.mesh import primitives
    >>> from finsler.operator import lbo
    >>> (spectrum(lbo(primitives.sphere(20)), k=9).eigenvalues.round(1) + 0.0).tolist()
    [0.0, 2.0, 2.0, 2.0, 6.0, 6.0, 6.0, 6.0, 6.0]
    """
    require_seed(seed)
    require_positive(tolerance, "tolerance")
    require_pencil(laplacian, k, mass)
    name = choose("spectrum", len(laplacian.mass), solver, k=k)
    solve = functools.partial(_solved, solver=name, tolerance=tolerance, seed=seed)
    return spectrum_by(solve, laplacian, k, mass=mass, name=name)


def spectrum_by(
    solve: PairSolver,
    laplacian: Laplacian,
    k: int,
    *,
    mass: sparse.csr_array | None = None,
    name: str,
) -> Spectrum:
    """The spectrum from a solver of that name, which is asked for one component at a time.

    The operands are those that `require_pencil` lets pass.
    """
    masses = sparse.csr_array(sparse.diags_array(laplacian.mass) if mass is None else mass)
    stiffness, used = laplacian.stiffness, laplacian.mass if mass is None else masses
    # A unit of area near that of the mesh, and a power of 4, so that no digit changes.
    unit = 4.0 ** np.round(0.5 * np.log2(laplacian.mass.mean()))
    masses, lumped = masses / unit, laplacian.mass / unit
    pairs = _by_component(stiffness, masses, k, solve)
    _fix_signs(pairs.vectors)
    norms = _residuals(stiffness, masses, lumped, pairs)
    residuals = norms / max(float(pairs.values[-1]), _shift(stiffness, masses))
    _require_converged(residuals)
    values, vectors = pairs.values / unit, pairs.vectors / np.sqrt(unit)
    return Spectrum(values, vectors, used, residuals, name)


def require_pencil(laplacian: Laplacian, k: int, mass: sparse.csr_array | None = None) -> None:
    """Raise unless W and S have k eigenpairs."""
    n, stiffness = len(laplacian.mass), laplacian.stiffness
    if not 1 <= k <= n:
        raise InputError(f"k is {k}; it must lie in 1..{n}, the number of vertices")
    if mass is not None and mass.shape != stiffness.shape:
        raise InputError(f"the mass has shape {mass.shape}, the stiffness {stiffness.shape}")
    if not (np.isfinite(stiffness.data).all() and (laplacian.mass > 0).all()):
        raise InputError(
            "the Laplacian has entries that are not finite, or a mass that is not positive"
        )


def _require_converged(residuals: FloatArray) -> None:
    if not (residuals <= _WORST_RESIDUAL).all():
        worst = int(np.argmax(residuals))
        raise ConvergenceError(
            f"eigenpair {worst} has relative residual {residuals[worst]:.1e}, above"
            f" {_WORST_RESIDUAL:.0e}; the mesh probably has needle-like faces: finsler.repair, or"
            " remesh it"
        )


def _by_component(
    stiffness: sparse.csr_array, mass: sparse.csr_array, k: int, solve: PairSolver
) -> EigenPairs:
    """Smallest k pairs overall: each component's share by area, more where that was too few."""
    links = sparse.csr_array(
        (np.ones(stiffness.nnz), stiffness.indices, stiffness.indptr), stiffness.shape
    )
    count, label = csgraph.connected_components(links, directed=False)
    if count == 1:
        return _connected(stiffness, mass, k, solve)
    order = np.argsort(label, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(label))[:-1])
    weight = np.asarray(mass.sum(axis=1)).ravel()
    share = np.array([weight[part].sum() for part in members]) / weight.sum()
    wanted = [min(len(part), k, int(k * s) + 4) for part, s in zip(members, share, strict=True)]
    solved: list[EigenPairs | None] = [None] * count
    while True:
        for c, part in enumerate(members):
            pairs = solved[c]
            if pairs is None or len(pairs.values) < wanted[c]:
                local, weights = stiffness[part][:, part], mass[part][:, part]
                solved[c] = _connected(local, weights, wanted[c], solve)
        done = [pairs for pairs in solved if pairs is not None]
        values = np.sort(np.concatenate([pairs.values for pairs in done]))
        # A component whose last computed value lies below the cut may hide further ones below it.
        cut = values[k - 1] if len(values) >= k else np.inf
        short = [
            c
            for c, pairs in enumerate(done)
            if pairs.values[-1] <= cut and len(pairs.values) < min(k, len(members[c]))
        ]
        if not short:
            return _merged(done, members, k, stiffness.shape[0])
        for c in short:
            wanted[c] = min(2 * wanted[c], k, len(members[c]))


def _merged(
    solved: list[EigenPairs],
    members: list[np.ndarray[tuple[int], np.dtype[np.intp]]],
    k: int,
    n: int,
) -> EigenPairs:
    values = np.concatenate([pairs.values for pairs in solved])
    component = np.repeat(np.arange(len(solved)), [len(pairs.values) for pairs in solved])
    column = np.concatenate([np.arange(len(pairs.values)) for pairs in solved])
    chosen = np.argsort(values, kind="stable")[:k]
    vectors = np.zeros((n, k))
    for position, pair in enumerate(chosen):
        c = component[pair]
        vectors[members[c], position] = solved[c].vectors[:, column[pair]]
    return EigenPairs(values[chosen], vectors)


def _connected(
    stiffness: sparse.csr_array, mass: sparse.csr_array, k: int, solve: PairSolver
) -> EigenPairs:
    pairs = solve(stiffness, mass, k)
    rows, sizes = np.asarray(stiffness.sum(axis=1)), np.asarray(abs(stiffness).sum(axis=1))
    if (np.abs(rows) <= _ROUNDING * sizes).all():
        # Constants are in the kernel; what is found instead of zero is rounding, of either sign.
        pairs.values[0] = 0.0
    return pairs


def _solved(
    stiffness: sparse.csr_array,
    mass: sparse.csr_array,
    k: int,
    *,
    solver: str,
    tolerance: float,
    seed: int,
) -> EigenPairs:
    n = stiffness.shape[0]
    if n <= 300 or 3 * k + 24 * _BLOCK > n:
        values, vectors = linalg.eigh(
            stiffness.toarray(), mass.toarray(), subset_by_index=[0, k - 1]
        )
        return EigenPairs(values, vectors)
    shift = _shift(stiffness, mass)
    system = sparse.csr_array(stiffness + shift * mass)
    if solver == "direct":
        solve = factorise(system)
    else:
        tolerance = max(tolerance, _ITERATIVE_TOLERANCE)
        solve = iterate(system, tolerance=0.01 * tolerance)
    ritz = block_lanczos(
        solve, lambda x: mass @ x, n, k, block=_BLOCK, tolerance=tolerance, seed=seed
    )
    return EigenPairs(1.0 / ritz.values - shift, ritz.vectors)


def _shift(stiffness: sparse.csr_array, mass: sparse.csr_array) -> float:
    """A small positive number of the order of the first nonzero eigenvalue, in any unit.

    The median of diag(W)/diag(S) goes with 1/h², so divided by n it goes with 1/area; the median
    does not mind a few needle-like faces.
    """
    return float(0.1 * np.median(stiffness.diagonal() / mass.diagonal()) / stiffness.shape[0])


def _residuals(
    stiffness: sparse.csr_array, mass: sparse.csr_array, lumped: FloatArray, pairs: EigenPairs
) -> FloatArray:
    """‖Wφ − λSφ‖ of each pair, a few columns at a time."""
    norms = np.empty(len(pairs.values))
    for start in range(0, len(norms), _BLOCK):
        few = slice(start, start + _BLOCK)
        phi = pairs.vectors[:, few]
        residual = stiffness @ phi - mass @ (phi * pairs.values[few])
        norms[few] = np.sqrt(np.einsum("ij,ij,i->j", residual, residual, 1.0 / lumped))
    return norms


def _fix_signs(vectors: FloatArray) -> None:
    for column in vectors.T:
        size = np.abs(column)
        leading = np.argmax(size >= (1.0 - 1e-6) * size.max())
        if column[leading] < 0.0:
            column *= -1.0
