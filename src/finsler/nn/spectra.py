"""Spectra on an accelerator: dense inverses, and subspaces filtered by polynomials of them."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from finsler.analysis.spectrum import EigenPairs, Spectrum, require_pencil, spectrum_by
from finsler.errors import ConvergenceError, InputError
from finsler.mesh.arguments import checked, require_positive, require_seed, require_whole
from finsler.operator.laplacian import Laplacian
from finsler.typing import FloatArray

# Vectors beside those that are wanted, as a share of them, and at least.
_MORE, _LEAST = 0.3, 16
# Filters at most, and degrees of them.
_FILTERS, _DEGREES = 40, (2, 60)
# Where filters cut: so far from the last wanted pair to the last vector, and at a guess only where
# that is this share of the last wanted value or less.
_CUT, _BELOW = 0.8, 0.95
# How much more a filter may amplify the first vector than the last one that is wanted, beyond which
# rounding hides the latter: where all vectors are mixed, and where they are nearly sorted.
_MIXED, _SORTED = 2e7, 1e13
# Filters aim at this share of the tolerance.
_MARGIN = 0.03
# Rounding of a Gram matrix, as a share of its trace.
_ROUNDING = 1e-14
# Rows up to which a triangle is inverted by substitution.
_TRIANGLE = 768
# Matrices of n x n that are held at once.
_MATRICES = 3


@checked
def spectrum_torch(
    laplacian: Laplacian,
    k: int = 100,
    *,
    device: torch.device | str = "cuda",
    tolerance: float = 1e-9,
    seed: int = 0,
) -> Spectrum:
    """[`spectrum`][finsler.spectrum] for an accelerator, in double precision, lumped mass.

    The inverse of the shifted operator is formed as a dense matrix, which an accelerator multiplies
    faster than it solves sparse systems; a subspace of 1.3 k vectors is filtered by Chebyshev
    polynomials of it. For meshes of some 20,000 vertices and fewer; on a processor the sparse
    solver is faster.

    Parameters
    ----------
    laplacian : Laplacian
    k : int
        1 ≤ k ≤ n.
    device : torch.device or str
    tolerance, seed : float, int
        Relative residual of the inverted operator at which a pair counts as converged; and of the
        random start.

    Raises
    ------
    InputError
        k out of range, matrices not finite or semidefinite, or too large for the device.
    ConvergenceError
        Some pairs did not converge.

    Examples
    --------
    >>> from finsler import lbo, primitives
    >>> values = spectrum_torch(lbo(primitives.sphere(20)), 9, device="cpu").eigenvalues
    >>> (values.round(1) + 0.0).tolist()
    [0.0, 2.0, 2.0, 2.0, 6.0, 6.0, 6.0, 6.0, 6.0]
    """
    require_positive(tolerance, "tolerance")
    require_seed(seed)
    require_pencil(laplacian, k)
    place = torch.device(device)
    solve = functools.partial(_pairs, device=place, tolerance=tolerance, seed=seed)
    return spectrum_by(solve, laplacian, k, name="dense")


@checked
def spectra_torch(
    laplacians: Sequence[Laplacian],
    k: int = 100,
    *,
    device: torch.device | str = "cuda",
    at_once: int = 4,
    tolerance: float = 1e-9,
    seed: int = 0,
) -> list[Spectrum]:
    """[`spectrum_torch`][finsler.nn.spectrum_torch] of several operators, some of them at a time.

    Each of them has a thread and a queue of the device to itself, so that the device works on one
    while the processor works on another. On a processor they are solved one after the other.

    Parameters
    ----------
    laplacians : sequence of Laplacian
    k, device, tolerance, seed
        As for one of them.
    at_once : int
        Operators that are worked on at a time; fewer where the device has no room for so many.

    Raises
    ------
    InputError, ConvergenceError
        As for one of them, or at_once below 1.

    Examples
    --------
    >>> from finsler import lbo, primitives
    >>> operators = [lbo(primitives.sphere(12, radius=r)) for r in (1.0, 2.0)]
    >>> found = spectra_torch(operators, 4, device="cpu")
    >>> [(each.eigenvalues.round(1) + 0.0).tolist() for each in found]
    [[0.0, 2.0, 2.0, 2.0], [0.0, 0.5, 0.5, 0.5]]
    """
    require_whole(at_once, 1, 1000, "at_once")
    place = torch.device(device)

    def solved(laplacian: Laplacian) -> Spectrum:
        return spectrum_torch(laplacian, k, device=place, tolerance=tolerance, seed=seed)

    if place.type != "cuda" or len(laplacians) < 2:
        return [solved(laplacian) for laplacian in laplacians]
    largest = max(len(laplacian.mass) for laplacian in laplacians)
    count = max(1, min(at_once, len(laplacians), _free(place) // _needed(largest)))
    streams = iter([_stream(place, number) for number in range(count)])

    def own_stream() -> None:
        torch.cuda.set_stream(next(streams))

    with ThreadPoolExecutor(count, initializer=own_stream) as pool:
        return list(pool.map(solved, laplacians))


@functools.cache
def _stream(device: torch.device, number: int) -> torch.cuda.Stream:
    """The same streams in every call, since each of them keeps the memory that it has once used."""
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]


def _pairs(
    stiffness: sparse.csr_array,
    mass: sparse.csr_array,
    k: int,
    *,
    device: torch.device,
    tolerance: float,
    seed: int,
) -> EigenPairs:
    """The k smallest pairs of a connected surface."""
    n = stiffness.shape[0]
    _require_room(n, device)
    root = torch.as_tensor(1.0 / np.sqrt(mass.diagonal()), device=device)
    size = k + max(_LEAST, math.ceil(_MORE * k))
    matrix = _dense(stiffness, root)
    if 2 * size > n:
        values, vectors = torch.linalg.eigh(matrix)
        return EigenPairs(*_on_host(values[:k].cpu().numpy(), vectors[:, :k], root))
    # About λ_k by Weyl's law, so that the inverse has eigenvalues of one order of magnitude.
    shift = 4.0 * math.pi * k / float(mass.diagonal().sum())
    matrix.diagonal().add_(shift)
    _invert(matrix)
    generator = torch.Generator(device).manual_seed(seed)
    start = torch.randn(n, size, dtype=matrix.dtype, device=device, generator=generator)
    largest, vectors = _largest(matrix, start, k, top=1.0 / shift, tolerance=tolerance)
    return EigenPairs(*_on_host(1.0 / largest - shift, vectors, root))


def _free(device: torch.device) -> int:
    """Bytes of a device that can be had, those included that torch keeps for later."""
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(torch.cuda.mem_get_info(device)[0]) + kept


def _needed(n: int) -> int:
    return _MATRICES * 8 * n * n


def _require_room(n: int, device: torch.device) -> None:
    """Raise where dense matrices do not fit."""
    if device.type != "cuda":
        return
    needed, free = _needed(n), _free(device)
    if needed > free:
        raise InputError(
            f"the dense inverse of a surface of {n:,} vertices needs {needed / 2**30:.1f} GiB on"
            f" the device, and {free / 2**30:.1f} GiB are free; use finsler.spectrum"
        )


def _dense(stiffness: sparse.csr_array, root: Tensor) -> Tensor:
    """The dense matrix diag(root) W diag(root), filled on the device from the entries of W."""
    n, device = stiffness.shape[0], root.device
    rows = np.repeat(np.arange(n), np.diff(stiffness.indptr))
    i, j = (torch.as_tensor(x.astype(np.int64), device=device) for x in (rows, stiffness.indices))
    entries = torch.as_tensor(stiffness.data, device=device) * root[i] * root[j]
    flat = torch.zeros(n * n, dtype=torch.float64, device=device)
    return flat.index_add_(0, i * n + j, entries).view(n, n)


def _invert(matrix: Tensor) -> None:
    """Overwrite a positive definite matrix by its inverse, nearly all of it by products."""
    factor, failed = torch.linalg.cholesky_ex(matrix)
    if int(failed):
        raise InputError("the stiffness matrix is not positive semidefinite")
    _invert_triangle(factor)
    _gram_of_triangle(factor, matrix)


def _invert_triangle(lower: Tensor) -> None:
    """Overwrite [[A, 0], [C, B]] by [[A⁻¹, 0], [−B⁻¹ C A⁻¹, B⁻¹]]."""
    n = len(lower)
    if n <= _TRIANGLE:
        one = torch.eye(n, dtype=lower.dtype, device=lower.device)
        lower.copy_(torch.linalg.solve_triangular(lower, one, upper=False))
        return
    a, b = slice(n // 2), slice(n // 2, n)
    _invert_triangle(lower[a, a])
    _invert_triangle(lower[b, b])
    lower[b, a] = -(lower[b, b] @ (lower[b, a] @ lower[a, a]))


def _gram_of_triangle(lower: Tensor, gram: Tensor) -> None:
    """Write Lᵀ L = [[Aᵀ A + Cᵀ C, Cᵀ B], [Bᵀ C, Bᵀ B]] of a lower triangle [[A, 0], [C, B]]."""
    n = len(lower)
    if n <= _TRIANGLE:
        gram.copy_(lower.T @ lower)
        return
    a, b = slice(n // 2), slice(n // 2, n)
    _gram_of_triangle(lower[a, a], gram[a, a])
    _gram_of_triangle(lower[b, b], gram[b, b])
    gram[a, a] += lower[b, a].T @ lower[b, a]
    gram[b, a] = lower[b, b].T @ lower[b, a]
    gram[a, b] = gram[b, a].T


class _Ritz(NamedTuple):
    """Ritz values, descending, their vectors (n, size), and the images of those."""

    values: FloatArray
    vectors: Tensor
    images: Tensor


def _largest(
    matrix: Tensor, start: Tensor, k: int, *, top: float, tolerance: float
) -> tuple[FloatArray, Tensor]:
    """The k largest eigenpairs of an inverse whose largest eigenvalue is `top`, from (n, size).

    By Weyl's law the eigenvalues of the operator grow evenly, by c: then those of the inverse are
    1 / (c i + 1 / top), and their squares sum to about top / c. That tells where to cut first;
    later it still counts where the last vectors, which converge late, say less.
    """
    growth = top / float(torch.linalg.vector_norm(matrix)) ** 2
    values = 1.0 / (1.0 / top + growth * np.arange(start.shape[1], dtype=np.float64))
    last = k - 1 + int(_CUT * (start.shape[1] - k))
    guess, errors, spread = float(values[last]), np.ones(k), _MIXED
    found = _Ritz(values, start, matrix @ start)
    for _ in range(_FILTERS):
        cut = max(float(found.values[last]), min(guess, _BELOW * float(found.values[k - 1])))
        degree = _degree(found.values / cut, errors / (_MARGIN * tolerance), spread)
        found = _rayleigh_ritz(matrix, _filtered(matrix, found, cut, degree))
        scale = torch.as_tensor(found.values, device=matrix.device)
        apart = (found.images - found.vectors * scale)[:, :k].norm(dim=0)
        errors, spread = apart.cpu().numpy() / found.values[:k], _SORTED
        if errors.max() <= tolerance:
            # Images hold less of what the operator magnifies, and are orthonormal as well.
            return found.values[:k], (found.images / scale)[:, :k]
    raise ConvergenceError(
        f"{int((errors > tolerance).sum())} of {k} eigenpairs did not converge (largest relative"
        f" residual {errors.max():.1e}); ask for another k, or use finsler.spectrum"
    )


def _rayleigh_ritz(matrix: Tensor, vectors: Tensor) -> _Ritz:
    """Ritz pairs in the span of some vectors.

    The small matrix is diagonalised on the processor: it does not keep an accelerator busy.
    """
    basis = _orthonormal(vectors)
    images = matrix @ basis
    inner: FloatArray = (basis.T @ images).cpu().numpy()
    values, turn = np.linalg.eigh(0.5 * (inner + inner.T))
    turned = torch.as_tensor(turn[:, ::-1].copy(), device=matrix.device)
    return _Ritz(values[::-1].copy(), basis @ turned, images @ turned)


def _orthonormal(vectors: Tensor) -> Tensor:
    """An orthonormal basis of the span, through Gram matrices.

    The first of them is shifted, so that it has a factor though the vectors are nearly dependent
    (Fukaya et al. 2020); two more rounds make the basis orthonormal.
    """
    unit: Tensor = vectors / vectors.norm(dim=0)
    basis, failures = unit, []
    for shift in (_ROUNDING * unit.shape[1], 0.0, 0.0):
        gram = basis.T @ basis
        gram.diagonal().add_(shift)
        factor, failed = torch.linalg.cholesky_ex(gram)
        failures.append(failed)
        basis = torch.linalg.solve_triangular(factor.T, basis, upper=True, left=False)
    if bool(torch.stack(failures).any()):
        basis = torch.linalg.qr(unit).Q
    return basis


def _degree(values: FloatArray, errors: FloatArray, spread: float) -> int:
    """Degree of the filter that divides errors of the first pairs by themselves, or nearly so.

    Values are in units of the cut. T_d(x) = cosh(d arcosh x) amplifies a pair, and 1 what is cut.
    """
    rates = np.arccosh(np.maximum(2.0 * values[: len(errors)] - 1.0, 1.0))
    needed = (np.log(np.maximum(errors, 1.0)) / np.maximum(rates, 1e-3)).max()
    allowed = math.log(spread) / max(rates[0] - rates[-1], 1e-3)
    fewest, most = _DEGREES
    return int(np.clip(math.ceil(min(needed, allowed)), fewest, most))


def _filtered(matrix: Tensor, found: _Ritz, cut: float, degree: int) -> Tensor:
    """T_d(2 A / cut − 1) of Ritz vectors: what lies below the cut is damped."""
    half = 0.5 * cut
    before, now = found.vectors, found.images / half - found.vectors
    for _ in range(degree - 1):
        after = torch.addmm(before, matrix, now, beta=-1.0, alpha=2.0 / half)
        before, now = now, after.sub_(now, alpha=2.0)
    return now


def _on_host(values: FloatArray, vectors: Tensor, root: Tensor) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues and vectors, orthonormal in the mass, in the memory of the processor."""
    return values, (root[:, None] * vectors).cpu().numpy()
