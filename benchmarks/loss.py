"""The loss of a training step, with all gradients, against torch's own operations.

The classifier's logits are n x classes: at 5,000 vertices a tenth of a GiB, which torch reads and
writes once for each operation. Ratios are of one run; the limit is that of the three matrix
products alone.

    python benchmarks/loss.py [--vertices 5000] [--hidden 512] [--device cpu]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from common import median_time, print_table, save
from finsler.nn.loss import classification_loss, two_way


def by_torch(hidden: Tensor, classifier: nn.Linear, labels: Tensor, softmax: str) -> Tensor:
    """The same loss, written with torch's operations, without smoothing."""
    logits = classifier(hidden)
    if softmax == "both":
        return -0.5 * two_way(logits, [len(logits)]).gather(1, labels[:, None]).mean()
    return nn.functional.cross_entropy(logits, labels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vertices", type=int, default=5_000)
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    n, width, device = options.vertices, options.hidden, options.device
    torch.manual_seed(0)
    hidden = torch.randn(n, width, device=device, requires_grad=True)
    classifier = nn.Linear(width, n).to(device)
    labels = torch.randperm(n, device=device)
    wanted = (hidden, classifier.weight, classifier.bias)

    def seconds(loss: Callable[..., Tensor], **options: Any) -> float:
        def step() -> float:
            found = loss(hidden, classifier, labels, **options)
            return float(torch.autograd.grad(found, wanted)[2].sum())

        return median_time(step, 5)

    def products(dtype: torch.dtype) -> float:
        one, weight = (x.detach().to(dtype) for x in (hidden, classifier.weight))
        table = one @ weight.T

        def multiply() -> float:
            found = (one @ weight.T).sum(), (table @ weight).sum(), (table.T @ one).sum()
            return float(sum(found))

        return median_time(multiply, 5)

    rows = []
    for softmax in ("classes", "both"):
        plain = seconds(by_torch, softmax=softmax)
        for dtype in (torch.float32, torch.bfloat16):
            ours = seconds(classification_loss, dtype=dtype, softmax=softmax)
            name = str(dtype).removeprefix("torch.")
            rows.append((softmax, name, plain, ours, plain / ours, products(dtype) / ours))
    heads = ["softmax over", "precision", "torch s", "ours s", "torch / ours", "products / ours"]
    print_table(f"Loss and gradients, {n:,} vertices and classes, {device}", heads, rows)
    save("loss", {"rows": [dict(zip(heads, row, strict=True)) for row in rows]})


if __name__ == "__main__":
    main()
