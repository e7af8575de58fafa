import base64
import errno
import json
import os
import struct

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from finsler.compute.memory import limited
from finsler.errors import InputError
from finsler.mesh import TriMesh, health, load_mesh, primitives, write_mesh

WRITABLE = [".off", ".obj", ".ply", ".stl", ".glb"]
SQUARE = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]


def wild_mesh():
    """Vertices in no order of use, one of them unused, coordinates with all their digits."""
    rng = np.random.default_rng(3)
    vertices = rng.normal(size=(7, 3)) * 10.0 ** rng.integers(-9, 9, size=(7, 3))
    return TriMesh(vertices, [[5, 1, 3], [0, 2, 4], [4, 2, 1]])


def load_text(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_mesh(path)


def assert_same(a, b):
    np.testing.assert_array_equal(a.vertices, b.vertices)
    np.testing.assert_array_equal(a.faces, b.faces)


def ply(order, points, polygons, *, kind="double", before="", after=""):
    """A PLY file with colours, an extra scalar per face, and polygons of any size."""
    header = (
        f"ply\nformat {order} 1.0\ncomment made by hand\n{before}element vertex {len(points)}\n"
        f"property uchar red\nproperty {kind} x\nproperty {kind} y\nproperty {kind} z\n"
        f"element face {len(polygons)}\nproperty list uchar int vertex_index\n"
        f"property float quality\n{after}end_header\n"
    ).encode()
    if order == "ascii":
        lines = [f"7 {x!r} {y!r} {z!r}" for x, y, z in points]
        lines += [" ".join(map(str, [len(p), *p, 0.5])) for p in polygons]
        return header + ("\n".join(lines) + "\n").encode()
    sign = "<" if "little" in order else ">"
    letter = "d" if kind == "double" else "f"
    body = b"".join(struct.pack(f"{sign}B3{letter}", 7, *p) for p in points)
    body += b"".join(struct.pack(f"{sign}B{len(p)}if", len(p), *p, 0.5) for p in polygons)
    return header + body


PLY_ORDERS = ["ascii", "binary_little_endian", "binary_big_endian"]


@pytest.mark.parametrize("ending", [".off", ".obj", ".ply", ".OFF"])
def test_round_trip_is_exact(tmp_path, ending):
    path = tmp_path / f"mesh{ending}"
    write_mesh(path, wild_mesh())
    assert_same(load_mesh(path), wild_mesh())


def test_round_trip_through_glb_is_single_precision(tmp_path):
    mesh = primitives.torus(7, 5)
    write_mesh(tmp_path / "mesh.glb", mesh)
    back = load_mesh(tmp_path / "mesh.glb")
    np.testing.assert_array_equal(back.vertices, mesh.vertices.astype(np.float32))
    np.testing.assert_array_equal(back.faces, mesh.faces)


def test_stl_shares_equal_corners_in_order_of_appearance(tmp_path):
    mesh = primitives.torus(7, 5)
    write_mesh(tmp_path / "mesh.stl", mesh)
    back = load_mesh(tmp_path / "mesh.stl")
    assert health(back).genus == 1 and back.n_vertices == mesh.n_vertices
    np.testing.assert_array_equal(
        back.vertices[back.faces], mesh.vertices[mesh.faces].astype(np.float32)
    )
    assert np.unique(back.faces.ravel(), return_index=True)[1].tolist() == sorted(
        np.unique(back.faces.ravel(), return_index=True)[1]
    )


def test_text_stl(tmp_path):
    facet = "facet normal 0 0 1\n outer loop\n{} endloop\nendfacet\n"
    corners = [[SQUARE[i] for i in triangle] for triangle in ([0, 1, 2], [0, 2, 3])]
    text = "".join(
        facet.format("".join(f"  VERTEX {x} {y} {z}\n" for x, y, z in triangle))
        for triangle in corners
    )
    back = load_text(tmp_path, "a.stl", f"solid vertex 1\n{text}endsolid\n")
    assert_same(back, TriMesh(SQUARE, [[0, 1, 2], [0, 2, 3]]))


def test_binary_stl_whose_header_says_solid(tmp_path):
    write_mesh(tmp_path / "a.stl", wild_mesh())
    data = (tmp_path / "a.stl").read_bytes()
    assert load_text(tmp_path, "b.stl", b"solid" + data[5:]).n_faces == 3


OFF_VARIANTS = {
    "plain": "OFF\n4 2 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 3\n",
    "counts on the header line": "OFF 4 2 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 3",
    "comments and blank lines": "# hi\nOFF # hello\n\n4 2 0\n0 0 0 # a\n\n1 0 0\n1 1 0\n0 1 0\n"
    "#end\n3 0 1 2\n3 0 2 3\n\n",
    "windows": "OFF\r\n4 2 0\r\n0 0 0\r\n1 0 0\r\n1 1 0\r\n0 1 0\r\n3 0 1 2\r\n3 0 2 3\r\n",
    "polygon": "OFF\n4 1 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3\n",
    "face colours": "OFF\n4 2 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2 255 0 0\n3 0 2 3 1\n",
    "vertex colours": "COFF\n4 2 0\n0 0 0 1 2 3 4\n1 0 0 1 2 3\n1 1 0 1 2 3\n0 1 0 1 2 3\n"
    "3 0 1 2\n3 0 2 3\n",
    "normals": "NOFF\n4 1 0\n0 0 0 0 0 1\n1 0 0 0 0 1\n1 1 0 0 0 1\n0 1 0 0 0 1\n4 0 1 2 3\n",
    "both": "CNOFF\n4 1 0\n"
    + "".join(f"{x} {y} {z} 0 0 1 9 9 9 9\n" for x, y, z in SQUARE)
    + "4 0 1 2 3\n",
    "texture": "STOFF\n4 1 0\n"
    + "".join(f"{x} {y} {z} .5 .5\n" for x, y, z in SQUARE)
    + "4 0 1 2 3\n",
    "no edge count": "OFF\n4 1\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3\n",
}


@pytest.mark.parametrize("text", OFF_VARIANTS.values(), ids=OFF_VARIANTS)
def test_off_variants(tmp_path, text):
    assert_same(load_text(tmp_path, "a.off", text), TriMesh(SQUARE, [[0, 1, 2], [0, 2, 3]]))


def test_obj_keeps_vertices_across_seams(tmp_path):
    points = "".join(f"v {x} {y} {z}\n" for x, y, z in SQUARE)
    text = (
        f"# head\no thing\n{points}v 9 9 9 0.5\nvt 0 0\nvt 1 1\nvn 0 0 1\nusemtl vase\n"
        "f 1/1/1 2/2/1 3/1/1\nf 1//1 3//1 4//1\ng next\nf 1/2 2/1 3/1 4/1\n"
        "f -5 -4 \\\n -3\nv 8 8 8\nf -1 -6/2 -5\n"
    )
    mesh = load_text(tmp_path, "a.obj", text)
    assert_same(
        mesh,
        TriMesh(
            [*SQUARE, [9, 9, 9], [8, 8, 8]],
            [[0, 1, 2], [0, 2, 3], [0, 1, 2], [0, 2, 3], [0, 1, 2], [5, 0, 1]],
        ),
    )


@pytest.mark.parametrize("order", PLY_ORDERS)
@pytest.mark.parametrize(
    "polygons", [[[0, 1, 2], [0, 2, 3]], [[0, 1, 2, 3]], [[3, 1, 0], [0, 1, 2, 3]]]
)
def test_ply_orders_and_polygons(tmp_path, order, polygons):
    points = np.random.default_rng(0).normal(size=(4, 3))
    fans = [[p[0], p[i], p[i + 1]] for p in polygons for i in range(1, len(p) - 1)]
    data = ply(order, points.tolist(), polygons)
    assert_same(load_text(tmp_path, "a.ply", data), TriMesh(points, fans))
    single = load_text(tmp_path, "b.ply", ply(order, points.tolist(), polygons, kind="float"))
    np.testing.assert_allclose(single.vertices, points, rtol=1e-6)


def test_ply_with_other_elements(tmp_path):
    after = "element edge 99\nproperty int vertex1\n"
    data = ply("binary_little_endian", SQUARE, [[0, 1, 2]], before="element junk 0\n", after=after)
    assert load_text(tmp_path, "a.ply", data).n_faces == 1


def test_ply_holds_scalars_and_colors(tmp_path):
    mesh = wild_mesh()
    heat = np.random.default_rng(1).normal(size=7)
    colors = np.arange(21, dtype=np.uint8).reshape(7, 3)
    write_mesh(tmp_path / "a.ply", mesh, scalars={"heat": heat}, colors=colors)
    assert_same(load_mesh(tmp_path / "a.ply"), mesh)
    data = (tmp_path / "a.ply").read_bytes()
    assert b"property uchar blue\nproperty double heat\n" in data
    start = data.index(b"end_header\n") + 11
    kind = np.dtype([("p", "<f8", 3), ("c", "u1", 3), ("heat", "<f8")])
    table = np.frombuffer(data, kind, 7, start)
    np.testing.assert_array_equal(table["heat"], heat)
    np.testing.assert_array_equal(table["c"], colors)


@pytest.mark.parametrize("ending", [".off", ".glb"])
def test_colors_elsewhere(tmp_path, ending):
    mesh = primitives.torus(7, 5)
    colors = np.zeros((mesh.n_vertices, 3), dtype=np.uint8)
    write_mesh(tmp_path / f"a{ending}", mesh, colors=colors)
    np.testing.assert_array_equal(load_mesh(tmp_path / f"a{ending}").faces, mesh.faces)


def test_gltf_nodes_are_placed_and_joined(tmp_path):
    points = np.array(SQUARE[:3], dtype="<f4").tobytes()
    data = points + np.array([0, 1, 2], dtype="<u2").tobytes()
    scene = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0, 1]}],
        "nodes": [{"mesh": 0}, {"mesh": 0, "translation": [0, 0, 5]}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5123, "count": 3, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": 36},
            {"buffer": 0, "byteOffset": 36, "byteLength": 6},
        ],
        "buffers": [{"byteLength": 42, "uri": "a.bin"}],
    }
    (tmp_path / "a.bin").write_bytes(data)
    mesh = load_text(tmp_path, "a.gltf", json.dumps(scene))
    assert (mesh.n_vertices, mesh.n_faces) == (6, 2)
    assert sorted(mesh.vertices[:, 2].tolist()) == [0, 0, 0, 5, 5, 5]
    uri = "data:application/octet-stream;base64," + base64.b64encode(data).decode()
    scene["buffers"][0]["uri"] = uri
    assert load_text(tmp_path, "b.gltf", json.dumps(scene)).n_faces == 2
    scene["buffers"][0]["uri"] = "missing.bin"
    with pytest.raises(InputError, match=r"c\.gltf: the buffer 'missing\.bin' is no file"):
        load_text(tmp_path, "c.gltf", json.dumps(scene))
    scene["buffers"][0]["uri"] = uri
    del scene["accessors"][0]["bufferView"]
    scene["accessors"][0]["count"] = 10**15
    with pytest.raises(InputError, match="no stored data"):
        load_text(tmp_path, "d.gltf", json.dumps(scene))


