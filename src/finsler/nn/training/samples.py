"""Prepared shapes as tensors on a device, one or several to a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from finsler.data.store import PreparedShape, Store
from finsler.errors import InputError
from finsler.nn.training.models import Domain


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
        counted = shape.exact if train_on == "named" else np.ones_like(shape.exact)
        if not counted.any():
            raise InputError(
                f"shape {shape.name} has no vertex with ground truth; train on all vertices"
                ' (train_on = "every") or leave the shape out'
            )
        place = torch.device(device)
        return cls(
            (shape.name,),
            torch.as_tensor(shape.features, device=place),
            domain.of(shape).to(place),
            torch.as_tensor(shape.labels.astype(np.int64), device=place),
            torch.as_tensor(shape.exact, device=place),
            torch.as_tensor((counted / counted.sum()).astype(np.float32), device=place),
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
    domain : type
        Of the network's second argument.
    learned : sequence of str
        Shapes to learn from; of these `train_on` says which vertices count.
    classes, in_channels : int
        What labels and features must fit.
    train_on : {"named", "every"}
    device : torch.device
    memory : float
        The limit in GiB, counted on the arrays a network may need.
    """

    def __init__(
        self,
        store: Store,
        domain: type[Domain],
        *,
        learned: Sequence[str],
        classes: int,
        in_channels: int,
        train_on: str,
        device: torch.device,
        memory: float,
    ) -> None:
        self._store, self._domain = store, domain
        self._classes, self._in_channels = classes, in_channels
        self._counted, self._device = dict.fromkeys(learned, train_on), device
        self._free = memory * 2**30
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
        if shape.features.shape[1] != self._in_channels:
            raise InputError(
                f"shape {shape.name} has {shape.features.shape[1]} features a vertex, the network"
                f" takes {self._in_channels}; prepare the shapes with the same descriptor"
            )
        if len(shape.labels) and not 0 <= shape.labels.min() <= shape.labels.max() < self._classes:
            raise InputError(
                f"shape {shape.name} has labels outside 0..{self._classes - 1}, the vertices of"
                " the reference; prepare the collection again"
            )
