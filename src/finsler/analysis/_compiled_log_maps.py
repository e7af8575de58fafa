"""Compiled loops of the support: fans of angles, straight lines over unfolded faces, bent paths.

Corner q = 3 f + c is corner c of face f and also the half-edge from there to the next corner.
"""

# mypy: allow-untyped-decorators

from __future__ import annotations

from heapq import heappop, heappush
from math import acos, atan2, cos, hypot, pi, sin, sqrt
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from finsler.typing import FloatArray, IntArray

# Share of a length or of an angle below which two count as equal, so that rounding does not decide
# on which side of a vertex a line passes.
_CLOSE = 1e-9
# Two directions differ when their mean is shorter than 1 by more than this.
_TIED = 1e-12


class Fans(NamedTuple):
    """The mesh as a walker on it needs it.

    Of each corner (3m,): its `vertex`, its `twin` across the half-edge (-1 on the boundary), the
    `length` of the half-edge, the `angle` of the corner, and where in the fan of the vertex that
    angle has its `start`. Of each vertex (n,): `scale` turns angles in its fan into angles of the
    tangent plane, and its `curvature` is spread over a disk of radius `size`. `corners` (3m,) are
    sorted by vertex, those of vertex v from `first[v]` (n + 1,) on.
    """

    vertex: IntArray
    twin: IntArray
    length: FloatArray
    angle: FloatArray
    start: FloatArray
    scale: FloatArray
    curvature: FloatArray
    size: FloatArray
    first: IntArray
    corners: IntArray


@njit(cache=True, nogil=True)
def _next(corner: int) -> int:
    return corner - corner % 3 + (corner + 1) % 3


@njit(cache=True, nogil=True)
def _previous(corner: int) -> int:
    return corner - corner % 3 + (corner + 2) % 3


@njit(cache=True, nogil=True)
def fan_angles(
    vertex: IntArray, twin: IntArray, angle: FloatArray, n: int
) -> tuple[FloatArray, FloatArray, IntArray, NDArray[np.bool_]]:
    """Start of each corner in the fan of its vertex; angle, number of fans, openness of vertices.

    Open fans start at their rightmost corner, closed ones at the corner of the lowest number;
    several fans at one vertex follow each other.
    """
    start = np.full(len(vertex), -1.0)
    total, fans = np.zeros(n), np.zeros(n, np.int64)
    is_open = np.zeros(n, np.bool_)
    for closed in (False, True):
        for first in range(len(vertex)):
            if start[first] >= 0.0 or (not closed and twin[first] >= 0):
                continue
            v, corner = vertex[first], first
            fans[v] += 1
            is_open[v] |= not closed
            while corner >= 0 and start[corner] < 0.0:
                start[corner] = total[v]
                total[v] += angle[corner]
                corner = twin[_previous(corner)]
    return start, total, fans, is_open


@njit(cache=True, nogil=True)
def _grown(table: FloatArray) -> FloatArray:
    larger = np.empty((2 * len(table), table.shape[1]))
    larger[: len(table)] = table
    return larger


@njit(cache=True, nogil=True)
def _note(found: FloatArray, v: int, distance: float, here: float, there: float) -> int:
    """Keep a line to v if none is shorter, the sum of both where two are equally short.

    Of two in opposite directions, as around a cylinder, the first is kept. Returns 1 if it is the
    first line to v, otherwise 0.
    """
    row = found[v]
    is_first = np.isinf(row[0])
    if distance < row[0] * (1.0 - _CLOSE):
        row[0] = distance
        row[1:] = 0.0
    c, s, d, t = cos(here), sin(here), cos(there), sin(there)
    fits = row[5] == 0.0 or (c * row[1] + s * row[2] > 0.0 and d * row[3] + t * row[4] > 0.0)
    if fits and distance <= row[0] * (1.0 + _CLOSE):
        row[1] += c
        row[2] += s
        row[3] += d
        row[4] += t
        row[5] += 1.0
    return 1 if is_first else 0


@njit(cache=True, nogil=True)
def _beyond(ax: float, ay: float, bx: float, by: float, radius: float) -> bool:
    """Whether the segment ab keeps farther from the origin than the radius."""
    ux, uy = bx - ax, by - ay
    share = -(ax * ux + ay * uy) / (ux * ux + uy * uy)
    share = min(max(share, 0.0), 1.0)
    return hypot(ax + share * ux, ay + share * uy) > radius


