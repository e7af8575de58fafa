"""Compiled loops of SHOT: one pass for the frames, one for the votes.

Neighbours are found anew in each pass, which costs little and needs no memory. Serial on purpose:
the loops release the GIL (shapes can be spread over threads) and are safe after a fork, which
threaded kernels are not. Plain loops over numbers on purpose: expressions of whole arrays, slices
that are assigned and np.sort compile for seconds, and the first use of the package waits for it.
"""

from __future__ import annotations

from math import asin, atan2, ceil, floor, pi, sqrt

import numpy as np
from numba import njit

from finsler.descriptors._compiled_cells import Cells, Int32Array, gather
from finsler.descriptors.shot import CLOSE, MEDIAN_POINTS, ROUNDING, SWEEPS
from finsler.typing import FloatArray, IntArray


@njit(cache=True, nogil=True)
def covariance(
    points: FloatArray,
    i: int,
    neighbors: Int32Array,
    distance: FloatArray,
    count: int,
    radius: float,
    released: bool,
    a: FloatArray,
) -> float:
    """Fill a (3, 3) with Σ weight (p − p_i)(p − p_i)ᵀ; returns the sum of the weights.

    They are radius − distance, or radius − distance² as `released`, which can be negative.
    """
    xx = xy = xz = yy = yz = zz = total = 0.0
    for k in range(count):
        j, far = neighbors[k], distance[k]
        weight = radius - (far * far if released else min(far, radius))
        x = points[j, 0] - points[i, 0]
        y = points[j, 1] - points[i, 1]
        z = points[j, 2] - points[i, 2]
        total += weight
        xx += weight * x * x
        xy += weight * x * y
        xz += weight * x * z
        yy += weight * y * y
        yz += weight * y * z
        zz += weight * z * z
    a[0, 0], a[1, 1], a[2, 2] = xx, yy, zz
    a[0, 1] = a[1, 0] = xy
    a[0, 2] = a[2, 0] = xz
    a[1, 2] = a[2, 1] = yz
    return total


@njit(cache=True, nogil=True)
def cross(axes: FloatArray, i: int) -> None:
    """Fill in the axis y = z × x of point i."""
    for d in range(3):
        e, f = (d + 1) % 3, (d + 2) % 3
        axes[i, 1, d] = axes[i, 2, e] * axes[i, 0, f] - axes[i, 2, f] * axes[i, 0, e]


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
def _extreme_axes(a: FloatArray, v: FloatArray, axes: FloatArray, i: int) -> None:
    """Axes x and z of point i: eigenvectors of the largest and the smallest eigenvalue of a.

    Among equal eigenvalues the first in the order of the coordinates is the larger. Overwrites a
    and v.
    """
    zero = ROUNDING * (abs(a[0, 0]) + abs(a[1, 1]) + abs(a[2, 2]))
    for p in range(3):
        for q in range(3):
            v[p, q] = 1.0 if p == q else 0.0
    for _ in range(SWEEPS):
        for r in range(2, -1, -1):
            p = 1 if r == 0 else 0
            q = 3 - p - r
            if abs(a[p, q]) > zero:
                _rotate(a, v, p, q)
    high, low = 0, 0
    for d in range(1, 3):
        if a[d, d] > a[high, high] + zero:
            high = d
        if a[d, d] <= a[low, low] + zero:
            low = d
    for d in range(3):
        axes[i, 0, d] = v[d, high]
        axes[i, 2, d] = v[d, low]


@njit(cache=True, nogil=True)
def _sort(values: FloatArray, count: int) -> None:
    """Sort the first values in place: exchanges over ever smaller gaps (comb sort)."""
    gap, exchanged = count, True
    while gap > 1 or exchanged:
        gap, exchanged = max(10 * gap // 13, 1), False
        for k in range(count - gap):
            low, high = values[k], values[k + gap]
            if low > high:
                values[k], values[k + gap] = high, low
                exchanged = True


@njit(cache=True, nogil=True)
def _side(
    points: FloatArray,
    i: int,
    neighbors: Int32Array,
    distance: FloatArray,
    count: int,
    axes: FloatArray,
    which: int,
    radius: float,
    ordered: FloatArray,
) -> int:
    """Positive where most neighbours lie on the side of an axis, negative where on the other.

    Where as many lie on both sides, the points around the median distance decide; `ordered` is
    room for the distances.
    """
    near, far = 0.0, 2.0 * radius
    votes = 0
    for attempt in range(2):
        if attempt == 1:
            for k in range(count):
                ordered[k] = distance[k]
            _sort(ordered, count)
            middle = count // 2
            near = ordered[max(middle - MEDIAN_POINTS // 2, 0)] - CLOSE * radius
            far = ordered[min(middle + MEDIAN_POINTS // 2, count - 1)] + CLOSE * radius
        for k in range(count):
            if near <= distance[k] <= far:
                along = 0.0
                for d in range(3):
                    along += (points[neighbors[k], d] - points[i, d]) * axes[i, which, d]
                votes += int(along > CLOSE * radius) - int(along < -CLOSE * radius)
        if votes != 0:
            break
    return votes


@njit(cache=True, nogil=True)
def frames(cells: Cells, radius: float, least: int, axes: FloatArray, counts: Int32Array) -> None:
    """Fill `axes` (n, 3, 3) with the rows x, y, z of each frame, and `counts` of neighbours (n,).

    The covariance has the weights radius − distance. All in the order of the cells; a vertex with
    fewer than `least` neighbours is left as it is.
    """
    points, normals = cells.points, cells.normals
    n = len(points)
    neighbors, distance, ordered = np.empty(n, np.int32), np.empty(n), np.empty(n)
    a, v = np.empty((3, 3)), np.empty((3, 3))
    for i in range(n):
        count = gather(cells, i, radius, neighbors, distance)
        counts[i] = count
        if count < least:
            continue
        covariance(points, i, neighbors, distance, count, radius, False, a)
        _extreme_axes(a, v, axes, i)
        for which in range(0, 3, 2):
            votes = _side(points, i, neighbors, distance, count, axes, which, radius, ordered)
            side = float(votes)
            if votes == 0:
                for d in range(3):
                    if which == 2:
                        side += axes[i, 2, d] * normals[i, d]
                    elif abs(axes[i, 0, d]) > abs(side):
                        side = axes[i, 0, d]
            if side < 0.0:
                for d in range(3):
                    axes[i, which, d] *= -1.0
        cross(axes, i)


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
    for i in range(n):
        count = gather(cells, i, radius, neighbors, distance)
        if count < least:
            continue
        for k in range(len(histogram)):
            histogram[k] = 0.0
        for k in range(count):
            j = neighbors[k]
            cosine = x = y = z = 0.0
            for d in range(3):
                delta = (points[j, d] - points[i, d]) / radius
                x += delta * axes[i, 0, d]
                y += delta * axes[i, 1, d]
                z += delta * axes[i, 2, d]
                cosine += normals[j, d] * axes[i, 2, d]
            _vote(x, y, z, distance[k] / radius, cosine, bins, rings, histogram)
        squared = 0.0
        for k in range(len(histogram)):
            squared += histogram[k] * histogram[k]
        for k in range(len(histogram)):
            out[rows[i], k] = histogram[k] / sqrt(squared)
