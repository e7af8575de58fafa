"""Distances between given pairs of vertices of a surface, whatever state its mesh is in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.spatial import cKDTree

from finsler.analysis.eikonal import Eikonal
from finsler.errors import InputError
from finsler.mesh.arguments import checked_map, vertex_set
from finsler.mesh.measures import surface_area
from finsler.mesh.repair import repair
from finsler.mesh.topology import edges
from finsler.mesh.trimesh import TriMesh
from finsler.metric.randers import RandersMetric
from finsler.typing import FloatArray, IntArray

# A front may come back to a vertex for so many times the longest edge of its faces.
_SLACK = 1.5


@dataclass(frozen=True, eq=False)
class SurfaceDistances:
    """Distances from one vertex to another, in units of √area, each computed when asked for.

    Work ends where the target is reached, so that small errors, which most are, cost little.

    Attributes
    ----------
    mesh : TriMesh
        Edges with three faces, faces without area and vertices without a face are allowed.
    """

    mesh: TriMesh

    @cached_property
    def area(self) -> float:
        """Of the surface, in squared units of the mesh.

        Raises
        ------
        InputError
            It is not positive.
        """
        area = surface_area(self.mesh)
        if not 0.0 < area < np.inf:
            raise InputError(f"the area of the mesh is {area}; errors are divided by its root")
        return area

    def along_edges(self, sources: ArrayLike, targets: ArrayLike) -> FloatArray:
        """Shortest way along edges from sources[i] to targets[i], (k,); what most papers measure.

        It is too long by about a tenth in general. Infinite between separate parts.

        Examples
        --------
        >>> from finsler.mesh import primitives
        >>> strip = SurfaceDistances(primitives.plane(4, 1, size=(4.0, 1.0)))
        >>> strip.along_edges([0, 0], [0, 8]).tolist()
        [0.0, 2.0]
        """
        from finsler.evaluation._compiled import edge_distances

        a, b = self._checked(sources, targets)
        return np.asarray(edge_distances(*self._graph, a, b) / np.sqrt(self.area))

    def fast_marching(self, sources: ArrayLike, targets: ArrayLike) -> FloatArray:
        """Length of the shortest way over the faces from sources[i] to targets[i], (k,).

        The eikonal equation is solved face by face, see
        [`randers_distance`][finsler.randers_distance]. A mesh with faces without area, or vertices
        without a face, is measured on a copy without them; such vertices stand where the nearest
        other one does.

        Raises
        ------
        InputError
            The mesh has no face with an area.
        """
        from finsler.evaluation._compiled import front_distances

        a, b = self._checked(sources, targets)
        front, number = self._front, self.sound[1]
        fixed = front.mesh.faces, front.start, front.corner, front.geometry, front.across
        slack = np.zeros(front.mesh.n_vertices)
        longest = front.geometry[:, :, [0, 5, 6]].max(axis=(1, 2))
        np.maximum.at(slack, front.mesh.faces, _SLACK * longest[:, None])
        return np.asarray(front_distances(*fixed, front.trust, slack, number[a], number[b]))

    def fast_marching_rows(self, sources: ArrayLike) -> FloatArray:
        """The same from each source to all vertices, (s, n), in units of the mesh."""
        points = vertex_set(sources, self.mesh.n_vertices)
        number, unit = self.sound[1], np.sqrt(self.area)
        return np.stack([unit * self._front.distance(number[[v]])[number] for v in points])

    def _checked(self, sources: ArrayLike, targets: ArrayLike) -> tuple[IntArray, IntArray]:
        n, count = self.mesh.n_vertices, np.size(sources)
        return checked_map(sources, count, n, "sources"), checked_map(targets, count, n, "targets")

    @cached_property
    def _graph(self) -> tuple[NDArray[np.int32], NDArray[np.int32], FloatArray]:
        """Neighbours of each vertex, in rows, and the lengths of the edges to them."""
        ends = edges(self.mesh).vertices
        length = np.linalg.norm(
            self.mesh.vertices[ends[:, 0]] - self.mesh.vertices[ends[:, 1]], axis=1
        )
        n = self.mesh.n_vertices
        rows = coo_array(
            (np.r_[length, length], (np.r_[ends[:, 0], ends[:, 1]], np.r_[ends[:, 1], ends[:, 0]])),
            shape=(n, n),
        ).tocsr()
        return rows.indptr.astype(np.int32), rows.indices.astype(np.int32), rows.data

    @cached_property
    def sound(self) -> tuple[TriMesh, IntArray]:
        """A copy of area 1 whose faces have area and vertices faces, and its vertex for each here.

        Edges with three faces stay.
        """
        unit = TriMesh(self.mesh.vertices / np.sqrt(self.area), self.mesh.faces)
        copy = repair(
            unit, merge_vertices=False, split_nonmanifold=False, orient=False, outward=False
        )
        number = copy.vertex_map.copy()
        lost = np.flatnonzero(number < 0)
        if len(lost):
            number[lost] = cKDTree(copy.mesh.vertices).query(unit.vertices[lost])[1]
        return copy.mesh, number

    @cached_property
    def _front(self) -> Eikonal:
        return Eikonal.of(RandersMetric(self.sound[0], np.eye(3), np.zeros(3)))
