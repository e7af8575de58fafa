"""Frames of SHOT as the code in circulation makes them, with the signs of its QR iteration.

Any eigenvector has two signs, and descriptors in circulation depend on which one their solver
returned. This is the textbook algorithm (Golub and Van Loan, section 8.3: one Householder
reflection to tridiagonal form, then implicit QR steps with Wilkinson's shift) in the order and with
the sign conventions of Eigen's solver, whose signs it reproduces.
"""

from __future__ import annotations

from math import hypot, sqrt

import numpy as np
from numba import njit

from finsler.descriptors._compiled import covariance, cross
from finsler.descriptors._compiled_cells import Cells, Int32Array, gather
from finsler.typing import FloatArray

_TINY = 2.2250738585072014e-308
_EPSILON = 2.220446049250313e-16
_STEPS = 90


@njit(cache=True, nogil=True)
def _rotation(x: float, z: float) -> tuple[float, float]:
    """c and s with s x + c z = 0."""
    if z == 0.0:
        return (-1.0 if x < 0.0 else 1.0), 0.0
    if x == 0.0:
        return 0.0, (1.0 if z < 0.0 else -1.0)
    if abs(x) > abs(z):
        t = z / x
        u = sqrt(1.0 + t * t)
        c = 1.0 / (-u if x < 0.0 else u)
        return c, -t * c
    t = x / z
    u = sqrt(1.0 + t * t)
    s = -1.0 / (-u if z < 0.0 else u)
    return -t * s, s


@njit(cache=True, nogil=True)
def _tridiagonal(a: FloatArray, d: FloatArray, e: FloatArray, q: FloatArray) -> None:
    """a = q T qᵀ, T with diagonal d and off-diagonal e; q is a reflection of the last two axes."""
    for r in range(3):
        for c in range(3):
            q[r, c] = 1.0 if r == c == 0 else 0.0
    d[0] = a[0, 0]
    if a[2, 0] * a[2, 0] <= _TINY:
        d[1], d[2], e[0], e[1] = a[1, 1], a[2, 2], a[1, 0], a[2, 1]
        q[1, 1] = q[2, 2] = 1.0
        return
    e[0] = sqrt(a[1, 0] * a[1, 0] + a[2, 0] * a[2, 0])
    c, s = a[1, 0] / e[0], a[2, 0] / e[0]
    w = 2.0 * c * a[2, 1] + s * (a[2, 2] - a[1, 1])
    d[1], d[2], e[1] = a[1, 1] + s * w, a[2, 2] - s * w, a[2, 1] - c * w
    q[1, 1], q[1, 2], q[2, 1], q[2, 2] = c, s, s, -c


@njit(cache=True, nogil=True)
def _qr_step(start: int, end: int, d: FloatArray, e: FloatArray, q: FloatArray) -> None:
    """One implicit step on rows start..end, shifted by the eigenvalue of the last block near d."""
    half = 0.5 * (d[end - 1] - d[end])
    last = e[end - 1]
    if half == 0.0:
        shift = d[end] - abs(last)
    else:
        size = hypot(half, last)
        shift = d[end] - last * last / (half + (size if half > 0.0 else -size))
    x, z = d[start] - shift, e[start]
    for k in range(start, end):
        c, s = _rotation(x, z)
        lower, upper = s * d[k] + c * e[k], s * e[k] + c * d[k + 1]
        d[k] = c * (c * d[k] - s * e[k]) - s * (c * e[k] - s * d[k + 1])
        d[k + 1] = s * lower + c * upper
        e[k] = c * lower - s * upper
        if k > start:
            e[k - 1] = c * e[k - 1] - s * z
        x = e[k]
        if k < end - 1:
            z = -s * e[k + 1]
            e[k + 1] *= c
        for r in range(3):
            left, right = q[r, k], q[r, k + 1]
            q[r, k], q[r, k + 1] = c * left - s * right, s * left + c * right
        if z == 0.0:
            break


@njit(cache=True, nogil=True)
def _extreme_axes(a: FloatArray, q: FloatArray, axes: FloatArray, i: int) -> None:
    """Axes x and z of point i: eigenvectors of the largest and the smallest eigenvalue of a.

    They have the signs of the solver. Overwrites a and q.
    """
    largest = 0.0
    for r in range(3):
        for c in range(3):
            largest = max(largest, abs(a[r, c]))
    if largest > 0.0:
        for r in range(3):
            for c in range(3):
                a[r, c] /= largest
    d, e = np.empty(3), np.empty(2)
    _tridiagonal(a, d, e, q)
    end = 2
    for _ in range(_STEPS):
        for k in range(end):
            if abs(e[k]) <= _EPSILON * (abs(d[k]) + abs(d[k + 1])) or abs(e[k]) < _TINY:
                e[k] = 0.0
        while end > 0 and e[end - 1] == 0.0:
            end -= 1
        if end == 0:
            break
        start = end - 1
        while start > 0 and e[start - 1] != 0.0:
            start -= 1
        _qr_step(start, end, d, e, q)
    high, low = 0, 0
    for k in range(1, 3):
        high = k if d[k] > d[high] else high
        low = k if d[k] < d[low] else low
    for r in range(3):
        axes[i, 0, r] = q[r, high]
        axes[i, 2, r] = q[r, low]


@njit(cache=True, nogil=True)
def _turn_to_most(
    points: FloatArray, i: int, neighbors: Int32Array, count: int, axes: FloatArray, which: int
) -> None:
    """Turn an axis of point i to the side on which most neighbours lie.

    What lies in the plane counts as above it, and a tie leaves the sign of the solver.
    """
    above = 0
    for k in range(count):
        along = 0.0
        for d in range(3):
            along += (points[neighbors[k], d] - points[i, d]) * axes[i, which, d]
        above += int(along >= 0.0)
    if 2 * above < count:
        for d in range(3):
            axes[i, which, d] *= -1.0


@njit(cache=True, nogil=True)
def frames_as_released(
    cells: Cells, radius: float, least: int, axes: FloatArray, counts: Int32Array
) -> None:
    """As `frames`, with the weights radius − distance² relative to their sum."""
    points = cells.points
    n = len(points)
    neighbors, distance = np.empty(n, np.int32), np.empty(n)
    a, q = np.empty((3, 3)), np.empty((3, 3))
    for i in range(n):
        count = gather(cells, i, radius, neighbors, distance)
        counts[i] = count
        if count < least:
            continue
        if covariance(points, i, neighbors, distance, count, radius, True, a) < 0.0:
            for r in range(3):
                for c in range(3):
                    a[r, c] = -a[r, c]
        _extreme_axes(a, q, axes, i)
        for which in range(0, 3, 2):
            _turn_to_most(points, i, neighbors, count, axes, which)
        cross(axes, i)
