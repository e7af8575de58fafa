"""Compiled loops of the assembly: one pass over faces, one over rows.

Serial on purpose: they run at memory speed, release the GIL (shapes can be spread over threads) and
are safe after a fork, which threaded kernels are not.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from finsler.typing import FloatArray, IntArray

Int32Array = NDArray[np.int32]


@njit(cache=True, nogil=True)
def edge_weights(
    vertices: FloatArray,
    faces: IntArray,
    first: FloatArray,
    second: FloatArray,
    tensors: FloatArray,
    weights: FloatArray,
    needle: float,
) -> tuple[FloatArray, FloatArray, int, int]:
    """Weights area ∇φ_iᵀ D ∇φ_j of the three sides of each face, for several tensors D at once.

    `tensors` (1 or m, t, 3) holds D₁₁, D₁₂, D₂₂ in the tangent basis; D is multiplied by `weights`
    (m,). Returns (m, 3, t), side c opposite to corner c, the face areas, the first face without
    area (−1 if none), and how many faces are thinner than `needle` of their longest side.
    """
    m, t = len(faces), tensors.shape[1]
    out = np.empty((m, 3, t))
    areas = np.empty(m)
    bad, thin = -1, 0
    # Coordinates in the face of the side opposite to each corner.
    x, y = np.empty(3), np.empty(3)
    for f in range(m):
        longest = 0.0
        for c in range(3):
            start, end = faces[f, (c + 1) % 3], faces[f, (c + 2) % 3]
            x[c] = y[c] = 0.0
            squared = 0.0
            for d in range(3):
                side = vertices[end, d] - vertices[start, d]
                x[c] += side * first[f, d]
                y[c] += side * second[f, d]
                squared += side * side
            longest = max(longest, squared)
        twice_area = x[0] * y[1] - x[1] * y[0]
        if not twice_area > 1e-12 * longest:
            if bad < 0:
                bad = f
            continue
        if twice_area <= needle * longest:
            thin += 1
        areas[f] = 0.5 * twice_area
        scale = weights[f] / (2.0 * twice_area)
        row = f if len(tensors) > 1 else 0
        for c in range(3):
            i, j = (c + 1) % 3, (c + 2) % 3
            # ∇φ is the opposite side turned by 90°, divided by twice the area: (−y, x).
            yy, xx = scale * y[i] * y[j], scale * x[i] * x[j]
            xy = scale * (y[i] * x[j] + x[i] * y[j])
            for k in range(t):
                out[f, c, k] = (
                    tensors[row, k, 0] * yy - tensors[row, k, 1] * xy + tensors[row, k, 2] * xx
                )
    return out, areas, bad, thin


@njit(cache=True, nogil=True)
def corners_by_vertex(faces: IntArray, n_vertices: int) -> tuple[Int32Array, Int32Array]:
    """Corners 3f + c of each vertex as a compressed list (start (n+1,), corner (3m,))."""
    start = np.zeros(n_vertices + 1, dtype=np.int32)
    flat = faces.ravel()
    for vertex in flat:
        start[vertex + 1] += 1
    for i in range(n_vertices):
        start[i + 1] += start[i]
    cursor = start[:-1].copy()
    corner = np.empty(len(flat), dtype=np.int32)
    for position in range(len(flat)):
        vertex = flat[position]
        corner[cursor[vertex]] = position
        cursor[vertex] += 1
    return start, corner


@njit(cache=True, nogil=True)
def pattern(
    faces: IntArray, start: Int32Array, corner: Int32Array
) -> tuple[Int32Array, Int32Array, Int32Array]:
    """Sparsity pattern of every operator: a vertex and its neighbours, columns sorted.

    Returns indptr (n+1,), indices (nnz,) and the position of each diagonal entry (n,).
    """
    n = len(start) - 1
    # Every corner adds at most two neighbours; closed meshes need half of that.
    indices = np.empty(2 * len(corner) + n, dtype=np.int32)
    indptr = np.zeros(n + 1, dtype=np.int32)
    diagonal = np.empty(n, dtype=np.int32)
    end = 0
    for i in range(n):
        begin = end
        indices[end] = i
        end += 1
        for p in range(start[i], start[i + 1]):
            f, c = corner[p] // 3, corner[p] % 3
            for step in (1, 2):
                j = faces[f, (c + step) % 3]
                position = end
                while position > begin and indices[position - 1] > j:
                    position -= 1
                if position > begin and indices[position - 1] == j:
                    continue
                for q in range(end, position, -1):
                    indices[q] = indices[q - 1]
                indices[position] = j
                end += 1
        for p in range(begin, end):
            if indices[p] == i:
                diagonal[i] = p
        indptr[i + 1] = end
    return indptr, indices[:end].copy(), diagonal


@njit(cache=True, nogil=True)
def _is_ring(after: IntArray, before: IntArray, count: int) -> bool:
    """Whether the faces around a vertex follow each other once around, as nearly always."""
    position = 0
    for step in range(1, count + 1):
        following = 0
        while following < count and after[following] != before[position]:
            following += 1
        if following == count:
            return False
        position = following
        if position == 0:
            return step == count
    return False


@njit(cache=True, nogil=True)
def defects(faces: IntArray, start: Int32Array, corner: Int32Array) -> tuple[int, int, int]:
    """Number of edges with more than two faces, of vertices with several fans, and of repeats.

    A fan is a run of faces around a vertex across edges that have two faces; a repeat is a face
    with the corners of another one.
    """
    crowded, several, repeats = 0, 0, 0
    most = 0
    for i in range(len(start) - 1):
        most = max(most, start[i + 1] - start[i])
    after, before = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    fan = np.empty(most, dtype=np.int64)
    for i in range(len(start) - 1):
        count = start[i + 1] - start[i]
        for p in range(count):
            position = corner[start[i] + p]
            f, c = position // 3, position % 3
            after[p], before[p], fan[p] = faces[f, (c + 1) % 3], faces[f, (c + 2) % 3], p
        if _is_ring(after, before, count):
            continue
        fans = count
        for p in range(count):
            for side in range(2):
                j = after[p] if side == 0 else before[p]
                met, last, earlier = 1, -1, False
                for q in range(count):
                    if q != p and (after[q] == j or before[q] == j):
                        met += 1
                        last = q
                        earlier = earlier or q < p
                if met > 2 and i < j and not earlier:
                    crowded += 1
                if met == 2 and fan[p] != fan[last]:
                    fans -= 1
                    old, new = max(fan[p], fan[last]), min(fan[p], fan[last])
                    for q in range(count):
                        if fan[q] == old:
                            fan[q] = new
            if i < after[p] and i < before[p]:
                low, high = min(after[p], before[p]), max(after[p], before[p])
                for q in range(p):
                    if low == min(after[q], before[q]) and high == max(after[q], before[q]):
                        repeats += 1
                        break
        if fans > 1:
            several += 1
    return crowded, several, repeats


@njit(cache=True, nogil=True)
def gather(
    faces: IntArray,
    start: Int32Array,
    corner: Int32Array,
    indptr: Int32Array,
    indices: Int32Array,
    diagonal: Int32Array,
    weights: FloatArray,
) -> FloatArray:
    """Values (t, nnz) on the pattern: off the diagonal sums of side weights, rows sum to zero."""
    t = weights.shape[2]
    values = np.zeros((t, len(indices)))
    for i in range(len(diagonal)):
        begin = indptr[i]
        for p in range(start[i], start[i + 1]):
            f, c = corner[p] // 3, corner[p] % 3
            for step in (1, 2):
                j = faces[f, (c + step) % 3]
                side = (c + 3 - step) % 3
                position = begin
                while indices[position] != j:
                    position += 1
                for k in range(t):
                    value = weights[f, side, k]
                    values[k, position] += value
                    values[k, diagonal[i]] -= value
    return values


@njit(cache=True, nogil=True)
def gather_skew(
    faces: IntArray,
    start: Int32Array,
    corner: Int32Array,
    indptr: Int32Array,
    indices: Int32Array,
    slopes: FloatArray,
) -> FloatArray:
    """Values (t, nnz) on the pattern: sums over faces of s_j − s_i, slopes s (m, 3, t)."""
    t = slopes.shape[2]
    values = np.zeros((t, len(indices)))
    for i in range(len(indptr) - 1):
        for p in range(start[i], start[i + 1]):
            f, c = corner[p] // 3, corner[p] % 3
            for step in (1, 2):
                other = (c + step) % 3
                entry = indptr[i]
                while indices[entry] != faces[f, other]:
                    entry += 1
                for k in range(t):
                    values[k, entry] += slopes[f, other, k] - slopes[f, c, k]
    return values


@njit(cache=True, nogil=True)
def combine(basis: FloatArray, coefficients: FloatArray) -> FloatArray:
    """Linear combinations (angles, nnz) of three rows (3, nnz) with coefficients (angles, 3)."""
    angles, nnz = len(coefficients), basis.shape[1]
    out = np.empty((angles, nnz))
    for a in range(angles):
        p, q, r = coefficients[a]
        for k in range(nnz):
            out[a, k] = p * basis[0, k] + q * basis[1, k] + r * basis[2, k]
    return out
