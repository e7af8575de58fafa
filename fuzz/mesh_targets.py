"""The readers of mesh files."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import forged
import numpy as np
from target import Target, square, written

from finsler.mesh import load_mesh, write_mesh


def _mesh_seeds(ending: str, folder: Path) -> list[bytes]:
    path = folder / f"seed{ending}"
    write_mesh(path, square())
    return [written(path), *_BY_HAND.get(ending, [])]


def _read_mesh(ending: str, data: bytes, folder: Path) -> None:
    path = folder / f"a{ending}"
    path.write_bytes(data)
    mesh = load_mesh(path)
    assert mesh.n_vertices <= len(data) and mesh.n_faces <= len(data)
    if ending in (".off", ".obj", ".ply"):
        path = folder / f"back{ending}"
        write_mesh(path, mesh)
        again = load_mesh(path)
        assert np.array_equal(again.vertices, mesh.vertices)
        assert np.array_equal(again.faces, mesh.faces)


_TEXT_PLY = (
    b"ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\n"
    b"property float z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n"
    b"0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"
)
_MIXED_PLY = _TEXT_PLY[: _TEXT_PLY.index(b"0 0 0")].replace(b"face 1", b"face 2")
_CORNERS = np.eye(3, dtype=">f4").tobytes()
_BY_HAND = {
    ".off": [b"COFF 3 1 0\n0 0 0 255 0 0 1\n1 0 0\n0 1 0 # end\n3 0 1 2 7\n"],
    ".obj": [
        b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nvn 0 0 1\nf 1//1 2//1 \\\n 3//1\nf -1 -2 -3 1\n",
        b"\xef\xbb\xbfv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
    ],
    ".ply": [
        _TEXT_PLY,
        _MIXED_PLY.replace(b"ascii", b"binary_big_endian")
        + _CORNERS
        + b"\3\0\0\0\0\0\0\0\1\0\0\0\2\4\0\0\0\0\0\0\0\1\0\0\0\2\0\0\0\0",
    ],
    ".stl": [
        b"solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\n"
        b"endloop\nendfacet\nendsolid a\n"
    ],
}


def scene(**other: Any) -> dict[str, Any]:
    """The JSON part of a triangle as glTF, its buffer inside; other parts replace these."""
    return {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"children": [1]}, {"mesh": 0, "translation": [0, 0, 5], "scale": [1, 2, 1]}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1, "mode": 4}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5123, "count": 3, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteLength": 36},
            {"buffer": 0, "byteOffset": 36, "byteLength": 6},
        ],
        "buffers": [
            {
                "byteLength": 42,
                "uri": "data:application/octet-stream;base64,AACAPwAAAAAAAAAAAAAAAAAAgD8AAAAAAAAAA"
                "AAAAAAAAIA/AAABAAIA",
            }
        ],
        **other,
    }


def _gltf_seeds(folder: Path) -> list[bytes]:
    outside = [{"byteLength": 42, "uri": "../secret.bin"}]
    turned = [{"mesh": 0, "matrix": np.eye(4).ravel().tolist(), "rotation": [0, 0, 0, 1]}]
    strip = [{"primitives": [{"attributes": {"POSITION": 0}, "mode": 5}]}]
    shear = [{"mesh": 0, "rotation": [0, 2, 0, 1e-9]}]
    scenes = [scene(), scene(buffers=outside), scene(nodes=turned), scene(meshes=strip)]
    scenes.append(scene(nodes=shear))
    return [json.dumps(one).encode() for one in scenes]


def _glb_seeds(folder: Path) -> list[bytes]:
    body = np.eye(3, dtype="<f4").tobytes() + b"\0\0\1\0\2\0"
    header = json.dumps(scene(buffers=[{"byteLength": 42}])).encode()
    return [*_mesh_seeds(".glb", folder), forged.glb(header, body)]


MESHES = {
    **{
        ending: Target(partial(_mesh_seeds, f".{ending}"), partial(_read_mesh, f".{ending}"))
        for ending in ("off", "obj", "ply", "stl")
    },
    "gltf": Target(_gltf_seeds, partial(_read_mesh, ".gltf")),
    "glb": Target(_glb_seeds, partial(_read_mesh, ".glb")),
}
