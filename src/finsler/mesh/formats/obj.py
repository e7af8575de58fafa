"""Wavefront OBJ: text, `v` and `f` lines; everything else is skipped."""

from __future__ import annotations

import re

import numpy as np

from finsler.errors import InputError
from finsler.mesh.formats.text import (
    coordinate_lines,
    fan_triangles,
    number_rows,
    whole_numbers,
    without_comments,
)
from finsler.mesh.trimesh import TriMesh
from finsler.storage.outputs import mark
from finsler.typing import IntArray


def read(data: bytes) -> TriMesh:
    """Read the vertices in file order and the faces of all objects and groups.

    Texture and normal indices are dropped, so that a vertex stays one vertex across seams.
    Negative indices count back from the last vertex before the face.
    """
    if b"\\" in data:
        data = re.sub(rb"\\\r?\n", b" ", data)
    lines = [line.lstrip() for line in without_comments(data)]
    is_vertex = np.array([line[:2] in (b"v ", b"v\t") for line in lines], dtype=bool)
    is_face = np.array([line[:2] in (b"f ", b"f\t") for line in lines], dtype=bool)
    if not is_vertex.any():
        raise InputError("there is no vertex line; check that this is an OBJ file")
    positions = number_rows([lines[i][2:] for i in np.flatnonzero(is_vertex)])
    vertices = positions.columns([0, 1, 2], "vertex")
    if len(vertices) != is_vertex.sum():
        raise InputError("a vertex line has no numbers; the file is damaged")
    corner_text = b"\n".join([lines[i][2:] for i in np.flatnonzero(is_face)])
    faces = number_rows(re.sub(rb"/\S*", b"", corner_text).split(b"\n"))
    if len(faces) != is_face.sum():
        raise InputError("a face line has no corners; the file is damaged")
    seen = np.repeat(np.cumsum(is_vertex)[is_face], faces.lengths)
    corners = _zero_based(whole_numbers(faces.values), seen)
    return TriMesh(vertices, fan_triangles(corners, faces.lengths))


def _zero_based(corners: IntArray, seen: IntArray) -> IntArray:
    """Indices from 0; `seen` is the number of vertices before the face of each corner."""
    bad = (corners == 0) | (corners < -seen)
    if bad.any():
        index = int(corners[int(np.argmax(bad))])
        raise InputError(
            f"a face names vertex {index}, but indices start at 1, or count back from -1 to the"
            " first vertex; the file is damaged"
        )
    return np.where(corners > 0, corners - 1, seen + corners)


def write(mesh: TriMesh) -> bytes:
    """Text in full precision."""
    points = [f"v {point}" for point in coordinate_lines(mesh)]
    # At the end, where readers that know no comments do not look.
    end = [f"# {mark()}"] if mark() else []
    faces = [f"f {a} {b} {c}" for a, b, c in (mesh.faces + 1).tolist()]
    return ("\n".join([*points, *faces, *end]) + "\n").encode("ascii")
