"""What matching needs to know of one surface: a basis of functions, and descriptors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finsler.analysis.spectrum import Spectrum, spectrum
from finsler.descriptors import shot, wks
from finsler.errors import InputError
from finsler.mesh.measures import face_areas, surface_area
from finsler.mesh.repair import Repair, repair
from finsler.mesh.topology import vertex_components
from finsler.mesh.trimesh import TriMesh
from finsler.operator import Laplacian, angle_stack, lbo
from finsler.typing import FloatArray

# Wave kernel signatures: eigenpairs, logarithms of eigenvalues times area, width of a band.
_PAIRS = 60
_ENERGIES = np.linspace(np.log(20.0), np.log(2500.0), 40)
_SIGMA = 0.35
_ANGLES = 8
_ALPHA = 10.0
# SHOT: largest radius, and neighbours at which it is made smaller.
_RADIUS = 0.18
_NEIGHBORS = 1000

# Components with a smaller share of the area are left out.
_CRUMB = 1e-3

# Smallest basis that a map is worth computing in.
LEAST_SIZE = 10


@dataclass(frozen=True, eq=False)
class DescribedSurface:
    """A mesh with what is needed to match it.

    Attributes
    ----------
    mesh : TriMesh
        In a unit in which the area of the full surface is 1.
    spectrum : Spectrum
        The basis of functions.
    shot : tuple of (n, 352) float32
        Histograms of normals in a small and a large ball.
    signatures : (n, d)
        Wave kernel signatures: isotropic, and mean and deviation over the angles of the
        anisotropic ones, which need no common zero of the angle nor a sign.
    """

    mesh: TriMesh
    spectrum: Spectrum
    shot: tuple[NDArray[np.float32], ...]
    signatures: FloatArray

    @property
    def mass(self) -> FloatArray:
        """Areas of the vertices, (n,)."""
        return np.asarray(self.spectrum.mass)

    def features(self) -> NDArray[np.float32]:
        """The two histograms side by side, (n, 704)."""
        return np.hstack(self.shot)


def describe_surface(
    mesh: TriMesh,
    *,
    k: int,
    radius: float,
    operator: Callable[[TriMesh], Laplacian] = lbo,
) -> DescribedSurface:
    """Basis and descriptors of a mesh that has its unit already.

    Parameters
    ----------
    mesh : TriMesh
        Every face has area and every vertex a face.
    k : int
        Size of the basis.
    radius : float
        Of the larger ball of SHOT; the smaller one has half of it. See `common_radius`.
    operator : callable
        Gives the Laplacian whose eigenfunctions are the basis; by default the isotropic one.
    """
    pairs = min(_PAIRS, mesh.n_vertices // 2)
    isotropic = _signature(lbo(mesh), pairs)
    angles = np.stack(
        [
            _signature(laplacian, pairs)
            for laplacian in angle_stack(mesh, alpha=_ALPHA, tau=0.0, angles=_ANGLES)
        ]
    )
    return DescribedSurface(
        mesh=mesh,
        spectrum=spectrum(operator(mesh), k),
        shot=tuple(shot(mesh, radius=r, dtype=np.float32) for r in (0.5 * radius, radius)),
        signatures=np.hstack([isotropic, angles.mean(axis=0), angles.std(axis=0)]),
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


def common_radius(n_vertices: int) -> float:
    """Radius of SHOT in units of √area: 0.18, or less, so that a ball holds about 1,000 vertices.

    Two surfaces need the same one: pass the number of vertices of the larger mesh.
    """
    return float(min(_RADIUS, np.sqrt(_NEIGHBORS / (np.pi * n_vertices))))


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


def _signature(laplacian: Laplacian, pairs: int) -> FloatArray:
    return wks(spectrum(laplacian, pairs), _ENERGIES, sigma=_SIGMA)


def principal_features(
    features_1: NDArray[Any], features_2: NDArray[Any], size: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Both features in the `size` directions in which they vary most together."""
    middle = 0.5 * (features_1.mean(axis=0) + features_2.mean(axis=0))
    first, second = features_1 - middle, features_2 - middle
    covariance = first.T @ first / len(first) + second.T @ second / len(second)
    axes = np.linalg.eigh(covariance.astype(np.float64))[1][:, ::-1][:, :size].astype(np.float32)
    return first @ axes, second @ axes
