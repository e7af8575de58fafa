"""Shapes as learning of maps needs them: descriptors, operators, eigenfunctions, ground truth."""

from __future__ import annotations

import re
from dataclasses import dataclass, is_dataclass, replace

import numpy as np
import torch
from torch import Tensor

from finsler.data.store import PreparedShape, Store
from finsler.errors import InputError
from finsler.nn.maps import MapBasis
from finsler.nn.training.checkpoint import About
from finsler.nn.training.map_inputs import input_features
from finsler.nn.training.models import Domain, model_named


@dataclass(frozen=True, eq=False)
class MapShape:
    """One shape on a device.

    Attributes
    ----------
    name : str
    features : (n, c)
        See `input_features`.
    domain : Domain
        The network's second argument.
    basis : MapBasis
    vertices : (n, 3)
        Of area 1.
    edges : (e, 2) int64
        Neighbours, each pair once.
    labels : (n,) int64
        Vertex of the reference where it is known, −1 elsewhere.
    """

    name: str
    features: Tensor
    domain: Domain
    basis: MapBasis
    vertices: Tensor
    edges: Tensor
    labels: Tensor

    @classmethod
    def of(cls, shape: PreparedShape, about: About) -> MapShape:
        """Of a prepared shape.

        Raises
        ------
        InputError
            It was prepared with too few eigenpairs.
        """
        config = about.config
        basis = MapBasis.of(shape, config.maps_basis, points=config.maps_points)
        rows = np.repeat(np.arange(len(shape.mass)), np.diff(shape.indptr))
        pairs = np.stack([rows, shape.indices], axis=1).astype(np.int64)
        return cls(
            shape.name,
            torch.from_numpy(input_features(shape, config)),
            model_named(config.model).domain.of(shape),
            basis,
            torch.as_tensor(shape.vertices),
            torch.from_numpy(pairs[pairs[:, 0] < pairs[:, 1]]),
            torch.from_numpy(np.where(shape.named, shape.labels, -1).astype(np.int64)),
        )

    def to(self, device: torch.device) -> MapShape:
        """The same on a device."""
        moved = {name: value.to(device) for name, value in vars(self).items() if name != "name"}
        return replace(self, **moved)

    def partners(self, other: MapShape) -> Tensor:
        """A vertex of the other shape with the same label, (n,); −1 where none is known."""
        if len(other.labels) == 0 or len(self.labels) == 0:
            return self.labels
        most = torch.maximum(self.labels.max(), other.labels.max()) + 2
        vertex = torch.full((int(most),), -1, dtype=torch.int64, device=self.labels.device)
        vertex[other.labels] = torch.arange(len(other.labels), device=vertex.device)
        # What has no label, −1, names the last entry.
        vertex[-1] = -1
        return vertex[self.labels]


class MapShapes:
    """The shapes of a store on a device: kept there up to a limit, read again beyond it."""

    def __init__(self, store: Store, about: About, device: torch.device) -> None:
        self._store, self._about, self._device = store, about, device
        self._free = about.config.memory * 2**30
        self._kept: dict[str, MapShape] = {}

    def __getitem__(self, name: str) -> MapShape:
        if name in self._kept:
            return self._kept[name]
        shape = MapShape.of(self._store[name], self._about).to(self._device)
        size = _bytes_of(shape)
        if size <= self._free:
            self._free -= size
            self._kept[name] = shape
        return shape


def _bytes_of(value: object) -> int:
    """Of all tensors in a record, and in the records and tuples that it holds."""
    if isinstance(value, Tensor) and value.layout == torch.sparse_csr:
        parts = (value.crow_indices(), value.col_indices(), value.values())
        return sum(part.nbytes for part in parts)
    if isinstance(value, Tensor):
        return value.nbytes
    held = (
        value if isinstance(value, tuple) else vars(value).values() if is_dataclass(value) else ()
    )
    return sum(map(_bytes_of, held))


def require_learnable(store: Store, about: About) -> list[str]:
    """Sentences about shapes that maps may be learned from with care.

    Raises
    ------
    InputError
        There is one shape only, or ground truth is asked for and missing.
    """
    names, sentences = store.train, []
    if len(names) < 2:
        raise InputError(
            f"{store.folder}: the store has {len(names)} training shapes; maps are learned between"
            " shapes, so give at least 2"
        )
    for name in names:
        shape = store[name]
        if about.config.supervised and not shape.named.any():
            raise InputError(
                f"shape {name} has no vertex with ground truth, which supervised asks for; leave"
                " supervised out, or prepare a collection with labels"
            )
        parts = int((np.abs(shape.eigenvalues[:50]) < 1e-6).sum())
        if parts > 1:
            sentences.append(
                f"shape {name} has {parts} or more components, which functions cannot tell apart;"
                " its largest one alone would be matched better"
            )
    kinds = sorted({re.split(r"[\W\d_]", name, maxsplit=1)[0] for name in names})
    if 1 < len(kinds) < len(names):
        sentences.append(
            f"by their names the shapes are of {len(kinds)} kinds ({', '.join(kinds[:4])}"
            f"{', …' if len(kinds) > 4 else ''}), and maps between kinds are learned too; give a"
            " folder of one kind where others have no counterparts"
        )
    return sentences
