"""Chebyshev recurrences on processors.

Each angle and strip of channels is a recurrence of its own, so that no core waits for another.
Terms are (S, a, n, c): with vertices farther apart in memory, reading them takes twice as long as
all the rest.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

_STRIP = 64
_FAST = {"contract", "reassoc", "nsz"}

Floats = NDArray[np.floating]
Ints = NDArray[np.int32]


@numba.njit(cache=True, fastmath=_FAST, inline="always")
def _gather(
    indptr: Ints, indices: Ints, values: Floats, old: Floats, i: int, factor: int, row: Floats
) -> None:
    """row += factor · (L old)_i."""
    for k in range(indptr[i], indptr[i + 1]):
        value = values[k] + values[k] if factor == 2 else values[k]
        j = indices[k]
        for q in range(len(row)):
            row[q] += value * old[j, q]


@numba.njit(cache=True, parallel=True, fastmath=_FAST)
def clenshaw(indptr: Ints, indices: Ints, values: Floats, y: Floats, keep: Floats) -> Floats:
    """Σ_s T_s(L̂_θ) y_s, (a, n, c), of y (S, a, n, c).

    Where `keep` (S, a, n, c) is not empty, the iterates b_s are written there, and the result as
    b_0.
    """
    orders, angles, n, channels = y.shape
    out = np.empty((angles, n, channels), y.dtype)
    strips = (channels + _STRIP - 1) // _STRIP
    for task in numba.prange(angles * strips):
        angle, first = task // strips, (task % strips) * _STRIP
        width = min(_STRIP, channels - first)
        one = np.zeros((n, width), y.dtype)
        two = np.zeros((n, width), y.dtype)
        row = np.empty(width, y.dtype)
        for s in range(orders - 1, -1, -1):
            terms = y[s, angle]
            factor = 2 if s else 1
            for i in range(n):
                for q in range(width):
                    row[q] = terms[i, first + q] - two[i, q]
                _gather(indptr, indices, values[angle], one, i, factor, row)
                for q in range(width):
                    two[i, q] = row[q]
            one, two = two, one
            if keep.size:
                keep[s, angle, :, first : first + width] = one
        out[angle, :, first : first + width] = one
    return out


@numba.njit(cache=True, parallel=True, fastmath=_FAST)
def chebyshev(indptr: Ints, indices: Ints, values: Floats, x: Floats, orders: int) -> Floats:
    """T_s(L̂_θ) x, (S, a, n, c), of x (n, c)."""
    n, channels = x.shape
    angles = len(values)
    out = np.empty((orders, angles, n, channels), x.dtype)
    strips = (channels + _STRIP - 1) // _STRIP
    for task in numba.prange(angles * strips):
        angle, first = task // strips, (task % strips) * _STRIP
        width = min(_STRIP, channels - first)
        one = x[:, first : first + width].copy()
        two = np.zeros((n, width), x.dtype)
        row = np.empty(width, x.dtype)
        out[0, angle, :, first : first + width] = one
        for s in range(1, orders):
            factor = min(s, 2)
            terms = out[s, angle]
            for i in range(n):
                for q in range(width):
                    row[q] = -two[i, q]
                _gather(indptr, indices, values[angle], one, i, factor, row)
                for q in range(width):
                    two[i, q] = row[q]
                    terms[i, first + q] = row[q]
            one, two = two, one
    return out
