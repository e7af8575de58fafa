"""Cross entropy in place on processors: the logits are read three times and written once."""

from __future__ import annotations

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

_FAST = {"contract", "reassoc", "nsz"}
# Rows that one task sums over before columns are added up.
_BLOCK = 128
# e^x is 2^k p(r) with x log2(e) = k + r, |r| ≤ 1/2; p to an error of 2e-7.
_LOG2_E = np.float32(1.4426950408889634)
_TAYLOR = tuple(
    np.float32(c)
    for c in (1.0, 0.6931472, 0.2402265, 0.05550411, 0.009618129, 0.001333356, 0.000154035)
)
_LEAST = np.float32(-126.0)

Floats = NDArray[np.float32]


@numba.njit(cache=True, fastmath=_FAST, inline="always")
def _exponential(x: np.float32) -> np.float32:
    """e^x for x ≤ 0, as loops over it are computed in vectors; less than 2^−126 counts as that."""
    scaled = max(x * _LOG2_E, _LEAST)
    whole = np.int32(scaled - np.float32(0.5))
    rest = scaled - np.float32(whole)
    c = _TAYLOR
    power = c[0] + rest * (
        c[1] + rest * (c[2] + rest * (c[3] + rest * (c[4] + rest * (c[5] + rest * c[6]))))
    )
    return power * np.int32((whole + np.int32(127)) << np.int32(23)).view(np.float32)


@numba.njit(cache=True, parallel=True, fastmath=_FAST)
def _row_sums(logits: Floats, lse: Floats, means: Floats, tops: Floats) -> None:
    """Log-sum-exps and means of the rows, and the largest entry of each column in each block."""
    for block in numba.prange(len(tops)):
        columns = tops[block]
        columns[:] = -np.inf
        for i in range(block * _BLOCK, min((block + 1) * _BLOCK, len(logits))):
            row = logits[i]
            top, total, mean = np.float32(-np.inf), np.float32(0.0), np.float32(0.0)
            for j in range(len(row)):
                top = max(top, row[j])
                mean += row[j]
                columns[j] = max(columns[j], row[j])
            for j in range(len(row)):
                total += _exponential(row[j] - top)
            lse[i], means[i] = top + np.log(total), mean / np.float32(len(row))


@numba.njit(cache=True, parallel=True, fastmath=_FAST)
def _column_sums(logits: Floats, top: Floats, sums: Floats) -> None:
    """Sums of e^(entry − top) of each column in each block of rows."""
    for block in numba.prange(len(sums)):
        total = sums[block]
        total[:] = 0.0
        for i in range(block * _BLOCK, min((block + 1) * _BLOCK, len(logits))):
            row = logits[i]
            for j in range(len(row)):
                total[j] += _exponential(row[j] - top[j])


@numba.njit(cache=True, parallel=True, fastmath=_FAST)
def _gradient(
    logits: Floats,
    along: Floats,
    rows: Floats,
    across: Floats,
    columns: Floats,
    even: Floats,
) -> None:
    """Each row becomes along · softmax(row) + across · softmax(column) − even."""
    for i in numba.prange(len(logits)):
        row, part, lse, flat = logits[i], along[i], rows[i], even[i]
        if len(across):
            for j in range(len(row)):
                of_column = across[j] * _exponential(row[j] - columns[j])
                row[j] = part * _exponential(row[j] - lse) + of_column - flat
        elif part > 0.0:
            for j in range(len(row)):
                row[j] = part * _exponential(row[j] - lse) - flat
        else:
            # What does not count may be infinite.
            for j in range(len(row)):
                row[j] = 0.0


class Logits:
    """A table of logits (n, classes) in single precision that becomes its own gradient."""

    def __init__(self, table: Tensor, classes: int) -> None:
        self.table, self.classes = table, classes

    def row_sums(self) -> tuple[Tensor, Tensor]:
        """Log-sum-exps and means of the rows."""
        table = self.table.numpy()
        rows, means = np.empty((2, len(table)), np.float32)
        self._tops = np.empty((-(-len(table) // _BLOCK), table.shape[1]), np.float32)
        _row_sums(table, rows, means, self._tops)
        return torch.from_numpy(rows), torch.from_numpy(means)

    def column_sums(self, here: slice) -> Tensor:
        """Log-sum-exps of the columns of some rows."""
        table = self.table[here].numpy()
        top = table.max(axis=0) if len(table) < len(self.table) else self._tops.max(axis=0)
        sums = np.empty((-(-len(table) // _BLOCK), table.shape[1]), np.float32)
        _column_sums(table, top, sums)
        return torch.from_numpy(top + np.log(sums.sum(axis=0)))

    def to_gradient(
        self,
        here: slice,
        along: Tensor,
        rows: Tensor,
        across: Tensor,
        columns: Tensor,
        even: Tensor,
    ) -> None:
        """Some rows become along · softmax(row) + across · softmax(column) − even.

        `along`, `even` and the log-sum-exps `rows` are of these rows, `across` and `columns` of all
        columns.
        """
        parts = (along, rows, across, columns, even)
        _gradient(self.table[here].numpy(), *(part.numpy() for part in parts))
