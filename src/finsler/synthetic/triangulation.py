"""Kinds of triangulation: even, stretched, uneven, following curvature, rough."""

from __future__ import annotations

import numpy as np

from finsler.errors import InputError
from finsler.mesh.arguments import takes_meshes
from finsler.mesh.measures import vertex_normals
from finsler.mesh.trimesh import TriMesh
from finsler.synthetic.remesh import Remeshed, remesh
from finsler.typing import FloatArray

TRIANGULATIONS = ("even", "stretched", "uneven", "curved", "rough")


@takes_meshes
def triangulate(
    mesh: TriMesh,
    kind: str,
    vertices: int,
    rng: np.random.Generator,
    *,
    floor: int = 1500,
    domain: TriMesh | None = None,
) -> Remeshed:
    """Remesh a closed surface in one of several ways; every vertex lies on the old surface.

    The surface is deformed, remeshed evenly there, and taken back with its new vertices.
    "stretched" pulls it along a random axis, which leaves long thin faces across it; "uneven"
    lengthens some regions and shortens others; "curved" moves it outwards, so that thin limbs get
    more vertices; "rough" only collapses edges of the old mesh: faces of random sizes and angles.

    Parameters
    ----------
    mesh : TriMesh
        As for [`remesh`][finsler.synthetic.remesh.remesh].
    kind : {"even", "stretched", "uneven", "curved", "rough"}
    vertices : int
        Number of vertices of the result, met exactly.
    rng : Generator
    floor : int
        As for `remesh`.
    domain : TriMesh, optional
        The same mesh with vertices elsewhere, which is deformed and remeshed in its place: what is
        larger there gets more vertices.

    Raises
    ------
    InputError
        An unknown kind, or a mesh that is open or has handles.
    ConvergenceError
        The number of vertices cannot be reached without a fold.

    Examples
    --------
    >>> from finsler.mesh import primitives
    >>> ball = primitives.sphere(12)
    >>> triangulate(ball, "stretched", 200, np.random.default_rng(0)).mesh
    TriMesh(200 vertices, 396 faces, size ...)
    """
    if kind not in TRIANGULATIONS:
        raise InputError(f"kind is {kind!r}; it must be one of {', '.join(TRIANGULATIONS)}")
    there = TriMesh(_deformed(mesh if domain is None else domain, kind, rng), mesh.faces)
    result = remesh(there, vertices, rng, floor=floor, polish=0 if kind == "rough" else 6)
    corners = mesh.vertices[mesh.faces[result.under]]
    points = np.einsum("nc,ncx->nx", result.barycentric, corners)
    return Remeshed(TriMesh(points, result.mesh.faces), result.under, result.barycentric)


def _deformed(mesh: TriMesh, kind: str, rng: np.random.Generator) -> FloatArray:
    """Where the surface is remeshed evenly, (n, 3)."""
    points = mesh.vertices
    size = float(np.ptp(points, axis=0).max())
    if kind == "stretched":
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        return np.asarray(points + rng.uniform(1.0, 3.0) * np.outer(points @ axis, axis))
    if kind == "uneven":
        # x ↦ x + (a / k) sin(k x + φ) stretches by 1 ± a, along each of the axes.
        wave = 2.0 * np.pi / (size * rng.uniform(0.4, 1.2, 3))
        phase, depth = rng.uniform(0.0, 2.0 * np.pi, 3), rng.uniform(0.4, 0.7, 3)
        return np.asarray(points + depth / wave * np.sin(wave * points + phase))
    if kind == "curved":
        return np.asarray(points + size * rng.uniform(0.005, 0.02) * vertex_normals(mesh))
    return points
