"""Repair a mesh so that operators exist on it, and say what was done."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np
from scipy.spatial import cKDTree

from finsler.errors import InputError
from finsler.mesh.arguments import checked
from finsler.mesh.measures import degenerate_faces
from finsler.mesh.rows import first_equal_row
from finsler.mesh.seams import flaps, halfedge_sides, obstructing_faces, repeated_rows, sewn_corners
from finsler.mesh.summary import one_line
from finsler.mesh.topology import component_volumes, connected_labels, orientation
from finsler.mesh.trimesh import TriMesh
from finsler.typing import BoolArray, FloatArray, IntArray

__all__ = ["Repair", "repair"]


@one_line("mesh", "changed")
@dataclass(frozen=True, eq=False)
class Repair:
    """A repaired mesh and where its parts come from.

    Attributes
    ----------
    mesh : TriMesh
        The repaired mesh.
    vertex_map : (n_old,)
        New index of each old vertex, the first of them where it was split; -1 where it is gone.
    vertex_source : (n_new,)
        Old vertex behind each new one, the first of them where several were merged.
    face_source : (m_new,)
        Old face behind each new one.
    changes : dict
        Number of each change: `merged_vertices`, `dropped_degenerate_faces`,
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


@checked
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
    """Repair a mesh; every step has its switch, and all are on.

    In this order: drop faces without area; merge coincident vertices along cracks, where two
    boundary edges become one; keep one of several faces with the same corners; give each fan of
    faces around a vertex a vertex of its own, which separates sheets that share an edge too; drop
    vertices without a face; orient each component consistently, the way most of its faces are, and
    outwards where it is closed. The order of vertices and faces is kept, copies of split vertices
    come last, and a second repair changes nothing.

    A mesh without defects is returned as it is. Sheets that merely touch, such as two fingers, the
    lips of a closed mouth or the two sides of a thin plate, stay apart although their vertices
    coincide: a merge has to close a boundary and to leave two faces at each edge. A component that
    is not orientable keeps its faces as they are. Self-intersections are not looked for.

    Parameters
    ----------
    mesh : TriMesh
    merge_vertices, drop_degenerate, drop_duplicates, split_nonmanifold : bool
    drop_unreferenced, orient, outward : bool
        The steps.
    merge_tolerance : float
        Vertices closer than this share of the bounding box diagonal count as coincident, and
        merge into the first of them; faces with two such corners are without area.

    Raises
    ------
    InputError
        No face is left, or the tolerance is not in [0, 1).

    Examples
    --------
    >>> soup = TriMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 1, 0], [-1, 0, 0]],
    ...                [[0, 1, 2], [3, 4, 5]])
    >>> repair(soup).mesh, repair(soup).changes["merged_vertices"]
    (TriMesh(4 vertices, 2 faces, size ...), 2)
    """
    steps = {name: value for name, value in locals().items() if name != "mesh"}
    done = again = _repair_once(mesh, _Steps(**steps))
    # What was closed or dropped may let another pass close more; the last one changes nothing.
    while again.changed:
        again = _repair_once(done.mesh, _Steps(**steps))
        done = _composed(done, again)
    return done


@dataclass(frozen=True)
class _Steps:
    """Which steps are taken; see `repair`."""

    merge_vertices: bool
    merge_tolerance: float
    drop_degenerate: bool
    drop_duplicates: bool
    split_nonmanifold: bool
    drop_unreferenced: bool
    orient: bool
    outward: bool

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name != "merge_tolerance" and not isinstance(value, bool | np.bool_):
                raise InputError(f"{name} is {value!r}; it must be True or False")
        if not isinstance(self.merge_tolerance, Real) or not 0.0 <= self.merge_tolerance < 1.0:
            raise InputError(
                f"merge_tolerance is {self.merge_tolerance}; it must lie in [0, 1), a share of the"
                " diagonal"
            )


def _repair_once(mesh: TriMesh, steps: _Steps) -> Repair:
    site = np.arange(mesh.n_vertices)
    if steps.merge_vertices:
        site = _first_coincident(mesh.vertices, steps.merge_tolerance)
    corners = site[mesh.faces]
    collapsed = (corners == np.roll(corners, 1, axis=1)).any(axis=1)
    flat = (degenerate_faces(mesh) | collapsed) & steps.drop_degenerate
    kept = np.flatnonzero(~flat)
    if len(kept) == 0:
        raise InputError(
            f"all {mesh.n_faces} faces are degenerate, so nothing is left; check the mesh, or lower"
            f" merge_tolerance={steps.merge_tolerance:g}"
        )
    if steps.drop_duplicates:
        faces = mesh.faces[kept]
        kept = kept[~obstructing_faces(faces, site, halfedge_sides(faces, site, split=True))]
    remaining = TriMesh(mesh.vertices, mesh.faces[kept])
    sides = halfedge_sides(remaining.faces, site, split=steps.split_nonmanifold)
    label = sewn_corners(remaining, site, sides, split=steps.split_nonmanifold).reshape(-1, 3)
    if steps.drop_duplicates:
        single = ~(repeated_rows(np.sort(label, axis=1)) | flaps(remaining.faces, label))
        kept, label = kept[single], label[single]

    numbering = _number(mesh.faces[kept].ravel(), label.ravel(), site, steps.drop_unreferenced)
    sewn = TriMesh(mesh.vertices[numbering.source], numbering.of_corner.reshape(-1, 3))
    flip = _flips(sewn, steps)
    return Repair(
        mesh=_turned(sewn, flip),
        vertex_map=numbering.vertex_map,
        vertex_source=numbering.source,
        face_source=kept,
        changes={
            "merged_vertices": numbering.merged,
            "dropped_degenerate_faces": int(flat.sum()),
            "dropped_duplicate_faces": mesh.n_faces - int(flat.sum()) - len(kept),
            "split_vertices": numbering.split,
            "dropped_vertices": int((numbering.vertex_map < 0).sum()),
            "flipped_faces": int(flip.sum()),
        },
    )


