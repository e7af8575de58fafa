"""One training step of the correspondence network against the published formulation of its layer.

The published layer (ACSCNN) puts the operators of all angles into one block-diagonal coordinate
matrix, repeats the features for each angle, and concatenates those of each further order to the
array of all before, for one linear map at the end; stacking them once is measured too. All are
the same function of the same weights; the ratio is the price of the form.

Usage: python benchmarks/chebyshev.py [--vertices 6890] [--device cuda]
"""

from __future__ import annotations

import argparse
import copy
import math
import time
from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn

import common
from finsler import angle_stack, chebyshev_operators, primitives
from finsler.nn import AnisotropicChebConv, CorrespondenceNet, OperatorStack
from finsler.nn.loss import classification_loss

ANGLES, ORDER, CHANNELS, LAYERS = 8, 16, 64, 6


class Published(nn.Module):
    """The layer as published: a block-diagonal matrix, and all terms side by side."""

    def __init__(self, like: AnisotropicChebConv) -> None:
        super().__init__()
        _, order, angles, out = like.weight.shape
        weight = like.weight.detach().permute(2, 1, 0, 3).reshape(-1, out)
        self.order, self.angles = order, angles
        self.weight = nn.Parameter(weight.contiguous())
        assert like.bias is not None
        self.bias = nn.Parameter(like.bias.detach().clone())
        self.stacked = False

    def forward(self, x: Tensor, matrix: Tensor) -> Tensor:
        """Features (n, in) to (n, out)."""
        terms = [x.repeat(self.angles, 1)]
        terms.append(torch.sparse.mm(matrix, terms[0]))
        wide = torch.stack(terms)
        for _ in range(2, self.order):
            terms.append(2.0 * torch.sparse.mm(matrix, terms[-1]) - terms[-2])
            if not self.stacked:
                wide = torch.cat([wide, terms[-1][None]])
        if self.stacked:
            wide = torch.stack(terms)
        wide = wide.view(self.order, self.angles, len(x), -1).permute(2, 1, 0, 3)
        return wide.reshape(len(x), -1) @ self.weight + self.bias


def published_network(network: Any) -> Any:
    """The same network with its layers in the published form."""
    made = copy.deepcopy(network)
    made.convolutions = nn.ModuleList(Published(layer) for layer in network.convolutions)
    return made


def block_diagonal(operators: OperatorStack) -> Tensor:
    """All angles in one coordinate matrix."""
    n, angles = operators.n, operators.angles
    counts = operators.indptr.diff()
    rows = torch.arange(n, device=counts.device).repeat_interleave(counts)
    shift = torch.arange(angles, device=counts.device)[:, None] * n
    places = torch.stack([(rows + shift).ravel(), (operators.indices.long() + shift).ravel()])
    checked: Any = torch.sparse.check_sparse_tensor_invariants
    with checked(True):
        size = (n * angles, n * angles)
        values = operators.values.reshape(-1)
        return torch.sparse_coo_tensor(places, values, size, is_coalesced=True)


def training_step(
    network: Any,
    features: Tensor,
    operators: Any,
    labels: Tensor,
    *,
    published: bool = False,
    dtype: torch.dtype | None = None,
) -> Callable[[], Tensor]:
    cuda = features.is_cuda
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3, fused=cuda, capturable=cuda)

    def step() -> Tensor:
        optimiser.zero_grad(set_to_none=True)
        if published:
            loss: Any = nn.functional.cross_entropy(network(features, operators), labels)
        else:
            hidden = network.hidden(features, operators)
            loss = classification_loss(hidden, network.classifier, labels, dtype=dtype)
        loss.backward()
        optimiser.step()
        found: Tensor = loss.detach()
        return found

    return step


def graphed(step: Callable[[], Tensor]) -> Callable[[], Tensor]:
    """The step as one CUDA graph."""
    stream: Any = cast(Any, torch.cuda).Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()

    # The step comes along: what the graph works on must outlive it.
    def replay(_kept: Callable[[], Tensor] = step) -> Tensor:
        graph.replay()
        return loss

    return replay


