"""STL: triangles that share no vertices, in text or binary."""

from __future__ import annotations

import re
import struct
from codecs import BOM_UTF8

import numpy as np

from finsler.errors import InputError
from finsler.mesh.formats.text import number_rows
from finsler.mesh.measures import face_normals
from finsler.mesh.rows import first_equal_row
from finsler.mesh.trimesh import TriMesh
from finsler.storage.outputs import mark
from finsler.typing import FloatArray

_FACET = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def read(data: bytes) -> TriMesh:
    """Read an STL file; corners at exactly equal positions become one vertex.

    Vertices are numbered by first appearance, and the stored normals are dropped.
    """
    count = struct.unpack_from("<I", data, 80)[0] if len(data) >= 84 else 0
    size = 84 + _FACET.itemsize * count
    is_text = data.removeprefix(BOM_UTF8).lstrip()[:5].lower() == b"solid" and len(data) != size
    if not is_text and (len(data) < 84 or len(data) < size):
        raise InputError(
            f"the header counts {count} triangles, more than {len(data)} bytes hold;"
            " the file is damaged or cut short"
        )
    points = _text_points(data) if is_text else _binary_points(data, count)
    if len(points) == 0:
        raise InputError("the mesh has no faces; a point cloud cannot be used")
    if not np.isfinite(points).all():
        raise InputError("a corner is not finite; remove or replace its triangle")
    distinct, faces = np.unique(first_equal_row(points), return_inverse=True)
    return TriMesh(points[distinct], faces.reshape(-1, 3))


def _binary_points(data: bytes, count: int) -> FloatArray:
    facets = np.frombuffer(data, _FACET, count, 84)
    with np.errstate(invalid="ignore"):  # a signalling NaN; reported as not finite
        return facets["corners"].reshape(-1, 3).astype(np.float64)


def _text_points(data: bytes) -> FloatArray:
    lines = re.findall(rb"^[ \t]*vertex[ \t]+([^\r\n]*)", data, re.I | re.M)
    facets = len(re.findall(rb"^[ \t]*endfacet\b", data, re.I | re.M))
    rows = number_rows(lines)
    complete = re.search(rb"^[ \t]*endsolid\b", data, re.I | re.M) is not None
    if not complete or len(rows) != 3 * facets or (rows.lengths != 3).any():
        raise InputError(
            "the text is no list of complete facets up to endsolid; the file is damaged or cut"
            " short"
        )
    return rows.values.reshape(-1, 3)


def write(mesh: TriMesh) -> bytes:
    """Binary STL in single precision, the only one it has; vertices are not shared."""
    facets = np.zeros(mesh.n_faces, _FACET)
    facets["normal"] = face_normals(mesh)
    facets["corners"] = mesh.vertices[mesh.faces]
    return mark().encode().ljust(80, b"\0") + struct.pack("<I", mesh.n_faces) + facets.tobytes()
