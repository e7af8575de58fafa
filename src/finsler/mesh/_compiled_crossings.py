"""Faces that pass through each other: sweep over slabs, then edges against triangles."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@numba.njit(cache=True, nogil=True)
def _volume(points: Floats, a: int, b: int, c: int, d: int) -> float:
    """Six times the signed volume of a tetrahedron."""
    x, y, z = points[a, 0], points[a, 1], points[a, 2]
    x1, y1, z1 = points[b, 0] - x, points[b, 1] - y, points[b, 2] - z
    x2, y2, z2 = points[c, 0] - x, points[c, 1] - y, points[c, 2] - z
    x3, y3, z3 = points[d, 0] - x, points[d, 1] - y, points[d, 2] - z
    across = x1 * (y2 * z3 - z2 * y3) - y1 * (x2 * z3 - z2 * x3)
    return float(across + z1 * (x2 * y3 - y2 * x3))


@numba.njit(cache=True, nogil=True)
def _pierces(points: Floats, faces: Ints, p: int, q: int, face: int, least: float) -> bool:
    """Whether the segment pq passes through the inside of a face, by more than rounding."""
    a, b, c = faces[face, 0], faces[face, 1], faces[face, 2]
    above, below = _volume(points, a, b, c, p), _volume(points, a, b, c, q)
    if not (min(above, below) < -least and max(above, below) > least):
        return False
    first, second = _volume(points, p, q, a, b), _volume(points, p, q, b, c)
    third = _volume(points, p, q, c, a)
    return min(first, second, third) > least or max(first, second, third) < -least


@numba.njit(cache=True, nogil=True)
def _apart(faces: Ints, lower: Floats, upper: Floats, f: int, g: int) -> bool:
    """Whether the boxes of two faces do not meet, or the faces share a vertex."""
    for i in range(1, 3):
        if lower[g, i] > upper[f, i] or upper[g, i] < lower[f, i]:
            return True
    for i in range(3):
        for j in range(3):
            if faces[f, i] == faces[g, j]:
                return True
    return False


@numba.njit(cache=True, nogil=True)
def _cross(points: Floats, faces: Ints, lower: Floats, upper: Floats, f: int, g: int) -> bool:
    size = 0.0
    for i in range(3):
        size = max(size, upper[f, i] - lower[f, i], upper[g, i] - lower[g, i])
    least = 1e-12 * size**3
    for i in range(3):
        j = (i + 1) % 3
        if _pierces(points, faces, faces[f, i], faces[f, j], g, least):
            return True
        if _pierces(points, faces, faces[g, i], faces[g, j], f, least):
            return True
    return False


@numba.njit(cache=True, nogil=True)
def crossing(
    points: Floats, faces: Ints, lower: Floats, upper: Floats, first: Ints, last: Ints
) -> NDArray[np.bool_]:
    """Mask of the faces that pass through another one with which they share no vertex.

    The boxes `lower`, `upper` (m, 3) ascend in the first coordinate of `lower`; along the second
    they reach from slab `first` to slab `last` (m,). Each slab is swept along the first.
    """
    m, slabs = len(faces), last.max() + 1
    start = np.zeros(slabs + 1, dtype=np.int64)
    for f in range(m):
        for slab in range(first[f], last[f] + 1):
            start[slab + 1] += 1
    start = np.cumsum(start)
    member, cursor = np.empty(start[-1], dtype=np.int64), start[:-1].copy()
    for f in range(m):
        for slab in range(first[f], last[f] + 1):
            member[cursor[slab]] = f
            cursor[slab] += 1
    crossed = np.zeros(m, dtype=np.bool_)
    for slab in range(slabs):
        for p in range(start[slab], start[slab + 1]):
            f = member[p]
            for q in range(p + 1, start[slab + 1]):
                g = member[q]
                if lower[g, 0] > upper[f, 0]:
                    break
                # A pair that meets in several slabs is looked at in the first of them.
                if max(first[f], first[g]) != slab or _apart(faces, lower, upper, f, g):
                    continue
                if _cross(points, faces, lower, upper, f, g):
                    crossed[f] = crossed[g] = True
    return crossed
