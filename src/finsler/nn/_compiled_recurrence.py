"""Chebyshev recurrences on processors.

Channels are worked on in strips of 16 and angles one at a time: each pair of them is a recurrence
of its own, small enough for a core's cache, and no core waits for another.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

_STRIP = 16

Floats = NDArray[np.floating]
Ints = NDArray[np.int32]


@numba.njit(cache=True, fastmath={"contract", "reassoc", "nsz"}, inline="always")
def _product(indptr: Ints, indices: Ints, values: Floats, old: Floats, new: Floats) -> None:
    """new += 2 L old, on one strip."""
    for i in range(len(indptr) - 1):
        for k in range(indptr[i], indptr[i + 1]):
            twice = values[k] + values[k]
            j = indices[k]
            for q in range(_STRIP):
                new[i, q] += twice * old[j, q]


@numba.njit(cache=True, parallel=True)
def clenshaw(indptr: Ints, indices: Ints, values: Floats, y: Floats, keep: Floats) -> Floats:
    """Σ_s T_s(L̂_θ) y_s (a, n, c) of y (n, S, a, c).

    Where `keep` (n, S, a, c) is not empty, the iterates b_s are written there, and the result as
    b_0.
    """
    n, orders, angles, channels = y.shape
    out = np.empty((angles, n, channels), y.dtype)
    strips = (channels + _STRIP - 1) // _STRIP
    for task in numba.prange(angles * strips):
        angle, first = task // strips, (task % strips) * _STRIP
        width = min(_STRIP, channels - first)
        one = np.zeros((n, _STRIP), y.dtype)
        two = np.zeros((n, _STRIP), y.dtype)
        for s in range(orders - 1, -1, -1):
            # b_0 takes L where the others take 2 L: it is half of a sum with twice the rest.
            last = s == 0
            for i in range(n):
                for q in range(width):
                    rest = y[i, s, angle, first + q] - two[i, q]
                    two[i, q] = rest + rest if last else rest
            _product(indptr, indices, values[angle], one, two)
            if last:
                for i in range(n):
                    for q in range(width):
                        two[i, q] *= 0.5
            one, two = two, one
            if keep.size:
                for i in range(n):
                    for q in range(width):
                        keep[i, s, angle, first + q] = one[i, q]
        for i in range(n):
            for q in range(width):
                out[angle, i, first + q] = one[i, q]
    return out


@numba.njit(cache=True, parallel=True)
def chebyshev(indptr: Ints, indices: Ints, values: Floats, x: Floats, orders: int) -> Floats:
    """T_s(L̂_θ) x, (n, S, a, c), of x (n, c)."""
    n, channels = x.shape
    angles = len(values)
    out = np.empty((n, orders, angles, channels), x.dtype)
    strips = (channels + _STRIP - 1) // _STRIP
    for task in numba.prange(angles * strips):
        angle, first = task // strips, (task % strips) * _STRIP
        width = min(_STRIP, channels - first)
        one = np.zeros((n, _STRIP), x.dtype)
        two = np.zeros((n, _STRIP), x.dtype)
        for i in range(n):
            for q in range(width):
                one[i, q] = x[i, first + q]
                out[i, 0, angle, first + q] = one[i, q]
        for s in range(1, orders):
            for i in range(n):
                for q in range(width):
                    two[i, q] = -two[i, q]
            _product(indptr, indices, values[angle], one, two)
            if s == 1:
                for i in range(n):
                    for q in range(width):
                        two[i, q] *= 0.5
            one, two = two, one
            for i in range(n):
                for q in range(width):
                    out[i, s, angle, first + q] = one[i, q]
    return out
