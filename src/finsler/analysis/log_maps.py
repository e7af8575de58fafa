"""Around each vertex the others within a geodesic radius: where they lie and how frames turn.

A polyhedron has exact geodesics: straight lines over faces unfolded into a plane, which bend only
at vertices with an angle above 2π and on the boundary. Within a few edges they are found by
following windows of directions from face to face. All curvature of a polyhedron is at its vertices,
so that directions jump where a line changes from one side of a vertex to the other; they are
corrected to those on a surface where that curvature fills a disk around the vertex.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from finsler.errors import InputError
from finsler.mesh.measures import require_usable_faces, vertex_areas
from finsler.mesh.topology import edges, inconsistent_edges, nonmanifold_edges, vertex_components
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from finsler.analysis._compiled_log_maps import Fans

Float32Array = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Support:
    """Pairs (i, j) of vertices within the radius, row by row, each vertex itself included.

    Angles are in radians, counter-clockwise seen from outside; in the frame of a vertex angle 0
    points along one of its edges
    ([`frame_neighbors`][finsler.analysis.log_maps.frame_neighbors]). The pattern is symmetric; with
    (i, j) and (j, i) swapped r is the same, theta and direction change places and phi changes its
    sign.

    Attributes
    ----------
    indptr, indices : (n + 1,), (p,) int32
        Rows i and columns j, sorted.
    r : (p,) float32
        Geodesic distance.
    theta : (p,) float32
        Angle of log_j(i) in the frame of j; 0 where i = j.
    direction : (p,) float32
        Angle of log_i(j) in the frame of i; 0 where i = j.
    phi : (p,) float32
        Parallel transport from j to i: a vector of angle a becomes one of angle a + phi.
    weight : (p,) float32
        Area of vertex j as a share of the area of the vertices in row i.
    radius : float
    """

    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    r: Float32Array
    theta: Float32Array
    direction: Float32Array
    phi: Float32Array
    weight: Float32Array
    radius: float

    @property
    def n_vertices(self) -> int:
        """Number of vertices."""
        return len(self.indptr) - 1


def vertex_support(mesh: TriMesh, radius: float, *, require_connected: bool = True) -> Support:
    """Logarithmic map and parallel transport between all vertices within a geodesic radius.

    Angles around a vertex inside the surface are scaled to a sum of 2π; on the boundary they are
    kept, unless they exceed it. Transport along a straight line keeps the angle to the line; at
    a bend it goes through the frame of the vertex there. A line that passes a vertex of area A
    within √(A/π) is turned at both ends as if the curvature of the vertex were spread over the disk
    of that radius; where two lines are equally short their directions are averaged instead.

    Parameters
    ----------
    mesh : TriMesh
        Manifold but for vertices where several fans of faces touch, and oriented.
    radius : float
        In the unit of the mesh.
    require_connected : bool
        Refuse supports that fall apart where the mesh does not: nothing would flow between parts.

    Raises
    ------
    InputError
        A mesh that is not as above, a radius that is not positive, no vertex with another within
        the radius, or supports that fall apart.

    Examples
    --------
    >>> from finsler import primitives
    >>> support = vertex_support(primitives.plane(4, 4), radius=0.3)
    >>> row = slice(support.indptr[12], support.indptr[13])
    >>> support.indices[row].tolist()
    [7, 11, 12, 13, 17]
    >>> support.r[row].tolist()
    [0.25, 0.25, 0.0, 0.25, 0.25]
    """
    from finsler.analysis._compiled_log_maps import bent_paths, straight_lines

    if not 0.0 < radius < math.inf:
        raise InputError(f"radius is {radius}; it must be a positive length")
    fans, hinge = _fans(mesh)
    # Rounding does not decide about vertices at the radius itself.
    reach = radius * (1.0 + 1e-9)
    pairs = _seen_from_both_ends(straight_lines(fans, reach), mesh.n_vertices)
    if hinge.any():
        indptr, indices, lines = _both_ways(pairs, mesh.n_vertices)
        pairs = bent_paths(indptr, indices, lines, hinge, reach)
    if len(pairs) == 0:
        raise InputError(
            f"no vertex has another within the radius {radius:.6g}; choose a larger one"
        )
    support = _support(mesh, pairs, radius)
    if require_connected:
        _check_connected(mesh, support)
    return support


def frame_neighbors(mesh: TriMesh) -> IntArray:
    """The neighbour (n,) of each vertex towards which angle 0 of its frame points."""
    fans, _ = _fans(mesh)
    corner = np.flatnonzero(fans.start == 0.0)
    neighbors = np.empty(mesh.n_vertices, dtype=np.int64)
    neighbors[fans.vertex[corner]] = np.roll(mesh.faces, -1, axis=1).ravel()[corner]
    return neighbors


def _fans(mesh: TriMesh) -> tuple[Fans, NDArray[np.bool_]]:
    """The mesh for walkers, and the mask of the vertices at which shortest paths may bend."""
    from finsler.analysis._compiled_log_maps import Fans, fan_angles

    _require_oriented_surface(mesh)
    vertex, n = mesh.faces.ravel(), mesh.n_vertices
    pairs = edges(mesh).pairs
    twin = np.full(len(vertex), -1)
    twin[pairs] = pairs[:, ::-1]
    corners = mesh.vertices[mesh.faces]
    side = np.roll(corners, -1, axis=1) - corners
    back = -np.roll(side, 1, axis=1)
    sine = np.linalg.norm(np.cross(side, back), axis=2)
    angle = np.arctan2(sine, np.einsum("fci,fci->fc", side, back)).ravel()
    start, total, fans, is_open = fan_angles(vertex, twin, angle, n)
    rounded = total * (1.0 - 1e-9)
    closed = (fans == 1) & ~is_open
    scale = np.where(closed | (total > 2.0 * np.pi), 2.0 * np.pi / total, 1.0)
    hinge = (fans > 1) | (rounded > np.where(closed, 2.0 * np.pi, np.pi))
    return (
        Fans(
            vertex=vertex,
            twin=twin,
            length=np.linalg.norm(side, axis=2).ravel(),
            angle=angle,
            start=start,
            scale=scale,
            curvature=np.where(closed, 2.0 * np.pi - total, 0.0),
            size=np.sqrt(vertex_areas(mesh) / np.pi),
            first=np.r_[0, np.cumsum(np.bincount(vertex, minlength=n))],
            corners=np.argsort(vertex, kind="stable"),
        ),
        hinge,
    )


def _require_oriented_surface(mesh: TriMesh) -> None:
    require_usable_faces(mesh)
    for bad, what in (
        (nonmanifold_edges(mesh), "has more than two faces"),
        (inconsistent_edges(mesh), "lies between faces of opposite orientation"),
    ):
        if len(bad):
            raise InputError(
                f"the edge between vertices {bad[0, 0]} and {bad[0, 1]} {what}"
                f" ({len(bad)} such edges);"
                " repair the mesh first: finsler.repair(mesh), or finsler info --repair"
            )


def _seen_from_both_ends(lines: FloatArray, n: int) -> FloatArray:
    """Rows of i, j > i, length, both angles and transport: means of the line and its way back.

    Both agree up to the corrections for curvature, and their mean does not depend on numbers of
    vertices. Where they are different lines, which are equally short, the first counts.
    """
    i, j = lines[:, :2].T.astype(np.int64)
    key = i * n + j
    _, forth, back = np.intersect1d(key[i < j], (j * n + i)[i > j], return_indices=True)
    first, second = lines[i < j][forth], lines[i > j][back]
    turn = _wrapped(second[:, [4, 3]] - first[:, [3, 4]])
    same = np.abs(turn).max(axis=1, keepdims=True, initial=0.0) < 0.5 * np.pi
    angles = first[:, 3:] + np.where(same, 0.5 * turn, 0.0)
    transport = angles[:, 0] - angles[:, 1] + np.pi
    return np.column_stack([first[:, :3], angles, transport])


def _both_ways(pairs: FloatArray, n: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Rows, columns and values (p, 4) of pairs i < j and of their mirror images, sorted."""
    i, j = pairs[:, :2].T.astype(np.int64)
    mirrored = pairs[:, [2, 4, 3, 5]] * np.array([1.0, 1.0, 1.0, -1.0])
    rows, columns = np.r_[i, j], np.r_[j, i]
    order = np.lexsort([columns, rows])
    indptr = np.r_[0, np.cumsum(np.bincount(rows, minlength=n))]
    return indptr, columns[order], np.concatenate([pairs[:, 2:], mirrored])[order]


