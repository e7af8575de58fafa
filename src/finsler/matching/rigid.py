"""The same surface twice, moved, turned or rescaled: its map is exact."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from finsler.matching.points import Refined
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray

# Root mean square distance, in √area, between surfaces laid onto each other along a map: below the
# first they may be the same, below the second they are.
_NEAR, _SAME = 0.05, 1e-4
_ROUNDS = 30


def exact_if_rigid(mesh_1: TriMesh, mesh_2: TriMesh, refined: Refined) -> Refined:
    """The map to the nearest vertices, if mesh 1 can be laid onto mesh 2; else the map as it is.

    Both meshes have area 1, so that no scale is left: mesh 1 is turned and moved onto its partners,
    then onto its nearest vertices, until these stay (Besl, McKay 1992).
    """
    x, y = mesh_1.vertices, mesh_2.vertices
    if mesh_1.n_vertices != mesh_2.n_vertices:
        return refined
    tree, images = cKDTree(y), refined.map_12
    placed, apart = _laid_onto(x, y[images])
    if apart > _NEAR:
        return refined
    for _ in range(_ROUNDS):
        nearest = tree.query(placed)[1]
        if np.array_equal(nearest, images):
            break
        images = nearest
        placed, apart = _laid_onto(x, y[images])
    if apart > _SAME or len(np.unique(images)) < len(images):
        return refined
    back = np.empty_like(images)
    back[images] = np.arange(len(images))
    return Refined(images, refined.functional, back)


def _laid_onto(points: FloatArray, goals: FloatArray) -> tuple[FloatArray, float]:
    """Points (n, 3) turned and moved as near to goals (n, 3) as they go, and how far they are."""
    middle, goal = points.mean(axis=0), goals.mean(axis=0)
    left, _, right = np.linalg.svd((goals - goal).T @ (points - middle))
    left[:, 2] *= np.sign(np.linalg.det(left @ right))
    placed = (points - middle) @ (left @ right).T + goal
    return placed, float(np.sqrt(((placed - goals) ** 2).sum(axis=1).mean()))
