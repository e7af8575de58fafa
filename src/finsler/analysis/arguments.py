"""Arguments that many functions here take: vertices, and functions on them, checked."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from finsler.errors import InputError
from finsler.typing import FloatArray, IntArray


def scaled_rows(weights: FloatArray, rows: FloatArray) -> FloatArray:
    """Rows of (k,) or (k, c) times their weights (k,)."""
    return (weights * rows.T).T


def vertex_functions(values: ArrayLike, n: int) -> FloatArray:
    """A function (n,) or functions (n, c) on the vertices, checked."""
    try:
        f = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError("a function on the vertices must hold real numbers") from error
    if f.ndim not in (1, 2) or len(f) != n:
        raise InputError(
            f"a function must have one value for each of the {n} vertices, shape ({n},) or"
            f" ({n}, c), not {f.shape}"
        )
    if not np.isfinite(f).all():
        raise InputError(
            f"{int((~np.isfinite(f)).sum())} values of the function are not finite, the first at"
            f" vertex {int(np.argwhere(~np.isfinite(f))[0, 0])}; replace them"
        )
    return f


def vertex_indices(vertices: ArrayLike, n: int) -> IntArray:
    """A vertex, shape (), or several, (s,), checked."""
    points = np.asarray(vertices)
    if points.size == 0:
        raise InputError("no vertex is given; name at least one vertex")
    if not np.issubdtype(points.dtype, np.integer) or points.ndim > 1:
        raise InputError("a vertex index, or a list of them, is needed: whole numbers from 0")
    if ((points < 0) | (points >= n)).any():
        raise InputError(f"vertex indices must lie in 0..{n - 1}, not {points.tolist()}")
    return points.astype(np.int64)


def vertex_set(vertices: ArrayLike, n: int) -> IntArray:
    """One or several vertices as a vector (s,), checked."""
    return np.atleast_1d(vertex_indices(vertices, n))
