"""Nearest rows among many, exactly, by cells around some of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from finsler.typing import IntArray

Rows = NDArray[np.float32]
# Points in a cell on average, and cells at most: distances of all queries to all centres cost about
# as much as looking into the cells that are left.
_PER_CELL, _MOST_CELLS = 20, 4000
# Distances to centres that are held at once.
_HELD = 2**24
# Error of these distances in single precision, as a share of the lengths of both rows.
_ROUNDING = 1e-3
# Queries of a trial, and the share of the points that it may look at.
_TRIAL, _WORTHWHILE = 256, 0.1


def nearest_in_cells(queries: Rows, points: Rows) -> IntArray | None:
    """Index of the nearest row of `points` (p, d) for each row of `queries` (q, d).

    Every point belongs to the nearest of some centres, drawn among the points. A cell of radius r
    whose centre is at distance s has no point nearer than s − r, so most of them need not be looked
    into where the points are on a surface, in however many dimensions. Of points that are equally
    near up to rounding, any is taken. None where a tenth of the points would have to be looked at:
    brute force is faster then.
    """
    from finsler.matching._compiled_cells import search_cells

    count = int(np.clip(len(points) // _PER_CELL, 1, _MOST_CELLS))
    centres = points[np.random.default_rng(0).choice(len(points), count, replace=False)]
    cell, apart = np.empty(len(points), dtype=np.int64), np.empty(len(points), dtype=np.float32)
    for block, distances in _to_centres(points, centres):
        cell[block] = distances.argmin(axis=1)
        apart[block] = distances[np.arange(len(distances)), cell[block]]
    radii = np.zeros(count, dtype=np.float32)
    np.maximum.at(radii, cell, apart)
    order = np.argsort(cell, kind="stable")
    start = np.searchsorted(cell[order], np.arange(count + 1))
    inside = points[order]
    slack = _ROUNDING * (_lengths(queries) + _lengths(points).max())

    def search(block: slice, distances: Rows) -> tuple[IntArray, int]:
        found, seen = search_cells(queries[block], inside, start, distances, radii, slack[block])
        return order[found], seen

    trial = slice(0, min(_TRIAL, len(queries)))
    seen = search(trial, next(_to_centres(queries[trial], centres))[1])[1]
    if seen > _WORTHWHILE * len(points) * trial.stop:
        return None
    threads = os.cpu_count() or 1
    nearest = np.empty(len(queries), dtype=np.int64)
    with ThreadPoolExecutor(threads) as pool:
        for block, distances in _to_centres(queries, centres):
            cuts = np.linspace(0, len(distances), threads + 1).astype(int)
            parts = [slice(a, b) for a, b in pairwise(cuts)]
            whole = [slice(block.start + part.start, block.start + part.stop) for part in parts]
            found = pool.map(search, whole, [distances[part] for part in parts])
            for part, (indices, _) in zip(whole, found, strict=True):
                nearest[part] = indices
    return nearest


def _lengths(rows: Rows) -> Rows:
    """Euclidean norms (n,)."""
    return np.asarray(np.sqrt(np.einsum("nd,nd->n", rows, rows)))


def _to_centres(rows: Rows, centres: Rows) -> Iterator[tuple[slice, Rows]]:
    """Slices of the rows, with the distances of those to all centres."""
    squares = np.einsum("cd,cd->c", centres, centres)
    size = max(1, _HELD // len(centres))
    for begin in range(0, len(rows), size):
        block = slice(begin, min(begin + size, len(rows)))
        part = rows[block]
        distances = part @ (-2.0 * centres.T)
        distances += squares
        distances += np.einsum("nd,nd->n", part, part)[:, None]
        np.maximum(distances, 0.0, out=distances)
        yield block, np.sqrt(distances, out=distances)
