"""Lengths, areas, normals, and the gradients of the hat functions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from finsler.errors import InputError
from finsler.mesh.arguments import checked
from finsler.mesh.summary import one_line
from finsler.mesh.topology import component_volumes, referenced_vertices
from finsler.mesh.trimesh import TriMesh
from finsler.typing import BoolArray, FloatArray

# Height of a face as a share of its longest edge, below which it is a needle.
NEEDLE = 1e-6


def in_safe_unit(mesh: TriMesh) -> tuple[TriMesh, float]:
    """The mesh in a unit of length in which no area over- or underflows, and that unit.

    The mesh itself and 1 unless its coordinates are beyond 1e±60; else the unit is a power of 2, so
    that no digit changes.
    """
    size = float(np.abs(mesh.vertices).max())
    if size == 0.0 or 1e-60 < size < 1e60:
        return mesh, 1.0
    exponent = int(np.frexp(size)[1])
    return TriMesh(np.ldexp(mesh.vertices, -exponent), mesh.faces), float(np.ldexp(1.0, exponent))


@checked
def face_cross(mesh: TriMesh) -> FloatArray:
    """Normal of each face times twice its area, (m, 3), outward for counter-clockwise faces."""
    a, b, c = (mesh.vertices[mesh.faces[:, i]] for i in range(3))
    return np.asarray(np.cross(b - a, c - a))


@checked
def face_areas(mesh: TriMesh) -> FloatArray:
    """Area of each face, (m,)."""
    return np.asarray(0.5 * np.linalg.norm(face_cross(mesh), axis=1))


@checked
def surface_area(mesh: TriMesh) -> float:
    """Total area."""
    return float(face_areas(mesh).sum())


@checked
def signed_volume(mesh: TriMesh) -> float:
    """Volume enclosed by a closed mesh, positive when its faces point outwards.

    Computed about the centre of the vertices, so that a shape far from the origin keeps its digits.
    """
    return float(component_volumes(mesh, np.zeros(mesh.n_faces, dtype=np.int64))[0])


@checked
def degenerate_faces(mesh: TriMesh) -> BoolArray:
    """Mask (m,) of faces without a usable plane.

    A face is degenerate when its smallest height is below 1e-12 of its longest edge (a repeated
    corner included): relative to its own size, so units do not matter.
    """
    return _thinner(mesh, 1e-12)


@checked
def needle_faces(mesh: TriMesh) -> BoolArray:
    """Mask (m,) of faces whose smallest height is below 1e-6 of their longest edge.

    They have a plane, but weights of 1e6 and more. Degenerate faces are not among them.
    """
    return _thinner(mesh, NEEDLE) & ~degenerate_faces(mesh)


@checked
def require_usable_faces(mesh: TriMesh) -> None:
    """Raise when a face has no area or a vertex no face: no operator exists on such a mesh."""
    bad = degenerate_faces(mesh)
    if bad.any():
        raise InputError(
            f"face {int(np.argmax(bad))} has no area ({int(bad.sum())} such faces);"
            " repair the mesh first: finsler.repair(mesh), or finsler info --repair"
        )
    used = referenced_vertices(mesh)
    if not used.all():
        raise InputError(
            f"vertex {int(np.argmin(used))} belongs to no face"
            f" ({int((~used).sum())} such vertices);"
            " repair the mesh first: finsler.repair(mesh), or finsler info --repair"
        )


@checked
def face_normals(mesh: TriMesh) -> FloatArray:
    """Unit normal of each face, (m, 3); the zero vector where the face is degenerate."""
    return _unit(face_cross(in_safe_unit(mesh)[0]))


@checked
def vertex_normals(mesh: TriMesh) -> FloatArray:
    """Area-weighted unit normal of each vertex, (n, 3); zero where it is undefined."""
    return _unit(_scatter(mesh, face_cross(in_safe_unit(mesh)[0])))


@checked
def vertex_areas(mesh: TriMesh) -> FloatArray:
    """One third of the area of the incident faces, (n,): the lumped mass."""
    return _scatter(mesh, face_areas(mesh)[:, None] / 3.0)[:, 0]


@checked
def edge_lengths(mesh: TriMesh) -> FloatArray:
    """Length of the edge opposite to each corner, (m, 3)."""
    corners = mesh.vertices[mesh.faces]
    return np.asarray(np.linalg.norm(np.roll(corners, -1, 1) - np.roll(corners, -2, 1), axis=2))


@one_line()
@dataclass(frozen=True, eq=False)
class TangentBasis:
    """An orthonormal, right-handed tangent basis per face: `first`, `second`, (m, 3) each."""

    first: FloatArray
    second: FloatArray

    def coordinates(self, vectors: FloatArray) -> FloatArray:
        """Components (m, 2) of vectors (m, 3); what is normal to the face is dropped."""
        return np.stack(
            [np.einsum("fi,fi->f", vectors, axis) for axis in (self.first, self.second)], axis=1
        )

    def vectors(self, coordinates: FloatArray) -> FloatArray:
        """Vectors (m, 3) with the given components (m, 2)."""
        return coordinates[:, :1] * self.first + coordinates[:, 1:] * self.second


@checked
def face_basis(mesh: TriMesh) -> TangentBasis:
    """The basis that comes with the mesh: first axis along the edge from corner 0 to corner 1."""
    require_usable_faces(mesh)
    mesh, _ = in_safe_unit(mesh)
    first = _unit(mesh.vertices[mesh.faces[:, 1]] - mesh.vertices[mesh.faces[:, 0]])
    return TangentBasis(first, np.cross(face_normals(mesh), first))


@checked
def hat_gradients(mesh: TriMesh) -> FloatArray:
    """Gradient of the hat function of each corner on its face, (m, 3 corners, 3).

    ∇φ_i = n̂ × e_i / (2 area), e_i the edge opposite to corner i, counter-clockwise.
    """
    require_usable_faces(mesh)
    cross = face_cross(mesh)
    corners = mesh.vertices[mesh.faces]
    opposite = np.roll(corners, -2, axis=1) - np.roll(corners, -1, axis=1)
    squared = np.einsum("fi,fi->f", cross, cross)
    return np.asarray(np.cross(cross[:, None, :], opposite) / squared[:, None, None])


def _thinner(mesh: TriMesh, share: float) -> BoolArray:
    """Mask (m,) of faces whose smallest height is at most this share of their longest edge."""
    mesh, _ = in_safe_unit(mesh)
    corners = mesh.vertices[mesh.faces]
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    thin = np.linalg.norm(face_cross(mesh), axis=1) <= share * longest**2
    return np.asarray(thin, dtype=np.bool_)


def _scatter(mesh: TriMesh, values: FloatArray) -> FloatArray:
    """Sum of face values (m, d) at each vertex, (n, d)."""
    corners = mesh.faces.ravel()
    columns = [np.bincount(corners, np.repeat(v, 3), mesh.n_vertices) for v in values.T]
    return np.stack(columns, axis=1)


def _unit(vectors: FloatArray) -> FloatArray:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    unit = np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0)
    return np.asarray(unit)