BOM = b"\xef\xbb\xbf"


@pytest.mark.parametrize("ending", [".off", ".obj", ".ply", ".stl"])
def test_a_byte_order_mark_changes_nothing(tmp_path, ending):
    texts = {
        ".off": b"OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n",
        ".obj": b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
        ".ply": ply("ascii", SQUARE[:3], [[0, 1, 2]]),
        ".stl": b"solid a\nfacet\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendfacet\nendsolid\n",
    }
    plain = load_text(tmp_path, f"a{ending}", texts[ending])
    assert_same(load_text(tmp_path, f"b{ending}", BOM + texts[ending]), plain)
    assert plain.n_vertices == 3


def test_binary_stl_may_begin_with_a_byte_order_mark(tmp_path):
    write_mesh(tmp_path / "a.stl", TriMesh(SQUARE, [[0, 1, 2], [0, 2, 3]]))
    data = (tmp_path / "a.stl").read_bytes()
    assert load_text(tmp_path, "b.stl", BOM + data[3:]).n_faces == 2


@pytest.mark.parametrize("order", PLY_ORDERS)
@pytest.mark.parametrize("name", ["face", "vertex"])
def test_ply_with_an_element_twice_is_refused(tmp_path, order, name):
    kind = "property list uchar int vertex_index\n" if name == "face" else "property double x\n"
    text = ply(order, SQUARE, [[0, 1, 2]], after=f"element {name} 1\n{kind}")
    more = b"3 1 2 3\n" if order == "ascii" else struct.pack("<B3i", 3, 1, 2, 3)
    with pytest.raises(InputError, match=rf"a\.ply: the header has 2 elements '{name}'"):
        load_text(tmp_path, "a.ply", text + more)


