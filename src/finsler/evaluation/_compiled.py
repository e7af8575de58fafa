"""Compiled loops that measure from one vertex to another and stop as soon as they arrive."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from finsler.analysis._compiled import corner_update
from finsler.typing import FloatArray, IntArray

Int32Array = NDArray[np.int32]

# Gains of arrival times that are not handed on, as a share of the time.
_SETTLED = 1e-10


@njit(cache=True, nogil=True)
def _push(times: FloatArray, items: IntArray, size: int, time: float, item: int) -> int:
    """Put an item on a heap of the given size, smallest time first; the new size."""
    child = size
    while child > 0:
        parent = (child - 1) // 2
        if times[parent] <= time:
            break
        times[child], items[child] = times[parent], items[parent]
        child = parent
    times[child], items[child] = time, item
    return size + 1


@njit(cache=True, nogil=True)
def _pop(times: FloatArray, items: IntArray, size: int) -> int:
    """Take the first item off a heap; the new size."""
    size -= 1
    time, item = times[size], items[size]
    parent = 0
    while 2 * parent + 1 < size:
        child = 2 * parent + 1
        if child + 1 < size and times[child + 1] < times[child]:
            child += 1
        if times[child] >= time:
            break
        times[parent], items[parent] = times[child], items[child]
        parent = child
    times[parent], items[parent] = time, item
    return size


@njit(cache=True, nogil=True)
def edge_distances(
    start: Int32Array,
    neighbor: Int32Array,
    length: FloatArray,
    sources: IntArray,
    targets: IntArray,
) -> FloatArray:
    """Length of the shortest way along edges from sources[i] to targets[i]; infinite if none.

    The neighbours of vertex v are neighbor[start[v] : start[v + 1]]. Dijkstra's algorithm, which
    ends when it reaches the target.
    """
    n, room = len(start) - 1, len(neighbor) + 1
    distance, times, items = np.full(n, np.inf), np.empty(room), np.empty(room, np.int64)
    touched = np.empty(n, np.int64)
    out = np.full(len(sources), np.inf)
    for i in range(len(sources)):
        distance[sources[i]], touched[0], count = 0.0, sources[i], 1
        size = _push(times, items, 0, 0.0, sources[i])
        while size > 0:
            time, v = times[0], items[0]
            size = _pop(times, items, size)
            if v == targets[i]:
                out[i] = time
                break
            if time > distance[v]:
                continue
            for p in range(start[v], start[v + 1]):
                w = neighbor[p]
                if time + length[p] < distance[w]:
                    if np.isinf(distance[w]):
                        touched[count], count = w, count + 1
                    distance[w] = time + length[p]
                    size = _push(times, items, size, distance[w], w)
        for k in range(count):
            distance[touched[k]] = np.inf
    return out


@njit(cache=True, nogil=True)
def front_distances(
    faces: IntArray,
    start: Int32Array,
    corner: Int32Array,
    geometry: FloatArray,
    across: IntArray,
    trust: float,
    slack: FloatArray,
    sources: IntArray,
    targets: IntArray,
) -> FloatArray:
    """Arrival time at targets[i] of a front that starts at sources[i]; infinite if it never comes.

    The updates of `finsler.analysis.eikonal`, earliest vertex first. A vertex may be reached anew
    from one that was reached later, but not by more than `slack` (n,), the length of the edges
    there: then the front has passed, and the loop ends.
    """
    n, room = len(start) - 1, 64 * len(faces) + 64
    distance, times, items = np.full(n, np.inf), np.empty(room), np.empty(room, np.int64)
    touched = np.empty(n, np.int64)
    out = np.full(len(sources), np.inf)
    for i in range(len(sources)):
        distance[sources[i]], touched[0], count = 0.0, sources[i], 1
        size = _push(times, items, 0, 0.0, sources[i])
        while size > 0 and times[0] <= distance[targets[i]] + slack[targets[i]]:
            time, v = times[0], items[0]
            size = _pop(times, items, size)
            if time > distance[v]:
                continue
            for p in range(start[v], start[v + 1]):
                for step in range(3):
                    f, c = corner[p] // 3, (corner[p] % 3 + step) % 3
                    if step == 0:
                        # v lies across an edge from the corner of another face.
                        if across[f, c] < 0:
                            continue
                        f, c = across[f, c] // 3, across[f, c] % 3
                    w = faces[f, c]
                    a, b = faces[f, (c + 1) % 3], faces[f, (c + 2) % 3]
                    far = across[f, c]
                    beyond = distance[faces[far // 3, far % 3]] if far >= 0 else np.nan
                    reached = corner_update(geometry[f, c], distance[a], distance[b], beyond, trust)
                    if reached[0] < distance[w] * (1.0 - _SETTLED) and size < room:
                        if np.isinf(distance[w]):
                            touched[count], count = w, count + 1
                        distance[w] = reached[0]
                        size = _push(times, items, size, distance[w], w)
        out[i] = distance[targets[i]]
        for k in range(count):
            distance[touched[k]] = np.inf
    return out
