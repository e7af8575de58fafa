"""Which sides of faces belong together: cracks are closed, sheets that only touch stay apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from finsler.mesh.rows import first_equal_row
from finsler.mesh.topology import (
    connected_labels,
    edge_table,
    joined_corners,
    next_corner,
    paired_halfedges,
    proper_edges,
)
from finsler.mesh.trimesh import TriMesh
from finsler.typing import BoolArray, FloatArray, IntArray

# Two faces at an edge that include a smaller angle, in radians, lie on each other.
_FOLDED = 1e-6


@dataclass(frozen=True, eq=False)
class Sides:
    """The half-edges of a mesh: those with a partner, and those without.

    Attributes
    ----------
    fixed : (p, 2)
        Pairs on edges with exactly two faces.
    free : (k,)
        The other half-edges, sorted by the positions of their two ends.
    group : (k,)
        The same number for those between the same two positions, from 0, ascending.
    direction : (k,)
        1 or -1, which way they run between these positions.
    """

    fixed: IntArray
    free: IntArray
    group: IntArray
    direction: IntArray

    @property
    def sizes(self) -> IntArray:
        """Number of half-edges in each group."""
        return np.bincount(self.group)

    @property
    def balanced(self) -> BoolArray:
        """Whether as many half-edges of a group run one way as the other."""
        return np.asarray(np.bincount(self.group, self.direction) == 0)


def halfedge_sides(faces: IntArray, site: IntArray, *, split: bool) -> Sides:
    """Half-edges of faces (m, 3) with and without a partner.

    `site` (n,) names the position of each vertex. Without `split` the faces at an edge of three or
    more stay together.
    """
    table = edge_table(faces, len(site))
    start = site[faces].ravel()
    end = start[next_corner(np.arange(len(start)))]
    loose = (table.counts != 2) & proper_edges(table) & (split | (table.counts == 1))
    free = np.flatnonzero(loose[table.of_halfedge] & (start != end))
    key = np.minimum(start, end)[free] * len(site) + np.maximum(start, end)[free]
    free, key = free[np.argsort(key, kind="stable")], np.sort(key)
    return Sides(
        fixed=paired_halfedges(table),
        free=free,
        group=np.cumsum(np.r_[0, np.diff(key) > 0])[: len(key)],
        direction=np.where(start[free] < end[free], 1, -1),
    )


def obstructing_faces(faces: IntArray, site: IntArray, sides: Sides) -> BoolArray:
    """Mask (m,) of the copies of a face that keep the faces around from finding their partner.

    A copy has the same three positions as an earlier face, no partner but that face, a side with
    three faces or more, and either the same orientation or a side on which the directions do not
    balance. A face and its back that belong to two sheets balance everywhere.
    """
    loose = np.bincount(sides.free // 3, minlength=len(faces))
    first = first_equal_row(np.sort(faces, axis=1))
    double = np.bincount(first, minlength=len(faces))[first] > 1
    # Sides with a partner count as a last group, which is empty and balanced.
    of_side = np.full((len(faces), 3), len(sides.sizes))
    of_side.flat[sides.free] = sides.group
    crowded = (np.r_[sides.sizes, 0][of_side] > 2).any(axis=1)
    which = np.flatnonzero(((loose == 3) | double) & crowded)
    copy = np.zeros(len(faces), dtype=np.bool_)
    copy[which] = repeated_rows(_turned_to_front(site[faces[which]])) & (loose[which] == 3)
    which = which[~copy[which]]
    left = ~copy[sides.free // 3]
    given = np.bincount(sides.group, sides.direction, len(sides.sizes) + 1) == 0
    balance = np.bincount(sides.group[left], sides.direction[left], len(sides.sizes) + 1) == 0
    even = np.where((loose[which] == 3)[:, None], balance[of_side[which]], given[of_side[which]])
    uneven = ~even.all(axis=1)
    copy[which] = repeated_rows(np.sort(site[faces[which]], axis=1)) & uneven
    return copy


def flaps(faces: IntArray, label: IntArray) -> BoolArray:
    """Mask (m,) of the faces that, with their back, have come off the surface that they stood on.

    `label` (m, 3) are the new vertices. Such a pair encloses nothing and has no part in a sheet.
    """
    order = np.argsort(faces, axis=1)
    first = first_equal_row(np.take_along_axis(faces, order, axis=1))
    twice = np.bincount(first, minlength=len(faces)) == 2
    back = np.flatnonzero(twice[first] & (first != np.arange(len(faces))))
    pair = np.c_[first[back], back]
    labels = np.take_along_axis(label, order, axis=1)[pair]
    uses = np.bincount(label.ravel())[labels]
    off = (uses == 1 + (labels[:, :1] == labels[:, 1:])).all(axis=(1, 2))
    mask = np.zeros(len(faces), dtype=np.bool_)
    mask[pair[off]] = True
    piece = connected_labels(int(faces.max()) + 1, faces, np.roll(faces, 1, axis=1))[faces[:, 0]]
    return mask & np.isin(piece, piece[~mask])


def repeated_rows(rows: IntArray) -> BoolArray:
    """Mask (r,) of the rows that equal an earlier one."""
    return np.asarray(first_equal_row(rows) != np.arange(len(rows)))


def _turned_to_front(corners: IntArray) -> IntArray:
    """The corners (r, 3) in the same cyclic order, the smallest first."""
    shift = (np.argmin(corners, axis=1)[:, None] + np.arange(3)) % 3
    return np.asarray(np.take_along_axis(corners, shift, axis=1))


def sewn_corners(mesh: TriMesh, site: IntArray, sides: Sides, *, split: bool) -> IntArray:
    """New vertex (3 m,) of each corner, by any numbers.

    Free half-edges between the same two positions become partners where two of them meet, or where
    as many run one way as the other; then partners bound the same solid, so that solids which touch
    come apart. A pair is given up where it would make an edge of more than two faces or two faces
    with the same corners, and where its faces lie on each other. Corners at a vertex become one
    where partners lead from one to the other.
    """
    faces = mesh.faces
    pairs = _partners(mesh, site, sides)
    start = _labels(faces, site, sides.fixed, pairs[:0], split)
    if len(pairs) == 0:
        return start
    given = _defective(start)
    while True:
        label = _labels(faces, site, sides.fixed, pairs, split)
        bad = _defective(label)
        reject = bad[pairs].any(axis=1)
        if not reject.any():
            ends = np.flatnonzero(bad & ~given)
            touched = np.isin(label, label[np.r_[ends, next_corner(ends)]])
            reject = (touched[pairs] | touched[next_corner(pairs)]).any(axis=1)
        if not reject.any():
            return label
        pairs = pairs[~reject]


def _labels(
    faces: IntArray, site: IntArray, fixed: IntArray, pairs: IntArray, split: bool
) -> IntArray:
    """Corners joined by partners; without `split`, also by the vertices that they have."""
    label = joined_corners(faces, fixed, faces) if split else faces.ravel()
    sewn = joined_corners(faces, pairs, site[faces])
    k = int(label.max()) + 1
    return connected_labels(k + int(sewn.max()) + 1, label, k + sewn)[label]


def _defective(label: IntArray) -> BoolArray:
    """Mask (3 m,) of the half-edges on edges of three or more faces, or of doubled faces."""
    corners = label.reshape(-1, 3)
    table = edge_table(corners, int(label.max()) + 1)
    first = first_equal_row(np.sort(corners, axis=1))
    double = np.bincount(first, minlength=len(corners))[first] > 1
    return (table.counts > 2)[table.of_halfedge] | np.repeat(double, 3)


def _partners(mesh: TriMesh, site: IntArray, sides: Sides) -> IntArray:
    """Pairs (p, 2) of free half-edges that may be sewn together."""
    angle = _angles(mesh, site, sides)
    order = np.lexsort([angle, sides.group])
    size = np.where(sides.balanced | (sides.sizes == 2), sides.sizes, 0)[sides.group[order]]
    pairs = [order[size == 2].reshape(-1, 2)]
    for count in np.unique(size[size > 2]):
        pairs.append(_matched(order[size == count].reshape(-1, count), sides.direction, angle))
    proposed = np.concatenate(pairs)
    return np.asarray(sides.free[proposed[~_folded(angle[proposed])]])


def _matched(around: IntArray, direction: IntArray, angle: FloatArray) -> IntArray:
    """Pairs (p, 2) of balanced groups (g, 2 k), each in the order of its angles.

    A half-edge of direction -1 has the inside of the surface where angles grow: it takes the next
    one of direction 1, or, while a pair would consist of faces that lie on each other, a later one.
    """
    rank = np.argsort(direction[around], axis=1, kind="stable")
    first, second = np.split(np.take_along_axis(around, rank, axis=1), 2, axis=1)
    k = first.shape[1]
    ahead = (angle[second] <= angle[first[:, :1]]).sum(axis=1)
    best, fewest = np.empty((len(around), k, 2), dtype=np.int64), np.full(len(around), k + 1)
    for turn in range(k):
        shift = (np.arange(k) + (ahead + turn)[:, None]) % k
        pairs = np.stack([first, np.take_along_axis(second, shift, axis=1)], axis=2)
        folds = _folded(angle[pairs]).sum(axis=1)
        best[folds < fewest] = pairs[folds < fewest]
        fewest = np.minimum(folds, fewest)
    return best.reshape(-1, 2)


def _folded(angles: FloatArray) -> BoolArray:
    """Mask of the pairs, along the last axis, of angles that are equal."""
    apart = np.abs(angles[..., 0] - angles[..., 1])
    return np.asarray(np.minimum(apart, 2.0 * np.pi - apart) < _FOLDED)


def _angles(mesh: TriMesh, site: IntArray, sides: Sides) -> FloatArray:
    """Direction (k,) of the face of each free half-edge around its edge, in radians."""
    ends = np.sort(site[mesh.faces.ravel()[np.c_[sides.free, next_corner(sides.free)]]], axis=1)
    tip = site[mesh.faces.ravel()[next_corner(next_corner(sides.free))]]
    low, high = mesh.vertices[ends[:, 0]], mesh.vertices[ends[:, 1]]
    axis = high - low
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    first = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis), axis=1)])
    away = mesh.vertices[tip] - low
    return np.asarray(
        np.arctan2(
            np.einsum("ki,ki->k", away, np.cross(axis, first)), np.einsum("ki,ki->k", away, first)
        )
    )
