"""How far a vertex map can be trusted, without knowing the truth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from finsler.mesh.measures import vertex_normals
from finsler.mesh.topology import edges
from finsler.mesh.trimesh import FloatArray, IntArray, TriMesh

# A round trip of this length, in units of √area, halves the confidence.
_RADIUS = 0.05


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


def cycle_distances(mesh_1: TriMesh, map_12: IntArray, map_21: IntArray) -> FloatArray:
    """Straight distance (n_1,) between x and map_21(map_12(x)), in the unit of mesh 1."""
    return np.asarray(np.linalg.norm(mesh_1.vertices - mesh_1.vertices[map_21[map_12]], axis=1))


def confidence(
    mesh_1: TriMesh, mesh_2: TriMesh, map_12: IntArray, map_21: IntArray, *, unit: float = 1.0
) -> NDArray[np.float64]:
    """Confidence in [0, 1] of each vertex x of mesh 1: returns, and neighbours that stay near.

    1/(1 + (r/0.05)²) · min(1, 2 ℓ/ℓ'), with r the straight distance from x to map_21(map_12(x)) in
    units of √area, ℓ the mean length of the edges at x and ℓ' that of their images. A map that
    consistently exchanges left and right has high confidence: nothing local contradicts it.

    Parameters
    ----------
    mesh_1, mesh_2 : TriMesh
        In the same unit, such as that in which both have area 1.
    map_12, map_21 : (n_1,), (n_2,)
    unit : float
        √area in the unit of the meshes.
    """
    trip = cycle_distances(mesh_1, map_12, map_21) / unit
    ends = edges(mesh_1).vertices
    image = map_12[ends]
    before = np.linalg.norm(mesh_1.vertices[ends[:, 0]] - mesh_1.vertices[ends[:, 1]], axis=1)
    after = np.linalg.norm(mesh_2.vertices[image[:, 0]] - mesh_2.vertices[image[:, 1]], axis=1)
    n = mesh_1.n_vertices
    at = ends.ravel()
    length = np.bincount(at, np.repeat(before, 2), minlength=n)
    stretched = np.bincount(at, np.repeat(after, 2), minlength=n)
    together = np.divide(2.0 * length, stretched, out=np.ones(n), where=stretched > 2.0 * length)
    return np.asarray(together / (1.0 + (trip / _RADIUS) ** 2))
