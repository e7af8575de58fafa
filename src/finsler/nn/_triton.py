# mypy: disable-error-code="import-not-found,untyped-decorator,no-untyped-def"
"""Triton kernels: a step of the Chebyshev recurrences, and cross entropy in place.

A program of the recurrence works on a few consecutive vertices of one angle. What limits it is
waiting for neighbours, so several are read at once.
"""

from __future__ import annotations

from collections.abc import Sequence

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
def _cross_entropy(logits, labels, share, loss, stride, classes, smoothing, width: tl.constexpr):
    """One row: its loss, and its logits replaced by their gradient, padding by zeros."""
    row = tl.program_id(0).to(tl.int64)
    place = tl.arange(0, width)
    label = tl.load(labels + row)
    part = tl.load(share + row)
    here = logits + row * stride
    real = place < classes
    found = tl.load(here + place, mask=real, other=-float("inf")).to(tl.float32)
    top = tl.max(found)
    exponential = tl.exp(found - top)
    total = tl.sum(exponential)
    own = tl.sum(tl.where(place == label, found, 0.0))
    mean = tl.sum(tl.where(real, found, 0.0)) / classes
    tl.store(loss + row, top + tl.log(total) - (1.0 - smoothing) * own - smoothing * mean)
    target = tl.where(place == label, 1.0 - smoothing, 0.0) + smoothing / classes
    slope = tl.where(real & (part > 0.0), part * (exponential / total - target), 0.0)
    tl.store(here + place, slope.to(logits.dtype.element_ty), mask=place < stride)


def cross_entropy_(
    logits: Tensor, labels: Tensor, share: Tensor, classes: int, smoothing: float
) -> Tensor:
    """Cross entropies (n,); the logits are replaced by the gradient of share · loss."""
    loss = torch.empty(len(logits), dtype=torch.float32, device=logits.device)
    width = triton.next_power_of_2(logits.shape[1])
    warps = min(max(width // 512, 4), 32)
    _cross_entropy[(len(logits),)](
        logits, labels, share, loss, logits.shape[1], classes, smoothing, width, num_warps=warps
    )
    return torch.where(share > 0.0, loss, 0.0)


@triton.jit
def _row_sums(logits, labels, lse, own, mean, stride, classes, width: tl.constexpr):
    """One row: logarithm of the sum of exponentials, its label's logit, and the mean."""
    row = tl.program_id(0).to(tl.int64)
    place = tl.arange(0, width)
    real = place < classes
    found = tl.load(logits + row * stride + place, mask=real, other=-float("inf")).to(tl.float32)
    top = tl.max(found)
    tl.store(lse + row, top + tl.log(tl.sum(tl.exp(found - top))))
    tl.store(own + row, tl.sum(tl.where(place == tl.load(labels + row), found, 0.0)))
    tl.store(mean + row, tl.sum(tl.where(real, found, 0.0)) / classes)


@triton.jit
def _two_way_gradient(
    logits,
    labels,
    share,
    row_lse,
    column_lse,
    column_share,
    stride,
    classes,
    smoothing,
    width: tl.constexpr,
):
    """One row of logits, replaced by its gradient; padding by zeros."""
    row = tl.program_id(0).to(tl.int64)
    place = tl.arange(0, width)
    here = logits + row * stride
    real = place < classes
    part = tl.load(share + row)
    found = tl.load(here + place, mask=real, other=-float("inf")).to(tl.float32)
    of_column = tl.load(column_lse + place, mask=real, other=0.0)
    weight = tl.load(column_share + place, mask=real, other=0.0)
    target = tl.where(place == tl.load(labels + row), 1.0 - smoothing, 0.0) + smoothing / classes
    slope = 0.5 * part * tl.exp(found - tl.load(row_lse + row)) - part * target
    slope += weight * tl.exp(found - of_column)
    slope = tl.where(real, slope, 0.0)
    tl.store(here + place, slope.to(logits.dtype.element_ty), mask=place < stride)


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
    width = triton.next_power_of_2(logits.shape[1])
    warps = min(max(width // 512, 4), 32)
    rows, own, mean = (torch.empty(len(logits), device=logits.device) for _ in range(3))
    stride, each = logits.shape[1], []
    _row_sums[(len(logits),)](
        logits, labels, rows, own, mean, stride, classes, width, num_warps=warps
    )
    first = 0
    for size in sizes:
        here = slice(first, first + size)
        first += size
        columns = logits[here, :classes].float().logsumexp(0)
        mine, part = labels[here], share[here]
        named = torch.zeros(classes, device=logits.device).index_add_(0, mine, part)
        of_column = 0.5 * ((1.0 - smoothing) * named + smoothing / classes * part.sum())
        _two_way_gradient[(size,)](
            logits[here],
            mine,
            part,
            rows[here],
            columns,
            of_column,
            stride,
            classes,
            smoothing,
            width,
            num_warps=warps,
        )
        sharp = rows[here] + columns[mine] - 2.0 * own[here]
        smooth = rows[here] + columns.mean() - 2.0 * mean[here]
        each.append(0.5 * ((1.0 - smoothing) * sharp + smoothing * smooth))
    return torch.cat(each)
