# mypy: disable-error-code="import-not-found,untyped-decorator,no-untyped-def"
"""Triton kernels: a step of the Chebyshev recurrences, and cross entropy in place.

A program of the recurrence works on a few consecutive vertices of one angle. What limits it is
waiting for neighbours, so several are read at once.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

# Rows of a program and neighbours read at once, by the bytes of a number; measured on an H200.
_ROWS = {4: 8, 2: 16}
_AHEAD = {4: 2, 2: 4}
_WARPS = 4


@triton.jit
def _step(
    indptr,
    indices,
    values,
    new,
    add,
    one,
    two,
    n,
    nnz,
    channels,
    new_row,
    new_angle,
    add_row,
    add_angle,
    one_row,
    one_angle,
    two_row,
    two_angle,
    factor: tl.constexpr,
    angles: tl.constexpr,
    has_add: tl.constexpr,
    has_two: tl.constexpr,
    rows: tl.constexpr,
    width: tl.constexpr,
    ahead: tl.constexpr,
):
    """new = add + factor · L one − two for a block of rows; summed over `angles` angles."""
    row = tl.program_id(0) * rows + tl.arange(0, rows)
    channel = tl.program_id(2) * width + tl.arange(0, width)
    real = row < n
    inside = (channel < channels)[None, :]
    mask = real[:, None] & inside
    start = tl.load(indptr + row, mask=real, other=0)
    count = tl.load(indptr + row + 1, mask=real, other=0) - start
    most = tl.max(count)
    first = tl.program_id(1)
    total = tl.zeros((rows, width), tl.float32)
    for step in range(angles):
        angle = first + step
        if has_add:
            at = row[:, None] * add_row + angle * add_angle + channel[None, :]
            total += tl.load(add + at, mask=mask, other=0.0).to(tl.float32)
        if has_two:
            at = row[:, None] * two_row + angle * two_angle + channel[None, :]
            total -= tl.load(two + at, mask=mask, other=0.0).to(tl.float32)
        for begin in range(0, most, ahead):
            for k in tl.static_range(ahead):
                here = begin + k < count
                column = tl.load(indices + start + begin + k, mask=here, other=0)
                value = tl.load(values + angle * nnz + start + begin + k, mask=here, other=0.0)
                at = column[:, None] * one_row + angle * one_angle + channel[None, :]
                found = tl.load(one + at, mask=here[:, None] & inside, other=0.0)
                total += (factor * value)[:, None] * found.to(tl.float32)
    at = row[:, None] * new_row + first * new_angle + channel[None, :]
    tl.store(new + at, total.to(new.dtype.element_ty), mask=mask)


def _launch(
    pattern: tuple[Tensor, Tensor, Tensor],
    factor: int,
    new: Tensor,
    add: Tensor | None,
    one: Tensor,
    two: Tensor | None,
) -> None:
    """One step on views (n, a, c); a `new` of one angle takes the sum over all."""
    indptr, indices, values = pattern
    n, angles, channels = len(indptr) - 1, len(values), new.shape[2]
    summed = angles if new.shape[1] == 1 else 1
    width = min(triton.next_power_of_2(channels), 64)
    rows, ahead = _ROWS[one.element_size()], _AHEAD[one.element_size()]
    grid = (triton.cdiv(n, rows), angles // summed, triton.cdiv(channels, width))
    arrays = [new, new if add is None else add, one, new if two is None else two]
    _step[grid](
        indptr,
        indices,
        values,
        *arrays,
        n,
        values.shape[1],
        channels,
        *(stride for array in arrays for stride in array.stride()[:2]),
        factor=factor,
        angles=summed,
        has_add=add is not None,
        has_two=two is not None,
        rows=rows,
        width=width,
        ahead=ahead,
        num_warps=_WARPS,
    )


def clenshaw(
    indptr: Tensor, indices: Tensor, values: Tensor, y: Tensor, *, keep: bool = False
) -> tuple[Tensor, Tensor]:
    """Σ_θ Σ_s T_s(L̂_θ) y_sθ (n, c) of y (n, S, a, c), and the iterates b_s if they are kept.

    The iterates 1..S − 1 are (n, S, a, c); slot 0 is not written.
    """
    n, orders, angles, channels = y.shape
    if orders == 1:
        return y[:, 0].sum(1, dtype=torch.float32), y
    states = y.new_empty((n, orders if keep else 3, angles, channels))
    slots = [states[:, s if keep else s % 3] for s in range(orders)]
    if keep:
        slots[-1].copy_(y[:, -1])
    else:
        slots[-1] = y[:, -1]
    pattern = indptr, indices, values
    for s in range(orders - 2, 0, -1):
        two = slots[s + 2] if s + 2 < orders else None
        _launch(pattern, 2, slots[s], y[:, s], slots[s + 1], two)
    out = torch.empty((n, 1, channels), dtype=torch.float32, device=y.device)
    _launch(pattern, 1, out, y[:, 0], slots[1], slots[2] if orders > 2 else None)
    return out[:, 0], states


def chebyshev(
    indptr: Tensor, indices: Tensor, values: Tensor, x: Tensor, orders: int, dtype: torch.dtype
) -> Tensor:
    """T_s(L̂_θ) x, (n, S, a, c), of x (n, c), stored in a dtype."""
    angles = len(values)
    out = torch.empty((len(x), orders, angles, x.shape[1]), dtype=dtype, device=x.device)
    start = x[:, None].expand(-1, angles, -1)
    out[:, 0] = start
    terms = [start, *(out[:, s] for s in range(1, orders))]
    for s in range(1, orders):
        two = terms[s - 2] if s > 1 else None
        _launch((indptr, indices, values), min(s, 2), terms[s], None, terms[s - 1], two)
    return out


@triton.jit
def _row_sums(logits, lse, mean, stride, classes, width: tl.constexpr):
    """One row: logarithm of the sum of exponentials, and the mean."""
    row = tl.program_id(0).to(tl.int64)
    place = tl.arange(0, width)
    real = place < classes
    found = tl.load(logits + row * stride + place, mask=real, other=-float("inf")).to(tl.float32)
    top = tl.max(found)
    tl.store(lse + row, top + tl.log(tl.sum(tl.exp(found - top))))
    tl.store(mean + row, tl.sum(tl.where(real, found, 0.0)) / classes)


@triton.jit
def _gradient(
    logits,
    along,
    row_lse,
    across,
    column_lse,
    even,
    stride,
    classes,
    width: tl.constexpr,
):
    """One row: along · softmax(row) + across · softmax(column) − even; padding by zeros."""
    row = tl.program_id(0).to(tl.int64)
    place = tl.arange(0, width)
    here = logits + row * stride
    real = place < classes
    part, flat = tl.load(along + row), tl.load(even + row)
    found = tl.load(here + place, mask=real, other=-float("inf")).to(tl.float32)
    of_column = tl.load(column_lse + place, mask=real, other=0.0)
    weight = tl.load(across + place, mask=real, other=0.0)
    # What does not count may be infinite.
    slope = tl.where(part > 0.0, part * tl.exp(found - tl.load(row_lse + row)), 0.0) - flat
    slope += tl.where(weight > 0.0, weight * tl.exp(found - of_column), 0.0)
    slope = tl.where(real, slope, 0.0)
    tl.store(here + place, slope.to(logits.dtype.element_ty), mask=place < stride)


class Logits:
    """A table of logits (n, classes), its columns padded, that becomes its own gradient."""

    def __init__(self, table: Tensor, classes: int) -> None:
        self.table, self.classes = table, classes
        self._width = triton.next_power_of_2(table.shape[1])
        self._warps = min(max(self._width // 512, 4), 32)

    def row_sums(self) -> tuple[Tensor, Tensor]:
        """Log-sum-exps and means of the rows."""
        lse, mean = (torch.empty(len(self.table), device=self.table.device) for _ in range(2))
        sizes = self.table.shape[1], self.classes, self._width
        _row_sums[(len(self.table),)](self.table, lse, mean, *sizes, num_warps=self._warps)
        return lse, mean

    def column_sums(self, here: slice) -> Tensor:
        """Log-sum-exps of the columns of some rows."""
        return self.table[here, : self.classes].float().logsumexp(0)

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
        table = self.table[here]
        sizes = table.shape[1], self.classes, self._width
        _gradient[(len(table),)](
            table, along, rows, across, columns, even, *sizes, num_warps=self._warps
        )
