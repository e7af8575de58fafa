"""Partial shapes made from full ones, in the manner of SHREC'16: cuts by a plane, and holes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, dijkstra

from finsler.data.collection import Collection, Shape
from finsler.errors import InputError
from finsler.mesh.arguments import takes_meshes
from finsler.mesh.measures import face_areas
from finsler.mesh.summary import one_line
from finsler.mesh.topology import corner_fans, edges
from finsler.mesh.trimesh import TriMesh
from finsler.typing import BoolArray, FloatArray, IntArray

# How far the kept share may be from the one asked for, and how many attempts are made.
_TOLERANCE = 0.05
_ATTEMPTS = 24


@one_line("mesh", "share")
@dataclass(frozen=True, eq=False)
class Partial:
    """A part of a mesh, made of whole faces of it.

    Attributes
    ----------
    mesh : TriMesh
    vertex_map : (n_partial,)
        Vertex of the full mesh behind each vertex, ascending.
    face_map : (m_partial,)
        Face of the full mesh behind each face, ascending.
    share : float
        Area kept, as a share of the full one.
    """

    mesh: TriMesh
    vertex_map: IntArray
    face_map: IntArray
    share: float


@takes_meshes
def cut(mesh: TriMesh, *, share: float, seed: int) -> Partial:
    """The largest part on one side of a plane of random direction.

    The plane is moved until the part has about the given area; faces are kept whole, so the cut
    follows edges. Directions are drawn until one gives the share to within 0.01, and the best of
    24 is taken otherwise: a plane may cut a limb off in one piece.

    The part is connected across edges, every vertex belongs to a face, and the faces around a
    vertex form one fan: where the cut would leave several, the smaller ones are dropped.

    Parameters
    ----------
    mesh : TriMesh
    share : float
        Area to keep, between 0 and 1.
    seed : int

    Raises
    ------
    InputError
        The share is not between 0 and 1, or no plane keeps it to within 0.05.

    Examples
    --------
    >>> from finsler.mesh import primitives
    >>> part = cut(primitives.sphere(12), share=0.5, seed=0)
    >>> abs(part.share - 0.5) < 0.02
    True
    """
    centres = mesh.vertices[mesh.faces].mean(axis=1)

    def heights() -> Iterator[FloatArray]:
        rng = np.random.default_rng(seed)
        for _ in range(_ATTEMPTS):
            yield np.asarray(centres @ rng.normal(size=3))

    return _best(mesh, heights(), share, "plane")


@takes_meshes
def holes(mesh: TriMesh, *, share: float, seed: int, seeds: int = 12) -> Partial:
    """What is left when discs around random points are eaten away.

    The discs grow at the same speed, in length along edges, until about the given area is left
    in the largest part. Parts, attempts and errors are as for
    [`cut`][finsler.data.partial.cut].

    Parameters
    ----------
    mesh : TriMesh
    share : float
        Area to keep, between 0 and 1.
    seed : int
    seeds : int
        Number of discs; their centres are drawn anew in each attempt.

    Raises
    ------
    InputError
        The share is not between 0 and 1, there are more discs than vertices, or no attempt keeps
        the share to within 0.05.
    """
    if not 1 <= seeds <= mesh.n_vertices:
        raise InputError(
            f"seeds is {seeds}; it must lie in 1..{mesh.n_vertices}, the number of vertices"
        )
    graph = _edge_lengths(mesh)

    def heights() -> Iterator[FloatArray]:
        rng = np.random.default_rng(seed)
        for _ in range(_ATTEMPTS):
            centres = rng.choice(mesh.n_vertices, seeds, replace=False)
            distance = dijkstra(graph, directed=False, indices=centres, min_only=True)
            far = np.isfinite(distance)
            reached = np.where(far, distance, distance[far].max())
            yield np.asarray(reached[mesh.faces].mean(axis=1))

    return _best(mesh, heights(), share, "set of discs")


def partial_collection(
    full: Collection,
    kind: str,
    *,
    per_shape: int = 1,
    share: tuple[float, float] = (0.4, 0.8),
    seed: int = 0,
    seeds: int = 12,
) -> Collection:
    """Partial shapes of every shape of a collection, with labels on the full reference shape.

    A partial shape is called `cuts_NAME_shape_1` or `holes_NAME_shape_1` and so on; those of
    training shapes train. Shapes are made when they are loaded, each from its own seed, so the
    order of loading does not matter. The reference is the full one.

    Parameters
    ----------
    full : Collection
    kind : {"cuts", "holes"}
    per_shape : int
        Partial shapes of each full one.
    share : (float, float)
        The share of the area to keep is drawn between these.
    seed : int
    seeds : int
        Number of discs, for holes.

    Raises
    ------
    InputError
        Unknown kind, no shapes, or a range that does not lie between 0 and 1.
    """
    if kind not in ("cuts", "holes"):
        raise InputError(f"kind is {kind!r}; it must be one of cuts, holes")
    if per_shape < 1:
        raise InputError(f"per_shape is {per_shape}; it must be 1 or more")
    lowest, highest = share
    if not 0.0 < lowest <= highest < 1.0:
        raise InputError(f"share is {share}; it must be a range between 0 and 1, smaller end first")
    origin = {
        f"{kind}_{name}_shape_{k + 1}": (name, i, k)
        for i, name in enumerate(full.names)
        for k in range(per_shape)
    }

    def load(name: str) -> Shape:
        if name == full.reference:
            return full.load(name)
        source, i, k = origin[name]
        rng = np.random.default_rng([seed, i, k])
        wanted, own = float(rng.uniform(lowest, highest)), int(rng.integers(2**32))
        discs = None if kind == "cuts" else seeds
        return _partial_shape(name, full.load(source), wanted, own, discs)

    train = tuple(name for name, (source, _, _) in origin.items() if source in full.train)
    test = tuple(name for name in origin if name not in train)
    return Collection(f"{full.name} {kind}", train, test, full.reference, load)


def _partial_shape(name: str, full: Shape, share: float, seed: int, discs: int | None) -> Shape:
    """A part of a shape with its labels: cut off, or what so many discs leave."""
    if discs is None:
        part = cut(full.mesh, share=share, seed=seed)
    else:
        part = holes(full.mesh, share=share, seed=seed, seeds=discs)
    kept = part.vertex_map
    number = np.full(len(full.labels) + 1, -1)
    number[kept] = np.arange(len(kept))
    points = None if full.points is None else number[full.points]
    return Shape(name, part.mesh, full.labels[kept], full.named[kept], points, full.family)


def _best(mesh: TriMesh, heights: Iterator[FloatArray], share: float, what: str) -> Partial:
    """The part of the first attempt that is close to the share, or of the closest one."""
    if not 0.0 < share < 1.0:
        raise InputError(f"share is {share}; it must lie between 0 and 1")
    area = face_areas(mesh)
    pairs = edges(mesh).pairs // 3
    best, miss = np.zeros(0, dtype=np.int64), np.inf
    for height in heights:
        faces = _one_fan_each(mesh, _top(height, area, pairs, share), area)
        gap = abs(float(area[faces].sum() / area.sum()) - share)
        if len(faces) and gap < miss:
            best, miss = faces, gap
        if miss <= _TOLERANCE / 5:
            break
    if miss > _TOLERANCE:
        raise InputError(
            f"no {what} of {_ATTEMPTS} leaves a part of share {share:g}, the closest misses it by"
            f" {miss:.2g}; take another share or seed, or a finer mesh"
        )
    return _part(mesh, best, area)


def _top(height: FloatArray, area: FloatArray, pairs: IntArray, share: float) -> IntArray:
    """Highest faces whose largest connected part is nearest to the share, by bisection."""
    order = np.argsort(-height, kind="stable")
    low, high = 1, len(order)
    while high - low > 1:
        middle = (low + high) // 2
        kept = _largest(order[:middle], area, pairs)
        low, high = (low, middle) if area[kept].sum() > share * area.sum() else (middle, high)
    return min(
        (_largest(order[:count], area, pairs) for count in (low, high)),
        key=lambda kept: abs(float(area[kept].sum()) - share * float(area.sum())),
    )


def _largest(faces: IntArray, area: FloatArray, pairs: IntArray) -> IntArray:
    """The faces of the largest part by area, ascending; parts hang together across edges."""
    chosen = np.zeros(len(area), dtype=bool)
    chosen[faces] = True
    links = pairs[chosen[pairs].all(axis=1)]
    graph = coo_array((np.ones(len(links)), links.T), shape=(len(area), len(area)))
    part = connected_components(graph, directed=False)[1]
    size = np.bincount(part, np.where(chosen, area, 0.0))
    return np.flatnonzero(chosen & (part == int(np.argmax(size))))


def _one_fan_each(mesh: TriMesh, faces: IntArray, area: FloatArray) -> IntArray:
    """Drop the smaller fans of faces at every vertex that has several, until none has."""
    while True:
        kept = TriMesh(mesh.vertices, mesh.faces[faces])
        doomed = _smaller_fans(kept, area[faces])
        if not doomed.any() or doomed.all():
            return faces[~doomed]
        remaining = TriMesh(mesh.vertices, kept.faces[~doomed])
        pairs = edges(remaining).pairs // 3
        faces = faces[~doomed]
        faces = faces[_largest(np.arange(len(faces)), area[faces], pairs)]


def _smaller_fans(mesh: TriMesh, area: FloatArray) -> BoolArray:
    """Faces (m,) that lie in a fan which is not the largest at its vertex."""
    _, fan = np.unique(corner_fans(mesh), return_inverse=True)
    size = np.bincount(fan, np.repeat(area, 3))
    vertex = np.empty(len(size), dtype=np.int64)
    vertex[fan] = mesh.faces.ravel()
    order = np.lexsort([-size, vertex])
    first = np.r_[True, vertex[order][1:] != vertex[order][:-1]]
    smaller = np.ones(len(size), dtype=bool)
    smaller[order[first]] = False
    return np.asarray(smaller[fan].reshape(-1, 3).any(axis=1))


def _part(mesh: TriMesh, faces: IntArray, area: FloatArray) -> Partial:
    vertex_map, corners = np.unique(mesh.faces[faces], return_inverse=True)
    return Partial(
        mesh=TriMesh(mesh.vertices[vertex_map], corners.reshape(-1, 3)),
        vertex_map=vertex_map,
        face_map=faces,
        share=float(area[faces].sum() / area.sum()),
    )


def _edge_lengths(mesh: TriMesh) -> coo_array:
    ends = edges(mesh).vertices
    length = np.linalg.norm(mesh.vertices[ends[:, 0]] - mesh.vertices[ends[:, 1]], axis=1)
    # Not every release of scipy takes longer indices for shortest paths.
    index = ends.T.astype(np.int32)
    return coo_array((length, index), shape=(mesh.n_vertices, mesh.n_vertices)).tocsr()
