"""Compiled loops of the iterative solver: each passes over its arrays once.

Matrices come as the three arrays of compressed rows, functions as C-ordered blocks (n, c). Results
go into arrays that numpy has made: it asks for large pages, which loops here would wait for.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from finsler.typing import FloatArray

# Products may be added without rounding them first; nothing is reordered.
_FAST = {"contract"}
Rows = tuple[NDArray[np.int32], NDArray[np.int32], FloatArray]


@njit(cache=True, nogil=True, fastmath=_FAST, inline="always")
def _product(rows: Rows, x: FloatArray, i: int, total: FloatArray) -> None:
    """Row i of A x."""
    indptr, indices, data = rows
    if len(total) == 1:  # with the loop below a solve takes twice as long
        single = 0.0
        for entry in range(indptr[i], indptr[i + 1]):
            single += data[entry] * x[indices[entry], 0]
        total[0] = single
        return
    total[:] = 0.0
    for entry in range(indptr[i], indptr[i + 1]):
        j, value = indices[entry], data[entry]
        for c in range(len(total)):
            total[c] += value * x[j, c]


@njit(cache=True, nogil=True, fastmath=_FAST)
def first_step(
    rows: Rows,
    diagonal: FloatArray,
    x: FloatArray,
    right: FloatArray,
    weight: float,
    step: FloatArray,
) -> None:
    """s = weight · D⁻¹ (b − A x)."""
    total = np.empty(right.shape[1])
    for i in range(len(right)):
        _product(rows, x, i, total)
        scale = weight / diagonal[i]
        for c in range(len(total)):
            step[i, c] = scale * (right[i, c] - total[c])


@njit(cache=True, nogil=True, fastmath=_FAST)
def first_step_from_zero(
    diagonal: FloatArray, right: FloatArray, weight: float, step: FloatArray
) -> None:
    """s = weight · D⁻¹ b."""
    for i in range(len(right)):
        scale = weight / diagonal[i]
        for c in range(right.shape[1]):
            step[i, c] = scale * right[i, c]


@njit(cache=True, nogil=True, fastmath=_FAST)
def add_second_step(
    rows: Rows, diagonal: FloatArray, x: FloatArray, step: FloatArray, own: float, after: float
) -> None:
    """x += own · s − after · D⁻¹ A s."""
    total = np.empty(x.shape[1])
    for i in range(len(x)):
        _product(rows, step, i, total)
        scale = after / diagonal[i]
        for c in range(len(total)):
            x[i, c] += own * step[i, c] - scale * total[c]


@njit(cache=True, nogil=True, fastmath=_FAST)
def residual_of(rows: Rows, x: FloatArray, right: FloatArray, residual: FloatArray) -> None:
    """r = b − A x."""
    total = np.empty(right.shape[1])
    for i in range(len(right)):
        _product(rows, x, i, total)
        for c in range(len(total)):
            residual[i, c] = right[i, c] - total[c]


@njit(cache=True, nogil=True, fastmath=_FAST)
def add_product(rows: Rows, x: FloatArray, out: FloatArray) -> None:
    """out += A x."""
    total = np.empty(out.shape[1])
    for i in range(len(out)):
        _product(rows, x, i, total)
        for c in range(len(total)):
            out[i, c] += total[c]


@njit(cache=True, nogil=True, fastmath=_FAST)
def turn_and_apply(
    rows: Rows,
    direction: FloatArray,
    preconditioned: FloatArray,
    kept: FloatArray,
    image: FloatArray,
) -> FloatArray:
    """d = kept · d + z and A d; returns ⟨d, A d⟩ of each column."""
    columns = direction.shape[1]
    for i in range(len(direction)):
        for c in range(columns):
            direction[i, c] = kept[c] * direction[i, c] + preconditioned[i, c]
    curvature, total = np.zeros(columns), np.empty(columns)
    for i in range(len(direction)):
        _product(rows, direction, i, total)
        for c in range(columns):
            image[i, c] = total[c]
            curvature[c] += direction[i, c] * total[c]
    return curvature


@njit(cache=True, nogil=True, fastmath=_FAST)
def advance(
    x: FloatArray, residual: FloatArray, direction: FloatArray, image: FloatArray, step: FloatArray
) -> FloatArray:
    """x += step · d, r −= step · A d; returns ⟨r, r⟩ of each column."""
    square = np.zeros(x.shape[1])
    for i in range(len(x)):
        for c in range(x.shape[1]):
            x[i, c] += step[c] * direction[i, c]
            residual[i, c] -= step[c] * image[i, c]
            square[c] += residual[i, c] * residual[i, c]
    return square
