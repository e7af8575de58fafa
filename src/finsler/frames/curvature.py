"""Principal curvatures by the normal cycle (Cohen-Steiner and Morvan, SoCG 2003)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from finsler.errors import InputError
from finsler.mesh.arguments import checked
from finsler.mesh.health import warn_of
from finsler.mesh.measures import face_normals, require_usable_faces, vertex_areas, vertex_normals
from finsler.mesh.summary import one_line
from finsler.mesh.topology import edges, inconsistent_edges, nonmanifold_edges
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray, IntArray

_UPPER = ([0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2])


@one_line("maximal", "minimal")
@dataclass(frozen=True, eq=False)
class Curvature:
    """Principal curvatures of a mesh, per vertex; positive where convex (outward normals).

    Attributes
    ----------
    maximal, minimal : (n,)
        Principal curvatures, maximal ≥ minimal.
    direction_max, direction_min : (n, 3)
        Unit directions in which the normal turns by these; each is a line, its sign means nothing.
    normal : (n, 3)
        Unit normal; the three are right-handed.
    """

    maximal: FloatArray
    minimal: FloatArray
    direction_max: FloatArray
    direction_min: FloatArray
    normal: FloatArray


@checked
def normal_cycle(mesh: TriMesh, *, smoothing: int = 10) -> FloatArray:
    """Curvature tensor of the normal cycle per vertex, (n, 3, 3).

    T(B) = (1/|B|) Σ_edges β(e) |e ∩ B| ē ēᵀ, with β the signed angle between the normals of the
    two faces at an edge (positive where convex) and ē its unit direction. Its tangential
    eigenvalues are the principal curvatures *with their directions exchanged*: a cylinder bends
    across its axis, but its bent edges run along it.

    Each round of smoothing averages over a vertex and its neighbours. Both the curvature measure
    Σ β|e| ē ēᵀ and the area measure |B| are averaged before they are divided, so the result is
    the normal cycle over a larger, blurred window B, whatever the sizes of the faces in it; the
    authors' release averages the quotients, ten rounds too.

    Boundary edges and edges with more than two faces carry no angle.

    Warns
    -----
    MeshWarning
        Faces are oriented against each other, so that angles between them have the wrong sign; or
        edges have more than two faces.
    """
    if smoothing < 0:
        raise InputError(f"smoothing counts rounds and must be 0 or more, not {smoothing}")
    require_usable_faces(mesh)
    table = edges(mesh)
    warn_of(
        {
            "inconsistent_edges": len(inconsistent_edges(mesh, table)),
            "nonmanifold_edges": len(nonmanifold_edges(mesh, table)),
        }
    )
    normals = face_normals(mesh)
    first, second = table.pairs.T
    start = mesh.faces.ravel()[first]
    end = np.roll(mesh.faces, -1, axis=1).ravel()[first]
    direction = mesh.vertices[end] - mesh.vertices[start]
    length = np.linalg.norm(direction, axis=1)
    direction /= length[:, None]
    n1, n2 = normals[first // 3], normals[second // 3]
    turn = np.einsum("ei,ei->e", np.cross(n1, n2), direction)
    angle = np.arctan2(turn, np.einsum("ei,ei->e", n1, n2))

    measure = np.empty((mesh.n_vertices, 7))
    for column, (i, j) in enumerate(zip(*_UPPER, strict=True)):
        half = 0.5 * angle * length * direction[:, i] * direction[:, j]
        measure[:, column] = np.bincount(start, half, mesh.n_vertices)
        measure[:, column] += np.bincount(end, half, mesh.n_vertices)
    measure[:, 6] = vertex_areas(mesh)

    average = _one_ring_average(table.vertices, mesh.n_vertices)
    for _ in range(smoothing):
        measure = average @ measure
    tensor = np.empty((mesh.n_vertices, 3, 3))
    tensor[:, _UPPER[0], _UPPER[1]] = measure[:, :6] / measure[:, 6:]
    tensor[:, _UPPER[1], _UPPER[0]] = tensor[:, _UPPER[0], _UPPER[1]]
    return tensor


@checked
def principal_curvature(mesh: TriMesh, *, smoothing: int = 10) -> Curvature:
    """Principal curvatures and directions per vertex, from the normal cycle.

    Examples
    --------
    >>> from finsler.mesh import primitives
    >>> curvature = principal_curvature(primitives.sphere(16, radius=2.0))
    >>> bool(abs(curvature.maximal - 0.5).max() < 0.02)
    True
    """
    normal = vertex_normals(mesh)
    first = _any_tangent(normal)
    second = np.cross(normal, first)
    line = line_field(normal_cycle(mesh, smoothing=smoothing), first, second)
    angle = 0.5 * np.angle(line.deviator)
    direction_max = np.cos(angle)[:, None] * first + np.sin(angle)[:, None] * second
    return Curvature(
        maximal=line.mean + np.abs(line.deviator),
        minimal=line.mean - np.abs(line.deviator),
        direction_max=direction_max,
        direction_min=np.cross(normal, direction_max),
        normal=normal,
    )


@dataclass(frozen=True, eq=False)
class LineField:
    """Curvature in a tangent basis without any choice of sign.

    `mean` is (κ_max + κ_min)/2; `deviator` is (κ_max − κ_min)/2 · e^{2iφ}, φ the angle from the
    basis' first axis to the direction of maximal curvature. Doubling the angle identifies v and −v,
    so such values can be added and averaged.
    """

    mean: FloatArray
    deviator: np.ndarray[tuple[int], np.dtype[np.complex128]]


def line_field(tensor: FloatArray, first: FloatArray, second: FloatArray) -> LineField:
    """Normal-cycle tensors (·, 3, 3) seen in tangent bases (·, 3), directions exchanged back."""
    t11 = np.einsum("pi,pij,pj->p", first, tensor, first)
    t12 = np.einsum("pi,pij,pj->p", first, tensor, second)
    t22 = np.einsum("pi,pij,pj->p", second, tensor, second)
    return LineField(mean=0.5 * (t11 + t22), deviator=-(0.5 * (t11 - t22) + 1j * t12))


def _one_ring_average(edge_vertices: IntArray, n_vertices: int) -> sparse.csr_array:
    """Mean over a vertex and its neighbours, as a sparse matrix."""
    i, j = edge_vertices.T
    diagonal = np.arange(n_vertices)
    rows, columns = np.r_[i, j, diagonal], np.r_[j, i, diagonal]
    adjacency = sparse.csr_array((np.ones(len(rows)), (rows, columns)), (n_vertices, n_vertices))
    adjacency.data[:] = 1.0
    return sparse.diags_array(1.0 / np.diff(adjacency.indptr)) @ adjacency


def _any_tangent(normal: FloatArray) -> FloatArray:
    """Some unit vector perpendicular to each normal."""
    least = np.argmin(np.abs(normal), axis=1)
    axis = np.zeros_like(normal)
    axis[np.arange(len(normal)), least] = 1.0
    tangent = np.cross(normal, axis)
    length = np.linalg.norm(tangent, axis=1, keepdims=True)
    return np.asarray(np.divide(tangent, length, out=axis, where=length > 0))
