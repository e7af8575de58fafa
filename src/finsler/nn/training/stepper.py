"""One step of training: forward, loss, backward, update; on cuda recorded once and replayed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import llvmlite.binding  # type: ignore[import-untyped]
import torch
from torch import Tensor, nn

from finsler.baselines.field_conv import rotate
from finsler.nn.loss import classification_loss
from finsler.nn.training.config import TrainConfig
from finsler.nn.training.models import Domain
from finsler.nn.training.samples import Sample


def make_optimiser(network: nn.Module, config: TrainConfig) -> torch.optim.AdamW:
    """Adam with decoupled weight decay.

    On cuda it is fused and its learning rate is a tensor, so that a recorded step can be replayed
    with another rate.
    """
    parameters = list(network.parameters())
    device = parameters[0].device
    if device.type != "cuda":
        return torch.optim.AdamW(
            parameters, lr=config.learning_rate, weight_decay=config.weight_decay
        )
    return torch.optim.AdamW(
        parameters,
        lr=torch.tensor(config.learning_rate, device=device),
        weight_decay=config.weight_decay,
        fused=True,
        capturable=True,
    )


def set_learning_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    """Use a learning rate from the next step on."""
    for group in optimiser.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate


class Objective(nn.Module):
    """The loss of a network: what a step differentiates, in one process or in several."""

    def __init__(self, network: Any, config: TrainConfig) -> None:
        super().__init__()
        self.network, self.config = network, config

    def forward(
        self, features: Tensor, domain: Domain, rows: Tensor, classes: Tensor, weights: Tensor
    ) -> Tensor:
        """Cross entropy, the mean over the shapes of the mean over their targets."""
        config, mixed = self.config, self.config.precision == "bf16"
        if config.rotation > 0:
            features = rotate(features, degrees=config.rotation)
        if config.feature_dropout > 0:
            features = nn.functional.dropout(features, config.feature_dropout)
        if config.feature_noise > 0:
            features = features + config.feature_noise * torch.randn_like(features)
        # Recorded steps must not find weights that an earlier one has cast.
        with torch.autocast(
            features.device.type, torch.bfloat16, enabled=mixed, cache_enabled=False
        ):
            hidden = self.network.hidden(features, domain)
        return classification_loss(
            hidden.to(features.dtype),
            self.network.classifier,
            classes,
            rows=rows,
            weights=weights,
            label_smoothing=config.label_smoothing,
            dtype=torch.bfloat16 if mixed else None,
            softmax=config.softmax,
            sizes=domain.sizes,
        )


class Stepper:
    """A network, its optimiser, and how a sample changes them.

    Parameters
    ----------
    network : nn.Module
    optimiser : torch.optim.Optimizer
    config : TrainConfig
    wrap : callable
        Makes of the objective one that averages its gradients over processes.
    """

    def __init__(
        self,
        network: nn.Module,
        optimiser: torch.optim.Optimizer,
        config: TrainConfig,
        wrap: Callable[[nn.Module], nn.Module] = lambda objective: objective,
    ) -> None:
        self.network, self.optimiser, self.config = network, optimiser, config
        self.objective = wrap(Objective(network, config))

    def set_learning_rate(self, rate: float) -> None:
        """Use a learning rate from the next step on."""
        set_learning_rate(self.optimiser, rate)

    def __call__(self, sample: Sample) -> Tensor:
        """One step; the loss stays on the device."""
        self.optimiser.zero_grad(set_to_none=True)
        loss = self.loss(sample)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        return loss.detach()

    def loss(self, sample: Sample) -> Tensor:
        """The objective of a sample."""
        targets = (sample.rows, sample.classes, sample.weights)
        loss: Tensor = self.objective(sample.features, sample.domain, *targets)
        return loss


class GraphStepper(Stepper):
    """Steps of known shapes as graphs; a shape that was not recorded takes an ordinary step.

    The graphs share one pool of memory. Each holds a whole step and leaves nothing behind in the
    pool but its loss, which is copied at once, so they may be replayed in any order. Random numbers
    follow torch's generator as in ordinary steps.

    Parameters
    ----------
    network, optimiser, config
        As for `Stepper`; on cuda, the optimiser capturable, its state already loaded.
    samples : sequence of Sample
        Must stay where they are in memory.
    """

    def __init__(
        self,
        network: nn.Module,
        optimiser: torch.optim.Optimizer,
        config: TrainConfig,
        samples: Sequence[Sample],
    ) -> None:
        super().__init__(network, optimiser, config)
        self._graphs: dict[tuple[str, ...], tuple[torch.cuda.CUDAGraph, Tensor]] = {}
        self._samples = tuple(samples)
        network.train()
        tensors, fresh = self._state(), not optimiser.state
        saved = [tensor.clone() for tensor in tensors]
        self._warm_up()
        pool = torch.cuda.graph_pool_handle()
        for sample in self._samples:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool):
                loss = super().__call__(sample)
            self._graphs[sample.names] = graph, loss
        optimiser.zero_grad(set_to_none=True)
        for tensor, value in zip(tensors, saved, strict=True):
            tensor.copy_(value)
        if fresh:
            for state in optimiser.state.values():
                for tensor in state.values():
                    tensor.zero_()

    def __call__(self, sample: Sample) -> Tensor:
        """Replay the step of a recorded shape."""
        if sample.names not in self._graphs:
            return super().__call__(sample)
        graph, loss = self._graphs[sample.names]
        graph.replay()
        return loss.clone()

    def _state(self) -> list[Tensor]:
        """All tensors that a step changes and that exist already."""
        states = self.optimiser.state.values()
        kept = [tensor for state in states for tensor in state.values()]
        return [*self.network.state_dict().values(), *kept]

    def _warm_up(self) -> None:
        """Ordinary steps on a side stream: libraries, kernels and optimiser set themselves up."""
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for sample in (*self._samples[:1], *self._samples[:1], *self._samples):
                super().__call__(sample)
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()


def has_bf16() -> bool:
    """Whether this processor multiplies matrices of bfloat16 faster than of single precision."""
    features = llvmlite.binding.get_host_cpu_features()
    return any(features.get(name, False) for name in ("avx512bf16", "amx-bf16", "bf16"))


@contextmanager
def matrix_precision(precision: str) -> Iterator[None]:
    """Products of single-precision matrices in full, or in "tf32"."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
