"""Compiled loops of SHOT: points sorted into cells, one pass for the frames, one for the votes.

Neighbours are found anew in each pass, which costs little and needs no memory. Serial on purpose:
the loops release the GIL (shapes can be spread over threads) and are safe after a fork, which
threaded kernels are not.
"""

from __future__ import annotations

from math import asin, atan2, ceil, floor, pi, sqrt
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from finsler.descriptors._compiled_qr import extreme_axes_qr
from finsler.descriptors.shot import CLOSE, MEDIAN_POINTS, ROUNDING, SWEEPS
from finsler.typing import FloatArray, IntArray

Int32Array = NDArray[np.int32]


class Cells(NamedTuple):
    """Points in the order of the cubes of side `width` that hold them; x runs fastest.

    `start` (cubes + 1,) tells where each cube begins; `lower` (3,) is the corner of the first and
    `shape` (3,) the number of cubes along x, y, z.
    """

    points: FloatArray
    normals: FloatArray
    start: Int32Array
    lower: FloatArray
    shape: IntArray
    width: float


@njit(cache=True, nogil=True)
def sort_into_cells(
    points: FloatArray, lower: FloatArray, shape: IntArray, width: float
) -> tuple[Int32Array, Int32Array]:
    """Order (n,) of the points by cube, and where each cube starts in it."""
    n = len(points)
    key = np.empty(n, np.int32)
    start = np.zeros(shape[0] * shape[1] * shape[2] + 1, np.int32)
    for i in range(n):
        x = int((points[i, 0] - lower[0]) / width)
        y = int((points[i, 1] - lower[1]) / width)
        z = int((points[i, 2] - lower[2]) / width)
        key[i] = (z * shape[1] + y) * shape[0] + x
        start[key[i] + 1] += 1
    for cell in range(len(start) - 1):
        start[cell + 1] += start[cell]
    cursor = start[:-1].copy()
    order = np.empty(n, np.int32)
    for i in range(n):
        order[cursor[key[i]]] = i
        cursor[key[i]] += 1
    return order, start


@njit(cache=True, nogil=True)
def _gather(
    cells: Cells, i: int, radius: float, neighbors: Int32Array, distance: FloatArray
) -> int:
    """Neighbours of point i and their distances; returns how many there are."""
    points, shape = cells.points, cells.shape
    cx = int((points[i, 0] - cells.lower[0]) / cells.width)
    cy = int((points[i, 1] - cells.lower[1]) / cells.width)
    cz = int((points[i, 2] - cells.lower[2]) / cells.width)
    least, most = (CLOSE * radius) ** 2, (radius * (1.0 + CLOSE)) ** 2
    count = 0
    for z in range(max(cz - 1, 0), min(cz + 2, shape[2])):
        for y in range(max(cy - 1, 0), min(cy + 2, shape[1])):
            row = (z * shape[1] + y) * shape[0]
            begin = cells.start[row + max(cx - 1, 0)]
            for j in range(begin, cells.start[row + min(cx + 2, shape[0])]):
                dx = points[j, 0] - points[i, 0]
                dy = points[j, 1] - points[i, 1]
                dz = points[j, 2] - points[i, 2]
                squared = dx * dx + dy * dy + dz * dz
                if least < squared <= most:
                    neighbors[count] = j
                    distance[count] = sqrt(squared)
                    count += 1
    return count


@njit(cache=True, nogil=True)
def _rotate(a: FloatArray, v: FloatArray, p: int, q: int) -> None:
    """One Jacobi rotation: makes a[p, q] zero and turns the columns of v along."""
    theta = (a[q, q] - a[p, p]) / (2.0 * a[p, q])
    t = 1.0 / (abs(theta) + sqrt(theta * theta + 1.0))
    t = -t if theta < 0.0 else t
    c = 1.0 / sqrt(t * t + 1.0)
    s = t * c
    r = 3 - p - q
    a[p, p] -= t * a[p, q]
    a[q, q] += t * a[p, q]
    a[p, q] = a[q, p] = 0.0
    rp, rq = a[r, p], a[r, q]
    a[r, p] = a[p, r] = c * rp - s * rq
    a[r, q] = a[q, r] = s * rp + c * rq
    for d in range(3):
        vp, vq = v[d, p], v[d, q]
        v[d, p] = c * vp - s * vq
        v[d, q] = s * vp + c * vq


