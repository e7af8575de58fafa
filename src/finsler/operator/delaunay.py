"""Operators without negative weights, on triangles that suit the metric.

On a given mesh a strongly anisotropic operator has edges with weights of the wrong sign: heat may
fall below its minimum. The same operator on another triangulation of the same vertices, Delaunay in
the lengths that the operator itself measures, has none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from finsler.errors import ConvergenceError
from finsler.mesh.arguments import checked, per_face
from finsler.mesh.measures import face_basis
from finsler.mesh.summary import one_line
from finsler.mesh.topology import edges
from finsler.mesh.trimesh import TriMesh
from finsler.operator.laplacian import Laplacian, laplacian
from finsler.typing import FloatArray, IntArray

# Flips for each side, at most: the sum of squared lengths falls with each, but may do so slowly.
_FLIPS = 100
# A side that is too long becomes this share of the sum of the others; and attempts at it.
_SLACK = 0.98
_SWEEPS = 1000


@one_line()
@dataclass(frozen=True, eq=False)
class DelaunayLaplacian:
    """An operator on an intrinsic Delaunay triangulation, and what it cost.

    Attributes
    ----------
    laplacian : Laplacian
        Mass as on the mesh itself.
    faces, lengths : (m, 3), (m, 3); (2 m, 3) on a cover
        The triangulation: corners, and lengths of the sides from each corner to the next. Two
        vertices may have several edges, and an edge may lead back to its vertex.
    flips : int
    negative_before, negative_after : float
        `negative_share` of the operator on the mesh itself and of this one.
    shortened : float
        Share of the sides that were shortened, since no face could be made of the lengths on which
        both faces of an edge agree; 0 where the metric does not jump.
    """

    laplacian: Laplacian
    faces: IntArray
    lengths: FloatArray
    flips: int
    negative_before: float
    negative_after: float
    shortened: float


@checked
def delaunay_laplacian(
    mesh: TriMesh, diffusivity: ArrayLike, *, cover: bool = True
) -> DelaunayLaplacian:
    """The operator −div(D∇·) on a triangulation that is Delaunay in D's own lengths.

    In the metric g = √det(D) D⁻¹, which keeps areas, the operator is isotropic with the factor
    √det(D): lengths of edges in g, the mean of both faces, make an intrinsic triangulation that is
    flipped until it is Delaunay (Bobenko and Springborn 2007). Where det(D) is the same everywhere,
    as for the paper's metric with constant τ, no edge then has a weight of the wrong sign; where it
    varies, faces of a flipped edge take their mean, and few have. In a plane with constant D only
    the triangulation changes; on a surface the lengths are a further approximation, which vanishes
    as the mesh is refined.

    Edges on a boundary, those with more than two faces, and those between faces of opposite
    orientation have no other diagonal. On the tufted cover (Sharp and Crane 2020) they have: every
    face is taken with its back, and fronts and backs are glued around such edges. The price is that
    linear functions are no longer exact along a boundary.

    Parameters
    ----------
    mesh : TriMesh
    diffusivity : (m, 3, 3), or one (3, 3) for all faces
        As for [`laplacian`][finsler.laplacian].
    cover : bool
        Use the cover where the mesh has such edges; otherwise they are kept, and their weights.

    Raises
    ------
    InputError, ConvergenceError
        As for `laplacian`; the flips do not end.

    Examples
    --------
    >>> import finsler
    >>> mesh = finsler.primitives.bumpy_sphere(8)
    >>> metric = finsler.RandersMetric.from_curvature(mesh, finsler.principal_frames(mesh))
    >>> result = finsler.delaunay_laplacian(mesh, metric.diffusivity())
    >>> result.negative_before > 0.1, result.negative_after
    (True, 0.0)
    """
    plain = laplacian(mesh, diffusivity)
    tensors = per_face(diffusivity, mesh.n_faces, ((3, 3),), "diffusivity")
    twin, share = _twins(mesh), 1.0
    if cover and (twin < 0).any():
        mesh = TriMesh(mesh.vertices, np.r_[mesh.faces, mesh.faces[:, ::-1]])
        tensors, twin, share = np.r_[tensors, tensors], _cover_twins(mesh), 0.5
    lengths, weight = _lengths(mesh, tensors, twin)
    lengths, shortened = _made_possible(lengths, twin)
    faces, flat = mesh.faces.copy(), lengths.ravel()
    flips = _flip(faces, flat, twin, weight)
    flipped = Laplacian(_assembled(faces, flat, share * weight, mesh.n_vertices), plain.mass)
    return DelaunayLaplacian(
        flipped,
        faces,
        flat.reshape(-1, 3),
        flips,
        plain.negative_share,
        flipped.negative_share,
        shortened,
    )


def _flip(faces: IntArray, lengths: FloatArray, twin: IntArray, weight: FloatArray) -> int:
    """Flip to Delaunay, in place; the number of flips."""
    from finsler.operator._compiled_delaunay import flip_to_delaunay

    flips, ended = flip_to_delaunay(faces, lengths, twin, weight, _FLIPS * len(lengths))
    if not ended:
        raise ConvergenceError(f"the triangulation is not Delaunay after {flips} flips")
    return int(flips)


def _twins(mesh: TriMesh) -> IntArray:
    """The side glued to each side (3m,), or −1; glued are sides of opposite direction only."""
    start, end = mesh.faces.ravel(), np.roll(mesh.faces, -1, axis=1).ravel()
    twin = np.full(3 * mesh.n_faces, -1, dtype=np.int64)
    pairs = edges(mesh).pairs
    opposite = (start[pairs[:, 0]] == end[pairs[:, 1]]) & (end[pairs[:, 0]] == start[pairs[:, 1]])
    pairs = pairs[opposite]
    twin[pairs] = pairs[:, ::-1]
    return twin


def _cover_twins(mesh: TriMesh) -> IntArray:
    """The side glued to each side (6m,) of a mesh that holds each face with its back.

    Around an edge, each face has one side that runs up and one that runs down. The one that runs up
    is glued to the one of the next face that runs down.
    """
    table = edges(mesh)
    start, end = mesh.faces.ravel(), np.roll(mesh.faces, -1, axis=1).ravel()
    face = np.arange(len(start)) // 3 % (mesh.n_faces // 2)
    order = np.lexsort([face, table.of_halfedge])
    up, down = order[(start < end)[order]], order[(start > end)[order]]
    edge = table.of_halfedge[up]
    first = np.searchsorted(edge, edge)
    count = np.bincount(edge)[edge]
    following = down[first + (np.arange(len(up)) - first + 1) % count]
    twin = np.empty(len(start), dtype=np.int64)
    twin[up], twin[following] = following, up
    return twin


def _lengths(
    mesh: TriMesh, diffusivity: FloatArray, twin: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Lengths of sides (m, 3) in √det(D) D⁻¹, the same on both faces, and √det(D) (m,)."""
    basis = face_basis(mesh)
    axes = np.stack([basis.first, basis.second], axis=1)
    local = np.einsum("fai,fij,fbj->fab", axes, diffusivity, axes, optimize=True)
    corners = mesh.vertices[mesh.faces]
    side = np.einsum("fsi,fai->fsa", np.roll(corners, -1, axis=1) - corners, axes)
    a, b, d = local[:, 0, 0], 0.5 * (local[:, 0, 1] + local[:, 1, 0]), local[:, 1, 1]
    root = np.sqrt(a * d - b * b)
    x, y = side[..., 0], side[..., 1]
    squared = d[:, None] * x * x - 2.0 * b[:, None] * x * y + a[:, None] * y * y
    length = np.sqrt(squared / root[:, None]).ravel()
    mean = np.where(twin >= 0, 0.5 * (length + length[twin]), length)
    return mean.reshape(-1, 3), root