def _support(mesh: TriMesh, pairs: FloatArray, radius: float) -> Support:
    n = mesh.n_vertices
    indptr, indices, values = _both_ways(pairs, n)
    rows = np.repeat(np.arange(n), np.diff(indptr))
    diagonal = np.searchsorted(rows * n + indices, np.arange(n) * (n + 1))
    indices, values = (
        np.insert(indices, diagonal, np.arange(n)),
        np.insert(values, diagonal, 0.0, axis=0),
    )
    indptr = indptr + np.arange(n + 1)
    area = vertex_areas(mesh)[indices]
    total = np.add.reduceat(area, indptr[:-1])
    r, direction, theta, phi = values.T
    return Support(
        indptr=indptr.astype(np.int32),
        indices=indices.astype(np.int32),
        r=r.astype(np.float32),
        theta=_wrapped(theta).astype(np.float32),
        direction=_wrapped(direction).astype(np.float32),
        phi=_wrapped(phi).astype(np.float32),
        weight=(area / np.repeat(total, np.diff(indptr))).astype(np.float32),
        radius=float(radius),
    )


def _wrapped(angles: FloatArray) -> FloatArray:
    """Angles between -π and π."""
    return np.asarray(np.remainder(angles + np.pi, 2.0 * np.pi) - np.pi)


def _check_connected(mesh: TriMesh, support: Support) -> None:
    ones = np.ones(len(support.indices), dtype=np.int8)
    graph = csr_array((ones, support.indices, support.indptr), shape=(mesh.n_vertices,) * 2)
    parts = connected_components(graph, directed=False)[0]
    whole = int(vertex_components(mesh).max()) + 1
    if parts > whole:
        raise InputError(
            f"with the radius {support.radius:.6g} the supports fall into {parts} parts, but the"
            f" mesh has {whole} connected components; choose a larger radius, or allow it"
            " (--support-apart, require_connected=False)"
        )
