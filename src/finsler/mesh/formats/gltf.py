"""glTF 2.0, text (.gltf with its buffers) and binary (.glb).

Only what a triangle mesh needs is read: nodes with their transforms, positions, indices. Reading is
not left to trimesh (5.2): it allocates what a header claims (10⁹ items without data take 11 GiB),
reads files that the header names in full before it compares sizes, hands parts of the file to
installed decoders, accepts nodes that are their own children, and ends in KeyError
or ValueError where a sentence belongs. Writing is left to it.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from finsler.errors import InputError
from finsler.mesh.formats.gltf_data import Asset, Json, items, named, whole
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray, IntArray

_TRIANGLES, _STRIP, _FAN = 4, 5, 6
# A mesh may be placed many times: the whole may have so many bytes, or so many for each stored;
# each part counts as so many more.
_LARGEST, _LARGEST_GROWTH, _OVERHEAD = 2**26, 64, 1000


def read(data: bytes, path: Path) -> TriMesh:
    """Read all nodes of the scene with their transforms as one mesh, in single precision as stored.

    Vertices that a texture or normal seam doubles stay double; repair merges them. `path` locates
    the buffers of a .gltf file.
    """
    header, body = _parts(data)
    asset = Asset(header, body, path.parent)
    room = max(_LARGEST, _LARGEST_GROWTH * sum(map(len, (data, *asset.buffers))))
    vertices, faces, count = [], [], 0
    with np.errstate(all="ignore"):  # what overflows is reported as not finite
        for mesh, transform in _instances(header):
            for points, corners in _primitives(asset, mesh):
                room -= _OVERHEAD + 24 * (len(points) + len(corners))
                if room < 0:
                    raise InputError("the scene repeats its meshes too often; export one mesh")
                vertices.append(points @ transform[:3, :3].T + transform[:3, 3])
                mirrored = np.linalg.det(transform[:3, :3]) < 0
                faces.append(count + (corners[:, ::-1] if mirrored else corners))
                count += len(points)
    if sum(map(len, faces)) == 0:
        raise InputError("the glTF holds no triangles; a point cloud cannot be used")
    return TriMesh(np.concatenate(vertices), np.concatenate(faces))


def _parts(data: bytes) -> tuple[Json, bytes | None]:
    """The JSON part, and the buffer inside a binary file."""
    text, body = data, None
    if data[:4] == b"glTF":
        length, chunk = struct.unpack_from("<II", data, 8) if len(data) >= 20 else (20, 0)
        if max(length, 20 + chunk) > len(data):
            raise InputError(
                f"the header counts {max(length, 20 + chunk)} bytes, the file has {len(data)};"
                " it is cut short"
            )
        text, rest = data[20 : 20 + chunk], data[20 + chunk :]
        if rest[4:8] == b"BIN\0":
            body = rest[8 : 8 + struct.unpack_from("<I", rest)[0]]
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError("the JSON part cannot be parsed; check that this is glTF 2.0") from error
    if not isinstance(header, dict):
        raise InputError("the JSON part is no object; check that this is glTF 2.0")
    return header, body


def _instances(header: Json) -> Iterator[tuple[Json, FloatArray]]:
    """Meshes with their transforms (4, 4), node by node; all meshes where there are no nodes."""
    nodes, meshes = items(header, "nodes"), items(header, "meshes")
    if not nodes:
        yield from ((mesh, np.eye(4)) for mesh in meshes)
        return
    waiting = [(root, np.eye(4)) for root in reversed(_roots(header, nodes))]
    seen: set[int] = set()
    while waiting:
        index, above = waiting.pop()
        node = named(nodes, index, "node")
        if index in seen:
            raise InputError(f"node {index} has two parents, or is its own; the file is damaged")
        seen.add(index)
        transform = above @ _transform(node)
        if "mesh" in node:
            yield named(meshes, node["mesh"], "mesh"), transform
        waiting += [(child, transform) for child in reversed(_indices(node, "children"))]


def _roots(header: Json, nodes: list[Json]) -> list[int]:
    scenes = items(header, "scenes")
    if scenes:
        return _indices(named(scenes, header.get("scene", 0), "scene"), "nodes")
    children = {child for node in nodes for child in _indices(node, "children")}
    return [index for index in range(len(nodes)) if index not in children]


def _indices(holder: Json, name: str) -> list[int]:
    indices = holder.get(name, [])
    if not isinstance(indices, list) or not all(type(index) is int for index in indices):
        raise InputError(f"the part {name!r} is no list of whole numbers; the file is damaged")
    return indices


def _transform(node: Json) -> FloatArray:
    """Of a node within its parent, (4, 4)."""
    if "matrix" in node:
        return _floats(node["matrix"], 16).reshape(4, 4).T
    rotation = _floats(node.get("rotation", [0, 0, 0, 1]), 4)
    length = float(np.linalg.norm(rotation))
    if length == 0.0:
        raise InputError("a rotation is the quaternion 0, which turns nothing; export again")
    x, y, z, w = rotation / length
    turn = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    transform = np.eye(4)
    transform[:3, :3] = turn * _floats(node.get("scale", [1, 1, 1]), 3)
    transform[:3, 3] = _floats(node.get("translation", [0, 0, 0]), 3)
    return transform


def _floats(values: object, count: int) -> FloatArray:
    if (
        not isinstance(values, list)
        or len(values) != count
        or not all(type(value) in (int, float) and abs(value) < 1e30 for value in values)
    ):
        raise InputError(f"a transform is not {count} numbers; the file is damaged")
    return np.array(values, dtype=np.float64)


def _primitives(asset: Asset, mesh: Json) -> Iterator[tuple[FloatArray, IntArray]]:
    """Vertices (n, 3) and triangles (m, 3) of each part of a mesh; none of points and lines."""
    for part in items(mesh, "primitives"):
        mode = whole(part, "mode", _TRIANGLES)
        if mode not in (_TRIANGLES, _STRIP, _FAN):
            yield np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64)
            continue
        attributes = part.get("attributes")
        if not isinstance(attributes, dict):
            raise InputError("a mesh has no positions; the file is damaged")
        points = asset.array(attributes.get("POSITION"), "VEC3").astype(np.float64)
        corners = np.arange(len(points))
        if "indices" in part:
            corners = asset.array(part["indices"], "SCALAR")[:, 0].astype(np.int64)
        if len(corners) and not 0 <= corners.min() <= corners.max() < len(points):
            raise InputError("a face names a vertex that is not there; the file is damaged")
        yield points, _triangles(corners, mode)


def _triangles(corners: IntArray, mode: int) -> IntArray:
    """Triangles (m, 3) of corners in a row; every other one of a strip is turned round."""
    if mode == _TRIANGLES or len(corners) < 3:
        return corners[: len(corners) // 3 * 3].reshape(-1, 3)
    first, second, third = corners[:-2], corners[1:-1], corners[2:]
    if mode == _FAN:
        return np.stack([np.full(len(third), corners[0]), second, third], axis=1)
    odd = np.arange(len(third)) % 2 == 1
    return np.stack([np.where(odd, second, first), np.where(odd, first, second), third], axis=1)


def write(mesh: TriMesh, *, colors: NDArray[np.uint8] | None = None) -> bytes:
    """Binary glTF in single precision, the only one it has."""
    import trimesh

    surface = trimesh.Trimesh(
        mesh.vertices, mesh.faces, vertex_colors=colors, process=False, validate=False
    )
    data: bytes = surface.export(file_type="glb")  # type: ignore[assignment]
    return data
