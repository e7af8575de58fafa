"""Equal rows of an array."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from finsler.typing import IntArray


def first_equal_row(rows: NDArray[Any]) -> IntArray:
    """Index (n,) of the first row that equals each row of an (n, d) array.

    Examples
    --------
    >>> first_equal_row(np.array([[0, 1], [2, 3], [0, 1]])).tolist()
    [0, 1, 0]
    """
    order = np.lexsort(rows.T[::-1])
    ordered = rows[order]
    fresh = np.r_[True, (ordered[1:] != ordered[:-1]).any(axis=1)][: len(rows)]
    first = np.empty(len(rows), dtype=np.int64)
    first[order] = order[np.flatnonzero(fresh)][np.cumsum(fresh) - 1]
    return first