def _made_possible(lengths: FloatArray, twin: IntArray) -> tuple[FloatArray, float]:
    """Lengths of which every face can be made, and the share of sides that had to be shortened."""
    flat = lengths.ravel().copy()
    for _ in range(_SWEEPS):
        sides = flat.reshape(-1, 3)
        longest = sides.argmax(axis=1)
        longest += 3 * np.arange(len(sides))
        others = sides.sum(axis=1) - flat[longest]
        bad = flat[longest] >= (1.0 - 1e-9) * others
        if not bad.any():
            return sides, float(np.mean(flat != lengths.ravel()))
        np.minimum.at(flat, longest[bad], _SLACK * others[bad])
        glued = twin >= 0
        flat[glued] = np.minimum(flat[glued], flat[twin[glued]])
    raise ConvergenceError(
        "the metric changes so much between faces that no lengths of edges fit it; smooth the"
        " frames, or lower the anisotropy"
    )


def _assembled(faces: IntArray, length: FloatArray, weight: FloatArray, n: int) -> sparse.csr_array:
    """The stiffness (n, n) of the isotropic operator with a factor (m,) a face."""
    squared = length.reshape(-1, 3) ** 2
    product = 2.0 * (squared * np.roll(squared, 1, axis=1)).sum(axis=1) - (squared**2).sum(axis=1)
    area = 0.25 * np.sqrt(np.maximum(product, 0.0))
    opposite = np.roll(squared, -1, axis=1) + np.roll(squared, 1, axis=1) - squared
    value = ((weight / (8.0 * area))[:, None] * opposite).ravel()
    i, j = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    rows, columns = np.concatenate([i, j, i, j]), np.concatenate([j, i, i, j])
    values = np.concatenate([-value, -value, value, value])
    return sparse.coo_array((values, (rows, columns)), shape=(n, n)).tocsr()
