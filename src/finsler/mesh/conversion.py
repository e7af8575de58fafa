"""Meshes as other libraries hold them, recognised by what they offer: none of them is imported."""

from __future__ import annotations

import os
from typing import Any, cast

import numpy as np

from finsler.errors import InputError
from finsler.mesh.arguments import in_memory, require_type
from finsler.mesh.trimesh import TriMesh

__all__ = ["as_mesh"]


def as_mesh(mesh: object) -> TriMesh:
    """Turn whatever describes a triangle mesh into a `TriMesh`; every function calls this itself.

    Taken are a `TriMesh` (returned as it is), a pair (vertices, faces) of arrays or tensors, the
    path of a mesh file (as [`load_mesh`][finsler.load_mesh] reads it), and the meshes of trimesh
    (also a scene, whose parts become one mesh), PyVista (`PolyData`; polygons and strips are cut
    into triangles), Open3D and torch_geometric (`Data` with `pos` and `face`). Vertices and
    triangles keep their order; colours and other attributes are left behind.

    Raises
    ------
    InputError
        The value is nothing of the kind, or its arrays are no mesh: see
        [`TriMesh`][finsler.TriMesh].

    Examples
    --------
    >>> as_mesh(([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]))
    TriMesh(3 vertices, 1 face, size 1 × 1 × 0)
    """
    return cast(TriMesh, require_type(mesh, "TriMesh", "mesh"))


def convert(value: object, name: str) -> TriMesh | None:
    """The value as a mesh; None where it offers nothing that a mesh has."""
    if isinstance(value, TriMesh):
        return value
    if isinstance(value, str | os.PathLike):
        from finsler.mesh.io import load_mesh

        return load_mesh(value)
    if _offers(value, "to_mesh", "geometry"):
        return convert(value.to_mesh(), name)  # type: ignore[attr-defined]
    given = _arrays(value)
    if given is None:
        return None
    try:
        return TriMesh(in_memory(given[0]), in_memory(given[1]))
    except InputError as error:
        raise InputError(f"{name}: {error}") from error


def _arrays(value: Any) -> tuple[Any, Any] | None:
    """Vertices (n, 3) and faces (m, 3) of what has them under one of the names in use."""
    if isinstance(value, tuple | list):
        return (value[0], value[1]) if len(value) == 2 else None
    if _offers(value, "points", "faces", "is_all_triangles"):
        triangles = value if value.is_all_triangles else value.triangulate()
        return triangles.points, np.asarray(triangles.faces).reshape(-1, 4)[:, 1:]
    if _offers(value, "vertices", "faces"):
        return value.vertices, value.faces
    if _offers(value, "vertices", "triangles"):
        return value.vertices, value.triangles
    if _offers(value, "vertex", "triangle"):
        return value.vertex.positions, value.triangle.indices
    if _offers(value, "pos", "face"):
        return value.pos, value.face.T
    return None


def _offers(value: object, *names: str) -> bool:
    return all(getattr(value, name, None) is not None for name in names)
