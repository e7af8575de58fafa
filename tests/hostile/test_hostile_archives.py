"""Archives that lie: forged headers, bombs, code in place of numbers, names that are paths."""

import io
import json
import os
import pickle
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from finsler.data import Collection, Shape, open_collection, pack
from finsler.data.sets.folder import write_collection
from finsler.data.sets.pack import packed
from finsler.errors import InputError
from finsler.evaluation.predictions import load_predictions, save_predictions
from finsler.mesh import TriMesh, primitives
from finsler.storage.npz import UNPACK_GIB, read_npz


def npy(kind, shape, body=b"", *, version=1):
    """An npy file whose header claims this shape and kind."""
    about = f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': {shape!r}, }}\n".encode()
    size = struct.pack("<H" if version == 1 else "<I", len(about))
    return b"\x93NUMPY" + bytes([version, 0]) + size + about + body


def write_archive(path, members, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", method) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


def refused(action, words):
    with pytest.raises(InputError, match=words) as caught:
        action()
    assert str(caught.value).isprintable() and len(str(caught.value)) < 600


@pytest.fixture
def shapes():
    mesh = primitives.plane(1, 1)
    found = {
        name: Shape(name, mesh, np.arange(mesh.n_vertices), np.ones(mesh.n_vertices, dtype=bool))
        for name in ("a", "b")
    }
    return Collection("squares", ("a",), ("b",), "a", found.__getitem__)


FORGED = {
    "10^12 numbers": npy("<f8", (10**12,)),
    "10^12 empty texts": npy("<U0", (10**12,)),
    "10^12 bytes of nothing": npy("|V0", (10**12,)),
    "a product beyond 2^64": npy("<f8", (2**62, 2**62)),
    "a product that wraps to 0": npy("<f8", (2**32, 2**32)),
    "a negative size": npy("<f8", (-1,), bytes(8)),
    "two negative sizes": npy("<f8", (-1, -1), bytes(8)),
    "objects": npy("|O", (1,), pickle.dumps([1])),
    "objects in a record": npy([("a", "|O")], (1,), bytes(8)),
    "fewer numbers than stored": npy("<f8", (1,), bytes(16)),
    "more numbers than stored": npy("<f8", (3,), bytes(16)),
    "dates": npy("<M8[s]", (1,), bytes(8)),
    "no character": npy("<U1", (1,), b"\xff\xff\xff\xff"),
    "half a character": npy("<U1", (1,), struct.pack("<I", 0xD800)),
    "an unknown version": npy("<f8", (1,), bytes(8), version=9),
    "a header that is code": b"\x93NUMPY\1\0\x16\0__import__('os').abort()",
    "a header of brackets": b"\x93NUMPY\1\0\xf0\x0a" + b"(" * 2800,
    "no header": b"hello",
    "nothing": b"",
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_arrays_are_refused(tmp_path, name):
    path = write_archive(tmp_path / "a.npz", {"a.npy": FORGED[name]})
    refused(lambda: read_npz(path, ("a",)), "not an npz file of plain arrays")


def test_both_byte_orders_and_both_layouts_are_read_as_native(tmp_path):
    path = tmp_path / "a.npz"
    values = np.arange(6.0).reshape(2, 3)
    np.savez(path, a=values.astype(">f8"), b=np.asfortranarray(values), c=np.array("héllo ∇"))
    found = read_npz(path, ("a", "b", "c"))
    np.testing.assert_array_equal(found["a"], values)
    np.testing.assert_array_equal(found["b"], values)
    assert found["a"].dtype == np.float64 and found["a"].dtype.isnative
    assert str(found["c"]) == "héllo ∇" and found["b"].flags.writeable


def test_the_missing_array_is_named_in_a_few_words(tmp_path):
    path = write_archive(tmp_path / "a.npz", {"a.npy": npy("<f8", (0,))})
    refused(lambda: read_npz(path, ("a", "b")), r"holds no array 'b'$")
    refused(lambda: read_npz(path, ("x\n\x1b[31m" * 100,)), r"holds no array 'x\\n\\x1b")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_that_unpack_any_amount_at_once_are_refused(tmp_path, method):
    path = write_archive(tmp_path / "a.npz", {"a.npy": npy("<f8", (1,), bytes(8))}, method)
    refused(lambda: read_npz(path, ("a",)), "not an npz file of plain arrays")


def forge_size(path, size):
    """Have the directory of an archive claim that its one member is larger than it is."""
    data = bytearray(path.read_bytes())
    place = data.index(b"PK\1\2")
    data[place + 24 : place + 28] = struct.pack("<I", size)
    path.write_bytes(data)


def test_what_would_unpack_to_far_more_is_refused_unless_allowed(tmp_path, monkeypatch):
    count = 2**28 // 8 + 8
    header = npy("<f8", (count,))
    path = write_archive(tmp_path / "a.npz", {"a.npy": header + bytes(8)})
    forge_size(path, len(header) + 8 * count)
    refused(lambda: read_npz(path, ("a",)), f"unpack to far more than its size; set {UNPACK_GIB}")
    monkeypatch.setenv(UNPACK_GIB, "1")
    refused(lambda: read_npz(path, ("a",)), "not an npz file of plain arrays")
    monkeypatch.setenv(UNPACK_GIB, "much")
    refused(lambda: read_npz(path, ("a",)), "must be a whole number of GiB")


@pytest.mark.usefixtures("deadline")
def test_what_is_no_plain_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "fifo.npz")
    (tmp_path / "device.npz").symlink_to("/dev/zero")
    (tmp_path / "loop.npz").symlink_to(tmp_path / "loop.npz")
    for name in ("fifo.npz", "device.npz", "loop.npz", "a\0b.npz"):
        with pytest.raises(InputError, match="no such file"):
            read_npz(tmp_path / name, ("a",))


class Harmful:
    """Unpickling this makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


def test_code_in_a_file_is_never_run(tmp_path, shapes):
    mark = tmp_path / "harmed"
    array = np.array([Harmful(mark)], dtype=object)
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=True)
    names = ("about", "config", "counts", "exact", "faces", "labels", "names", "vertices")
    path = write_archive(
        tmp_path / "a.npz", dict.fromkeys((f"{name}.npy" for name in names), buffer.getvalue())
    )
    for action in (
        lambda: read_npz(path, ("vertices",)),
        lambda: packed(path),
        lambda: load_predictions(path, shapes),
    ):
        refused(action, "not an npz file of plain arrays")
    path.write_bytes(pickle.dumps(Harmful(mark)))
    refused(lambda: read_npz(path, ("vertices",)), "not an npz file of plain arrays")
    assert not mark.exists()
    pickle.loads(path.read_bytes())
    assert mark.exists(), "the file is harmful where pickles are read"


def changed_pack(path, shapes, **about):
    """A pack whose description says something else."""
    pack(shapes, path)
    with np.load(path) as data:
        arrays = {name: data[name] for name in data.files}
    text = about.pop("text", None) or json.dumps({**json.loads(str(arrays["about"])), **about})
    arrays["about"] = np.array(text)
    np.savez(path, **arrays)
    return path


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/b", "..", "a\\b", "a\nb", "\x1b[31m", ""])
def test_names_in_a_pack_are_never_paths(tmp_path, shapes, name):
    about = {"names": [name, "b"], "train": [name], "test": ["b"], "reference": name}
    path = changed_pack(tmp_path / "a.npz", shapes, **about)
    refused(lambda: packed(path), "a shape is called")
    refused(lambda: open_collection(path), "a shape is called")


DESCRIPTIONS = {
    "deep": ({"text": '{"a":' * 100_000}, "nested too deeply"),
    "many digits": ({"text": '{"version": ' + "1" * 10_000 + "}"}, "not a JSON text"),
    "twice": ({"text": '{"version": 1, "version": 1}'}, "a name stands twice"),
    "NaN": ({"version": float("nan")}, "NaN is not JSON"),
    "infinity": ({"text": '{"version": 1e999}'}, "1e999 is not JSON"),
    "a list": ({"text": "[1]"}, "JSON object"),
    "numbers for names": ({"names": [1, 2]}, "names is 1; it must be a text"),
    "a title of escapes": ({"name": "\x1b[31m"}, r"collection is called '\\x1b"),
    "one name twice": ({"names": ["a", "a"]}, "do not fit together"),
    "a name that is not there": ({"train": ["c"]}, "do not fit together"),
    "another version": ({"version": "\x1b"}, r"format '\\x1b'"),
    "no lists": ({"train": 7}, "damaged"),
}


@pytest.mark.parametrize("case", DESCRIPTIONS)
def test_descriptions_of_a_pack(tmp_path, shapes, case):
    about, words = DESCRIPTIONS[case]
    path = changed_pack(tmp_path / "a.npz", shapes, **about)
    refused(lambda: packed(path), words)


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("counts", np.array([[2**62, 2**62], [2**62, 2**62]])),
        ("counts", np.array([[-4, 2], [12, 2]])),
        ("counts", np.array([[4.0, 2.0], [4.0, 2.0]])),
        ("counts", np.array(4)),
        ("vertices", np.array(0.0)),
        ("vertices", np.zeros((8, 2))),
        ("labels", np.full(8, 4)),
        ("labels", np.full(8, -1)),
        ("faces", np.zeros((4, 3))),
        ("exact", np.zeros(8)),
    ],
)
def test_arrays_of_a_pack(tmp_path, shapes, field, values):
    path = tmp_path / "a.npz"
    pack(shapes, path)
    with np.load(path) as data:
        arrays = {name: data[name] for name in data.files}
    np.savez(path, **{**arrays, field: values})
    refused(lambda: packed(path), "do not fit together")


def test_a_collection_on_disk_cannot_lead_out_of_its_folder(tmp_path, shapes):
    root = write_collection(tmp_path / "stored", shapes)
    (tmp_path / "secret.off").write_bytes((root / "off" / "a.off").read_bytes())
    for name in ("../secret", str(tmp_path / "secret"), "..", "a\x1b"):
        about = {"name": "n", "reference": name, "train": [name], "test": []}
        (root / "split.json").write_text(json.dumps(about))
        refused(lambda: open_collection(root), "a shape is called")


@pytest.mark.usefixtures("deadline")
def test_many_names_in_predictions(tmp_path, shapes):
    path = tmp_path / "a.npz"
    save_predictions(path, {"a": np.arange(4)}, {})
    with np.load(path) as data:
        arrays = {name: data[name] for name in data.files}
    names = np.array([f"n{i}" for i in range(100_000)])
    np.savez(path, **{**arrays, "names": names})
    refused(lambda: load_predictions(path, shapes), "'n0' is not in the collection")
    np.savez(path, **{**arrays, "names": np.append(names, "n7")})
    refused(lambda: load_predictions(path, shapes), "'n7' is listed more than once")
    np.savez(path, **{**arrays, "config": np.array('{"a":' * 100_000)})
    refused(lambda: load_predictions(path, shapes), "nested too deeply")


BOMBS = """
import json, resource, struct, sys, zlib
from pathlib import Path
import numpy as np
from finsler.errors import InputError
from finsler.storage.npz import read_npz
from finsler.mesh import load_mesh
sys.path.insert(0, sys.argv[2])
from test_hostile_archives import npy, write_archive
import zipfile

folder = Path(sys.argv[1])
ply = b"ply\\nformat {} 1.0\\nelement vertex 999999999999\\nproperty double x\\nend_header\\n0 0\\n"
files = {
    "a.off": b"OFF\\n999999999999 999999999999 0\\n0 0 0\\n",
    "a.ply": ply.replace(b"{}", b"ascii"),
    "b.ply": ply.replace(b"{}", b"binary_little_endian"),
    "c.ply": b"ply\\nformat binary_big_endian 1.0\\nelement face 2\\n"
    b"property list uint double vertex_indices\\nend_header\\n" + b"\\xff" * 64,
    "a.stl": bytes(80) + b"\\xff" * 54,
}
for name, content in files.items():
    (folder / name).write_bytes(content)
count = 5 * 2**26
write_archive(folder / "stored.npz", {"a.npy": npy("|u1", (2**40,))})
whole = npy("|u1", (count,))
with zipfile.ZipFile(folder / "zeros.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
    with file.open("a.npy", "w") as member:
        member.write(whole)
        for _ in range(count // 2**24):
            member.write(bytes(2**24))
assert (folder / "zeros.npz").stat().st_size < 2**22
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
pages = int(Path("/proc/self/statm").read_text().split()[0])
limit = pages * resource.getpagesize() + 2**28
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
refusals = 0
for path in sorted(folder.iterdir()):
    try:
        read_npz(path, ("a",)) if path.suffix == ".npz" else load_mesh(path)
    except InputError as error:
        assert "Memory" not in str(error), error
        refusals += 1
print(refusals, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts pages as Linux does")
def test_no_header_makes_a_reader_take_memory(tmp_path):
    here = str(Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", BOMBS, str(tmp_path), here],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    refusals, mebibytes = map(int, done.stdout.split())
    assert refusals == 7 and mebibytes < 64


def test_meshes_survive_the_round_trip_through_a_pack(tmp_path, shapes):
    pack(shapes, tmp_path / "a.npz")
    back = packed(tmp_path / "a.npz")
    assert back.names == shapes.names
    for shape in back:
        there = shapes[shape.name]
        assert isinstance(shape.mesh, TriMesh)
        np.testing.assert_array_equal(shape.mesh.vertices, there.mesh.vertices)
        np.testing.assert_array_equal(shape.mesh.faces, there.mesh.faces)
        np.testing.assert_array_equal(shape.labels, there.labels)
