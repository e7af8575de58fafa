"""Compiled search for neighbours in a ball: points sorted into cells."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from finsler.descriptors.shot import CLOSE
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
def gather(cells: Cells, i: int, radius: float, neighbors: Int32Array, distance: FloatArray) -> int:
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