def _composed(first: Repair, second: Repair) -> Repair:
    """Two repairs in a row as one."""
    return Repair(
        mesh=second.mesh,
        vertex_map=np.r_[second.vertex_map, -1][first.vertex_map],
        vertex_source=first.vertex_source[second.vertex_source],
        face_source=first.face_source[second.face_source],
        changes={name: count + second.changes[name] for name, count in first.changes.items()},
    )


@checked
def duplicate_faces(mesh: TriMesh) -> BoolArray:
    """Mask (m,) of the faces that have the same three vertices as an earlier one."""
    return repeated_rows(np.sort(mesh.faces, axis=1))


def _first_coincident(vertices: FloatArray, tolerance: float) -> IntArray:
    """First vertex (n,) at the position of each vertex; closeness is passed on along chains."""
    first = first_equal_row(vertices)
    if tolerance == 0.0:
        return first
    distinct = np.unique(first)
    reach = tolerance * float(np.linalg.norm(np.ptp(vertices, axis=0)))
    close = cKDTree(vertices[distinct]).query_pairs(reach, output_type="ndarray")
    label = connected_labels(len(distinct), close[:, 0], close[:, 1])
    _, leader = np.unique(label, return_index=True)
    return np.asarray(distinct[leader[label]][np.searchsorted(distinct, first)])


@dataclass(frozen=True, eq=False)
class _Numbering:
    """New vertices: `of_corner` (3 m,), their old `source` (n_new,), and old to new (n_old,)."""

    of_corner: IntArray
    source: IntArray
    vertex_map: IntArray
    merged: int
    split: int


def _number(old: IntArray, label: IntArray, site: IntArray, drop_unreferenced: bool) -> _Numbering:
    """Number the labels of corners as the new vertices, in the order of the old ones.

    `old` (3 m,) is the old vertex of each corner, `label` (3 m,) says which corners share a new
    vertex, `site` (n_old,) is the first vertex at the position of each. The source of a new vertex
    is its smallest old vertex; the first new vertex of a source keeps its rank, others come last.
    """
    labels, of_corner = np.unique(label, return_inverse=True)
    source = np.full(len(labels), len(site))
    np.minimum.at(source, of_corner, old)
    if not drop_unreferenced:
        source = np.r_[source, np.setdiff1d(site, site[old])]
    copy = repeated_rows(source[:, None])
    order = np.lexsort([source, copy])
    source, of_corner = source[order], np.argsort(order)[of_corner]

    vertex_map = _first_of(site[source], np.arange(len(source)), len(site))[site]
    by_corner = _first_of(old, of_corner, len(site))
    vertex_map = np.where(by_corner >= 0, by_corner, vertex_map)
    joined = len(np.unique(old * len(source) + of_corner))
    used = int((by_corner >= 0).sum())
    unused = int(((by_corner < 0) & (vertex_map >= 0)).sum()) - (len(source) - len(labels))
    return _Numbering(
        of_corner,
        source,
        vertex_map,
        merged=joined - len(labels) + unused,
        split=joined - used,
    )


def _first_of(key: IntArray, value: IntArray, n: int) -> IntArray:
    """Smallest value (n,) of each key below n; -1 where there is none."""
    first = np.full(n, np.iinfo(np.int64).max)
    np.minimum.at(first, key, value)
    return np.where(first < np.iinfo(np.int64).max, first, -1)


def _flips(mesh: TriMesh, steps: _Steps) -> BoolArray:
    """Faces (m,) to turn over."""
    sheets = orientation(mesh)
    flip = sheets.flip & steps.orient
    if steps.outward:
        volume = component_volumes(_turned(mesh, flip), sheets.component)
        uneven = np.bincount(sheets.component, sheets.flip & ~flip) > 0
        inward = sheets.orientable & sheets.closed & ~uneven & (volume < 0.0)
        flip = flip ^ inward[sheets.component]
    return flip


def _turned(mesh: TriMesh, flip: BoolArray) -> TriMesh:
    """The mesh with some faces turned over; their first corner stays."""
    return TriMesh(mesh.vertices, np.where(flip[:, None], mesh.faces[:, [0, 2, 1]], mesh.faces))
