"""Spectra on an accelerator: dense inverses, and subspaces filtered by polynomials of them."""

from __future__ import annotations

import functools
import math

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from finsler.analysis.spectrum import EigenPairs, Spectrum, require_pencil, spectrum_by
from finsler.errors import ConvergenceError, InputError
from finsler.mesh.arguments import checked, require_positive, require_seed
from finsler.operator.laplacian import Laplacian

# Vectors beside those that are wanted, as a share of them, and at least.
_MORE, _LEAST = 0.3, 16
# Filters at most; how much more a filter may amplify the first vector than the last one that is
# wanted, beyond which rounding hides the latter; and degrees of the filters.
_FILTERS, _SPREAD, _DEGREES = 40, 1e6, (2, 30)
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
    matrix = torch.as_tensor(stiffness.toarray(), device=device).mul_(root[:, None]).mul_(root)
    if 2 * size > n:
        values, vectors = torch.linalg.eigh(matrix)
        found = values[:k], vectors[:, :k]
    else:
        # About λ_k by Weyl's law, so that the inverse has eigenvalues of one order of magnitude.
        shift = 4.0 * math.pi * k / float(mass.diagonal().sum())
        matrix.diagonal().add_(shift)
        factor, failed = torch.linalg.cholesky_ex(matrix)
        if int(failed):
            raise InputError("the stiffness matrix is not positive semidefinite")
        inverse = torch.cholesky_inverse(factor)
        generator = torch.Generator(device).manual_seed(seed)
        start = torch.randn(n, size, dtype=inverse.dtype, device=device, generator=generator)
        largest, vectors = _largest(inverse, start, k, tolerance)
        found = 1.0 / largest - shift, vectors
    values, vectors = found[0], root[:, None] * found[1]
    return EigenPairs(values.cpu().numpy(), vectors.cpu().numpy())


def _require_room(n: int, device: torch.device) -> None:
    """Raise where dense matrices do not fit."""
    if device.type != "cuda":
        return
    needed, free = _MATRICES * 8 * n * n, torch.cuda.mem_get_info(device)[0]
    if needed > free:
        raise InputError(
            f"the dense inverse of a surface of {n:,} vertices needs {needed / 2**30:.1f} GiB on"
            f" the device, and {free / 2**30:.1f} GiB are free; use finsler.spectrum"
        )


def _largest(matrix: Tensor, start: Tensor, k: int, tolerance: float) -> tuple[Tensor, Tensor]:
    """The k largest eigenpairs of a positive definite matrix, descending, from (n, size)."""
    values, vectors, images = _rayleigh_ritz(matrix, matrix @ start)
    for _ in range(_FILTERS):
        vectors = _filtered(matrix, vectors, images, values.tolist(), k)
        values, vectors, images = _rayleigh_ritz(matrix, vectors)
        residuals = (images - vectors * values)[:, :k].norm(dim=0) / values[:k]
        if float(residuals.max()) <= tolerance:
            return values[:k], vectors[:, :k]
    raise ConvergenceError(
        f"{int((residuals > tolerance).sum())} of {k} eigenpairs did not converge (largest relative"
        f" residual {float(residuals.max()):.1e}); ask for another k, or use finsler.spectrum"
    )


def _rayleigh_ritz(matrix: Tensor, vectors: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Ritz values in the span of some vectors, descending, Ritz vectors, and their images."""
    basis = _orthonormal(vectors)
    images = matrix @ basis
    inner = basis.T @ images
    values, turn = torch.linalg.eigh(0.5 * (inner + inner.T))
    values, turn = values.flip(0), turn.flip(1)
    return values, basis @ turn, images @ turn


def _orthonormal(vectors: Tensor) -> Tensor:
    """An orthonormal basis of the span, through the Gram matrix where that is well conditioned."""
    basis: Tensor = vectors
    for _ in range(2):
        basis = basis / basis.norm(dim=0)
        factor, failed = torch.linalg.cholesky_ex(basis.T @ basis)
        if int(failed):
            basis = torch.linalg.qr(vectors / vectors.norm(dim=0)).Q
            break
        basis = torch.linalg.solve_triangular(factor.T, basis, upper=True, left=False)
    return basis


def _filtered(
    matrix: Tensor, vectors: Tensor, images: Tensor, values: list[float], k: int
) -> Tensor:
    """T_d(2 A / b − 1) of Ritz vectors, b the least Ritz value: what lies below b is damped."""
    half = 0.5 * values[-1]
    first, last = (math.acosh(max(values[i] / half - 1.0, 1.0)) for i in (0, k - 1))
    fewest, most = _DEGREES
    degree = min(most, max(fewest, int(math.log(_SPREAD) / max(first - last, 1e-3))))
    before, now = vectors, images / half - vectors
    for _ in range(degree - 1):
        before, now = now, (2.0 / half) * (matrix @ now) - 2.0 * now - before
    return now
