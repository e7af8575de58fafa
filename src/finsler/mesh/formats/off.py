"""The Object File Format: text, vertices then polygons."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from finsler.errors import InputError
from finsler.mesh.formats.text import (
    NumberRows,
    coordinate_lines,
    fan_triangles,
    number_rows,
    ranges,
    whole_numbers,
    without_comments,
)
from finsler.mesh.trimesh import TriMesh
from finsler.storage.outputs import mark
from finsler.typing import IntArray

_HEADER = re.compile(rb"(ST)?C?N?OFF(\s+|$)")


def read(data: bytes) -> TriMesh:
    """Read OFF, COFF, NOFF, CNOFF or STOFF.

    Positions are the first three numbers of a vertex line; colours, normals and texture
    coordinates after them are dropped, as is what follows the corners of a face. The counts may
    stand on the header line.
    """
    lines = [line for line in without_comments(data) if line.strip()]
    header = _HEADER.match(lines[0].strip()) if lines else None
    if header is None:
        raise InputError("the first word is not OFF; check that this is an OFF file")
    if lines[0].split()[1:2] == [b"BINARY"]:
        raise InputError("binary OFF is not supported; convert the file to PLY")
    rows = number_rows([lines[0].strip()[header.end() :], *lines[1:]])
    if len(rows) == 0:
        raise InputError("the counts of vertices and faces are missing; the file is cut short")
    n, m = rows.slice(0, 1).columns([0, 1], "count line")[0]
    if not (n >= 0 and m >= 0 and n + m <= len(rows) - 1) or n % 1 or m % 1:
        raise InputError(
            f"the header counts {n:g} vertices and {m:g} faces, but {len(rows) - 1} lines follow;"
            " the file is damaged or cut short"
        )
    last = 1 + int(n)
    vertices = rows.slice(1, last).columns([0, 1, 2], "vertex")
    return TriMesh(vertices, _triangles(rows.slice(last, last + int(m))))


def _triangles(faces: NumberRows) -> IntArray:
    degrees = faces.columns([0], "face")[:, 0]
    faces.require_lengths(degrees + 1, "face")
    counts = whole_numbers(degrees)
    corners = faces.values[ranges(faces.starts + 1, np.maximum(counts, 0))]
    return fan_triangles(whole_numbers(corners), counts)


def write(mesh: TriMesh, *, colors: NDArray[np.uint8] | None = None) -> bytes:
    """Text in full precision; with colours, a COFF file of red, green, blue, alpha."""
    points = coordinate_lines(mesh)
    if colors is not None:
        points = [
            f"{point} {r} {g} {b} 255"
            for point, (r, g, b) in zip(points, colors.tolist(), strict=True)
        ]
    # At the end, where readers that know no comments do not look.
    end = [f"# {mark()}"] if mark() else []
    faces = [f"3 {a} {b} {c}" for a, b, c in mesh.faces.tolist()]
    header = ["OFF" if colors is None else "COFF", f"{mesh.n_vertices} {mesh.n_faces} 0"]
    return ("\n".join([*header, *points, *faces, *end]) + "\n").encode("ascii")
