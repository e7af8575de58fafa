"""Many meshes: `finsler describe`, `finsler match`, and the distances of `finsler evaluate`."""

import csv
import json
import os
import sys
import zipfile

import numpy as np
import pytest

import finsler
from finsler import TriMesh, primitives
from finsler.cli.cluster_options import say_notes
from finsler.compute.cluster import Workers, opened
from finsler.data.meshes import open_meshes
from finsler.evaluation import DistancesOnDemand, reference_distances
from finsler.matching.pairs import choose_pairs
from finsler.storage.hashing import content_key

FACES = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]


@pytest.fixture
def scans(tmp_path):
    """A folder of three meshes, one of them cut short, and a file that is none."""
    folder = tmp_path / "scans"
    folder.mkdir()
    for name, amplitude in (("a", 0.1), ("b", 0.2)):
        finsler.write_mesh(folder / f"{name}.off", primitives.bumpy_sphere(6, amplitude=amplitude))
    whole = (folder / "b.off").read_bytes()
    (folder / "cut.off").write_bytes(whole[: len(whole) // 2])
    (folder / "notes.txt").write_text("no mesh")
    return folder


def write_spoilt(path, frequency=6):
    """A sphere with a fin: three faces at one of its edges."""
    whole = primitives.bumpy_sphere(frequency)
    first, second = whole.faces[0, :2]
    tip = [*whole.vertices, 1.5 * whole.vertices[first]]
    fin = [*whole.faces, [first, second, len(whole.vertices)]]
    finsler.write_mesh(path, TriMesh(tip, fin))


def write_moebius(path, cells=40, rows=5):
    """A band with one side, which no repair can orient."""
    angles = np.linspace(0.0, 2 * np.pi, cells, endpoint=False)[:, None]
    across = np.linspace(-0.4, 0.4, rows)
    radius, height = 1 + across * np.cos(angles / 2), across * np.sin(angles / 2)
    vertices = np.stack([radius * np.cos(angles), radius * np.sin(angles), height], axis=-1)
    index = np.arange(cells * rows).reshape(cells, rows)
    after = np.vstack([index[1:], index[:1, ::-1]])
    a, b, c, d = index[:, :-1], index[:, 1:], after[:, :-1], after[:, 1:]
    faces = np.concatenate([np.stack([a, c, b], axis=-1), np.stack([b, c, d], axis=-1)])
    finsler.write_mesh(path, TriMesh(vertices.reshape(-1, 3), faces.reshape(-1, 3)))


def flip_within(path, name):
    """Change a byte in the middle of one array of an npz file."""
    with zipfile.ZipFile(path) as archive:
        member = archive.getinfo(f"{name}.npy")
    content = bytearray(path.read_bytes())
    content[member.header_offset + member.file_size // 2] ^= 0x10
    path.write_bytes(content)


def table(path):
    with open(path, newline="") as file:
        return {row[next(iter(row))]: row for row in csv.DictReader(file)}


class TestDescribe:
    def test_each_mesh_gets_a_file_and_failures_stop_nothing(self, finsler_command, scans):
        out = scans / "described"
        options = ("--descriptor", "hks", "-k", 20, "--jobs", 1)
        code, told, errors = finsler_command("describe", scans, "-o", out, *options)
        assert code == 1
        assert "2 computed, 0 kept, 1 failed" in told
        assert errors.startswith("failed: cut: ")
        rows = table(out / "meshes.csv")
        assert {name: row["outcome"] for name, row in rows.items()} == {
            "a": "computed",
            "b": "computed",
            "cut": "failed",
        }
        assert "cut.off" in rows["cut"]["error"]
        single = ("describe", scans / "a.off", "-o", out / "one.npz", *options)
        code, _, errors = finsler_command(*single)
        assert (code, "--jobs is for many meshes" in errors) == (2, True)
        assert finsler_command(*single[:-2])[0] == 0
        with np.load(out / "one.npz") as one, np.load(out / "a.npz") as many:
            assert np.array_equal(one["descriptors"], many["descriptors"])

    def test_what_is_there_is_found_unless_options_or_meshes_change(self, finsler_command, scans):
        (scans / "cut.off").unlink()
        arguments = ("describe", scans / "a.off", scans / "b.off", "--json", "--jobs", 1)
        arguments += ("-o", scans / "described", "--descriptor", "xyz")

        def counts(*more):
            code, told, _ = finsler_command(*arguments, *more)
            assert code == 0
            report = json.loads(told)
            return report["computed"], report["kept"]

        assert counts() == (2, 0)
        assert counts() == (0, 2)
        finsler.write_mesh(scans / "a.off", primitives.bumpy_sphere(6, amplitude=0.3))
        assert counts() == (1, 1)
        (scans / "described" / "b.npz").write_bytes(b"damaged")
        assert counts() == (1, 1)
        assert counts("--descriptor", "normals") == (2, 0)

    @pytest.mark.parametrize("array", ["descriptors", "neighbors", "config"])
    def test_damage_of_any_array_is_mended(self, finsler_command, scans, array):
        out = scans / "described"
        arguments = ("describe", scans / "a.off", scans / "b.off", "-o", out)
        arguments += ("--radius", 0.3, "--bins", 1, "--jobs", 1)
        assert finsler_command(*arguments)[0] == 0
        with np.load(out / "a.npz") as data:
            right = data[array]
        flip_within(out / "a.npz", array)
        assert "1 computed, 1 kept, 0 failed" in finsler_command(*arguments)[1]
        with np.load(out / "a.npz") as data:
            assert np.array_equal(data[array], right)

    @pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names are text")
    def test_names_that_are_no_text_are_escaped(self, finsler_command, scans):
        raw = os.fsencode(scans)
        os.rename(raw + b"/a.off", raw + b"/bad\xff.off")
        os.rename(raw + b"/cut.off", raw + b"/cut\xfe.off")
        out = scans / "described"
        options = ("--descriptor", "xyz", "--jobs", 1)
        code, told, errors = finsler_command("describe", scans, "-o", out, *options)
        assert code == 1 and "2 computed, 0 kept, 1 failed" in told
        assert errors.count("\n") == 1 and errors.startswith(r"failed: cut\xfe: ")
        rows = table(out / "meshes.csv")
        assert list(rows) == ["b", r"bad\xff", r"cut\xfe"]
        assert (out / rows[r"bad\xff"]["file"]).is_file()
        assert "2 kept, 1 failed" in finsler_command("describe", scans, "-o", out, *options)[1]

    def test_a_file_with_a_colon_is_a_file(self, finsler_command, scans, monkeypatch):
        monkeypatch.chdir(scans)
        (scans / "a.off").rename("12:30.off")
        code, told, _ = finsler_command("describe", "12:30.off", "--descriptor", "xyz")
        assert code == 0 and "xyz: 362 vertices, 3 values each" in told

    @pytest.mark.parametrize("jobs", [1, 2])
    def test_defects_are_named(self, finsler_command, scans, jobs):
        (scans / "cut.off").unlink()
        write_spoilt(scans / "fin.off")
        out = scans / "described"
        arguments = ("describe", scans, "-o", out, "--descriptor", "hks", "-k", 20, "--json")
        for outcome, count in (("computed", jobs), ("kept", 1)):
            code, told, errors = finsler_command(*arguments, "--jobs", count)
            report = json.loads(told)
            assert (code, report[outcome], list(report["warnings"])) == (0, 3, ["fin"])
            sentence = report["warnings"]["fin"][0]
            assert sentence.startswith("the mesh has 1 edge with more than two faces: ")
            assert errors.splitlines() == [
                f"note: fin: {text}" for text in report["warnings"]["fin"]
            ]
            rows = table(out / "meshes.csv")
            assert rows["fin"]["warnings"] == " | ".join(report["warnings"]["fin"])
            assert rows["a"]["warnings"] == rows["b"]["warnings"] == ""

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (("--radius", -1), "--radius is -1.0; it must be positive"),
            (("--descriptor", "hks", "--operator", "albo", "--alpha", -3), "alpha is -3.0"),
            (("--descriptor", "hks", "--operator", "albo", "--smoothing", -1), "smoothing"),
            (("--descriptor", "wks", "--operator", "flbo", "--tau", 9), "lower tau"),
            (
                ("--descriptor", "wks", "--operator", "flbo", "--omega", "flat", "--peak", 1),
                "peak is 1.0",
            ),
            (("--jobs", 0), "jobs is 0"),
        ],
    )
    def test_wrong_options_are_one_sentence(self, finsler_command, scans, options, message):
        code, told, errors = finsler_command("describe", scans, "-o", scans / "out", *options)
        assert (code, told, errors.count("\n")) == (2, "", 1) and message in errors
        assert not (scans / "out").exists()

    def test_a_wrong_limit_of_memory(self, finsler_command, scans, monkeypatch):
        monkeypatch.setenv("FINSLER_MEMORY", "abc")
        code, _, errors = finsler_command("describe", scans, "-o", scans / "out", "--jobs", 1)
        assert code == 2 and errors.startswith("error: FINSLER_MEMORY is 'abc'")

    def test_a_collection(self, finsler_command, tmp_path):
        out = tmp_path / "described"
        people = open_meshes(["synthetic:humanoid"])
        assert len(people.names) == len(set(people.names)) == 100
        code, _, errors = finsler_command("describe", "faust_r:nowhere", "-o", out)
        assert code == 2 and errors.count("\n") == 1

    def test_refusals(self, finsler_command, scans):
        code, _, errors = finsler_command("describe", scans)
        assert (code, "give --out" in errors) == (2, True)
        (scans / "a.ply").write_bytes(b"")
        code, _, errors = finsler_command("describe", scans, "-o", scans / "x")
        assert (code, "2 meshes are called 'a'" in errors) == (2, True)
        code, _, errors = finsler_command("describe", scans, "-o", scans / "notes.txt")
        assert code == 2


class TestMatch:
    def test_pairs_of_a_folder(self, finsler_command, scans):
        out = scans / "maps"
        options = ("-k", 20, "--json", "--jobs", 1)
        code, told, errors = finsler_command("match", scans, "--pairs", "all", "-o", out, *options)
        assert code == 1
        report = json.loads(told)
        assert (report["computed"], set(report["failed"])) == (1, {"a__cut", "b__cut"})
        assert "failed: a__cut: " in errors
        with open(out / "pairs.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        assert [(row["mesh_1"], row["mesh_2"]) for row in rows] == [
            ("a", "b"),
            ("a", "cut"),
            ("b", "cut"),
        ]
        assert rows[0]["doubtful"] == str(bool(report["doubtful"]))
        assert 0.0 <= float(rows[0]["torn_share"]) <= 1.0
        assert f"{100 * float(rows[0]['probability']):.0f}%" in rows[0]["verdict"]
        assert float(rows[0]["seconds"]) > 0.0 and 0.0 <= float(rows[0]["confidence"]) <= 1.0
        single = ("match", scans / "a.off", scans / "b.off", "-k", 20, "-o", scans / "one.npz")
        assert finsler_command(*single)[0] == 0
        with np.load(scans / "one.npz") as one, np.load(out / "a__b.npz") as many:
            assert np.array_equal(one["map_12"], many["map_12"])
        pairs = scans / "pairs.txt"
        pairs.write_text("a b\n\nb, a\n")
        options = ("-k", 20, "--json", "--jobs", 1)
        code, told, _ = finsler_command("match", scans, "--pairs", pairs, "-o", out, *options)
        report = json.loads(told)
        assert (code, report["computed"], report["kept"]) == (0, 1, 1)
        # Each of the two meshes was described once, for both pairs.
        assert len(list((out / "described").iterdir())) == 2

    def test_pairs(self, tmp_path):
        every = choose_pairs("all", ("a", "b", "c"))
        assert list(every.values()) == [("a", "b"), ("a", "c"), ("b", "c")]
        listed = tmp_path / "pairs.csv"
        listed.write_text("a,c\nc b\n")
        some = choose_pairs(str(listed), ("a", "b", "c"))
        assert list(some.values()) == [("a", "c"), ("c", "b")]
        for text in ("a d\n", "a\n", "a b c\n", "a," + "b" * 200_000 + "\n"):
            listed.write_text(text)
            with pytest.raises(finsler.InputError, match="line 1 must hold the names of two"):
                choose_pairs(str(listed), ("a", "b", "c"))
        listed.write_bytes(b"\xef\xbb\xbfa b\n")
        assert choose_pairs(str(listed), ("a", "b")) == {"a__b": ("a", "b")}
        listed.write_text("\na b\n\n \nb d\n")
        with pytest.raises(finsler.InputError, match=r"line 5 must hold .* it is 'b d'"):
            choose_pairs(str(listed), ("a", "b"))
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(finsler.InputError, match="folder or device"):
            choose_pairs(str(tmp_path / "pipe"), ("a", "b"))
        with pytest.raises(finsler.InputError, match="no pair to match"):
            choose_pairs("all", ("a",))

    def test_pairs_that_would_share_a_file_are_refused(self, finsler_command, scans):
        (scans / "pairs.txt").write_text("a b\nb a\na b\n")
        assert list(choose_pairs(str(scans / "pairs.txt"), ("a", "b"))) == ["a__b", "b__a"]
        for name in ("a__b", "b__c", "c"):
            (scans / f"{name}.off").write_bytes((scans / "a.off").read_bytes())
        (scans / "pairs.txt").write_text("a b__c\na__b c\n")
        arguments = ("match", scans, "--pairs", scans / "pairs.txt", "-o", scans / "maps")
        code, _, errors = finsler_command(*arguments, "-k", 20, "--jobs", 1)
        assert (code, errors.count("\n")) == (2, 1)
        assert "a and b__c, a__b and c would both be called 'a__b__c'" in errors

    def test_defects_are_named(self, finsler_command, scans):
        (scans / "cut.off").unlink()
        (scans / "b.off").unlink()
        write_moebius(scans / "band.off")
        out = scans / "maps"
        arguments = ("match", scans, "--pairs", "all", "-o", out, "-k", 20, "--jobs", 1)
        for outcome in ("1 computed", "1 kept"):
            code, told, errors = finsler_command(*arguments)
            assert code == 0 and outcome in told
            # A sphere is no band, and that is said, also of a map that is read again.
            assert "\na__band: doubtful (" in told
            assert errors.startswith("note: a__band: the mesh has 4 edges between oppositely")
            assert errors.count("\n") == 1
            with open(out / "pairs.csv", newline="") as file:
                (row,) = csv.DictReader(file)
            assert errors == f"note: a__band: {row['warnings']}\n"

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (("-k", 0), "-k is 0; it must be at least 10"),
            (("--operator", "albo", "--alpha", -3), "alpha is -3.0"),
            (("--model", "nofile.safetensors"), "nofile.safetensors: there is no such file"),
            (("--model", __file__), "no whole safetensors file"),
        ],
    )
    def test_wrong_options_are_one_sentence(self, finsler_command, scans, options, message):
        if "--model" in options:
            pytest.importorskip("torch")
        arguments = ("match", scans, "--pairs", "all", "-o", scans / "out", *options)
        code, told, errors = finsler_command(*arguments)
        assert (code, told, errors.count("\n")) == (2, "", 1) and message in errors
        assert not (scans / "out").exists()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((), "give a second mesh"),
            (("--pairs", "all"), "a folder with --out"),
            (("--pairs", "all", "-o", "maps", "--figure", "x.png"), "--figure is for one pair"),
        ],
    )
    def test_refusals(self, finsler_command, scans, arguments, message):
        code, _, errors = finsler_command("match", scans, *arguments)
        assert code == 2 and message in errors


