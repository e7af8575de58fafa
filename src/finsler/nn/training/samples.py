"""Prepared shapes as tensors on a device, one or several to a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from finsler.data.store import PreparedShape, Store
from finsler.errors import InputError
from finsler.mesh.summary import one_line
from finsler.nn.training.checkpoint import About
from finsler.nn.training.models import Domain, model_named


@one_line("names", "features", "labels")
@dataclass(frozen=True, eq=False)
class Sample:
    """What one step needs of one shape, or of several side by side.

    Attributes
    ----------
    names : tuple of str
    features : (n, c)
    domain : Domain
        The network's second argument.
    labels : (n,) int64
    named : (n,) bool
        Vertices with ground truth.
    weights : (n,)
        Of each vertex in the loss; every shape counts the same, and the sum is 1.
    """

    names: tuple[str, ...]
    features: Tensor
    domain: Domain
    labels: Tensor
    named: Tensor
    weights: Tensor

    @classmethod
    def of(
        cls,
        shape: PreparedShape,
        domain: type[Domain],
        *,
        train_on: str = "every",
        device: torch.device | str = "cpu",
    ) -> Sample:
        """Of one prepared shape; `train_on` as in `TrainConfig`."""
        counted = shape.named if train_on == "named" else np.ones_like(shape.named)
        if not counted.any():
            raise InputError(
                f"shape {shape.name} has no vertex with ground truth; train on all vertices"
                ' (train_on = "every") or leave the shape out'
            )
        return cls(
            (shape.name,),
            torch.as_tensor(shape.features, device=device),
            domain.of(shape).to(torch.device(device)),
            torch.as_tensor(shape.labels.astype(np.int64), device=device),
            torch.as_tensor(shape.named, device=device),
            torch.as_tensor((counted / counted.sum()).astype(np.float32), device=device),
        )

    @classmethod
    def batch(cls, samples: Sequence[Sample]) -> Sample:
        """Several side by side."""
        if len(samples) == 1:
            return samples[0]
        return cls(
            tuple(name for sample in samples for name in sample.names),
            torch.cat([sample.features for sample in samples]),
            type(samples[0].domain).batch([sample.domain for sample in samples]),
            torch.cat([sample.labels for sample in samples]),
            torch.cat([sample.named for sample in samples]),
            torch.cat([sample.weights for sample in samples]) / len(samples),
        )


class Samples:
    """The shapes of a store on a device: kept there up to a limit, read again beyond it.

    Parameters
    ----------
    store : Store
    about : About
        Of the run: its network, the sizes that labels and features must fit, and in its settings
        the vertices that count and the limit in GiB.
    learned : sequence of str
        Shapes to learn from; of these `train_on` says which vertices count.
    device : torch.device
    """

    def __init__(
        self, store: Store, about: About, *, learned: Sequence[str], device: torch.device
    ) -> None:
        self._store, self._about, self._device = store, about, device
        self._domain = model_named(about.config.model).domain
        self._counted = dict.fromkeys(learned, about.config.train_on)
        self._free = about.config.memory * 2**30
        self._kept: dict[str, Sample] = {}

    def __call__(self, names: Sequence[str]) -> Sample:
        """The named shapes, side by side."""
        return Sample.batch([self._one(name) for name in names])

    def kept(self, names: Sequence[str]) -> list[Sample]:
        """Those of the named shapes that stay on the device, one sample each."""
        return [sample for name in names if (sample := self._one(name)) is self._kept.get(name)]

    def _one(self, name: str) -> Sample:
        if name in self._kept:
            return self._kept[name]
        shape = self._store[name]
        self._check(shape)
        counted = self._counted.get(name, "every")
        sample = Sample.of(shape, self._domain, train_on=counted, device=self._device)
        tensors = [sample.features, *vars(sample.domain).values()]
        size = sum(tensor.nbytes for tensor in tensors if isinstance(tensor, Tensor))
        if size <= self._free:
            self._free -= size
            self._kept[name] = sample
        return sample

    def _check(self, shape: PreparedShape) -> None:
        channels, classes = self._about.in_channels, self._about.classes
        if shape.features.shape[1] != channels:
            raise InputError(
                f"shape {shape.name} has {shape.features.shape[1]} features a vertex, the network"
                f" takes {channels}; prepare the shapes with the same descriptor"
            )
        if len(shape.labels) and not 0 <= shape.labels.min() <= shape.labels.max() < classes:
            raise InputError(
                f"shape {shape.name} has labels outside 0..{classes - 1}, the vertices of the"
                " reference; prepare the collection again"
            )
