"""Prepared shapes as tensors on a device, one or several to a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from finsler.data.store import PreparedShape, Store
from finsler.errors import InputError
from finsler.mesh.summary import one_line
from finsler.nn.training.checkpoint import About
from finsler.nn.training.models import Domain, model_named
from finsler.nn.training.naming import Points


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
        Vertices of the reference, by which answers are scored.
    named : (n,) bool
        Vertices with ground truth.
    positions : (n, 3)
    rows, classes, weights : (t,)
        Targets of the loss: a vertex, its class and its weight; every shape counts the same, and
        the sum of the weights is 1.
    """

    names: tuple[str, ...]
    features: Tensor
    domain: Domain
    labels: Tensor
    named: Tensor
    positions: Tensor
    rows: Tensor
    classes: Tensor
    weights: Tensor

    @classmethod
    def of(
        cls,
        shape: PreparedShape,
        domain: type[Domain],
        *,
        train_on: str = "every",
        points: bool = False,
        device: torch.device | str = "cpu",
    ) -> Sample:
        """Of one prepared shape; `train_on` as in `TrainConfig`, `points` if these are classes."""
        if points:
            classes: NDArray[Any] = np.flatnonzero(shape.points >= 0)
            rows: NDArray[Any] = shape.points[classes]
        else:
            rows = np.flatnonzero(shape.named | (train_on == "every"))
            classes = shape.labels[rows]
        if not len(rows):
            raise InputError(
                f"shape {shape.name} has no vertex with ground truth; train on all vertices"
                ' (train_on = "every") or leave the shape out'
            )
        weights = np.full(len(rows), 1.0 / len(rows), dtype=np.float32)
        return cls(
            (shape.name,),
            torch.as_tensor(shape.features, device=device),
            domain.of(shape).to(torch.device(device)),
            torch.as_tensor(shape.labels.astype(np.int64), device=device),
            torch.as_tensor(shape.named, device=device),
            torch.as_tensor(shape.vertices, device=device),
            torch.as_tensor(rows.astype(np.int64), device=device),
            torch.as_tensor(classes.astype(np.int64), device=device),
            torch.as_tensor(weights, device=device),
        )

    @classmethod
    def batch(cls, samples: Sequence[Sample]) -> Sample:
        """Several side by side."""
        if len(samples) == 1:
            return samples[0]
        first = np.cumsum([0, *(len(sample.labels) for sample in samples)]).tolist()
        return cls(
            tuple(name for sample in samples for name in sample.names),
            torch.cat([sample.features for sample in samples]),
            type(samples[0].domain).batch([sample.domain for sample in samples]),
            torch.cat([sample.labels for sample in samples]),
            torch.cat([sample.named for sample in samples]),
            torch.cat([sample.positions for sample in samples]),
            torch.cat([sample.rows + o for sample, o in zip(samples, first, strict=False)]),
            torch.cat([sample.classes for sample in samples]),
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
        self.points = Points.of(store, about.config, device)
        vertices = about.classes if self.points is None else len(store[store.reference].vertices)
        self.reference_vertices = vertices
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
        points = self.points is not None and name in self._counted
        sample = Sample.of(
            shape, self._domain, train_on=counted, points=points, device=self._device
        )
        tensors = [sample.features, *vars(sample.domain).values()]
        size = sum(tensor.nbytes for tensor in tensors if isinstance(tensor, Tensor))
        if size <= self._free:
            self._free -= size
            self._kept[name] = sample
        return sample

    def _check(self, shape: PreparedShape) -> None:
        channels, vertices = self._about.in_channels, self.reference_vertices
        if shape.features.shape[1] != channels:
            raise InputError(
                f"shape {shape.name} has {shape.features.shape[1]} features a vertex, the network"
                f" takes {channels}; prepare the shapes with the same descriptor"
            )
        if len(shape.labels) and not 0 <= shape.labels.min() <= shape.labels.max() < vertices:
            raise InputError(
                f"shape {shape.name} has labels outside 0..{vertices - 1}, the vertices of the"
                " reference; prepare the collection again"
            )
        if self.points is not None and len(shape.points) != len(self.points.vertices):
            raise InputError(
                f"shape {shape.name} lists {len(shape.points)} points, the reference"
                f" {len(self.points.vertices)}; prepare the collection again, or set"
                " classes=vertices"
            )
