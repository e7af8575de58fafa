"""Ground truth from text files: the vertex of the reference shape behind each vertex."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import cKDTree

from finsler.errors import InputError
from finsler.mesh.arguments import takes_meshes
from finsler.mesh.summary import one_line
from finsler.mesh.topology import edges
from finsler.mesh.trimesh import TriMesh
from finsler.typing import BoolArray, FloatArray, IntArray

# The official truth of SHREC'16 names a few faces that some copies of its null shapes lack.
_FACES_THAT_MAY_LACK = 0.05


@one_line()
@dataclass(frozen=True, eq=False)
class Labels:
    """Targets of the vertices of one shape.

    Attributes
    ----------
    labels : (n,)
        Vertex of the reference shape, from 0.
    named : (n,) bool
        Whether the label is ground truth; the others were filled in.
    """

    labels: IntArray
    named: BoolArray

    @property
    def named_share(self) -> float:
        """Share of the vertices whose label is ground truth."""
        return float(self.named.mean())


@takes_meshes
def canonical_labels(mesh: TriMesh, named: IntArray, reference_named: IntArray) -> Labels:
    """Labels from canonical points: point i is `named[i]` here, `reference_named[i]` there.

    A named vertex takes the reference vertex of its canonical point, the first where several
    points name it. The others take the label of the nearest named vertex, see
    [`filled_labels`][finsler.data.labels.filled_labels]. So every label is a vertex that the
    reference shape names, and the reference shape's own unnamed vertices are labelled by that rule
    too.

    Parameters
    ----------
    mesh : TriMesh
    named, reference_named : (p,)
        Vertex of each canonical point on this and on the reference shape, from 0.

    Raises
    ------
    InputError
        Different numbers of canonical points, or an index out of range.

    Examples
    --------
    >>> strip = TriMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [2, 1, 0]], [[0, 1, 2], [1, 3, 2]])
    >>> result = canonical_labels(strip, np.array([0, 3, 0]), np.array([7, 5, 6]))
    >>> result.labels.tolist(), result.named.tolist()
    ([7, 7, 7, 5], [True, False, False, True])
    """
    if len(named) != len(reference_named):
        raise InputError(
            f"{len(named)} canonical points are named on the shape and {len(reference_named)} on"
            " the reference; both must name the same points, so use files of one release"
        )
    if len(named) == 0 or named.min() < 0 or named.max() >= mesh.n_vertices:
        raise InputError(
            f"canonical points must name vertices from 0 to {mesh.n_vertices - 1} of the shape"
        )
    vertices, first = np.unique(named, return_index=True)
    known = np.full(mesh.n_vertices, -1, dtype=np.int64)
    known[vertices] = reference_named[first]
    return filled_labels(mesh, known)


@takes_meshes
def filled_labels(mesh: TriMesh, known: IntArray) -> Labels:
    """Fill labels in: a vertex marked -1 takes the label of the nearest vertex that has one.

    Nearest along the edges of the surface, the smallest index where several are equally near;
    in space where a part of the surface holds no label at all.

    Parameters
    ----------
    mesh : TriMesh
    known : (n,)
        Labels from 0, -1 where unknown.

    Raises
    ------
    InputError
        No label is known.
    """
    named = known >= 0
    if not named.any():
        raise InputError("no vertex has a label; the ground truth is empty or of another shape")
    return Labels(known[_nearest(mesh, np.flatnonzero(named))], named)


def read_vts(path: str | os.PathLike[str], n_vertices: int, *, base: int = 1) -> IntArray:
    """Vertex named on each line of a `.vts` file, (p,), turned to count from 0.

    Parameters
    ----------
    path : path
    n_vertices : int
        Vertices of the mesh that the lines name; a larger number raises.
    base : {1, 0}
        What the file counts from. With 0, -1 stands for "no counterpart" and is kept.

    Raises
    ------
    InputError
        A file that is missing or cannot be read, text, a blank line, a number out of range; the
        sentence names file and line.
    """
    lines = _lines(path)
    values = np.array([_whole(line, path, i + 1) for i, line in enumerate(lines)])
    if base == 1 and (values == 0).any():
        line = int(np.argmax(values == 0)) + 1
        raise InputError(
            f"{path}, line {line}: names vertex 0, but the file must count from 1; add 1 to every"
            " line of the files that count from 0"
        )
    lowest = 1 if base == 1 else -1
    wrong = (values < lowest) | (values >= n_vertices + base)
    if wrong.any():
        line = int(np.argmax(wrong)) + 1
        raise InputError(
            f"{path}, line {line}: names vertex {values[line - 1]}, but the mesh has {n_vertices}"
            f" vertices ({int(wrong.sum())} such lines); mesh and file do not belong together or"
            " one is damaged"
        )
    return values - base


def read_barycentric(path: str | os.PathLike[str], reference: TriMesh) -> IntArray:
    """Nearest reference vertex for each line of a SHREC'16 `.baryc_gt` file, (p,), from 0.

    A line holds a face of the reference, from 1, and three barycentric weights; the label is the
    corner with the largest weight, the first where several are largest. Up to 5% of the lines may
    name a face beyond the last one and come back as -1: some copies of the null shapes lack faces.

    Raises
    ------
    InputError
        A file that is missing or cannot be read, a line that does not hold four numbers, more lines
        with a face out of range.
    """
    rows = [_row(line, path, i + 1) for i, line in enumerate(_lines(path))]
    face = np.array([row[0] for row in rows], dtype=np.int64) - 1
    weight: FloatArray = np.array([row[1:] for row in rows])
    beyond = face >= reference.n_faces
    wrong = beyond if beyond.mean() > _FACES_THAT_MAY_LACK else face < 0
    if wrong.any():
        line = int(np.argmax(wrong)) + 1
        raise InputError(
            f"{path}, line {line}: names face {face[line - 1] + 1}, but the reference has faces 1"
            f" to {reference.n_faces} ({int(wrong.sum())} such lines); use the null shape of the"
            " same release"
        )
    corner = reference.faces[np.where(beyond, 0, face), np.argmax(weight, axis=1)]
    return np.where(beyond, -1, corner)


def _nearest(mesh: TriMesh, sources: IntArray) -> IntArray:
    """Nearest source of each vertex, (n,), by length along edges; the smallest index in ties."""
    ends = edges(mesh).vertices
    ends = ends[ends[:, 0] != ends[:, 1]]
    length = np.linalg.norm(mesh.vertices[ends[:, 0]] - mesh.vertices[ends[:, 1]], axis=1)
    # Not every release of scipy takes longer indices for shortest paths.
    index = ends.T.astype(np.int32)
    graph = coo_array((length, index), shape=(mesh.n_vertices, mesh.n_vertices)).tocsr()
    distance = dijkstra(graph, directed=False, indices=sources, min_only=True)
    # Every shortest path runs over edges whose length is the exact difference of the distances;
    # the smallest source travels along them, a step a round.
    start, end = np.r_[ends, ends[:, ::-1]].T
    tight = np.isfinite(distance[start]) & (
        distance[start] + np.r_[length, length] == distance[end]
    )
    start, end = start[tight], end[tight]
    nearest = np.full(mesh.n_vertices, mesh.n_vertices)
    nearest[sources] = sources
    while True:
        before = nearest.copy()
        np.minimum.at(nearest, end, before[start])
        nearest[sources] = sources
        if np.array_equal(nearest, before):
            break
    lost = np.flatnonzero(nearest == mesh.n_vertices)
    if len(lost):
        nearest[lost] = sources[cKDTree(mesh.vertices[sources]).query(mesh.vertices[lost])[1]]
    return nearest


def _lines(path: str | os.PathLike[str]) -> list[bytes]:
    """Lines of a text file without the blank ones at its end."""
    try:
        if not Path(path).is_file():
            raise InputError(f"{path}: there is no such file; copy the ground truth there")
        lines = Path(path).read_bytes().rstrip().splitlines()
    except OSError as error:
        raise InputError(
            f"{path}: the file cannot be read ({error.strerror}); check its rights"
        ) from error
    if not lines:
        raise InputError(f"{path}: the file is empty; copy it again")
    return lines


def _whole(line: bytes, path: str | os.PathLike[str], number: int) -> int:
    if re.fullmatch(rb"\s*[+-]?\d{1,15}\s*", line):
        return int(line)
    raise InputError(
        f"{path}, line {number}: {_shown(line)} is not a vertex number; a line must hold one whole"
        " number, so copy the file again"
    )


def _row(line: bytes, path: str | os.PathLike[str], number: int) -> list[float]:
    try:
        row = [float(word) for word in line.replace(b",", b" ").split()]
    except ValueError:
        row = []
    if len(row) != 4 or not np.isfinite(row).all() or row[0] % 1 or abs(row[0]) >= 2**53:
        raise InputError(
            f"{path}, line {number}: {_shown(line)} is not a face and three barycentric weights;"
            " copy the file again"
        )
    return row


def _shown(line: bytes) -> str:
    text = line.strip()[:40].decode("ascii", errors="replace")
    return repr(text) if text else "a blank line"
