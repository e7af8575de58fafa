"""Mend a mesh so that operators exist on it, and say what was done."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from finsler.errors import InputError
from finsler.mesh.measures import degenerate_faces
from finsler.mesh.rows import first_equal_row
from finsler.mesh.topology import component_volumes, corner_fans, orientation
from finsler.mesh.trimesh import TriMesh
from finsler.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Repair:
    """A mended mesh and where its parts come from.

    Attributes
    ----------
    mesh : TriMesh
        The mended mesh.
    vertex_map : (n_old,)
        New index of each old vertex, the first of them where it was split; -1 where it is gone.
    vertex_source : (n_new,)
        Old vertex behind each new one, the first of them where several were merged.
    face_source : (m_new,)
        Old face behind each new one.
    changes : dict
        Net number of each change: `merged_vertices`, `dropped_degenerate_faces`,
        `dropped_duplicate_faces`, `split_vertices` (copies added), `dropped_vertices`,
        `flipped_faces`.
    """

    mesh: TriMesh
    vertex_map: IntArray
    vertex_source: IntArray
    face_source: IntArray
    changes: dict[str, int]

    @property
    def changed(self) -> bool:
        """Whether anything was changed at all."""
        return any(self.changes.values())


def repair(
    mesh: TriMesh,
    *,
    merge_vertices: bool = True,
    merge_tolerance: float = 0.0,
    drop_degenerate: bool = True,
    drop_duplicates: bool = True,
    split_nonmanifold: bool = True,
    drop_unreferenced: bool = True,
    orient: bool = True,
    outward: bool = True,
) -> Repair:
    """Mend a mesh; every step has its switch, and all are on.

    In this order: merge coincident vertices; drop faces without area; keep one of several faces
    with the same corners; give each fan of faces around a vertex a vertex of its own, which opens
    non-manifold edges too; drop vertices without a face; orient each component consistently, the
    way most of its faces are, and outwards where it is closed. The order of vertices and faces is
    kept, copies of split vertices come last, and a second repair changes nothing.

    Coincident vertices that would have to be split again stay apart and count as no change. Each
    closed component is turned outwards for itself, the wall of a cavity too. A component that is
    not orientable keeps its faces as they are. Self-intersections are not looked for.

    Parameters
    ----------
    mesh : TriMesh
    merge_vertices, drop_degenerate, drop_duplicates, split_nonmanifold : bool
    drop_unreferenced, orient, outward : bool
        The steps.
    merge_tolerance : float
        Vertices closer than this share of the bounding box diagonal are merged into the first of
        them; 0 merges only equal positions.

    Raises
    ------
    InputError
        No face is left, or the tolerance is not in [0, 1).

    Examples
    --------
    >>> soup = TriMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 1, 0], [-1, 0, 0]],
    ...                [[0, 1, 2], [3, 4, 5]])
    >>> repair(soup).mesh, repair(soup).changes["merged_vertices"]
    (TriMesh(4 vertices, 2 faces), 2)
    """
    if not 0.0 <= merge_tolerance < 1.0:
        raise InputError(
            f"merge_tolerance is {merge_tolerance}; it must lie in [0, 1), a share of the diagonal"
        )
    place = np.arange(mesh.n_vertices)
    if merge_vertices:
        place = _first_coincident(mesh.vertices, merge_tolerance)
    merged = TriMesh(mesh.vertices, place[mesh.faces])
    degenerate = degenerate_faces(merged) & drop_degenerate
    duplicate = duplicate_faces(merged) & drop_duplicates & ~degenerate
    face_source = np.flatnonzero(~(degenerate | duplicate))
    if len(face_source) == 0:
        raise InputError(
            f"all {mesh.n_faces} faces are degenerate, so nothing is left; check the mesh, or lower"
            f" merge_tolerance={merge_tolerance:g}"
        )

    kept = TriMesh(mesh.vertices, merged.faces[face_source])
    owner = corner_fans(kept) if split_nonmanifold else kept.faces.ravel()
    numbering = _number(mesh.faces[face_source].ravel(), owner, place, drop_unreferenced)
    split = TriMesh(mesh.vertices[place[numbering.source]], numbering.of_corner.reshape(-1, 3))
    flip = _flips(split, orient=orient, outward=outward)
    sources = len(np.unique(numbering.source))
    gone = int((numbering.vertex_map < 0).sum())
    return Repair(
        mesh=_turned(split, flip),
        vertex_map=numbering.vertex_map,
        vertex_source=numbering.source,
        face_source=face_source,
        changes={
            "merged_vertices": mesh.n_vertices - gone - sources,
            "dropped_degenerate_faces": int(degenerate.sum()),
            "dropped_duplicate_faces": int(duplicate.sum()),
            "split_vertices": split.n_vertices - sources,
            "dropped_vertices": gone,
            "flipped_faces": int(flip.sum()),
        },
    )


def duplicate_faces(mesh: TriMesh) -> BoolArray:
    """Mask (m,) of the faces that have the same three vertices as an earlier one."""
    first = first_equal_row(np.sort(mesh.faces, axis=1))
    return np.asarray(first != np.arange(mesh.n_faces))


def _first_coincident(vertices: FloatArray, tolerance: float) -> IntArray:
    """First vertex (n,) at the place of each vertex; closeness is passed on along chains."""
    first = first_equal_row(vertices)
    if tolerance == 0.0:
        return first
    distinct = np.unique(first)
    reach = tolerance * float(np.linalg.norm(np.ptp(vertices, axis=0)))
    close = cKDTree(vertices[distinct]).query_pairs(reach, output_type="ndarray")
    graph = coo_array((np.ones(len(close)), close.T), shape=(len(distinct), len(distinct)))
    _, label = connected_components(graph, directed=False)
    _, leader = np.unique(label, return_index=True)
    return np.asarray(distinct[leader[label]][np.searchsorted(distinct, first)])


@dataclass(frozen=True, eq=False)
class _Numbering:
    """New vertices: `of_corner` (3 m,), their old `source` (n_new,), and old to new (n_old,)."""

    of_corner: IntArray
    source: IntArray
    vertex_map: IntArray


def _number(old: IntArray, owner: IntArray, place: IntArray, drop_unreferenced: bool) -> _Numbering:
    """Number the owners of corners as the new vertices, in the order of the old ones.

    `old` (3 m,) is the old vertex of each corner, `owner` (3 m,) says which corners share a new
    vertex, `place` (n_old,) is the first vertex at the place of each. The source of a new vertex
    is its smallest old vertex; the first new vertex of a source keeps its rank, others come last.
    """
    labels, of_corner = np.unique(owner, return_inverse=True)
    source = np.full(len(labels), len(place))
    np.minimum.at(source, of_corner, old)
    if not drop_unreferenced:
        source = np.r_[source, np.setdiff1d(place, place[old])]
    _, first = np.unique(source, return_index=True)
    copy = np.ones(len(source), dtype=bool)
    copy[first] = False
    order = np.lexsort([source, copy])
    rank = np.argsort(order)
    source, of_corner = source[order], rank[of_corner]

    at_place = np.full(len(place), len(source))
    np.minimum.at(at_place, place[source], np.arange(len(source)))
    vertex_map = np.where(at_place < len(source), at_place, -1)[place]
    by_corner = np.full(len(place), len(source))
    np.minimum.at(by_corner, old, of_corner)
    used = by_corner < len(source)
    vertex_map[used] = by_corner[used]
    return _Numbering(of_corner, source, vertex_map)


def _flips(mesh: TriMesh, *, orient: bool, outward: bool) -> BoolArray:
    """Faces (m,) to turn over."""
    found = orientation(mesh)
    flip = found.flip & orient
    if outward:
        volume = component_volumes(_turned(mesh, flip), found.component)
        uneven = np.bincount(found.component, found.flip & ~flip) > 0
        inward = found.orientable & found.closed & ~uneven & (volume < 0.0)
        flip = flip ^ inward[found.component]
    return flip


def _turned(mesh: TriMesh, flip: BoolArray) -> TriMesh:
    """The mesh with some faces turned over; their first corner stays."""
    return TriMesh(mesh.vertices, np.where(flip[:, None], mesh.faces[:, [0, 2, 1]], mesh.faces))
