"""Mesh files that were made to do harm: slow, large, reaching elsewhere, lying."""

import base64
import json
import os
import re
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from finsler.errors import InputError
from finsler.mesh import TriMesh, load_mesh, primitives, write_mesh

SQUARE = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
TRIANGLE = np.eye(3, dtype="<f4").tobytes() + np.array([0, 1, 2], "<u2").tobytes()
INLINE = "data:application/octet-stream;base64," + base64.b64encode(TRIANGLE).decode()
POINTS = {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}
CORNERS = {"bufferView": 1, "componentType": 5123, "count": 3, "type": "SCALAR"}


def scene(**other):
    """A triangle as the JSON part of a glTF file, its buffer inside; other parts replace these."""
    return {
        "asset": {"version": "2.0"},
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "accessors": [POINTS, CORNERS],
        "bufferViews": [
            {"buffer": 0, "byteLength": 36},
            {"buffer": 0, "byteOffset": 36, "byteLength": 6},
        ],
        "buffers": [{"byteLength": 42, "uri": INLINE}],
        **other,
    }


def load(folder, name, content):
    path = folder / name
    if isinstance(content, dict):
        content = json.dumps(content)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return load_mesh(path)


def refused(folder, name, content, words):
    with pytest.raises(InputError, match=words) as caught:
        load(folder, name, content)
    sentence = str(caught.value)
    assert sentence.isprintable() and len(sentence) < 500 + len(str(folder))


PLY = b"ply\nformat binary_little_endian 1.0\n"
# Each took minutes or more before it was looked for; now all are linear.
SLOW = {
    "digits before a letter": ("a.off", b"OFF\n" + b"1" * 300_000 + b"x", "stands where a number"),
    "properties": (
        "a.ply",
        PLY + b"element vertex 1\n" + b"property list uchar char x\n" * 50_000 + b"end_header\n",
        "more than 1000 properties",
    ),
    "empty lists": (
        "a.ply",
        PLY
        + b"element face 100000\nproperty list uchar int vertex_indices\nend_header\n\1aaaa"
        + bytes(100_000),
        "lack x, y or z",
    ),
    "a node that is its own child": (
        "a.gltf",
        scene(nodes=[{"children": [0]}]),
        "two parents, or is its own",
    ),
    "nodes that double at every step": (
        "a.gltf",
        scene(nodes=[*({"children": [i + 1, i + 1]} for i in range(60)), {"mesh": 0}]),
        "two parents",
    ),
    "parts times nodes": (
        "a.gltf",
        scene(
            nodes=[{"mesh": 0}] * 10_000,
            scenes=[{"nodes": list(range(10_000))}],
            meshes=[{"primitives": [{"mode": 0}] * 10_000}],
        ),
        "repeats its meshes too often",
    ),
    "deep JSON": ("a.gltf", b'{"a":' * 100_000, "JSON part cannot be parsed"),
    "a number of many digits": ("a.gltf", b'{"a":' + b"1" * 10**6 + b"}", "cannot be parsed"),
}


@pytest.mark.usefixtures("deadline")
@pytest.mark.parametrize("name", SLOW)
def test_a_small_file_does_not_take_for_ever(tmp_path, name):
    refused(tmp_path, *SLOW[name])


def test_a_chain_of_nodes_is_as_deep_as_it_likes(tmp_path):
    nodes = [*({"children": [i + 1], "translation": [0, 0, 1]} for i in range(5000)), {"mesh": 0}]
    assert load(tmp_path, "a.gltf", scene(nodes=nodes)).vertices[:, 2].tolist() == [5e3, 5e3, 5001]


LYING = {
    "numbers that run together": ("OFF\n3 1 0\n0 0 1.2.3\n1 0 0 x\n0 1 0\n3 0 1 2\n", "'1.2.3'"),
    "a sign between": ("OFF\n3 1 0\n0 0 1-2\n1 0 0 x\n0 1 0\n3 0 1 2\n", "'1-2'"),
    "hexadecimal": ("OFF\n3 1 0\n0 0 0x1\n1 0 0\n0 1 0\n3 0 1 2\n", "'0x1'"),
    "a NUL byte": ("OFF\n3 1 0\n0 0 1\0 0\n1 0 0\n0 1 0\n3 0 1 2\n", "stands where a number"),
    "an escape": ("OFF\n3 1 0\n0 0 \x1b[31m\n", r"'\\x1b\[31m'"),
    "UTF-16": ("OFF\n3 1 0\n".encode("utf-16"), "first word is not OFF"),
    "two byte order marks": ("\ufeff\ufeffOFF\n3 1 0\n", "first word is not OFF"),
}


