"""Cross entropy over the vertices of a reference shape, with its gradient in place of the logits.

A step's largest array are its logits, n × classes. They are written once, turned into their own
gradient in place, and multiplied twice. On CUDA devices the number of classes is rounded up to a
multiple of 8, without which matrix products run at a third of their speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

# Multiples that tensor cores want.
_MULTIPLE = 8
# A row of logits is held in registers.
_MOST_CLASSES = 65536


def classification_loss(
    hidden: Tensor,
    classifier: nn.Linear,
    labels: Tensor,
    *,
    rows: Tensor | None = None,
    weights: Tensor | None = None,
    label_smoothing: float = 0.0,
    dtype: torch.dtype | None = None,
    softmax: str = "classes",
    sizes: Sequence[int] | None = None,
) -> Tensor:
    """Weighted sum of the cross entropies of `classifier(hidden)` against labels.

    Parameters
    ----------
    hidden : (n, h)
    classifier : nn.Linear
        From h to the number of classes.
    labels : (t,)
    rows : (t,), optional
        The row of `hidden` that each label belongs to, of several shapes in their order; a row may
        have several labels, each once. By default label i is that of row i.
    weights : (t,), optional
        By default 1/t. Labels of weight 0 do not count, whatever their loss.
    label_smoothing : float
        Share of each target that is spread over all classes.
    dtype : torch.dtype, optional
        Of the products, e.g. torch.bfloat16; sums are in single precision.
    softmax : {"classes", "both"}
        Over the classes of a vertex; or the mean of that loss and of the one over the vertices of a
        shape, in which every class looks for its vertex.
    sizes : sequence of int, optional
        Vertices of each shape; by default all are of one. Only with both.
    """
    if weights is None:
        weights = hidden.new_full((len(labels),), 1.0 / max(len(labels), 1))
    if rows is None:
        rows = torch.arange(len(labels), device=hidden.device)
    stored = hidden.dtype if dtype is None else dtype
    parameters = (hidden, classifier.weight, classifier.bias)
    fits = not hidden.is_cuda or len(classifier.weight) <= _MOST_CLASSES
    if hidden.device.type in ("cpu", "cuda") and hidden.dtype == torch.float32 and fits:
        shapes = tuple(sizes or [len(hidden)]) if softmax == "both" else ()
        targets = (rows, labels, weights, label_smoothing)
        return cast(Tensor, cast(Any, _Fused).apply(*parameters, *targets, stored, shapes))
    logits = nn.functional.linear(*(array.to(stored) for array in parameters)).to(hidden.dtype)
    half = 0.5 if softmax == "both" else 1.0
    scores = two_way(logits, sizes or [len(logits)]) if softmax == "both" else logits.log_softmax(1)
    sharp = (1.0 - label_smoothing) * scores[rows, labels]
    each = -half * (sharp + label_smoothing * scores.mean(1)[rows])
    return torch.where(weights > 0.0, each, 0.0) @ weights


def two_way(logits: Tensor, sizes: Sequence[int]) -> Tensor:
    """Sum of the log-probabilities of a class at a vertex and of the vertex for the class, (n, r).

    The first is over the classes, the second over the vertices of each shape; its largest entry in
    a row is where both agree best.

    Examples
    --------
    >>> logits = torch.tensor([[2.0, 1.9], [3.0, 0.0]])
    >>> logits.argmax(1).tolist(), two_way(logits, [2]).argmax(1).tolist()
    ([0, 0], [1, 0])
    """
    # Softmax along columns is slow where these do not lie in memory one after the other.
    parts = [part.T.contiguous().log_softmax(1).T for part in torch.split(logits, list(sizes))]
    return logits.log_softmax(1) + (torch.cat(parts) if len(parts) > 1 else parts[0])


class _Fused(torch.autograd.Function):
    """All gradients are computed forward, while the logits are there."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor,
        rows: Tensor,
        labels: Tensor,
        share: Tensor,
        smoothing: float,
        dtype: torch.dtype,
        sizes: tuple[int, ...],
    ) -> Tensor:
        kernels: Any
        if hidden.is_cuda:
            from finsler.nn import _triton as kernels
        else:
            from finsler.nn import _compiled_loss as kernels

        classes = len(weight)
        more = -classes % _MULTIPLE if hidden.is_cuda else 0
        padded = nn.functional.pad(weight.to(dtype), (0, 0, 0, more))
        narrow = hidden.to(dtype)
        logits = torch.addmm(nn.functional.pad(bias.to(dtype), (0, more)), narrow, padded.T)
        if not hidden.is_cuda:
            logits = logits.float()
        table = kernels.Logits(logits, classes)
        if sizes:
            loss = _both_ways_(table, rows, labels, share, smoothing, sizes)
        else:
            loss = _one_way_(table, rows, labels, share, smoothing)
        logits = logits.to(dtype)
        ctx.save_for_backward(
            (logits @ padded).to(hidden.dtype),
            (logits.T @ narrow)[:classes].to(weight.dtype),
            logits.sum(0, dtype=bias.dtype)[:classes],
        )
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        hidden, weight, bias = ctx.saved_tensors
        return grad * hidden, grad * weight, grad * bias, *[None] * 6