def turned_triangle(tmp_path, rotation):
    points = np.array(SQUARE[:3], dtype="<f4").tobytes()
    scene = {
        "nodes": [{"mesh": 0, "rotation": rotation, "scale": [1, 2, 3]}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}],
        "buffers": [{"byteLength": 36, "uri": "data:;base64," + base64.b64encode(points).decode()}],
    }
    return load_text(tmp_path, "a.gltf", json.dumps(scene))


def test_gltf_rotations_of_any_length_only_turn(tmp_path):
    unit = turned_triangle(tmp_path, [0.1, 0.7, -0.1, 0.7])
    long = turned_triangle(tmp_path, [0.2, 1.4, -0.2, 1.4])
    np.testing.assert_allclose(long.vertices, unit.vertices, atol=1e-12)
    lengths = np.linalg.norm(unit.vertices - np.roll(unit.vertices, 1, axis=0), axis=1)
    np.testing.assert_allclose(lengths, [np.sqrt(5), 1, 2], rtol=1e-6)
    with pytest.raises(InputError, match="quaternion 0"):
        turned_triangle(tmp_path, [0, 0, 0, 0])


def test_what_does_not_fit_into_memory_is_not_read(tmp_path):
    for ending in (".off", ".obj", ".ply", ".stl", ".glb"):
        path = tmp_path / f"huge{ending}"
        with path.open("wb") as file:
            file.truncate(100 * 10**9)
        with (
            limited(4.0),
            pytest.raises(InputError, match=r"93\.1 GiB, and reading it takes about"),
        ):
            load_mesh(path)
    scene = {"buffers": [{"byteLength": 10**11, "uri": "huge.ply"}], "nodes": [{"mesh": 0}]}
    scene["meshes"] = [{"primitives": [{"attributes": {"POSITION": 0}}]}]
    with limited(4.0), pytest.raises(InputError, match=r"huge\.ply has 93\.1 GiB"):
        load_text(tmp_path, "a.gltf", json.dumps(scene))


