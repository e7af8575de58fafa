"""Compiled search for the nearest row, cell by cell."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from finsler.typing import IntArray

Rows = NDArray[np.float32]


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def _square(one: Rows, other: Rows) -> np.float32:
    """Squared distance of two rows."""
    total = np.float32(0.0)
    for k in range(len(one)):
        gap = one[k] - other[k]
        total += gap * gap
    return total


@njit(cache=True, nogil=True)
def search_cells(
    queries: Rows, points: Rows, start: IntArray, distances: Rows, radii: Rows, slack: Rows
) -> tuple[IntArray, int]:
    """Index of the nearest point for each query, and how many points were looked at.

    Cell c has the points start[c] to start[c + 1], at most radii[c] from its centre; distances
    (q, c) are those of queries to centres, off by at most slack (q,).
    """
    nearest = np.empty(len(queries), dtype=np.int64)
    seen = 0
    for i in range(len(queries)):
        first = np.argmin(distances[i])
        best, where, reach = np.float32(np.inf), 0, np.float32(np.inf)
        for turn in range(len(radii) + 1):
            c = first if turn == 0 else turn - 1
            if turn > 0 and (c == first or distances[i, c] - radii[c] > reach):
                continue
            seen += start[c + 1] - start[c]
            for j in range(start[c], start[c + 1]):
                square = _square(queries[i], points[j])
                if square < best:
                    best, where = square, j
            reach = np.sqrt(best) + slack[i]
        nearest[i] = where
    return nearest, seen