def _one_way_(table: Any, rows: Tensor, labels: Tensor, share: Tensor, smoothing: float) -> Tensor:
    """Weighted sum of the cross entropies; the logits become its gradient."""
    lse, mean = table.row_sums()
    own = table.table[rows, labels].float()
    of_row = torch.zeros_like(lse).index_add_(0, rows, share)
    even = of_row * (smoothing / table.classes)
    none = lse.new_zeros(table.classes if own.is_cuda else 0)
    table.to_gradient(slice(None), of_row, lse, none, none, even)
    slope = of_row[rows] * torch.exp(own - lse[rows]) - even[rows] - (1.0 - smoothing) * share
    table.table[rows, labels] = torch.where(of_row[rows] > 0.0, slope, 0.0).to(table.table.dtype)
    loss = lse[rows] - (1.0 - smoothing) * own - smoothing * mean[rows]
    return torch.where(share > 0.0, loss, 0.0) @ share


def _both_ways_(
    table: Any,
    rows: Tensor,
    labels: Tensor,
    share: Tensor,
    smoothing: float,
    sizes: Sequence[int],
) -> Tensor:
    """Weighted sum of half of minus the log-probabilities of both ways; logits become its gradient.

    Weights must be 0 or positive.
    """
    lse, mean = table.row_sums()
    own = table.table[rows, labels].float()
    of_row = torch.zeros_like(lse).index_add_(0, rows, share)
    even = of_row * (smoothing / table.classes)
    total, slopes, first = share.new_zeros(()), [], 0
    for size in sizes:
        here = slice(first, first + size)
        # Of one shape all; a step that is recorded has no other.
        mine = slice(None) if len(sizes) == 1 else (rows >= first) & (rows < first + size)
        row, label, part, of_pair = rows[mine], labels[mine], share[mine], own[mine]
        columns = table.column_sums(here)
        named = torch.zeros_like(columns).index_add_(0, label, part)
        across = 0.5 * ((1.0 - smoothing) * named + smoothing / table.classes * part.sum())
        along = 0.5 * of_row[here]
        table.to_gradient(here, along, lse[here], across, columns, even[here])
        slope = 0.5 * of_row[row] * torch.exp(of_pair - lse[row]) - even[row]
        slope += across[label] * torch.exp(of_pair - columns[label]) - (1.0 - smoothing) * part
        slopes.append(slope)
        sharp = lse[row] + columns[label] - 2.0 * of_pair
        smooth = lse[row] + columns.mean() - 2.0 * mean[row]
        total = total + (0.5 * ((1.0 - smoothing) * sharp + smoothing * smooth)) @ part
        first += size
    table.table[rows, labels] = torch.cat(slopes).to(table.table.dtype)
    return total
