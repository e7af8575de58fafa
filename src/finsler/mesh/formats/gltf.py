"""glTF 2.0, text (.gltf with its buffers) and binary (.glb), through trimesh."""

from __future__ import annotations

import io
import json
import logging
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finsler.errors import InputError
from finsler.mesh.trimesh import TriMesh

# Without a handler, what trimesh logs about odd files would appear on stderr.
logging.getLogger("trimesh").addHandler(logging.NullHandler())


def read(data: bytes, path: Path) -> TriMesh:
    """Read all nodes with their transforms as one mesh, in single precision as stored.

    Vertices that a texture or normal seam doubles stay double; repair merges them. `path` locates
    the buffers of a .gltf file.
    """
    _check_accessors(_header(data))
    import trimesh

    try:
        with np.errstate(all="ignore"):
            scene = trimesh.load_scene(
                io.BytesIO(data),
                file_type="glb" if data[:4] == b"glTF" else "gltf",
                resolver=trimesh.resolvers.FilePathResolver(str(path)),
                process=False,
                skip_materials=True,
            )
            merged = scene.to_mesh()
            vertices, faces = np.asarray(merged.vertices), np.asarray(merged.faces)
    except Exception as error:
        raise InputError(
            f"trimesh cannot read the glTF ({type(error).__name__}); export the mesh again, to PLY"
            " for example"
        ) from error
    if len(faces) == 0:
        raise InputError("the glTF holds no triangles; a point cloud cannot be used")
    return TriMesh(vertices, faces)


def _header(data: bytes) -> dict[str, Any]:
    """The JSON part."""
    text = data
    if data[:4] == b"glTF":
        length, chunk = struct.unpack_from("<II", data, 8) if len(data) >= 20 else (20, 0)
        if length > len(data):
            raise InputError(
                f"the header counts {length} bytes, the file has {len(data)}; it is cut short"
            )
        text = data[20 : 20 + chunk]
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError("the JSON part cannot be parsed; check that this is glTF 2.0") from error
    if not isinstance(header, dict):
        raise InputError("the JSON part is no object; check that this is glTF 2.0")
    return header


def _check_accessors(header: dict[str, Any]) -> None:
    """Raise on arrays without stored data, whose size a forged count could blow up."""
    accessors = header.get("accessors", [])
    if not isinstance(accessors, list) or not all(
        isinstance(accessor, dict) and "bufferView" in accessor for accessor in accessors
    ):
        raise InputError(
            "an array has no stored data (compressed or sparse glTF); export without compression"
        )


def write(mesh: TriMesh, *, colors: NDArray[np.uint8] | None = None) -> bytes:
    """Binary glTF in single precision, the only one it has."""
    import trimesh

    surface = trimesh.Trimesh(
        mesh.vertices, mesh.faces, vertex_colors=colors, process=False, validate=False
    )
    data: bytes = surface.export(file_type="glb")  # type: ignore[assignment]
    return data
