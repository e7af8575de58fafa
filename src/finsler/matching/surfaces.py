"""What matching needs to know of one surface: a basis of functions, and descriptors."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree

from finsler.analysis.spectrum import Spectrum, spectrum
from finsler.errors import InputError
from finsler.matching.summaries import (
    Histograms,
    Signatures,
    span_size,
    summarise_histograms,
    summarise_signatures,
)
from finsler.mesh.measures import face_areas, surface_area
from finsler.mesh.repair import Repair, repair
from finsler.mesh.summary import one_line
from finsler.mesh.topology import vertex_components
from finsler.mesh.trimesh import TriMesh
from finsler.operator import Laplacian
from finsler.typing import FloatArray, IntArray

# SHOT: largest radius, and neighbours at which it is made smaller.
_RADIUS = 0.18
_NEIGHBORS = 1000

# Components with a smaller share of the area are left out.
_CRUMB = 1e-3

# Smallest basis that a map is worth computing in.
LEAST_SIZE = 10


@one_line()
@dataclass(frozen=True, eq=False)
class UnitSurface:
    """A repaired mesh in the unit that it is matched in, and how its vertices were numbered before.

    Attributes
    ----------
    mesh : TriMesh
        In a unit in which the area of the full surface is 1.
    area : float
        Of the repaired mesh, in the unit that it was given in.
    unit_area : float
        Area that is 1 now, in the unit as given: `area`, or that of the full surface for a part.
    vertex_map : (n_given,)
        Vertex of `mesh` for each vertex as given; the nearest for those that are left out.
    vertex_source : (n,)
        Vertex as given for each vertex of `mesh`.
    """

    mesh: TriMesh
    area: float
    unit_area: float
    vertex_map: IntArray
    vertex_source: IntArray

    @classmethod
    def of(cls, mesh: TriMesh, unit_area: float | None = None) -> UnitSurface:
        """Repair a mesh and divide it by the square root of an area, by default its own."""
        result = repaired(mesh)
        area = total_area(result.mesh)
        unit = area if unit_area is None else unit_area
        new = result.vertex_map.copy()
        lost = np.flatnonzero(new < 0)
        if len(lost):
            new[lost] = cKDTree(result.mesh.vertices).query(mesh.vertices[lost])[1]
        return cls(rescaled(result.mesh, unit), area, unit, new, result.vertex_source)

    def in_unit(self, unit_area: float) -> UnitSurface:
        """The same surface divided by the square root of another area."""
        share = unit_area / self.unit_area
        return replace(self, mesh=rescaled(self.mesh, share), unit_area=unit_area)

    def as_given(self) -> TriMesh:
        """The repaired surface with the vertices numbered as given."""
        return TriMesh(self.mesh.vertices[self.vertex_map], self.vertex_source[self.mesh.faces])


@one_line("mesh", "spectrum")
@dataclass(frozen=True, eq=False)
class DescribedSurface:
    """A surface with what is needed to match it; made by [`describe`][finsler.describe].

    Attributes
    ----------
    unit : UnitSurface
        The repaired mesh, divided by √area.
    spectrum : Spectrum
        The basis of functions.
    histograms : Histograms
        SHOT in two balls, reduced.
    signatures : Signatures
        Wave kernel signatures, reduced.
    """

    unit: UnitSurface
    spectrum: Spectrum
    histograms: Histograms
    signatures: Signatures

    @property
    def mesh(self) -> TriMesh:
        """The repaired mesh, of area 1."""
        return self.unit.mesh

    @property
    def mass(self) -> FloatArray:
        """Areas of the vertices, (n,)."""
        return np.asarray(self.spectrum.mass)


def comparable(
    first: DescribedSurface, second: DescribedSurface, k: int
) -> tuple[DescribedSurface, DescribedSurface]:
    """Both with equally many functions, at most k, and with descriptors of equal kind."""
    both = first, second
    size = min(k, *(len(surface.spectrum.eigenvalues) for surface in both))
    radius = min(surface.histograms.radius for surface in both)
    one, other = (_reduced(surface, size, radius) for surface in both)
    return one, other


def _reduced(surface: DescribedSurface, size: int, radius: float) -> DescribedSurface:
    """The same with fewer functions, and histograms of other balls."""
    if size < len(surface.spectrum.eigenvalues):
        surface = replace(surface, spectrum=first_functions(surface.spectrum, size))
    if surface.signatures.span != span_size(surface.spectrum):
        signatures = summarise_signatures(surface.mesh, surface.spectrum)
        surface = replace(surface, signatures=signatures)
    if surface.histograms.radius != radius:
        histograms = summarise_histograms(surface.mesh, surface.spectrum, radius)
        surface = replace(surface, histograms=histograms)
    return surface


def describe_unit(unit: UnitSurface, laplacian: Laplacian, k: int) -> DescribedSurface:
    """Basis of k eigenfunctions of a Laplacian, and descriptors, of a surface in its unit."""
    mesh, pairs = unit.mesh, spectrum(laplacian, k)
    radius = histogram_radius(mesh.n_vertices)
    return DescribedSurface(
        unit=unit,
        spectrum=pairs,
        histograms=summarise_histograms(mesh, pairs, radius),
        signatures=summarise_signatures(mesh, pairs),
    )


def first_functions(spectrum: Spectrum, k: int) -> Spectrum:
    """The k smallest eigenpairs of a spectrum."""
    return replace(
        spectrum,
        eigenvalues=spectrum.eigenvalues[:k],
        eigenvectors=spectrum.eigenvectors[:, :k],
        residuals=spectrum.residuals[:k],
    )


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


def histogram_radius(n_vertices: int) -> float:
    """Radius of SHOT in √area: 0.18, or with more than 9,824 vertices a smaller one.

    It is the largest 0.18 · 2^(−j/2) at which a ball holds at most about 1,000 vertices: few
    values, so that most surfaces share theirs. Two surfaces are compared at the smaller one.

    Examples
    --------
    >>> [round(histogram_radius(n), 4) for n in (5_000, 15_000, 30_000)]
    [0.18, 0.1273, 0.09]
    """
    halvings = np.log2(np.pi * n_vertices * _RADIUS**2 / _NEIGHBORS)
    return float(_RADIUS * 2.0 ** (-0.5 * max(np.ceil(halvings), 0.0)))


def rescaled(mesh: TriMesh, area: float) -> TriMesh:
    """The mesh in units of the square root of an area, about its centre."""
    middle = mesh.vertices.mean(axis=0)
    return TriMesh((mesh.vertices - middle) / np.sqrt(area), mesh.faces)


def basis_size(k: int, *meshes: TriMesh) -> int:
    """k, or a third of the vertices of the smallest mesh.

    Raises
    ------
    InputError
        Fewer than 10 are left, or no more than there are components.
    """
    smallest = min(mesh.n_vertices for mesh in meshes)
    size = min(k, smallest // 3)
    if size < LEAST_SIZE:
        raise InputError(
            f"a basis of {size} functions (k is {k}, the smaller mesh has {smallest} vertices) is"
            f" too small to match with; it takes k of at least {LEAST_SIZE} and"
            f" {3 * LEAST_SIZE} vertices"
        )
    parts = max(int(vertex_components(mesh).max()) + 1 for mesh in meshes)
    if size <= parts:
        raise InputError(
            f"a basis of {size} functions (k is {k}) holds nothing but the constants of {parts}"
            " components; raise k, take a finer mesh, or match the components one by one"
        )
    return size


def total_area(mesh: TriMesh) -> float:
    """Area of a mesh, checked."""
    area = surface_area(mesh)
    if not 0.0 < area < np.inf:
        raise InputError(f"the area of the mesh is {area}; matching needs a surface with area")
    return area
