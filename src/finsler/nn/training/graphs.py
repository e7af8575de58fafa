"""The step of each shape recorded once as a CUDA graph and replayed: the same work, one launch."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from finsler.nn.training.config import TrainConfig
from finsler.nn.training.samples import Sample
from finsler.nn.training.stepper import Stepper


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
