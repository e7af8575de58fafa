"""Block Lanczos with full reorthogonalisation for the low end of W φ = λ S φ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg
from threadpoolctl import threadpool_limits

from finsler.errors import ConvergenceError
from finsler.solvers import Solve
from finsler.typing import FloatArray

Product = Callable[[FloatArray], FloatArray]

_RESTARTS = 10
_ROWS = 16384


@dataclass(frozen=True, eq=False)
class RitzPairs:
    """Largest eigenvalues of the inverted operator, descending, with S-orthonormal vectors."""

    values: FloatArray
    vectors: FloatArray


def basis_size(k: int, block: int) -> int:
    """Vectors that are held for k pairs; more would save less than a tenth of the solves."""
    return (2 * k // block + 8) * block


def block_lanczos(
    solve: Solve,
    mass: Product,
    size: int,
    k: int,
    *,
    block: int,
    tolerance: float,
    seed: int,
) -> RitzPairs:
    """The k largest eigenpairs of A⁻¹S, where `solve` applies A⁻¹ and `mass` applies S.

    Blocks serve three ends: a block of right-hand sides is two to three times cheaper to solve
    than its columns one by one, orthogonalisation becomes matrix products, and eigenvalues of
    multiplicity up to the block size are found whatever the start. All pairs have residuals below
    tolerance × value after 3 to 5 k solves; the basis holds a bit more than 2 k vectors and is
    restarted from its best Ritz vectors when it is full (Wu and Simon, 2000).

    One BLAS thread: the products are bound by memory, and small factorisations on several threads
    wait for each other longer than they compute.
    """
    with threadpool_limits(1, user_api="blas"):
        return _block_lanczos(solve, mass, size, k, block, tolerance, seed)


def _block_lanczos(
    solve: Solve, mass: Product, size: int, k: int, block: int, tolerance: float, seed: int
) -> RitzPairs:
    capacity = basis_size(k, block)
    basis = np.empty((size, capacity), order="F")
    projected = np.zeros((capacity, capacity))
    rng = np.random.default_rng(seed)
    # One solve smooths the start: the low end of the spectrum is what is wanted.
    current, _ = _orthonormalise(solve(mass(rng.standard_normal((size, block)))), mass)
    used, restarted = 0, 0
    for _ in range(_RESTARTS * capacity // block):
        here = slice(used, used + block)
        basis[:, here] = current
        image = solve(mass(current))
        used += block
        # The blocks that exact arithmetic needs, then all of them for the rounding.
        near = slice(0 if used == restarted + block else used - 2 * block, used)
        projected[near, here] = basis[:, near].T @ mass(image)
        image -= basis[:, near] @ projected[near, here]
        image, link = _orthonormalise(image, mass)
        known = basis[:, :used]
        current, correction = _orthonormalise(image - known @ (known.T @ mass(image)), mass)
        link = correction @ link
        if used < capacity:
            continue
        values, vectors = linalg.eigh(projected[:used, :used], lower=False, driver="evd")
        values, vectors = values[::-1], vectors[:, ::-1]
        residual = np.linalg.norm(link @ vectors[-block:, :k], axis=0)
        if (residual <= tolerance * values[:k]).all():
            return RitzPairs(values[:k], known @ vectors[:, :k])
        used = restarted = (k + (capacity - k) // 3) // block * block
        _turn(basis, vectors[:, :used])
        projected[:] = 0.0
        projected[range(used), range(used)] = values[:used]
    raise ConvergenceError(
        f"{int((residual > tolerance * values[:k]).sum())} of {k} eigenpairs did not converge in a"
        f" basis of {capacity} vectors (largest relative residual"
        f" {(residual / values[:k]).max():.1e}); ask for another k, or repair the mesh if it has"
        " needle-like faces"
    )


def _turn(basis: FloatArray, rotation: FloatArray) -> None:
    """The first columns of the basis become basis @ rotation, in place, some rows at a time."""
    before, after = rotation.shape
    for start in range(0, len(basis), _ROWS):
        rows = slice(start, start + _ROWS)
        basis[rows, :after] = basis[rows, :before] @ rotation


def _orthonormalise(vectors: FloatArray, mass: Product) -> tuple[FloatArray, FloatArray]:
    """Q, R with vectors = Q R, Qᵀ S Q = I; through the Gram matrix, twice for full accuracy."""
    total = np.eye(vectors.shape[1])
    for _ in range(2):
        gram = vectors.T @ mass(vectors)
        scale = np.sqrt(np.diag(gram))
        values, rotation = np.linalg.eigh(gram / np.outer(scale, scale))
        # A direction lost to rounding becomes noise, which the next pass makes orthogonal.
        values = np.maximum(values, 1e-15 * values[-1])
        vectors = (vectors / scale) @ (rotation / np.sqrt(values))
        total = (np.sqrt(values)[:, None] * rotation.T * scale) @ total
    return vectors, total
