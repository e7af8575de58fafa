"""Close the holes of a mesh with smooth patches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import spsolve

from finsler.errors import InputError
from finsler.mesh.arguments import checked
from finsler.mesh.measures import surface_area
from finsler.mesh.topology import boundary_loops, edges
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray, IntArray

__all__ = ["Filling", "fill_holes"]


@dataclass(frozen=True, eq=False)
class Filling:
    """A mesh whose holes are closed.

    Attributes
    ----------
    mesh : TriMesh
        Vertices and faces of the mesh as given come first, in the same order; then those of the
        patches, each of whose faces has a new vertex.
    filled : int
        How many holes were closed.
    nearest : (n_new,)
        For each new vertex, the nearest vertex of the mesh as given on the rim of its hole.
    """

    mesh: TriMesh
    filled: int
    nearest: IntArray


@checked
def fill_holes(mesh: TriMesh, *, largest: float = 0.1) -> Filling:
    """Close holes with patches that continue the surface around them smoothly.

    Each patch consists of rings of vertices as far apart as those on the rim. Their places minimise
    the squared Laplacian, rim included: a thin plate, fixed at the rim and the vertices next to it.

    Parameters
    ----------
    mesh : TriMesh
    largest : float
        Holes are closed where a disc with the same circumference has at most this share of the
        area of the mesh, so that the border of a sheet stays open.

    Raises
    ------
    InputError
        `largest` is negative or not a number.

    Examples
    --------
    >>> from finsler.mesh import primitives
    >>> ball = primitives.sphere(8)
    >>> open_ball = TriMesh(ball.vertices, ball.faces[20:])
    >>> result = fill_holes(open_ball)
    >>> len(boundary_loops(open_ball)) == result.filled, len(boundary_loops(result.mesh))
    (True, 0)
    """
    if not 0.0 <= largest < np.inf:
        raise InputError(f"largest is {largest}; it must be a number from 0 on")
    limit = largest * surface_area(mesh)
    rims = [loop for loop in boundary_loops(mesh) if _fillable(mesh, loop, limit)]
    faces, nearest, count = [mesh.faces], [], mesh.n_vertices
    for rim in rims:
        # The surface is on the left of a rim; a patch has it on its right.
        patch, source = _patch(mesh.vertices, rim[::-1], count)
        faces.append(patch)
        nearest.append(source)
        count += len(source)
    if not rims:
        return Filling(mesh, 0, np.empty(0, dtype=np.int64))
    every = np.concatenate(faces)
    rim_of = np.concatenate(nearest)
    places = np.concatenate([mesh.vertices, mesh.vertices[rim_of]])
    fair = _fair(TriMesh(places, every), mesh.n_vertices)
    return Filling(TriMesh(fair, every), len(rims), rim_of)


def _fillable(mesh: TriMesh, loop: IntArray, limit: float) -> bool:
    """Whether a chain of boundary edges is closed, passes no vertex twice, and is short enough."""
    if len(loop) < 3 or len(np.unique(loop)) < len(loop):
        return False
    length = np.linalg.norm(np.diff(mesh.vertices[np.r_[loop, loop[0]]], axis=0), axis=1).sum()
    return bool(0.0 < length**2 / (4.0 * np.pi) <= limit)


def _patch(vertices: FloatArray, rim: IntArray, first: int) -> tuple[IntArray, IntArray]:
    """Faces of a patch inside a rim, and one of the rim for each new vertex, from `first` on.

    Rings are circles about a centre; the number of their vertices falls with their radius.
    """
    steps = np.linalg.norm(np.diff(vertices[np.r_[rim, rim[0]]], axis=0), axis=1)
    turns = np.cumsum(steps) / steps.sum()
    outer, angles = rim, np.r_[0.0, turns[:-1]]
    places = angles
    rings = max(round(len(rim) / (2.0 * np.pi)) - 1, 0)
    faces, sources, next_name = [], [], first
    for ring in range(1, rings + 1):
        size = max(round(len(rim) * (1.0 - ring / (rings + 1))), 3)
        inner, inner_angles = next_name + np.arange(size), np.arange(size) / size
        faces.append(_band(outer, angles, inner, inner_angles))
        gap = np.abs(places[None] - inner_angles[:, None])
        sources.append(rim[np.minimum(gap, 1.0 - gap).argmin(axis=1)])
        outer, angles, next_name = inner, inner_angles, next_name + size
    centre = np.full(len(outer), next_name)
    faces.append(np.column_stack([outer, np.roll(outer, -1), centre]))
    sources.append(rim[:1])
    return np.concatenate(faces), np.concatenate(sources)


def _band(outer: IntArray, a: FloatArray, inner: IntArray, b: FloatArray) -> IntArray:
    """Triangles between two rings whose vertices stand at sorted angles in [0, 1), both from 0."""
    n, m = len(outer), len(inner)
    # Each edge of a ring makes a triangle with the vertex of the other that is reached by then.
    after_a, after_b = np.r_[a[1:], 1.0], np.r_[b[1:], 1.0]
    order = np.argsort(np.r_[after_a, after_b], kind="stable")
    from_outer = order < n
    i: IntArray = np.cumsum(from_outer) - from_outer
    j: IntArray = np.cumsum(~from_outer) - ~from_outer
    third = np.where(from_outer, outer[(i + 1) % n], inner[(j + 1) % m])
    return np.column_stack([outer[i % n], third, inner[j % m]])


def _fair(mesh: TriMesh, fixed: int) -> FloatArray:
    """Vertices, those after the first `fixed` where the squared Laplacian is least."""
    n = mesh.n_vertices
    ends = edges(mesh).vertices
    i, j = np.r_[ends[:, 0], ends[:, 1]], np.r_[ends[:, 1], ends[:, 0]]
    links = sparse.csr_array((np.ones(len(i)), (i, j)), (n, n))
    near = links.indices[links.indptr[fixed] :]
    used = np.unique(np.r_[near, np.arange(fixed, n)])
    rows = links[used]
    laplacian = sparse.csc_array(
        sparse.csr_array((np.ones(len(used)), (np.arange(len(used)), used)), (len(used), n))
        - sparse.diags_array(1.0 / np.asarray(rows.sum(axis=1)).ravel()) @ rows
    )
    free = laplacian[:, fixed:]
    right = -(free.T @ (laplacian[:, :fixed] @ mesh.vertices[:fixed]))
    solved = spsolve(sparse.csc_array(free.T @ free), right)
    return np.concatenate([mesh.vertices[:fixed], np.asarray(solved).reshape(-1, 3)])