def test_only_so_many_notes_are_printed(capsys):
    say_notes({f"m{i}": ["one", "two"] for i in range(12)})
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 21
    assert (lines[0], lines[19], lines[20]) == (
        "note: m0: one",
        "note: m9: two",
        "note: and 4 more",
    )


def test_keys_of_results_that_exist_stay():
    corners = TriMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], FACES)
    key = content_key(
        {"a": 1, "b": [1.5, "x"]},
        [corners.vertices, corners.faces, corners.vertices, corners.faces],
    )
    assert key == "b71e10046ea7b0b16410a00b5e5b049fe7e8cafcd7217cef44ffac615a6c4910"


def test_distances_do_not_depend_on_who_computes_them(monkeypatch):
    mesh = primitives.bumpy_sphere(6)
    monkeypatch.setattr("finsler.evaluation.distances._BLOCK", 100)
    seen = []
    first, second = np.arange(20), np.arange(300, 320)
    with opened(Workers(jobs=2)) as pool:
        spread = reference_distances(mesh, pool=pool, progress=lambda *done: seen.append(done))
        some = DistancesOnDemand(mesh, pool=pool).between(first, second)
    assert seen[-1] == (mesh.n_vertices, mesh.n_vertices) and len(seen) == 4
    alone = reference_distances(mesh)
    assert np.array_equal(alone.matrix, spread.matrix)
    assert np.array_equal(some, DistancesOnDemand(mesh).between(first, second))
    with pytest.raises(finsler.InputError, match="method"), opened(Workers(jobs=1)) as pool:
        reference_distances(mesh, method="nonsense", pool=pool)


@pytest.mark.parametrize(
    "arguments",
    [
        ["prepare", "synthetic:humanoid", "--descriptor", "xyz"],
        ["describe", "."],
        ["match", ".", "--pairs", "all"],
    ],
)
def test_a_place_that_ends_with_the_command_is_refused(arguments, finsler_command):
    code, _, told = finsler_command(*arguments, "--out", "memory://place", "--jobs", "1")
    assert code == 2
    assert told.startswith("error: memory://place: what is written there ends with this process")
