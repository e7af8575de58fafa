"""Compiled inner products of pairs of rows, which are read where they lie."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from finsler.typing import IntArray

Rows = NDArray[np.floating]


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def pair_products(
    one: Rows, rows_1: IntArray, other: Rows, rows_2: IntArray, products: Rows
) -> None:
    """⟨one[rows_1[i]], other[rows_2[i]]⟩ of each pair i, written to `products`."""
    for i in range(len(products)):
        a, b = one[rows_1[i]], other[rows_2[i]]
        total = a[0] * b[0]
        for k in range(1, len(a)):
            total += a[k] * b[k]
        products[i] = total
