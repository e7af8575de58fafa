"""Nearest rows in many dimensions, among all, or among few that are near in some of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from finsler.errors import InputError
from finsler.matching.cells import nearest_in_cells
from finsler.typing import IntArray

# Inner products that are held at once.
_CELLS = 2**24
# Points and queries from which on cells are tried.
_MANY_POINTS, _MANY_QUERIES = 10_000, 2000


def nearest_rows(queries: NDArray[np.floating], points: NDArray[np.floating]) -> IntArray:
    """Index of the row of `points` (p, d) that is nearest to each row of `queries` (q, d).

    argmax_j ⟨q, p_j⟩ − |p_j|²/2, block by block in single precision: in the 100 to 200 dimensions
    of functional maps a matrix product is several times faster than a search tree, which visits
    nearly all points there. The first of several that are equally near is taken. Among 10,000
    points or more, cells spare most of the products; of several that are equally near up to
    rounding, any is taken then.

    Raises
    ------
    InputError
        No point, or rows of different lengths.

    Examples
    --------
    >>> nearest_rows(np.array([[0.9, 0.0], [0.0, 3.0]]), np.eye(2)).tolist()
    [0, 1]
    """
    if queries.ndim != 2 or points.ndim != 2 or queries.shape[1] != points.shape[1]:
        raise InputError(f"rows of shapes {queries.shape} and {points.shape} cannot be compared")
    if len(points) == 0:
        raise InputError("there is no point to search among")
    # Relative to their middle, where single precision is finest.
    middle = points.mean(axis=0)
    q = np.asarray(queries - middle, dtype=np.float32)
    p = np.asarray(points - middle, dtype=np.float32)
    if len(p) >= _MANY_POINTS and len(q) >= _MANY_QUERIES:
        found = nearest_in_cells(q, p)
        if found is not None:
            return found
    half = 0.5 * np.einsum("pd,pd->p", p, p)
    nearest = np.empty(len(q), dtype=np.int64)
    block = max(1, _CELLS // len(p))
    for start in range(0, len(q), block):
        product = q[start : start + block] @ p.T
        product -= half
        nearest[start : start + block] = product.argmax(axis=1)
    return nearest


def nearest_of_few(
    near_queries: NDArray[np.floating],
    near_points: NDArray[np.floating],
    queries: NDArray[np.floating],
    points: NDArray[np.floating],
    count: int,
) -> IntArray:
    """The nearest row of `points`, among the `count` whose `near_points` are nearest.

    A search tree finds those in the few dimensions of `near_queries` (q, e) and `near_points`
    (p, e); the rows (q, d) and (p, d) of all dimensions are compared for them only.

    Examples
    --------
    >>> near, rows = np.array([[0.0], [1.0], [9.0]]), np.array([[5.0], [6.0], [7.0]])
    >>> nearest_of_few(near[:1], near, rows[2:], rows, 2).tolist()  # not 2, which is far off
    [1]
    """
    chosen = cKDTree(near_points).query(near_queries, k=min(count, len(points)), workers=-1)[1]
    chosen = chosen.reshape(len(queries), -1)
    rows = np.repeat(np.arange(len(queries)), chosen.shape[1])
    score = row_products(queries, rows, points, chosen.ravel()).reshape(chosen.shape)
    score -= 0.5 * np.einsum("pd,pd->p", points, points)[chosen]
    return np.take_along_axis(chosen, score.argmax(axis=1)[:, None], axis=1)[:, 0]


def row_products(
    one: NDArray[np.floating],
    rows_1: IntArray,
    other: NDArray[np.floating],
    rows_2: IntArray,
) -> NDArray[np.floating]:
    """Inner products of pairs of rows, of one[rows_1[i]] and other[rows_2[i]], (p,).

    Examples
    --------
    >>> row_products(np.eye(2), np.array([0, 0, 1]), np.array([[3.0, 4.0]]), np.zeros(3, int))
    array([3., 3., 4.])
    """
    from finsler.matching._compiled_products import pair_products

    kind = np.result_type(one, other)
    products = np.empty(len(rows_1), dtype=kind)
    first, second = (np.ascontiguousarray(rows, dtype=kind) for rows in (one, other))
    pair_products(first, rows_1, second, rows_2, products)
    return products