def measure(step: Callable[[], object], cuda: bool, repeats: int) -> tuple[float, float]:
    """Seconds a step, and the peak of memory on the device in GiB."""
    for _ in range(2):
        step()
    if not cuda:
        return common.median_time(step, repeats), math.nan
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(repeats):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / repeats, torch.cuda.max_memory_allocated() / 2**30


def limits(n: int, nnz: int, inputs: int, classes: int, size: int) -> tuple[float, float, float]:
    """Operations of the products, of the recurrences, and bytes that must move, in a step.

    Each product runs forward and twice backward (the first layer once, its features need no
    gradient). A recurrence reads each of its iterates once as neighbours, once as the one before,
    and reads or writes each term once; neighbours that are read again count as free.
    """
    terms = ANGLES * ORDER
    products = 2 * n * inputs * terms * CHANNELS * 2
    products += (LAYERS - 1) * 2 * n * CHANNELS * terms * CHANNELS * 3
    products += 2 * n * 256 * (CHANNELS + classes) * 3
    recurrences = 2 * LAYERS * 2 * nnz * terms * CHANNELS
    moved = LAYERS * n * terms * CHANNELS * size * (2 + 3 + 3 + 2)
    moved += 6 * 4 * n * classes
    return products, recurrences, moved


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vertices", type=int, default=6890)
    parser.add_argument("--inputs", type=int, default=352)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--repeats", type=int, default=0)
    arguments = parser.parse_args()
    cuda = arguments.device == "cuda"
    repeats = arguments.repeats or (30 if cuda else 3)
    torch.manual_seed(0)

    around = 65
    mesh = primitives.torus(arguments.vertices // around, around)
    stack = OperatorStack.of(chebyshev_operators(angle_stack(mesh))).to(arguments.device)
    n = stack.n
    features = torch.randn(n, arguments.inputs, device=arguments.device)
    labels = torch.randint(n, (n,), device=arguments.device)
    network: Any = CorrespondenceNet(arguments.inputs, n).to(arguments.device)
    baseline = published_network(network)
    network.eval(), baseline.eval()
    with torch.no_grad():
        matrix = block_diagonal(stack)
        difference = (network(features, stack) - baseline(features, matrix)).abs().max()
    network.train(), baseline.train()

    rows: list[list[Any]] = []

    def row(name: str, step: Callable[[], object]) -> None:
        if cuda:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        seconds, memory = measure(step, cuda, repeats)
        first = rows[0][1] / 1000 if rows else seconds
        rows.append([name, 1000 * seconds, first / seconds, memory])

    def ours(storage: torch.dtype | None = None) -> Callable[[], Tensor]:
        for layer in network.convolutions:
            layer.storage = storage
        return training_step(network, features, stack, labels, dtype=storage)

    row("published form", training_step(baseline, features, matrix, labels, published=True))
    for layer in baseline.convolutions:
        layer.stacked = True
    once = training_step(baseline, features, matrix, labels, published=True)
    row("the same, stacked once", once)
    del baseline, matrix, once
    row("this package", ours())
    if cuda:
        row("CUDA graph", graphed(ours()))
        torch.set_float32_matmul_precision("high")
        row("tf32", ours())
        row("tf32, CUDA graph", graphed(ours()))
        row("bf16 storage, CUDA graph", graphed(ours(torch.bfloat16)))
    title = f"training step, {n:,} vertices, {arguments.inputs} inputs, {arguments.device}"
    common.print_table(title, ["", "ms", "× published", "peak GiB"], rows)
    products, recurrences, moved = limits(n, len(stack.indices), arguments.inputs, n, 4)
    print(
        f"same logits to {float(difference):.1e}; a step needs {products / 1e9:.0f} + "
        f"{recurrences / 1e9:.1f} GFLOP and moves at least {moved / 1e9:.2f} GB"
    )
    common.save("chebyshev", {"rows": rows, "flop": products + recurrences, "bytes": moved})


if __name__ == "__main__":
    main()
