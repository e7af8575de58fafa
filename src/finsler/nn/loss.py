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
    labels : (n,)
    weights : (n,), optional
        By default 1/n. Rows of weight 0 do not count, whatever their loss.
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
    stored = hidden.dtype if dtype is None else dtype
    arguments = (hidden, classifier.weight, classifier.bias, labels, weights)
    fits = not hidden.is_cuda or len(classifier.weight) <= _MOST_CLASSES
    if hidden.device.type in ("cpu", "cuda") and hidden.dtype == torch.float32 and fits:
        parts = tuple(sizes or [len(hidden)]) if softmax == "both" else ()
        return cast(Tensor, cast(Any, _Fused).apply(*arguments, label_smoothing, stored, parts))
    logits = nn.functional.linear(*(array.to(stored) for array in arguments[:3])).to(hidden.dtype)
    if softmax == "both":
        scores = two_way(logits, sizes or [len(logits)])
        sharp = scores.gather(1, labels[:, None])[:, 0]
        mixed = (1.0 - label_smoothing) * sharp + label_smoothing * scores.mean(1)
        return -0.5 * (mixed @ weights)
    each = nn.functional.cross_entropy(
        logits, labels, reduction="none", label_smoothing=label_smoothing
    )
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
        if sizes:
            each = kernels.two_way_(logits, labels, share, classes, smoothing, sizes)
        else:
            each = kernels.cross_entropy_(logits, labels, share, classes, smoothing)
        logits = logits.to(dtype)
        ctx.save_for_backward(
            (logits @ padded).to(hidden.dtype),
            (logits.T @ narrow)[:classes].to(weight.dtype),
            logits.sum(0, dtype=bias.dtype)[:classes],
        )
        total: Tensor = each @ share
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        hidden, weight, bias = ctx.saved_tensors
        return grad * hidden, grad * weight, grad * bias, None, None, None, None, None
