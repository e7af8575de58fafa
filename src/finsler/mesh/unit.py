"""Surfaces of area 1: what is compared across scales is repaired and divided by √area first."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree

from finsler.errors import InputError
from finsler.mesh.filling import fill_holes
from finsler.mesh.measures import face_areas, surface_area
from finsler.mesh.repair import Repair, repair
from finsler.mesh.summary import one_line
from finsler.mesh.topology import vertex_components
from finsler.mesh.trimesh import TriMesh
from finsler.typing import BoolArray, IntArray

# Components with a smaller share of the area are left out.
_CRUMB = 1e-3


@one_line()
@dataclass(frozen=True, eq=False)
class UnitSurface:
    """A repaired mesh in the unit that it is matched in, and how its vertices were numbered before.

    Attributes
    ----------
    mesh : TriMesh
        In a unit in which the area of the full surface is 1. Where holes were filled, vertices of
        the patches come last.
    area : float
        Of the repaired and filled mesh, in the unit that it was given in.
    unit_area : float
        Area that is 1 now, in the unit as given: `area`, or that of the full surface for a part.
    vertex_map : (n_given,)
        Vertex of `mesh` for each vertex as given; the nearest for those that are left out.
    vertex_source : (n,)
        Vertex as given for each vertex of `mesh`; one on the rim of its hole for those of a patch.
    """

    mesh: TriMesh
    area: float
    unit_area: float
    vertex_map: IntArray
    vertex_source: IntArray

    @classmethod
    def of(
        cls, mesh: TriMesh, unit_area: float | None = None, *, fill: bool = False
    ) -> UnitSurface:
        """Repair a mesh, fill its holes, and divide it by √area, by default that of its own."""
        result = repaired(mesh)
        source = result.vertex_source
        whole = fill_holes(result.mesh) if fill else None
        if whole is not None and whole.filled:
            source = np.concatenate([source, source[whole.nearest]])
            result = replace(result, mesh=whole.mesh)
        area = total_area(result.mesh)
        unit = area if unit_area is None else unit_area
        new = result.vertex_map.copy()
        lost = np.flatnonzero(new < 0)
        if len(lost):
            own = result.mesh.vertices[: len(result.vertex_source)]
            new[lost] = cKDTree(own).query(mesh.vertices[lost])[1]
        return cls(rescaled(result.mesh, unit), area, unit, new, source)

    def in_unit(self, unit_area: float) -> UnitSurface:
        """The same surface divided by the square root of another area."""
        share = unit_area / self.unit_area
        return replace(self, mesh=rescaled(self.mesh, share), unit_area=unit_area)

    def unfilled(self) -> UnitSurface:
        """The same surface without patches, about its own centre, the unit unchanged."""
        own = self._own
        if own.all():
            return self
        faces = self.mesh.faces[own[self.mesh.faces].all(axis=1)]
        mesh = rescaled(TriMesh(self.mesh.vertices[own], faces), 1.0)
        area = total_area(mesh) * self.unit_area
        return replace(self, mesh=mesh, area=area, vertex_source=self.vertex_source[own])

    def as_given(self) -> TriMesh:
        """The repaired surface, without patches, with the vertices numbered as given."""
        faces = self.mesh.faces[self._own[self.mesh.faces].all(axis=1)]
        return TriMesh(self.mesh.vertices[self.vertex_map], self.vertex_source[faces])

    @property
    def _own(self) -> BoolArray:
        """Which vertices are not those of a patch, (n,): only these come from their source."""
        return np.asarray(self.vertex_map[self.vertex_source] == np.arange(self.mesh.n_vertices))


def repaired(mesh: TriMesh) -> Repair:
    """The repaired mesh, less the components that have below 0.1% of the area.

    Each component has a constant eigenfunction of its own. Those of crumbs, such as stray
    single faces, would displace all others.
    """
    result = repair(mesh)
    component = vertex_components(result.mesh)[result.mesh.faces[:, 0]]
    areas = np.bincount(component, face_areas(result.mesh))
    kept = areas[component] >= _CRUMB * areas.sum()
    if kept.all():
        return result
    used, corners = np.unique(result.mesh.faces[kept], return_inverse=True)
    new = np.full(result.mesh.n_vertices + 1, -1)
    new[used] = np.arange(len(used))
    return replace(
        result,
        mesh=TriMesh(result.mesh.vertices[used], corners.reshape(-1, 3)),
        vertex_map=new[result.vertex_map],
        vertex_source=result.vertex_source[used],
        face_source=result.face_source[kept],
    )


def rescaled(mesh: TriMesh, area: float) -> TriMesh:
    """The mesh in units of the square root of an area, about its centre."""
    middle = mesh.vertices.mean(axis=0)
    return TriMesh((mesh.vertices - middle) / np.sqrt(area), mesh.faces)


def total_area(mesh: TriMesh) -> float:
    """Area of a mesh, checked."""
    area = surface_area(mesh)
    if not 0.0 < area < np.inf:
        raise InputError(f"the area of the mesh is {area}; matching needs a surface with area")
    return area
