"""Whether what is given for a scene fits its meshes; each raises InputError where it does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from finsler.errors import InputError
from finsler.matching.landmarks import checked_landmarks
from finsler.matching.offers import OfferedMap
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray
from finsler.view.web.landmarks import Pair


def checked_map(offer: OfferedMap, meshes: tuple[TriMesh, ...]) -> OfferedMap:
    """A map between the two meshes, its vertices as int64; -1 where there is no partner."""
    if len(meshes) != 2:
        raise InputError("a map needs two meshes; give the second one too")
    given = offer.map_12
    n_1, n_2 = (mesh.n_vertices for mesh in meshes)
    if given.shape != (n_1,) or not np.issubdtype(given.dtype, np.integer):
        raise InputError(
            f"the {offer.name} holds {given.dtype} of shape {given.shape}; it must be one vertex"
            f" number for each of the {n_1} vertices of the first mesh"
        )
    if given.min() < -1 or given.max() >= n_2:
        raise InputError(
            f"the {offer.name} names vertices {given.min()} to {given.max()}, but the second mesh"
            f" has {n_2}; are the meshes in the order of the map?"
        )
    return replace(offer, arrays={**offer.arrays, "map_12": given.astype(np.int64)})


def checked_pairs(landmarks: ArrayLike, meshes: tuple[TriMesh, ...]) -> tuple[Pair, ...]:
    """Pairs of a vertex of the first mesh and one of the second; none where none are given."""
    if np.size(landmarks) == 0:
        return ()
    if len(meshes) != 2:
        raise InputError("landmarks need two meshes; give the second one too")
    rows = checked_landmarks(landmarks, *(mesh.n_vertices for mesh in meshes))
    return tuple((int(one), int(other)) for one, other in rows)


def checked_error(error: ArrayLike, mesh: TriMesh) -> FloatArray:
    """A number for each vertex (n,), not all NaN."""
    given = np.asarray(error)
    if given.shape != (mesh.n_vertices,) or given.dtype.kind not in "fiu":
        raise InputError(
            f"the errors are {given.dtype} of shape {given.shape}; give one number for each of the"
            f" {mesh.n_vertices} vertices of the first mesh"
        )
    values = np.asarray(given, dtype=np.float64)
    if np.isinf(values).any() or np.isnan(values).all():
        raise InputError("the errors must be finite, or NaN where there is none, but not all NaN")
    return values