@njit(cache=True, nogil=True)
def _extreme_axes(a: FloatArray, v: FloatArray, first: FloatArray, last: FloatArray) -> None:
    """Eigenvectors of the largest and the smallest eigenvalue of a, which is overwritten.

    Among equal eigenvalues the first in the order of the coordinates is the larger.
    """
    zero = ROUNDING * (abs(a[0, 0]) + abs(a[1, 1]) + abs(a[2, 2]))
    v[:] = 0.0
    v[0, 0] = v[1, 1] = v[2, 2] = 1.0
    for _ in range(SWEEPS):
        for p, q in ((0, 1), (0, 2), (1, 2)):
            if abs(a[p, q]) > zero:
                _rotate(a, v, p, q)
    high, low = 0, 0
    for d in (1, 2):
        if a[d, d] > a[high, high] + zero:
            high = d
        if a[d, d] <= a[low, low] + zero:
            low = d
    first[:] = v[:, high]
    last[:] = v[:, low]


@njit(cache=True, nogil=True)
def _votes(
    points: FloatArray,
    i: int,
    neighbors: Int32Array,
    distance: FloatArray,
    axis: FloatArray,
    radius: float,
    between: tuple[float, float],
) -> int:
    """Neighbours at distances `between` these on the side of the axis, less those on the other."""
    votes = 0
    for k in range(len(neighbors)):
        if between[0] <= distance[k] <= between[1]:
            along = 0.0
            for d in range(3):
                along += (points[neighbors[k], d] - points[i, d]) * axis[d]
            votes += int(along > CLOSE * radius) - int(along < -CLOSE * radius)
    return votes