HEAD = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\n"
BINARY = ply("binary_little_endian", SQUARE, [[0, 1, 2]])
BAD = {
    "off without its word": ("a.off", "4 2 0\n0 0 0\n", "first word is not OFF"),
    "other word": ("a.off", "OFFER\n1 1 1\n", "first word is not OFF"),
    "binary off": ("a.off", "OFF BINARY\n1 2 3", "binary OFF is not supported"),
    "no counts": ("a.off", "OFF\n", "counts of vertices and faces are missing"),
    "one count": ("a.off", "OFF\n3\n", "count line 0 has 1 numbers"),
    "word for a number": ("a.off", "OFF\n3 1 0\n0 0 zero\n", "'zero' stands where a number"),
    "short vertex": ("a.off", "OFF\n3 1 0\n0 0\n1 0 0\n0 1 0\n3 0 1 2\n", "vertex 0 has 2 numbers"),
    "short face": ("a.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1\n", "face 0 has 3 numbers"),
    "two corners": ("a.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n2 0 1\n", "face 0 has 2 corners"),
    "half corners": ("a.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 1.5\n", "vertex 1.5"),
    "nan degree": ("a.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\nnan 0 1 2\n", "no index"),
    "negative degree": ("a.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n-3 0 1 2\n", "-3 corners"),
    "negative index": ("a.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 -2\n", r"0\.\.2"),
    "index too large": ("a.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 3\n", r"0\.\.2"),
    "nan": ("a.off", "OFF\n3 1 0\n0 0 nan\n1 0 0\n0 1 0\n3 0 1 2\n", "vertex 0 is not finite"),
    "inf": ("a.off", "OFF\n3 1 0\n0 0 -inf\n1 0 0\n0 1 0\n3 0 1 2\n", "vertex 0 is not finite"),
    "huge": ("a.off", "OFF\n3 1 0\n0 0 1e99\n1 0 0\n0 1 0\n3 0 1 2\n", "rescale the mesh"),
    "forged vertices": ("a.off", "OFF\n999999999999 1 0\n0 0 0\n", "counts 1e.12 vertices"),
    "forged faces": ("a.off", "OFF\n1 999999999999 0\n0 0 0\n", "cut short"),
    "negative counts": ("a.off", "OFF\n-1 1 0\n0 0 0\n", "counts -1 vertices"),
    "points": ("a.off", "OFF\n1 0 0\n0 0 0\n", "no faces; a point cloud"),
    "obj of nothing": ("a.obj", "hello\n", "no vertex line"),
    "obj points": ("a.obj", "v 0 0 0\n", "no faces; a point cloud"),
    "obj zero": ("a.obj", "v 0 0 0\nf 0 1 1\n", "names vertex 0"),
    "obj too negative": ("a.obj", "v 0 0 0\nf -1 -2 1\n", "names vertex -2"),
    "obj too large": ("a.obj", "v 0 0 0\nf 1 2 3\n", r"0\.\.0"),
    "obj line": ("a.obj", "v 0 0 0\nf 1 1\n", "face 0 has 2 corners"),
    "obj bare v": ("a.obj", "v \nv 0 0 0\nf 1 1 1\n", "vertex line has no numbers"),
    "obj bare f": ("a.obj", "v 0 0 0\nf \nf 1 1 1\n", "face line has no corners"),
    "ply without end": ("a.ply", HEAD, "no header from ply to end_header"),
    "ply of old": ("a.ply", "ply\nend_header\n", "names no format"),
    "ply word": ("a.ply", HEAD + "banana\nend_header\n", "'banana' is not understood"),
    "ply type": ("a.ply", HEAD + "property half z\nend_header\n", "'property half z'"),
    "ply digits": ("a.ply", f"ply\nelement vertex {'9' * 5000}\nend_header\n", "not understood"),
    "ply without z": ("a.ply", HEAD + "end_header\n0 0\n0 0\n0 0\n", "lack x, y or z"),
    "ply points": (
        "a.ply",
        HEAD + "property float z\nend_header\n0 0 0\n0 0 0\n0 0 0\n",
        "no faces; a point cloud",
    ),
    "ply short": (
        "a.ply",
        HEAD + "property float z\nend_header\n0 0 0\n0 0 0\n",
        "3 items of vertex",
    ),
    "ply row": (
        "a.ply",
        HEAD + "property float z\nend_header\n0 0 0\n0 0\n0 0 0\n",
        "vertex 1 has 2",
    ),
    "ply forged vertices": (
        "a.ply",
        BINARY.replace(b"vertex 4", b"vertex 400000000000"),
        "400000000000 items of vertex",
    ),
    "ply forged faces": (
        "a.ply",
        BINARY.replace(b"face 1", b"face 400000000000"),
        "400000000000 items of face",
    ),
    "stl forged": ("a.stl", bytes(80) + b"\xff" * 54, "counts 4294967295 triangles"),
    "stl of nothing": ("a.stl", "solid a\nendsolid a\n", "no faces"),
    "stl nan": ("a.stl", bytes(80) + b"\1\0\0\0" + b"\xff" * 50, "not finite"),
    "stl signalling nan": (
        "a.stl",
        bytes(80) + b"\1\0\0\0" + b"\1\0\x80\x7f" * 12 + b"\0\0",
        "not finite",
    ),
    "ply signalling nan": (
        "a.ply",
        ply("binary_little_endian", SQUARE, [[0, 1, 2]], kind="float").replace(
            struct.pack("<3f", 1, 1, 0), b"\1\0\x80\x7f" * 3
        ),
        "vertex 2 is not finite",
    ),
    "stl open": ("a.stl", "solid a\nfacet normal 0 0 1\n", "no list of complete facets"),
    "glb header": ("a.glb", b"glTF\2\0\0\0\xff\0\0\0\0\0\0\0JSON", "counts 255 bytes"),
    "glb json": ("a.glb", b"glTF\2\0\0\0\x14\0\0\0\0\0\0\0JSON", "JSON part cannot be parsed"),
    "gltf list": ("a.gltf", "[]", "no object"),
    "gltf nothing": ("a.gltf", '{"asset": {"version": "2.0"}}', "glTF"),
    "empty": ("a.off", "", "the file is empty"),
    "blank": ("a.ply", " \n\n", "the file is empty"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_file_is_one_sentence_with_the_path(tmp_path, name):
    file, text, words = BAD[name]
    with pytest.raises(InputError, match=words) as caught:
        load_text(tmp_path, file, text)
    assert str(caught.value).startswith(str(tmp_path / file)) and "\n" not in str(caught.value)


def test_path_errors(tmp_path):
    with pytest.raises(InputError, match=r"none\.off: there is no such file"):
        load_mesh(tmp_path / "none.off")
    (tmp_path / "folder.off").mkdir()
    with pytest.raises(InputError, match=r"folder\.off: this is a folder"):
        load_mesh(tmp_path / "folder.off")
    with pytest.raises(InputError, match=r"'\.xyz' is none of .* \.off, \.obj, \.ply, \.stl"):
        load_mesh(tmp_path / "a.xyz")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file(tmp_path):
    path = tmp_path / "a.off"
    path.write_text("OFF")
    path.chmod(0)
    with pytest.raises(InputError, match="cannot be read"):
        load_mesh(path)


def assert_mesh_or_input_error(path):
    try:
        mesh = load_mesh(path)
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017
    else:
        assert mesh.n_faces > 0


@pytest.mark.parametrize("ending", WRITABLE)
def test_file_cut_anywhere_is_a_mesh_or_an_input_error(tmp_path, ending, capfd):
    path = tmp_path / f"a{ending}"
    write_mesh(path, wild_mesh())
    data = path.read_bytes()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        assert_mesh_or_input_error(path)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("order", PLY_ORDERS)
def test_ply_cut_anywhere_is_an_input_error_or_a_mesh(tmp_path, order):
    data = ply(order, np.eye(4, 3).tolist(), [[0, 1, 2], [0, 1, 2, 3]])
    for length in range(len(data)):
        path = tmp_path / "a.ply"
        path.write_bytes(data[:length])
        assert_mesh_or_input_error(path)


@pytest.mark.parametrize("ending", [*WRITABLE, ".gltf"])
@given(garbage=st.binary(min_size=1, max_size=300))
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_garbage_is_an_input_error(tmp_path, ending, garbage):
    path = tmp_path / f"a{ending}"
    path.write_bytes(garbage)
    assert_mesh_or_input_error(path)


@pytest.mark.parametrize("ending", WRITABLE)
@given(share=st.floats(0, 1, exclude_max=True), value=st.integers(0, 255))
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_changed_byte_is_a_mesh_or_an_input_error(tmp_path, ending, share, value):
    path = tmp_path / f"a{ending}"
    write_mesh(path, wild_mesh())
    data = bytearray(path.read_bytes())
    data[int(share * len(data))] = value
    path.write_bytes(data)
    assert_mesh_or_input_error(path)


def test_vtk_is_read_by_pyvista(tmp_path):
    pyvista = pytest.importorskip("pyvista")
    mesh, heat = wild_mesh(), np.array([0.1, -1e300, 3.0, 1e-300, np.inf, 0.0, 7.0])
    for name, scalars in (("with.vtk", {"heat": heat, "cold": -heat}), ("without.vtk", {})):
        write_mesh(tmp_path / name, mesh, scalars=scalars)
        read = pyvista.read(tmp_path / name)
        np.testing.assert_array_equal(read.points, mesh.vertices)
        np.testing.assert_array_equal(read.faces.reshape(-1, 4)[:, 1:], mesh.faces)
        assert sorted(read.point_data) == sorted(scalars)
        for scalar, values in scalars.items():
            np.testing.assert_array_equal(read.point_data[scalar], values)


@pytest.mark.parametrize("path", [None, 7, b"a.off", ["a.off"], primitives.sphere(2)])
def test_a_path_must_be_a_path(path):
    with pytest.raises(InputError, match=r"path is .*; it must be the path"):
        load_mesh(path)
    with pytest.raises(InputError, match=r"path is .*; it must be the path"):
        write_mesh(path, primitives.sphere(2))


def test_what_is_written_must_be_a_mesh_with_values(tmp_path):
    path, mesh = tmp_path / "a.ply", primitives.sphere(2)
    with pytest.raises(InputError, match="mesh is a tuple; it must be a TriMesh"):
        write_mesh(path, (mesh.vertices, mesh.faces, None))
    for scalars in (
        [1.0],
        {1: mesh.vertices[:, 0]},
        {"u": "text"},
        {"u": {}},
        {"u": [[1], [1, 2]]},
    ):
        with pytest.raises(InputError, match="scalar"):
            write_mesh(path, mesh, scalars=scalars)
    with pytest.raises(InputError, match="colors has shape"):
        write_mesh(path, mesh, colors="red")
    assert not path.exists()


@pytest.mark.parametrize("ending", [".stl", ".glb"])
def test_single_precision_must_not_overflow(tmp_path, ending):
    with pytest.raises(InputError, match="overflows single precision"):
        write_mesh(tmp_path / f"a{ending}", TriMesh(1e39 * np.eye(3), [[0, 1, 2]]))


def test_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.off"
    write_mesh(path, wild_mesh())
    before = path.read_bytes()

    def fail(*_):
        raise OSError(errno.ENOSPC, "disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_mesh(path, primitives.torus(7, 5))
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.off"]


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("a.gltf", {}, r"'\.gltf' is none"),
        ("missing/a.off", {}, "does not exist; create it"),
        ("folder.off", {}, "this is a folder"),
        ("a.off", {"scalars": {"heat": np.zeros(7)}}, "cannot hold scalars"),
        ("a.obj", {"colors": np.zeros((7, 3), np.uint8)}, "cannot hold colours"),
        ("a.stl", {"colors": np.zeros((7, 3), np.uint8)}, "cannot hold colours"),
        ("a.vtk", {"colors": np.zeros((7, 3), np.uint8)}, "cannot hold colours"),
        ("a.vtk", {"scalars": {"my heat": np.zeros(7)}}, "'my heat'"),
        ("a.ply", {"scalars": {"heat": np.zeros(6)}}, r"shape \(6,\)"),
        ("a.ply", {"scalars": {"my heat": np.zeros(7)}}, "'my heat'"),
        ("a.ply", {"scalars": {"x": np.zeros(7)}}, "named 'x'"),
        ("a.ply", {"colors": np.zeros((7, 3))}, "uint8"),
        ("a.ply", {"colors": np.zeros((7, 4), np.uint8)}, r"\(7, 3\)"),
    ],
)
def test_bad_write_is_an_input_error(tmp_path, name, options, words):
    (tmp_path / "folder.off").mkdir()
    with pytest.raises(InputError, match=words):
        write_mesh(tmp_path / name, wild_mesh(), **options)
    assert os.listdir(tmp_path) == ["folder.off"]