@njit(cache=True, nogil=True)
def _set(
    window: FloatArray,
    half: int,
    a: tuple[float, float],
    b: tuple[float, float],
    right: tuple[float, float],
    left: tuple[float, float],
) -> None:
    """A window: the half-edge ab that it crosses, and points on its right and left limit."""
    window[0] = half
    window[1], window[2] = a
    window[3], window[4] = b
    window[5], window[6] = right
    window[7], window[8] = left


@njit(cache=True, nogil=True)
def _look_through(
    mesh: Fans,
    corner: int,
    radius: float,
    found: FloatArray,
    reached: IntArray,
    number: int,
    stack: FloatArray,
) -> tuple[int, FloatArray]:
    """Lines that leave a vertex through one of its corners and cross the edge opposite to it.

    The plane is that of the corner's face, the vertex at the origin and the corner's half-edge on
    the first axis. `number` counts the vertices in `reached`; the stack may have grown.
    """
    turn, start = mesh.scale[mesh.vertex[corner]], mesh.start[corner]
    a = (mesh.length[corner], 0.0)
    side, angle = mesh.length[_previous(corner)], mesh.angle[corner]
    b = (side * cos(angle), side * sin(angle))
    _set(stack[0], _next(corner), a, b, a, b)
    height = 1
    while height:
        height -= 1
        half, ax, ay, bx, by, rx, ry, lx, ly = stack[height]
        twin = mesh.twin[int(half)]
        if twin < 0 or _beyond(ax, ay, bx, by, radius):
            continue
        # The face across is unfolded: its third vertex is p.
        tip = _previous(twin)
        share = mesh.length[tip] / mesh.length[twin]
        ux, uy = share * (ax - bx), share * (ay - by)
        c, s = cos(mesh.angle[twin]), sin(mesh.angle[twin])
        px, py = bx + c * ux - s * uy, by + c * uy + s * ux
        distance = hypot(px, py)
        from_right = (rx * py - ry * px) / (hypot(rx, ry) * distance)
        from_left = (px * ly - py * lx) / (hypot(lx, ly) * distance)
        if distance <= radius and from_right >= -_CLOSE and from_left >= -_CLOSE:
            v = mesh.vertex[tip]
            dx, dy = bx - px, by - py
            arrival = atan2(dy * px - dx * py, -dx * px - dy * py)
            there = mesh.scale[v] * (mesh.start[tip] + arrival)
            reached[number] = v
            number += _note(found, v, distance, turn * (start + atan2(py, px)), there)
        if height + 2 > len(stack):
            stack = _grown(stack)
        if from_right > _CLOSE:
            limit = (px, py) if from_left > 0.0 else (lx, ly)
            _set(stack[height], _next(twin), (ax, ay), (px, py), (rx, ry), limit)
            height += 1
        if from_left > _CLOSE:
            limit = (px, py) if from_right > 0.0 else (rx, ry)
            _set(stack[height], tip, (px, py), (bx, by), limit, (lx, ly))
            height += 1
    return number, stack


@njit(cache=True, nogil=True)
def _look_around(
    mesh: Fans, i: int, radius: float, found: FloatArray, reached: IntArray, stack: FloatArray
) -> tuple[int, FloatArray]:
    """All straight lines from vertex i; returns the number of vertices in `reached`."""
    number = 0
    for corner in mesh.corners[mesh.first[i] : mesh.first[i + 1]]:
        right, left = _next(corner), _previous(corner)
        for edge, begin, tip, arrival in (
            (corner, 0.0, right, mesh.angle[right]),
            (left, mesh.angle[corner], left, 0.0),
        ):
            if mesh.length[edge] <= radius:
                v = mesh.vertex[tip]
                here = mesh.scale[i] * (mesh.start[corner] + begin)
                there = mesh.scale[v] * (mesh.start[tip] + arrival)
                reached[number] = v
                number += _note(found, v, mesh.length[edge], here, there)
        number, stack = _look_through(mesh, corner, radius, found, reached, number, stack)
    return number, stack