@njit(cache=True, nogil=True)
def _side(
    points: FloatArray,
    i: int,
    neighbors: Int32Array,
    distance: FloatArray,
    axis: FloatArray,
    radius: float,
) -> int:
    """Positive where most neighbours lie on the side of the axis, negative where on the other.

    Where as many lie on both sides, the points around the median distance decide.
    """
    all_of_them = (0.0, 2.0 * radius)
    votes = _votes(points, i, neighbors, distance, axis, radius, all_of_them)
    if votes == 0:
        ordered = np.sort(distance)
        middle, last = len(ordered) // 2, len(ordered) - 1
        near = ordered[max(middle - MEDIAN_POINTS // 2, 0)] - CLOSE * radius
        far = ordered[min(middle + MEDIAN_POINTS // 2, last)] + CLOSE * radius
        votes = _votes(points, i, neighbors, distance, axis, radius, (near, far))
    return votes


@njit(cache=True, nogil=True)
def frames(cells: Cells, radius: float, least: int, released: bool, axes: FloatArray) -> Int32Array:
    """Fill `axes` (n, 3, 3) with the rows x, y, z of each frame; returns the neighbour counts.

    The covariance has the weights radius − distance, or radius − distance² as `released`, which can
    be negative and are taken relative to their sum. All in the order of the cells; a vertex with
    fewer than `least` neighbours is left as it is.
    """
    points = cells.points
    n = len(points)
    counts = np.zeros(n, np.int32)
    neighbors, distance = np.empty(n, np.int32), np.empty(n)
    a, v, delta = np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    for i in range(n):
        count = counts[i] = _gather(cells, i, radius, neighbors, distance)
        if count < least:
            continue
        near, far = neighbors[:count], distance[:count]
        a[:] = 0.0
        total = 0.0
        for k in range(count):
            weight = radius - (far[k] * far[k] if released else min(far[k], radius))
            total += weight
            for d in range(3):
                delta[d] = points[near[k], d] - points[i, d]
            for p in range(3):
                for q in range(p, 3):
                    a[p, q] += weight * delta[p] * delta[q]
        if total < 0.0:
            a *= -1.0
        a[1, 0], a[2, 0], a[2, 1] = a[0, 1], a[0, 2], a[1, 2]
        x, y, z = axes[i, 0], axes[i, 1], axes[i, 2]
        if released:
            extreme_axes_qr(a, v, x, z)
            # What lies in the plane counts as above it, and a tie leaves the sign of the solver.
            for axis in (x, z):
                above = 0
                for k in range(count):
                    along = 0.0
                    for d in range(3):
                        along += (points[near[k], d] - points[i, d]) * axis[d]
                    above += int(along >= 0.0)
                if 2 * above < count:
                    axis *= -1.0
        else:
            _extreme_axes(a, v, x, z)
            side = float(_side(points, i, near, far, x, radius))
            if side == 0.0:
                side = x[np.argmax(np.abs(x))]
            if side < 0.0:
                x *= -1.0
            side = float(_side(points, i, near, far, z, radius))
            if side == 0.0:
                for d in range(3):
                    side += z[d] * cells.normals[i, d]
            if side < 0.0:
                z *= -1.0
        for d in range(3):
            e, f = (d + 1) % 3, (d + 2) % 3
            y[d] = z[e] * x[f] - z[f] * x[e]
    return counts


@njit(cache=True, nogil=True)
def _vote(
    x: float,
    y: float,
    z: float,
    distance: float,
    cosine: float,
    bins: int,
    rings: tuple[int, int],
    histogram: FloatArray,
) -> None:
    """Add the votes of a neighbour at (x, y, z) in units of the radius, with this cosine.

    One goes to its own bin, and one to a neighbouring bin in each of the four dimensions.
    """
    if abs(y) <= CLOSE:
        y = 0.0
    if abs(z) <= CLOSE:
        z = 0.0
    sector, aside = 0, 0.0
    turned = abs(x) > CLOSE or y != 0.0
    if turned:
        u = (atan2(y, x) + pi) * (4.0 / pi)
        sector = ceil(u - CLOSE) - 1
        aside = u - sector - 0.5
    outer = 1 if distance > 0.5 + CLOSE else 0
    beyond = 2.0 * distance - outer - 0.5
    upper = 1 if z > 0.0 else 0
    flat = 0.5 - asin(min(abs(z) / distance, 1.0)) * (2.0 / pi)
    height = (1.0 + min(max(cosine, -1.0), 1.0)) * bins / 2.0
    level = floor(height + 0.5 + CLOSE)
    above = height - level

    width = bins + 1
    volume = ((sector * 2 + outer) * 2 + upper) * width
    own = 3.0 - abs(above) - abs(beyond) - abs(flat)
    if above > 0.0:
        histogram[volume + (level + 1) % rings[1]] += above
    elif above < 0.0:
        histogram[volume + level - 1] -= above
    if outer == 0 and beyond > 0.0:
        histogram[volume + 2 * width + level] += beyond
    elif outer == 1 and beyond < 0.0:
        histogram[volume - 2 * width + level] -= beyond
    if flat > 0.0:
        histogram[volume + (1 - 2 * upper) * width + level] += flat
    if turned:
        own += 1.0 - abs(aside)
        beside = (sector + (1 if aside > 0.0 else rings[0] - 1)) % rings[0]
        histogram[volume + (beside - sector) * 4 * width + level] += abs(aside)
    histogram[volume + level] += own


@njit(cache=True, nogil=True)
def describe(
    cells: Cells,
    axes: FloatArray,
    radius: float,
    bins: int,
    least: int,
    rings: tuple[int, int],
    rows: IntArray,
    out: FloatArray,
) -> None:
    """Fill row rows[i] of `out` (·, 32 (bins + 1)) with the descriptor of point i of the cells.

    `rings` are the numbers of sectors and of levels after which neighbouring bins start again.
    """
    points, normals = cells.points, cells.normals
    n = len(points)
    neighbors, distance = np.empty(n, np.int32), np.empty(n)
    histogram = np.empty(32 * (bins + 1))
    local = np.empty(3)
    for i in range(n):
        count = _gather(cells, i, radius, neighbors, distance)
        if count < least:
            continue
        histogram[:] = 0.0
        for k in range(count):
            j = neighbors[k]
            cosine = 0.0
            local[:] = 0.0
            for d in range(3):
                delta = (points[j, d] - points[i, d]) / radius
                for axis in range(3):
                    local[axis] += delta * axes[i, axis, d]
                cosine += normals[j, d] * axes[i, 2, d]
            x, y, z = local[0], local[1], local[2]
            _vote(x, y, z, distance[k] / radius, cosine, bins, rings, histogram)
        squared = 0.0
        for value in histogram:
            squared += value * value
        for k in range(len(histogram)):
            out[rows[i], k] = histogram[k] / sqrt(squared)
