"""Whether a map sends vertices where the features of the model would send them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from finsler.matching.nearest import nearest_rows
from finsler.matching.surfaces import DescribedSurface
from finsler.typing import FloatArray, IntArray

# Vertices at which features are compared.
_SAMPLES = 2000
# Farther than this from the vertex that the model prefers, in √area, an image is elsewhere.
ELSEWHERE = 0.3


@dataclass(frozen=True, eq=False)
class Preference:
    """Vertices of one surface and those of the other with the nearest features.

    Both surfaces have features of a model, in the same directions.
    """

    one: DescribedSurface
    other: DescribedSurface
    vertices: IntArray
    nearest: IntArray

    @classmethod
    def of(cls, one: DescribedSurface, other: DescribedSurface) -> Preference:
        """At most 2,000 vertices of the first surface, evenly spread over their numbers."""
        count = len(one.features)
        some = np.linspace(0, count - 1, min(count, _SAMPLES)).astype(np.int64)
        return cls(one, other, some, nearest_rows(one.features[some], other.features))

    @property
    def _weights(self) -> FloatArray:
        return self.one.mass[self.vertices]

    def excess(self, vertex_map: IntArray) -> float:
        """How much farther apart features are along a map than at best, 1 for a random map.

        Mean of |f(x) − g(map x)|² − min_y |f(x) − g(y)|², as a share of the mean over all pairs.
        """
        f, g = self.one.features[self.vertices], self.other.features
        along = ((f - g[vertex_map[self.vertices]]) ** 2).sum(axis=1)
        best = ((f - g[self.nearest]) ** 2).sum(axis=1)
        typical = np.average((f**2).sum(axis=1), weights=self._weights)
        typical += np.average((g**2).sum(axis=1), weights=self.other.mass)
        typical -= 2.0 * float(
            np.average(f, axis=0, weights=self._weights)
            @ np.average(g, axis=0, weights=self.other.mass)
        )
        return float(np.average(along - best, weights=self._weights) / max(typical, 1e-12))

    def elsewhere(self, vertex_map: IntArray) -> float:
        """Share of the surface that arrives more than 0.3 √area from where the model prefers it."""
        places = self.other.mesh.vertices
        apart = places[vertex_map[self.vertices]] - places[self.nearest]
        far = np.linalg.norm(apart, axis=1) > ELSEWHERE
        return float(np.average(far, weights=self._weights))