@pytest.mark.parametrize("name", LYING)
def test_text_that_only_looks_like_numbers(tmp_path, name):
    refused(tmp_path, "a.off", *LYING[name])


@pytest.mark.parametrize("name", ["fac\0e", "a\x07b", "long" * 200])
def test_names_in_a_ply_header_do_not_reach_the_terminal(tmp_path, name):
    text = f"ply\nformat ascii 1.0\nelement {name} 3\nproperty float x\nend_header\n"
    refused(tmp_path, "a.ply", text, "not understood")


FORGED = {
    "count of points": (scene(accessors=[{**POINTS, "count": 2**62}, CORNERS]), "more than its"),
    "count of indices": (scene(accessors=[POINTS, {**CORNERS, "count": 10**12}]), "more than its"),
    "negative count": (scene(accessors=[{**POINTS, "count": -1}, CORNERS]), "no whole number"),
    "huge offset": (scene(accessors=[{**POINTS, "byteOffset": 2**62}, CORNERS]), "more than its"),
    "stride of nothing": (
        scene(bufferViews=[{"buffer": 0, "byteLength": 36, "byteStride": 0}] * 2),
        "more than its buffer holds",
    ),
    "length of the buffer": (scene(buffers=[{"byteLength": 2**62, "uri": INLINE}]), "cut short"),
    "index beyond": (
        scene(accessors=[{**POINTS, "count": 2}, CORNERS]),
        "names a vertex that is not there",
    ),
    "kind of number": (scene(accessors=[POINTS, {**CORNERS, "componentType": 9}]), "quantization"),
    "no such array": (scene(accessors=[]), "array is named that is not there"),
    "no such buffer": (scene(buffers=[]), "buffer is named that is not there"),
    "no such scene": (scene(scene=7), "scene is named that is not there"),
    "true for a number": (scene(nodes=[{"mesh": True}]), "mesh is named that is not there"),
    "transform of NaN": (
        scene(nodes=[{"mesh": 0, "translation": [float("nan"), 0, 0]}]),
        "transform is not 3 numbers",
    ),
    "transform that overflows": (
        scene(
            nodes=[*({"children": [i + 1], "scale": [1e29] * 3} for i in range(12)), {"mesh": 0}]
        ),
        "not finite",
    ),
    "parts that are no list": (scene(meshes=7), "no list of objects"),
    "bad base64": (scene(buffers=[{"byteLength": 42, "uri": "data:;base64,%%%"}]), "not base64"),
    "address that is no text": (scene(buffers=[{"byteLength": 1, "uri": 3}]), "is no text"),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_gltf(tmp_path, name):
    refused(tmp_path, "a.gltf", *FORGED[name])


@pytest.mark.parametrize("length", [0, 2**31, 2**32 - 1])
def test_forged_glb_chunks(tmp_path, length):
    text = json.dumps(scene()).encode()
    data = struct.pack("<4sIII4s", b"glTF", 2, 20 + len(text), length, b"JSON") + text
    refused(tmp_path, "a.glb", data, "cut short|JSON part cannot be parsed")


@pytest.mark.parametrize(
    "uri",
    [
        "../secret.bin",
        "%2e%2e/secret.bin",
        "..%2fsecret.bin",
        "sub/../../secret.bin",
        "link.bin",
        "folder/secret.bin",
        "file:///etc/passwd",
        "http://127.0.0.1:1/a.bin",
        "/etc/passwd",
        "a\0b",
        "loop.bin",
        "fifo.bin",
        "",
        "x" * 5000,
        "\x1b[31m",
    ],
)
@pytest.mark.usefixtures("deadline")
def test_a_buffer_lies_beside_the_file_or_nowhere(tmp_path, uri):
    (tmp_path / "secret.bin").write_bytes(TRIANGLE)
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link.bin").symlink_to(tmp_path / "secret.bin")
    (inside / "folder").symlink_to(tmp_path)
    (inside / "loop.bin").symlink_to(inside / "loop.bin")
    os.mkfifo(inside / "fifo.bin")
    refused(
        inside,
        "a.gltf",
        scene(buffers=[{"byteLength": 42, "uri": uri}]),
        "beside the glTF or below",
    )
    absolute = scene(buffers=[{"byteLength": 42, "uri": str(tmp_path / "secret.bin")}])
    refused(inside, "a.gltf", absolute, "beside the glTF or below")


def test_a_buffer_below_the_file_is_read(tmp_path):
    (tmp_path / "with blank").mkdir()
    (tmp_path / "with blank" / "a.bin").write_bytes(TRIANGLE)
    buffers = [{"byteLength": 42, "uri": "with%20blank/a.bin"}]
    assert load(tmp_path, "a.gltf", scene(buffers=buffers)).n_faces == 1


def test_transforms_strips_and_fans_as_trimesh_reads_them(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    mesh = primitives.torus(5, 4)
    scenery = trimesh.Scene()
    for turn in ([0.3, 0.1, 0.2], [1.0, -2.0, 0.5]):
        matrix = trimesh.transformations.euler_matrix(*turn)
        matrix[:3, 3], matrix[0, :3] = turn, -2 * matrix[0, :3]
        scenery.add_geometry(trimesh.Trimesh(mesh.vertices, mesh.faces), transform=matrix)
    back = load(tmp_path, "a.glb", scenery.export(file_type="glb"))
    there = trimesh.load(tmp_path / "a.glb", process=False).to_mesh()
    mine, other = (np.sort(np.round(p, 4), axis=0) for p in (back.vertices, there.vertices))
    np.testing.assert_allclose(mine, other, atol=2e-4)
    assert abs(trimesh.Trimesh(back.vertices, back.faces).volume - there.volume) < 1e-4

    positions = np.array(SQUARE, "<f4")
    stored = base64.b64encode(positions.tobytes()).decode()
    for mode, faces in ((5, [[0, 1, 2], [2, 1, 3]]), (6, [[0, 1, 2], [0, 2, 3]])):
        part = {"attributes": {"POSITION": 0}, "mode": mode}
        strip = scene(
            meshes=[{"primitives": [part]}],
            accessors=[{**POINTS, "count": 4}],
            bufferViews=[{"buffer": 0, "byteLength": 48}],
            buffers=[{"byteLength": 48, "uri": "data:;base64," + stored}],
        )
        found = load(tmp_path, "b.gltf", strip)
        assert found.faces.tolist() == faces
        np.testing.assert_array_equal(found.vertices, SQUARE)


@pytest.mark.parametrize("ending", [".off", ".obj", ".ply", ".stl", ".gltf", ".glb"])
@pytest.mark.usefixtures("deadline")
def test_what_is_no_plain_file_is_refused_at_once(tmp_path, ending):
    fifo, device, loop = (tmp_path / f"{name}{ending}" for name in ("fifo", "device", "loop"))
    os.mkfifo(fifo)
    device.symlink_to("/dev/zero")
    loop.symlink_to(loop)
    for path in (fifo, device):
        with pytest.raises(InputError, match="folder or device"):
            load_mesh(path)
    for path in (loop, tmp_path / f"a\0b{ending}", tmp_path / f"{'x' * 300}{ending}"):
        with pytest.raises(InputError, match=r"no such file|cannot be read"):
            load_mesh(path)


NUMBERS = [b"-1", b"0", b"7", b"999999999999", b"99999999999999999999", b"1e400", b"nan", b"1.5"]


@pytest.mark.parametrize("ending", [".off", ".obj", ".ply", ".stl", ".gltf"])
def test_every_number_may_be_another(tmp_path, ending):
    content = json.dumps(scene()).encode()
    if ending == ".stl":
        content = (
            b"solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\n"
            b"endloop\nendfacet\nendsolid a\n"
        )
    elif ending != ".gltf":
        write_mesh(tmp_path / f"a{ending}", TriMesh(SQUARE, [[0, 1, 2], [0, 2, 3]]))
        content = (tmp_path / f"a{ending}").read_bytes()
    path = tmp_path / f"b{ending}"
    for place in re.finditer(rb"(?<![A-Za-z_+/])-?[0-9][0-9.]*", content[:1500]):
        for number in NUMBERS:
            path.write_bytes(content[: place.start()] + number + content[place.end() :])
            try:
                assert load_mesh(path).n_vertices <= len(content)
            except InputError as error:
                assert str(error).isprintable()  # noqa: PT017


POINTS_OF_ANY_SIZE = arrays(np.float64, (4, 3), elements=st.floats(-1e75, 1e75))


@given(vertices=POINTS_OF_ANY_SIZE, faces=arrays(np.int64, (3, 3), elements=st.integers(0, 3)))
@settings(max_examples=30)
def test_any_mesh_survives(tmp_path_factory, vertices, faces):
    mesh = TriMesh(vertices, faces)
    for ending in (".off", ".obj", ".ply"):
        path = tmp_path_factory.mktemp("meshes") / f"a{ending}"
        write_mesh(path, mesh)
        back = load_mesh(path)
        np.testing.assert_array_equal(back.vertices, mesh.vertices)
        np.testing.assert_array_equal(back.faces, mesh.faces)
