"""Legacy VTK polydata, for ParaView; written only."""

from __future__ import annotations

import numpy as np

from finsler.mesh.trimesh import TriMesh
from finsler.storage.outputs import mark
from finsler.typing import FloatArray


def write(mesh: TriMesh, *, scalars: dict[str, FloatArray] | None = None) -> bytes:
    """Binary polydata in double precision, big-endian as the format demands, with scalars."""
    n, m = mesh.n_vertices, mesh.n_faces
    polygons = np.column_stack([np.full(m, 3), mesh.faces]).astype(">i4")
    parts = [
        f"# vtk DataFile Version 3.0\n{mark() or 'finsler'}\nBINARY\nDATASET POLYDATA\n".encode(),
        f"POINTS {n} double\n".encode(),
        mesh.vertices.astype(">f8").tobytes(),
        f"\nPOLYGONS {m} {4 * m}\n".encode(),
        polygons.tobytes(),
        b"\n",
    ]
    if scalars:
        parts.append(f"POINT_DATA {n}\n".encode())
    for name, values in (scalars or {}).items():
        parts.append(f"SCALARS {name} double 1\nLOOKUP_TABLE default\n".encode())
        parts.append(values.astype(">f8").tobytes() + b"\n")
    return b"".join(parts)
