"""Many meshes: `finsler describe`, `finsler match`, and the distances of `finsler evaluate`."""

import csv
import json
import os
import sys

import numpy as np
import pytest

import finsler
from finsler import primitives
from finsler.cli.batch import meshes_at
from finsler.cli.main import main
from finsler.cli.match_pairs import wanted_pairs
from finsler.cluster import Workers, opened
from finsler.evaluation import DistancesOnDemand, reference_distances


@pytest.fixture
def finsler_command(monkeypatch, capsys):
    """Run the command; its exit code, and what it says on both channels."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["finsler", *map(str, arguments)])
        try:
            main()
            code = 0
        except SystemExit as stopped:
            code = stopped.code or 0
        told = capsys.readouterr()
        return code, told.out, told.err

    return run


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


def table(path):
    with open(path, newline="") as file:
        return {row[next(iter(row))]: row for row in csv.DictReader(file)}


class TestDescribe:
    def test_each_mesh_gets_a_file_and_failures_stop_nothing(self, finsler_command, scans):
        out = scans / "described"
        options = ("--descriptor", "hks", "-k", 20, "--jobs", 1)
        code, told, errors = finsler_command("describe", scans, "-o", out, *options)
        assert code == 1
        assert "2 computed, 0 found, 1 failed" in told
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
            return report["computed"], report["found"]

        assert counts() == (2, 0)
        assert counts() == (0, 2)
        finsler.write_mesh(scans / "a.off", primitives.bumpy_sphere(6, amplitude=0.3))
        assert counts() == (1, 1)
        (scans / "described" / "b.npz").write_bytes(b"damaged")
        assert counts() == (1, 1)
        assert counts("--descriptor", "normals") == (2, 0)

    def test_a_collection(self, finsler_command, tmp_path):
        out = tmp_path / "described"
        people = meshes_at(["synthetic:humanoid"])
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
        assert (code, report["computed"], report["found"]) == (0, 1, 1)

    def test_pairs(self, tmp_path):
        assert wanted_pairs("all", ("a", "b", "c")) == [("a", "b"), ("a", "c"), ("b", "c")]
        listed = tmp_path / "pairs.csv"
        listed.write_text("a,c\nc b\n")
        assert wanted_pairs(str(listed), ("a", "b", "c")) == [("a", "c"), ("c", "b")]
        for text in ("a d\n", "a\n", "a b c\n", "a," + "b" * 200_000 + "\n"):
            listed.write_text(text)
            with pytest.raises(finsler.InputError, match="line 1 must hold the names of two"):
                wanted_pairs(str(listed), ("a", "b", "c"))
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(finsler.InputError, match="folder or device"):
            wanted_pairs(str(tmp_path / "pipe"), ("a", "b"))
        with pytest.raises(finsler.InputError, match="no pair to match"):
            wanted_pairs("all", ("a",))

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