@njit(cache=True, nogil=True)
def _turns(mesh: Fans, line: FloatArray, near: IntArray, places: FloatArray) -> tuple[float, float]:
    """Angles by which a line turns at its ends when curvature is spread around vertices.

    A line through the disk of a vertex has a part of its curvature on the other side than the
    vertex itself; the turns make it arrive nevertheless. `places` (n, 2) are those of the vertices
    `near` in the plane of the line, which starts at the origin.
    """
    here = there = 0.0
    length, norm = line[0], hypot(line[1], line[2])
    # Where equally short lines pass a vertex on both sides, their mean is what would be found.
    if norm < line[5] * (1.0 - _TIED):
        return here, there
    ux, uy = line[1] / norm, line[2] / norm
    for v in near:
        x, y = places[v]
        along, aside = ux * x + uy * y, ux * y - uy * x
        share = abs(aside) / mesh.size[v]
        if 0.0 < along < length and _CLOSE < share < 1.0:
            beyond = (acos(share) - share * sqrt(1.0 - share * share)) / pi
            turn = mesh.curvature[v] * (beyond if aside > 0.0 else -beyond)
            here += turn * (1.0 - along / length)
            there -= turn * along / length
    return here, there


@njit(cache=True, nogil=True)
def straight_lines(mesh: Fans, radius: float) -> FloatArray:
    """Shortest straight lines over unfolded faces: rows of i, j, length, angle at i, at j.

    Both angles are of the direction towards the other end. From each vertex a window of directions
    is opened in each corner and carried from face to face; where it meets a vertex it is split.
    """
    n = len(mesh.scale)
    found = np.zeros((n, 6))
    found[:, 0] = np.inf
    places = np.empty((n, 2))
    reached = np.empty(n + 1, np.int64)
    lines, count = np.empty((32 * n, 5)), 0
    stack = np.empty((64, 9))
    for i in range(n):
        found[i, 0] = 0.0
        number, stack = _look_around(mesh, i, radius, found, reached, stack)
        near = reached[:number]
        for j in near:
            share = found[j, 0] / hypot(found[j, 1], found[j, 2])
            places[j, 0], places[j, 1] = share * found[j, 1], share * found[j, 2]
        for j in near:
            if count == len(lines):
                lines = _grown(lines)
            here, there = _turns(mesh, found[j], near, places)
            lines[count, 0], lines[count, 1], lines[count, 2] = i, j, found[j, 0]
            lines[count, 3] = atan2(found[j, 2], found[j, 1]) + here
            lines[count, 4] = atan2(found[j, 4], found[j, 3]) + there
            count += 1
        found[near] = 0.0
        found[near, 0] = np.inf
        found[i, 0] = np.inf
    return lines[:count]


@njit(cache=True, nogil=True)
def bent_paths(
    indptr: IntArray, indices: IntArray, lines: FloatArray, hinge: NDArray[np.bool_], radius: float
) -> FloatArray:
    """Shortest paths made of straight lines, from i to j > i; they bend only at hinges.

    Rows are i, j and, as in `lines` (nnz, 4), length, angle at the row's vertex, angle at the
    column's, and transport from the column's to the row's.
    """
    n = len(hinge)
    found = np.zeros((n, 4))
    found[:, 0] = np.inf
    reached = np.empty(n + 1, np.int64)
    paths, count = np.empty((len(lines) // 2 + n, 6)), 0
    for i in range(n):
        number = indptr[i + 1] - indptr[i]
        heap = [(0.0, i)]
        found[i, 0] = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            found[j] = lines[e]
            reached[e - indptr[i]] = j
            if hinge[j]:
                heappush(heap, (lines[e, 0], j))
        heappop(heap)
        while heap:
            distance, k = heappop(heap)
            if distance > found[k, 0]:
                continue
            for e in range(indptr[k], indptr[k + 1]):
                j, length = indices[e], distance + lines[e, 0]
                if length <= radius and length < found[j, 0] * (1.0 - _CLOSE):
                    if np.isinf(found[j, 0]):
                        reached[number] = j
                        number += 1
                    found[j, 0], found[j, 1] = length, found[k, 1]
                    found[j, 2], found[j, 3] = lines[e, 2], found[k, 3] + lines[e, 3]
                    if hinge[j]:
                        heappush(heap, (length, j))
        for j in reached[:number]:
            if j > i:
                if count == len(paths):
                    paths = _grown(paths)
                paths[count, 0], paths[count, 1] = i, j
                paths[count, 2:] = found[j]
                count += 1
            found[j, 0] = np.inf
        found[i, 0] = np.inf
    return paths[:count]
