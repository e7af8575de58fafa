"""Shapes with labels, and collections of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Collection as Names
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from finsler.errors import InputError
from finsler.mesh.summary import one_line
from finsler.mesh.trimesh import TriMesh
from finsler.typing import IntArray


@one_line("name", "mesh", "labels", "named")
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
    points : (p,), optional
        Vertex at each of the points that all shapes of the family list, in their order and with
        repetitions, -1 where the shape lacks a point: the ground truth as its files give it.
    family : str
        Shapes of one family list the same points.
    """

    name: str
    mesh: TriMesh
    labels: IntArray
    named: NDArray[np.bool_]
    points: IntArray | None = None
    family: str = ""


@one_line("name", "train", "test", "reference", "pairs")
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
    pairs : tuple of (str, str), optional
        The ordered pairs that are matched, where that is not every shape with every shape.
    bridge : callable, optional
        For two families, the point of the second one's list, from 0, at each point of the first
        one's, -1 where there is none; None where no ground truth leads from one to the other.
    """

    name: str
    train: tuple[str, ...]
    test: tuple[str, ...]
    reference: str
    load: Callable[[str], Shape]
    pairs: tuple[tuple[str, str], ...] | None = None
    bridge: Callable[[str, str], IntArray | None] | None = None

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

    def pairs_of(self, names: Names[str]) -> tuple[tuple[str, str], ...]:
        """Ordered pairs of some shapes, a shape with itself among them where the set counts it.

        Published tables of a set without a list of pairs are means over all ordered pairs of its
        test shapes, each with itself included.
        """
        if self.pairs is None:
            return tuple(product(names, names))
        kept = set(names)
        return tuple(pair for pair in self.pairs if kept.issuperset(pair))

    def truth(self, first: Shape, second: Shape) -> IntArray:
        """Ground truth of a pair, (k, 2): a vertex of the first shape, and that of the second.

        Of shapes that list the same points, a row for each point; of two families, for each point
        of the first that the bridge leads to the second. Of shapes without points, for each named
        vertex of the first whose label a named vertex of the second has, the first of these.

        Raises
        ------
        InputError
            The set has no ground truth for this pair, or the bridge does not fit the shapes.
        """
        if first.points is None or second.points is None:
            pairs = _by_label(first, second)
        elif first.family == second.family:
            pairs = _listed(first, second, np.arange(len(second.points)))
        else:
            bridge = self.bridge and self.bridge(first.family, second.family)
            pairs = np.empty((0, 2), np.int64) if bridge is None else _listed(first, second, bridge)
        if len(pairs) == 0:
            raise InputError(
                f"{self.name} has no ground truth from {first.name} to {second.name}; leave the"
                " pair out"
            )
        return pairs


def _listed(first: Shape, second: Shape, bridge: IntArray) -> IntArray:
    """Vertices at the points of the first shape, and at those that the bridge leads to."""
    assert first.points is not None and second.points is not None
    if len(bridge) != len(first.points) or bridge.max(initial=-1) >= len(second.points):
        raise InputError(
            f"{first.name} lists {len(first.points)} points and {second.name} {len(second.points)},"
            f" but {len(bridge)} points are led to others up to {int(bridge.max(initial=-1)) + 1};"
            " use files of one release"
        )
    there = np.where(bridge >= 0, second.points[bridge], -1)
    pairs = np.stack([first.points, there], axis=1)
    return np.asarray(pairs[(pairs >= 0).all(axis=1)])


def _by_label(first: Shape, second: Shape) -> IntArray:
    """Named vertices of the first shape, each with a named vertex of the second of its label."""
    known = np.flatnonzero(second.named)[::-1]
    holder = np.full(max(first.labels.max(), second.labels.max()) + 1, -1)
    holder[second.labels[known]] = known
    vertices = np.flatnonzero(first.named & (holder[first.labels] >= 0))
    return np.stack([vertices, holder[first.labels[vertices]]], axis=1)
