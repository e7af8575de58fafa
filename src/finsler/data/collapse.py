"""Fewer and more vertices, each old one either kept where it is or gone."""

from __future__ import annotations

import heapq

import numpy as np

from finsler.errors import InputError
from finsler.mesh.topology import edges
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray, IntArray

# Midpoints go before the vertices that are to be kept if they can.
_FAVOUR = 0.8
# Cosine below which a face has turned too far, and height of a face as a share of its length.
_TURNED, _FLAT = 0.2, 0.05


def midpoints(mesh: TriMesh) -> TriMesh:
    """Every face in four, with a vertex on each edge; old vertices keep their numbers.

    Examples
    --------
    >>> midpoints(TriMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]))
    TriMesh(6 vertices, 4 faces, size ...)
    """
    table = edges(mesh)
    middle = mesh.n_vertices + table.of_halfedge.reshape(-1, 3)
    a, b, c = mesh.faces.T
    ab, bc, ca = middle.T
    corners = ((a, ab, ca), (b, bc, ab), (c, ca, bc), (ab, bc, ca))
    faces = np.concatenate([np.stack(face, axis=1) for face in corners])
    new = mesh.vertices[table.vertices].mean(axis=1)
    return TriMesh(np.concatenate([mesh.vertices, new]), faces)


def collapse(
    mesh: TriMesh, vertices: int, positions: FloatArray, *, keep: int = 0
) -> tuple[TriMesh, IntArray]:
    """Collapse short edges until so many vertices are left; each stays where it was.

    An edge is collapsed into one of its ends if that leaves the surface a surface where it was one
    and turns no face over. Vertices on a boundary or on an edge with three faces stay.

    Parameters
    ----------
    mesh : TriMesh
    vertices : int
        How many are left; more where no further edge can go.
    positions : (n, 3)
        Where the lengths of edges are measured; other than the vertices themselves to prefer a
        direction.
    keep : int
        The vertices below this number are spared where there is a choice.

    Returns
    -------
    TriMesh, (n_left,)
        The mesh, and the old vertex behind each of its vertices, ascending.

    Raises
    ------
    InputError
        Fewer than four vertices are asked for.
    """
    if vertices < 4:
        raise InputError(f"vertices is {vertices}; a surface needs at least 4")
    surface = _Surface(mesh, positions, keep)
    left = mesh.n_vertices
    waiting = surface.all_edges()
    heapq.heapify(waiting)
    while waiting and left > vertices:
        _, goes, stays = heapq.heappop(waiting)
        if surface.current(goes, stays) and surface.allowed(goes, stays):
            for edge in surface.merge(goes, stays):
                heapq.heappush(waiting, edge)
            left -= 1
    faces = np.array(sorted(surface.faces.values()))
    source, corners = np.unique(faces, return_inverse=True)
    return TriMesh(mesh.vertices[source], corners.reshape(-1, 3)), source


class _Surface:
    """Faces by number, and the faces around each vertex, while edges are collapsed."""

    def __init__(self, mesh: TriMesh, positions: FloatArray, keep: int) -> None:
        self.points = [tuple(row) for row in mesh.vertices.tolist()]
        self.positions = [tuple(row) for row in positions.tolist()]
        self.keep = keep
        self.faces = dict(enumerate(map(tuple, mesh.faces.tolist())))
        self.around: list[set[int]] = [set() for _ in range(mesh.n_vertices)]
        for number, face in self.faces.items():
            for v in face:
                self.around[v].add(number)
        table = edges(mesh)
        odd = table.vertices[table.counts != 2]
        self.fixed = set(odd.ravel().tolist())

    def all_edges(self) -> list[tuple[float, int, int]]:
        pairs = {(a, b) for face in self.faces.values() for a in face for b in face if a != b}
        return [self._entry(a, b) for a, b in sorted(pairs)]

    def _entry(self, goes: int, stays: int) -> tuple[float, int, int]:
        a, b = self.positions[goes], self.positions[stays]
        length = sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) ** 0.5
        return (length if goes < self.keep else _FAVOUR * length), goes, stays

    def current(self, goes: int, stays: int) -> bool:
        """Whether the edge is still there."""
        return bool(self.around[goes] & self.around[stays])

    def neighbours(self, v: int) -> set[int]:
        return {w for number in self.around[v] for w in self.faces[number]} - {v}

    def allowed(self, goes: int, stays: int) -> bool:
        """Link condition, and no face turned over or flattened."""
        shared = self.around[goes] & self.around[stays]
        if goes in self.fixed or len(shared) != 2:
            return False
        if len(self.neighbours(goes) & self.neighbours(stays)) != 2:
            return False
        return all(
            self._keeps_side(self.faces[number], goes, stays)
            for number in self.around[goes] - shared
        )

    def _keeps_side(self, face: tuple[int, ...], goes: int, stays: int) -> bool:
        new = [self.points[stays if v == goes else v] for v in face]
        before, after = _normal(*(self.points[v] for v in face)), _normal(*new)
        inner = sum(x * y for x, y in zip(before, after, strict=True))
        size = sum(x * x for x in after)
        sides = (
            sum((x - y) ** 2 for x, y in zip(new[i], new[i - 1], strict=True)) for i in range(3)
        )
        turned = inner <= _TURNED * (sum(x * x for x in before) * size) ** 0.5
        return not turned and bool(size**0.5 > _FLAT * max(sides))

    def merge(self, goes: int, stays: int) -> list[tuple[float, int, int]]:
        """Collapse an edge; the new edges at the vertex that stays."""
        for number in list(self.around[goes]):
            face = self.faces[number]
            if stays in face:
                del self.faces[number]
                for v in face:
                    self.around[v].discard(number)
            else:
                self.faces[number] = tuple(stays if v == goes else v for v in face)
                self.around[stays].add(number)
        self.around[goes].clear()
        near = self.neighbours(stays)
        return [entry for w in near for entry in (self._entry(w, stays), self._entry(stays, w))]


def _normal(a: tuple[float, ...], b: tuple[float, ...], c: tuple[float, ...]) -> tuple[float, ...]:
    ux, uy, uz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    vx, vy, vz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    return uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
