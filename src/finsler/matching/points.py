"""Vertices of a surface that take part in a step of refinement, and what a step yields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finsler.analysis.spectrum import Spectrum
from finsler.mesh.summary import one_line
from finsler.typing import FloatArray, IntArray


@one_line()
@dataclass(frozen=True, eq=False)
class Refined:
    """A vertex map (n_1,) from surface 1 to 2, its functional map (k_1, k_2), and the way back."""

    map_12: IntArray
    functional: FloatArray
    map_21: IntArray | None = None


@dataclass(frozen=True, eq=False)
class Points:
    """Some vertices of a surface: basis (p, k), weights (p,) that sum to an area, features.

    `vertices` (p,) are their numbers on the surface.
    """

    basis: FloatArray
    weights: FloatArray
    vertices: IntArray
    features: NDArray[Any] | None = None

    def at(self, chosen: IntArray) -> Points:
        """Some of these points, with the same weights."""
        features = None if self.features is None else self.features[chosen]
        return Points(self.basis[chosen], self.weights[chosen], self.vertices[chosen], features)


@dataclass(frozen=True)
class Step:
    """Sizes of the functional map after a step, and the weight of the features during it."""

    size_1: int
    size_2: int
    weight: float = 0.0


def points_of(spectrum: Spectrum, features: NDArray[Any] | None = None) -> Points:
    """All vertices of a surface."""
    mass = np.asarray(spectrum.mass)
    return Points(spectrum.eigenvectors, mass, np.arange(len(mass)), features)


def sampled(points: Points, count: int, rng: np.random.Generator) -> Points:
    """At most `count` points, drawn by weight; equal weights then."""
    if len(points.weights) <= count:
        return points
    total = points.weights.sum()
    chosen = np.sort(
        rng.choice(len(points.weights), count, replace=False, p=points.weights / total)
    )
    features = None if points.features is None else points.features[chosen]
    weights = np.full(count, total / count)
    return Points(points.basis[chosen], weights, points.vertices[chosen], features)
