"""Cross entropy in place on processors: the logits are read three times and written once."""

from __future__ import annotations

from collections.abc import Sequence

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
Ints = NDArray[np.int64]


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
    labels: Ints,
    share: Floats,
    factor: float,
    rows: Floats,
    columns: Floats,
    of_column: Floats,
    smoothing: float,
) -> None:
    """They become factor · share · softmax(row) + of_column · softmax(column) − share · wanted."""
    for i in numba.prange(len(logits)):
        row, part, lse = logits[i], share[i], rows[i]
        along, even = np.float32(factor * part), np.float32(part * smoothing / len(row))
        if len(columns):
            for j in range(len(row)):
                across = of_column[j] * _exponential(row[j] - columns[j])
                row[j] = along * _exponential(row[j] - lse) + across - even
        else:
            for j in range(len(row)):
                row[j] = along * _exponential(row[j] - lse) - even
        row[labels[i]] -= np.float32((1.0 - smoothing) * part)


def cross_entropy_(
    logits: Tensor, labels: Tensor, share: Tensor, classes: int, smoothing: float
) -> Tensor:
    """Cross entropies (n,); the logits are replaced by the gradient of share · loss."""
    table, named, parts = logits.numpy(), labels.numpy(), share.numpy()
    own = table[np.arange(len(table)), named]
    rows, means, _ = _of_rows(table)
    none = np.zeros(0, np.float32)
    _gradient(table, named, parts, 1.0, rows, none, none, smoothing)
    table[parts <= 0.0] = 0.0
    loss = rows - (1.0 - smoothing) * own - smoothing * means
    return torch.from_numpy(np.where(parts > 0.0, loss, 0.0).astype(np.float32))


def two_way_(
    logits: Tensor,
    labels: Tensor,
    share: Tensor,
    classes: int,
    smoothing: float,
    sizes: Sequence[int],
) -> Tensor:
    """Half of minus the log-probabilities of both ways (n,); logits become the gradient.

    `share` must be 0 or positive; the gradient is that of the sum of share · loss.
    """
    each, first = [], 0
    for size in sizes:
        here = slice(first, first + size)
        first += size
        table, named, part = logits[here].numpy(), labels[here].numpy(), share[here].numpy()
        own = table[np.arange(size), named]
        rows, means, tops = _of_rows(table)
        top, sums = tops.max(axis=0), np.empty_like(tops)
        _column_sums(table, top, sums)
        columns = top + np.log(sums.sum(axis=0))
        counted = np.bincount(named, weights=part, minlength=classes)
        of_column = 0.5 * ((1.0 - smoothing) * counted + smoothing / classes * part.sum())
        _gradient(table, named, part, 0.5, rows, columns, of_column.astype(np.float32), smoothing)
        sharp = rows + columns[named] - 2.0 * own
        smooth = rows + columns.mean() - 2.0 * means
        each.append(0.5 * ((1.0 - smoothing) * sharp + smoothing * smooth))
    return torch.from_numpy(np.concatenate(each).astype(np.float32))


def _of_rows(table: Floats) -> tuple[Floats, Floats, Floats]:
    """Log-sum-exps and means of rows, and largest entries of columns by blocks of rows."""
    rows, means = np.empty((2, len(table)), np.float32)
    tops = np.empty((-(-len(table) // _BLOCK), table.shape[1]), np.float32)
    _row_sums(table, rows, means, tops)
    return rows, means, tops
