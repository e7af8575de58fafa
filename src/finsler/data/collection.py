"""Shapes with labels, and collections of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from finsler.errors import InputError
from finsler.mesh.trimesh import TriMesh
from finsler.typing import IntArray


@dataclass(frozen=True, eq=False)
class Shape:
    """A mesh with the corresponding vertex of the collection's reference for each of its vertices.

    Attributes
    ----------
    name : str
    mesh : TriMesh
    labels : (n,)
        Vertex of the reference shape that each vertex corresponds to.
    named : (n,) bool
        Whether the label is ground truth; the others were filled in by the collection's rule.
    """

    name: str
    mesh: TriMesh
    labels: IntArray
    named: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Collection:
    """Shapes with a common reference, split for training and testing; read one at a time.

    Attributes
    ----------
    name : str
    train, test : tuple of str
        Names of the shapes.
    reference : str
        The shape whose vertices are the classes.
    load : callable
        Name to [`Shape`][finsler.data.collection.Shape]; reads the files anew at each call.
    """

    name: str
    train: tuple[str, ...]
    test: tuple[str, ...]
    reference: str
    load: Callable[[str], Shape]

    @property
    def names(self) -> tuple[str, ...]:
        """All shapes: those of training, then those of testing."""
        return (*self.train, *self.test)

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[Shape]:
        return (self.load(name) for name in self.names)

    def __getitem__(self, name: str) -> Shape:
        if name not in self.names and name != self.reference:
            raise InputError(f"{self.name} has no shape {name!r}; see `names`")
        return self.load(name)
