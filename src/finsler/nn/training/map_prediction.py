"""Maps between shapes from the features of a trained network."""

from __future__ import annotations

import copy
import dataclasses
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import normalize

from finsler.data.store import PreparedShape, Store
from finsler.errors import InputError
from finsler.nn.maps import nearest
from finsler.nn.training.checkpoint import About, load_model
from finsler.nn.training.map_samples import MapShape
from finsler.nn.training.maps import MapObjective
from finsler.nn.training.prediction import check_fit

READ_OUTS = ("features", "spectral", "zoomed", "joint")
# Smallest basis of the zoomed read-out as a share of all, its number of sizes, rounds of the joint.
_FIRST, _SIZES, _ROUNDS = 0.25, 8, 3


@dataclass(frozen=True, eq=False)
class Described:
    """A shape with the features of a network, (n, c), each row of length 1."""

    shape: MapShape
    features: Tensor


@dataclass(frozen=True, eq=False)
class PairMap:
    """Maps (n_1,) and (n_2,) between two shapes, and their energy; low is good."""

    map_12: Tensor
    map_21: Tensor
    energy: float


class MapModel:
    """A trained network that matches any two shapes.

    Parameters
    ----------
    network, about
        From `load_model` or `train`, with the objective "maps".
    """

    def __init__(self, network: nn.Module, about: About) -> None:
        if about.config.objective != "maps":
            raise InputError(
                "this network names vertices of a reference; train one with --objective maps to"
                " match any two shapes"
            )
        # What is read out is not rounded, and needs no labels.
        self.about = about
        self._config = dataclasses.replace(about.config, precision="float32", supervised=False)
        self._network = network.eval()

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, device: str = "auto") -> MapModel:
        """The network of a checkpoint, on cuda where there is one.

        Raises
        ------
        InputError
            The checkpoint cannot be read, or is for something else.
        """
        return cls(*load_model(path, device=device))

    def shape(self, prepared: PreparedShape) -> MapShape:
        """A prepared shape on the device of the network."""
        return MapShape.of(prepared, self.about).to(next(self._network.parameters()).device)

    @torch.no_grad()
    def describe(self, shape: MapShape) -> Described:
        """The shape with its features."""
        features = MapObjective(self._network, self._config).describe([shape])[0]
        return Described(shape, normalize(features, dim=1))

    def tune(
        self, one: MapShape, other: MapShape, *, steps: int, rate: float = 1e-4
    ) -> tuple[Described, Described]:
        """Both shapes with features that a few steps of the loss without labels have adapted.

        The network itself stays as it is: what is learned on a pair is forgotten with it.
        """
        if not steps:
            return self.describe(one), self.describe(other)
        tuned = MapModel(copy.deepcopy(self._network), self.about)
        objective = MapObjective(tuned._network, self._config)
        optimiser = torch.optim.Adam(objective.parameters(), lr=rate)
        for _ in range(steps):
            optimiser.zero_grad(set_to_none=True)
            objective([one, other]).backward()
            optimiser.step()
        return tuned.describe(one), tuned.describe(other)

    def pairs(
        self, store: Store, names: Sequence[str], *, tune: int = 0
    ) -> Iterator[tuple[Described, Described, dict[str, PairMap]]]:
        """Every two of the named shapes of a store with the maps of all read-outs.

        Raises
        ------
        InputError
            The store was prepared in another way than that of training.
        """
        check_fit(self.about, store)
        described = [self.describe(self.shape(store[name])) for name in names]
        for one, other in combinations(described, 2):
            if tune:
                one, other = self.tune(one.shape, other.shape, steps=tune)
            yield one, other, read_out(one, other)


@torch.no_grad()
def read_out(one: Described, other: Described) -> dict[str, PairMap]:
    """The maps between two shapes in several ways.

    - features: nearest in features;
    - spectral: the functional map of that, and nearest in the bases that it aligns (Cao et al.
      2023);
    - zoomed: the same in bases of growing size (ZoomOut, Melzi et al. 2019);
    - joint: from there, nearest in aligned bases and in features at once, a few times over.
    """
    sides = (one, other), (other, one)
    near = [nearest(here.features, there.features) for here, there in sides]
    spectral = [_spectral_map(*side, start) for side, start in zip(sides, near, strict=True)]
    zoomed = [_zoomed_map(*side, start) for side, start in zip(sides, near, strict=True)]
    joint = [_joint_map(*side, start) for side, start in zip(sides, zoomed, strict=True)]
    ways = dict(zip(READ_OUTS, (near, spectral, zoomed, joint), strict=True))
    return {
        name: PairMap(there, back, map_energy(one.shape, other.shape, there, back))
        for name, (there, back) in ways.items()
    }


def choose_map(maps: dict[str, PairMap]) -> str:
    """The read-out of least energy."""
    return min(maps, key=lambda name: maps[name].energy)


def map_energy(one: MapShape, other: MapShape, map_12: Tensor, map_21: Tensor) -> float:
    """How much maps tear edges and miss the way back, in √area; 0 for a perfect isometry.

    The mean change of the length of edges and the mean length of round trips, of both maps.
    """
    total = torch.zeros((), device=map_12.device)
    for here, there, out, home in ((one, other, map_12, map_21), (other, one, map_21, map_12)):
        x, y, (i, j) = here.vertices, there.vertices, here.edges.T
        change = ((y[out[i]] - y[out[j]]).norm(dim=1) - (x[i] - x[j]).norm(dim=1)).abs()
        total += 0.5 * (change.mean() + (x[home[out]] - x).norm(dim=1).mean())
    return float(total)


def map_array(images: Tensor) -> NDArray[np.int32]:
    """A map as numpy keeps it."""
    return images.cpu().numpy().astype(np.int32)


def _functional(one: Described, other: Described, images: Tensor, k: int) -> Tensor:
    """C = Φ_1⁺ Φ_2[map], (k, k)."""
    return one.shape.basis.coefficients(other.shape.basis.vectors[images, :k])[:k]


def _aligned(one: Described, other: Described, functional: Tensor) -> tuple[Tensor, Tensor]:
    """Points in which vertices that correspond are near each other, (n_1, k) and (n_2, k)."""
    k = len(functional)
    return one.shape.basis.vectors[:, :k], other.shape.basis.vectors[:, :k] @ functional.T


def _spectral_map(one: Described, other: Described, start: Tensor) -> Tensor:
    functional = _functional(one, other, start, one.shape.basis.k)
    return nearest(*_aligned(one, other, functional))


def _zoomed_map(one: Described, other: Described, start: Tensor) -> Tensor:
    images, most = start, one.shape.basis.k
    for k in np.linspace(max(2.0, _FIRST * most), most, _SIZES).astype(int):
        images = nearest(*_aligned(one, other, _functional(one, other, images, int(k))))
    return images


def _joint_map(one: Described, other: Described, start: Tensor) -> Tensor:
    images, k = start, one.shape.basis.k
    for _ in range(_ROUNDS):
        here, there = _aligned(one, other, _functional(one, other, images, k))
        images = nearest(
            torch.cat([here / k**0.5, one.features], dim=1),
            torch.cat([there / k**0.5, other.features], dim=1),
        )
    return images
