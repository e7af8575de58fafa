"""Distances along a surface that is compared with many maps: what they share is computed once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from finsler.analysis.geodesic import GeodesicSolver
from finsler.matching.quality import Matrix
from finsler.mesh.measures import surface_area, vertex_areas
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray, IntArray

# Vertices from which a verdict compares distances.
_POINTS = 50


@dataclass(frozen=True, eq=False)
class HeatDistances:
    """Distances on a mesh by the heat method, in its own unit."""

    mesh: TriMesh

    @cached_property
    def solver(self) -> GeodesicSolver:
        """With the factors of the heat method."""
        return GeodesicSolver.of(self.mesh)

    @cached_property
    def unit(self) -> float:
        """√area."""
        return float(np.sqrt(surface_area(self.mesh)))

    @cached_property
    def areas(self) -> FloatArray:
        """Of the vertices, (n,)."""
        return vertex_areas(self.mesh)

    @cached_property
    def marks(self) -> IntArray:
        """Fifty vertices far from each other."""
        return farthest_points(self.mesh.vertices, _POINTS)

    @cached_property
    def from_marks(self) -> Matrix:
        """Distances from these vertices to all, (p, n)."""
        return self.solver.rows(self.marks)

    def from_each(self, vertices: IntArray) -> Matrix:
        """Distances from each of some vertices to all, (s, n); repeated ones cost nothing."""
        sources, rows = np.unique(vertices, return_inverse=True)
        return np.asarray(self.solver.rows(sources)[rows])


def farthest_points(points: FloatArray, count: int) -> IntArray:
    """Indices of `count` points, each the farthest in space from those before."""
    chosen = [int(((points - points.mean(axis=0)) ** 2).sum(axis=1).argmax())]
    gap = np.full(len(points), np.inf)
    while len(chosen) < min(count, len(points)):
        gap = np.minimum(gap, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
        chosen.append(int(gap.argmax()))
    return np.array(chosen)
