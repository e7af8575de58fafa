"""How far a vertex map can be trusted, without knowing the truth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from finsler.analysis.spectrum import Spectrum
from finsler.matching.points import Refined
from finsler.mesh.arguments import takes_meshes
from finsler.mesh.measures import vertex_normals
from finsler.mesh.topology import edges
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray, IntArray

# An expected error of this size, in units of √area, has confidence one half.
_DOUBTFUL = 0.025
# Rounds of averaging over neighbours.
_ROUNDS = 10
Matrix = NDArray[np.floating]


@takes_meshes
def orientation_share(mesh_1: TriMesh, mesh_2: TriMesh, map_12: IntArray) -> float:
    """Share, by area of their images, of the faces of mesh 1 that arrive right side up.

    1 for a map that keeps orientation, 0 for a mirror image: left and right exchanged, say. Faces
    whose image has no area do not count.
    """
    corners = map_12[mesh_1.faces]
    a, b, c = (mesh_2.vertices[corners[:, i]] for i in range(3))
    normal = vertex_normals(mesh_2)[corners].sum(axis=1)
    signed = np.einsum("fi,fi->f", np.cross(b - a, c - a), normal)
    total = float(np.abs(signed).sum())
    return float(np.maximum(signed, 0.0).sum()) / total if total > 0.0 else 0.0


def distance_change(before: Matrix, after: Matrix, weights: FloatArray | None = None) -> float:
    """Root mean square of the difference; infinite distances count as the largest finite one.

    `weights` (n,) are those of the columns, equal by default.

    Examples
    --------
    >>> distance_change(np.array([0.0, 1.0, np.inf]), np.array([0.0, np.inf, np.inf]))
    0.0
    >>> distance_change(np.array([0.0, 4.0]), np.array([4.0, 0.0]))
    4.0
    """
    largest = max(before[np.isfinite(before)].max(), after[np.isfinite(after)].max())
    square = (np.minimum(before, largest) - np.minimum(after, largest)) ** 2
    return float(
        np.sqrt(np.average(square.reshape(-1, square.shape[-1]).mean(axis=0), weights=weights))
    )


@takes_meshes
def cycle_distances(mesh_1: TriMesh, map_12: IntArray, map_21: IntArray) -> FloatArray:
    """Straight distance (n_1,) between x and map_21(map_12(x)), in the unit of mesh 1."""
    return np.asarray(np.linalg.norm(mesh_1.vertices - mesh_1.vertices[map_21[map_12]], axis=1))


@takes_meshes
def expected_errors(
    mesh_1: TriMesh,
    spectrum_1: Spectrum,
    spectrum_2: Spectrum,
    refined: Refined,
    map_21: IntArray,
) -> FloatArray:
    """How far each vertex of mesh 1 is probably from its true position, (n_1,), in its unit.

    With Φ_1(x) and C Φ_2(y) the rows that the map brings together, y = map_12(x), this is

        (|Φ_1(x) − C Φ_2(y)| + |Φ_1(x) − Φ_1(map_21(y))|) · area / (k √π),

    averaged ten times over neighbours: what the map leaves unexplained, and the round trip. By
    Weyl's law Σ λ_i ≈ 2π k²/area, so that Φ_1 changes by about k √π/area for each unit of length,
    and the quotient is a length. A map that consistently exchanges left and right goes unnoticed:
    nothing local contradicts it.

    Parameters
    ----------
    mesh_1 : TriMesh
    spectrum_1, spectrum_2 : Spectrum
        The bases that were matched.
    refined : Refined
        Map and functional map from 1 to 2.
    map_21 : (n_2,)
        Best refined for itself.
    """
    k_1, k_2 = refined.functional.shape
    here = spectrum_1.eigenvectors[:, :k_1]
    there = spectrum_2.eigenvectors[:, :k_2] @ refined.functional.T
    left = np.linalg.norm(here - there[refined.map_12], axis=1)
    trip = np.linalg.norm(here - here[map_21[refined.map_12]], axis=1)
    length = (left + trip) * np.sum(spectrum_1.mass) / (k_1 * np.sqrt(np.pi))
    return _averaged(mesh_1, np.asarray(length))


def confidence(expected: FloatArray) -> FloatArray:
    """1/(1 + (u/0.025)²) of expected errors u in units of √area: in [0, 1], one half at 0.025.

    Examples
    --------
    >>> confidence(np.array([0.0, 0.025, 0.075]))
    array([1. , 0.5, 0.1])
    """
    return np.asarray(1.0 / (1.0 + (expected / _DOUBTFUL) ** 2))


def _averaged(mesh: TriMesh, values: FloatArray) -> FloatArray:
    """Means over each vertex and its neighbours, repeated."""
    one, other = edges(mesh).vertices.T
    n = mesh.n_vertices
    count = 1.0 + np.bincount(one, minlength=n) + np.bincount(other, minlength=n)
    for _ in range(_ROUNDS):
        near = np.bincount(one, values[other], n) + np.bincount(other, values[one], n)
        values = (values + near) / count
    return values
