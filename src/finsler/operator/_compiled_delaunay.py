"""Edge flips of an intrinsic triangulation: faces, edge lengths, and which sides are glued."""

from __future__ import annotations

import math

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# A sum of cotangents above minus this counts as Delaunay: rounding must not flip for ever.
_CLOSE = 1e-10


@numba.njit(cache=True)
def _area(a: float, b: float, c: float) -> float:
    """Of a triangle with the given sides; by Kahan's form of Heron's formula."""
    if a < b:
        a, b = b, a
    if b < c:
        b, c = c, b
    if a < b:
        a, b = b, a
    product = (a + (b + c)) * (c - (a - b)) * (c + (a - b)) * (a + (b - c))
    return 0.25 * math.sqrt(max(product, 0.0))


@numba.njit(cache=True)
def cotangent(length: Floats, side: int) -> float:
    """Of the angle opposite a side (3 f + s)."""
    face, s = side // 3, side % 3
    a = length[3 * face + s]
    b, c = length[3 * face + (s + 1) % 3], length[3 * face + (s + 2) % 3]
    area = _area(a, b, c)
    return (b * b + c * c - a * a) / (4.0 * area) if area > 0.0 else 0.0


@numba.njit(cache=True)
def _flipped_length(length: Floats, side: int, other: int) -> float:
    """The other diagonal of two faces; not positive where they do not lie as a convex quad."""
    f, s = side // 3, side % 3
    g, t = other // 3, other % 3
    edge = length[side]
    # Lay the edge on the x axis from the start of `side`; its face lies above, the other below.
    right, left = length[3 * f + (s + 1) % 3], length[3 * f + (s + 2) % 3]
    below_right, below_left = length[3 * g + (t + 2) % 3], length[3 * g + (t + 1) % 3]
    x1 = (edge * edge + left * left - right * right) / (2.0 * edge)
    x2 = (edge * edge + below_left * below_left - below_right * below_right) / (2.0 * edge)
    y1 = 2.0 * _area(edge, right, left) / edge
    y2 = -2.0 * _area(edge, below_right, below_left) / edge
    if y1 <= 0.0 or y2 >= 0.0:
        return -1.0
    # The diagonal must cross the edge inside.
    crossing = x1 + (x2 - x1) * y1 / (y1 - y2)
    if crossing <= 1e-12 * edge or crossing >= (1.0 - 1e-12) * edge:
        return -1.0
    return math.sqrt((x1 - x2) ** 2 + (y1 - y2) ** 2)


@numba.njit(cache=True)
def _flip(
    faces: Ints, length: Floats, twin: Ints, weight: Floats, side: int, diagonal: float
) -> tuple[int, int, int, int]:
    """Flip one edge, in place; the four sides around it, as they are numbered afterwards."""
    other = twin[side]
    f, s = side // 3, side % 3
    g, t = other // 3, other % 3
    s1, s2 = 3 * f + (s + 1) % 3, 3 * f + (s + 2) % 3
    t1, t2 = 3 * g + (t + 1) % 3, 3 * g + (t + 2) % 3
    i, j = faces[f, s], faces[f, (s + 1) % 3]
    bottom, top = faces[g, (t + 2) % 3], faces[f, (s + 2) % 3]
    below = _area(length[other], length[t1], length[t2])
    above = _area(length[side], length[s1], length[s2])
    mean = (above * weight[f] + below * weight[g]) / (above + below)
    weight[f] = weight[g] = mean
    # Old sides: s1 from j to the top, s2 on to i, t1 from i to the bottom, t2 on to j.
    lengths = length[s1], length[s2], length[t1], length[t2]
    glued = twin[s1], twin[s2], twin[t1], twin[t2]
    old = s1, s2, t1, t2
    # The first sides of both new faces are the diagonal.
    new = 3 * g + 2, 3 * f + 1, 3 * f + 2, 3 * g + 1
    faces[f, 0], faces[f, 1], faces[f, 2] = bottom, top, i
    faces[g, 0], faces[g, 1], faces[g, 2] = top, bottom, j
    for q in range(4):
        length[new[q]] = lengths[q]
    length[3 * f] = length[3 * g] = diagonal
    twin[3 * f], twin[3 * g] = 3 * g, 3 * f
    for q in range(4):
        partner = glued[q]
        # A side may be glued to another of the four.
        for p in range(4):
            if partner == old[p]:
                partner = new[p]
                break
        twin[new[q]] = partner
        if partner >= 0:
            twin[partner] = new[q]
    return new


@numba.njit(cache=True)
def flip_to_delaunay(
    faces: Ints, length: Floats, twin: Ints, weight: Floats, limit: int
) -> tuple[int, bool]:
    """Flip edges, in place, until all are Delaunay; the number of flips, and whether it ended.

    Sides are numbered 3 f + s, side s from corner s to the next; `twin` is the side glued to it, or
    −1 on the boundary. `weight` of both faces of a flipped edge becomes their mean by area.
    """
    sides = len(length)
    waiting = np.ones(sides, dtype=np.bool_)
    queue = np.arange(sides)
    head, count, flips = 0, sides, 0
    while count > 0:
        side = queue[head]
        head = (head + 1) % sides
        count -= 1
        waiting[side] = False
        other = twin[side]
        if other < 0 or other // 3 == side // 3:
            continue
        if cotangent(length, side) + cotangent(length, other) >= -_CLOSE:
            continue
        diagonal = _flipped_length(length, side, other)
        if diagonal <= 0.0:
            continue
        if flips >= limit:
            return flips, False
        flips += 1
        new = _flip(faces, length, twin, weight, side, diagonal)
        for q in range(4):
            if not waiting[new[q]]:
                waiting[new[q]] = True
                queue[(head + count) % sides] = new[q]
                count += 1
    return flips, True
