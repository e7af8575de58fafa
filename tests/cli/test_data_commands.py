import json
import sys

import numpy as np
import pytest

import fakesets
from finsler.cli.main import main
from finsler.data.collection import Collection, Shape
from finsler.data.sets.opening import open_collection
from finsler.mesh import primitives


@pytest.fixture
def command(monkeypatch, capsys):
    """Run the command in this process; returns exit code, stdout, stderr."""

    def run(*arguments):
        monkeypatch.setenv("COLUMNS", "120")
        monkeypatch.setattr(sys, "argv", ["finsler", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return end.value.code or 0, out, err

    return run


@pytest.fixture
def dogs(tmp_path):
    return fakesets.remeshed(tmp_path / "TOSCA_r", [f"dog{i}" for i in range(5)], frequency=6)


@pytest.fixture
def synthetic(monkeypatch):
    """A stand-in for the generator of shapes, and the arguments it was called with."""
    calls = []

    def synthetic_collection(species, *, train, test, vertices, seed):
        calls.append((species, train, test, vertices, seed))
        mesh = primitives.bumpy_sphere(3)
        identity = np.arange(mesh.n_vertices), np.ones(mesh.n_vertices, dtype=bool)
        names = tuple(f"{species}_{i}" for i in range(train + test))
        return Collection(
            species, names[:train], names[train:], names[0], lambda n: Shape(n, mesh, *identity)
        )

    monkeypatch.setattr("finsler.cli.data.synthetic_collection", synthetic_collection)
    monkeypatch.setattr("finsler.cli.data.load_all", lambda made, workers, progress: made)
    return calls


def test_check_of_a_clean_set(command, dogs):
    code, out, err = command("data", "check", dogs.folder)
    assert (code, err) == (0, "")
    assert "TOSCA_r dog" in out and "usable" in out and "Nothing to complain about." in out


def test_check_names_file_line_and_remedy_and_exits_with_2(command, dogs):
    path = dogs.folder / "corres" / "dog2.vts"
    lines = path.read_text().splitlines()
    fakesets.numbers(path, [*lines[:4], 0, *lines[5:]])
    code, out, err = command("data", "check", dogs.folder)
    assert (code, err) == (2, "")
    assert "unusable" in out and "Findings (1)" in out
    assert f"error {path}: line 5: names vertex 0" in out and "add 1 to every line" in out


def test_check_as_json(command, dogs):
    (dogs.folder / "off" / "dog1.off").unlink()
    code, out, err = command("data", "check", dogs.folder, "--json")
    answer = json.loads(out)
    assert (code, err) == (2, "") and answer["usable"] is False
    assert answer["sets"][0]["findings"][0]["severity"] == "error"


def test_check_of_a_folder_without_a_set(command, tmp_path):
    code, out, err = command("data", "check", tmp_path)
    assert (code, out) == (2, "")
    assert err.startswith("error: ") and err.count("\n") == 1 and "is recognised" in err


@pytest.mark.parametrize("kind", ["cuts", "holes"])
def test_partial_shapes_read_back_and_check(command, dogs, tmp_path, kind):
    out_folder = tmp_path / "parts"
    source = f"tosca_r:{dogs.folder}:dog"
    code, out, err = command(
        "data", "make-partial", source, out_folder, "--kind", kind, "--share", 0.5, 0.7, "--json"
    )
    answer = json.loads(out)
    assert (code, err) == (0, "") and (answer["train"], answer["test"]) == (4, 1)
    assert answer["config"]["share"] == [0.5, 0.7]
    parts, full = open_collection(out_folder), open_collection(source)
    assert parts.reference == "dog0" and len(parts) == 5
    for shape in parts:
        whole = full[shape.name.split("_")[1]]
        back = {tuple(point): i for i, point in enumerate(whole.mesh.vertices)}
        origin = [back[tuple(point)] for point in shape.mesh.vertices]
        assert np.array_equal(shape.labels, whole.labels[origin])
        assert np.array_equal(shape.named, whole.named[origin])
    assert command("data", "check", out_folder)[0] == 0


def test_bad_requests_are_one_sentence(command, dogs, tmp_path):
    for arguments, words in [
        (("make-partial", f"tosca_r:{dogs.folder}:lion", tmp_path / "a"), "category is 'lion'"),
        (("make-partial", f"tosca_r:{dogs.folder}", tmp_path / "a"), "incomplete; write tosca_r"),
        (("make-partial", dogs.folder, dogs.folder), "not an empty folder"),
        (("make-partial", dogs.folder, tmp_path / "a", "--share", 0.9, 0.2), "smaller end first"),
    ]:
        code, out, err = command("data", *arguments)
        assert (code, out) == (2, "")
        assert words in err and err.startswith("error: ") and err.count("\n") == 1


def test_synthetic_shapes_read_back(command, synthetic, tmp_path):
    folder = tmp_path / "toys"
    options = ("--train", 2, "--test", 1, "--vertices", 200, "--seed", 7)
    code, out, err = command("data", "synthesize", "blob", folder, *options)
    assert (code, err) == (0, "") and "2 shapes to train and 1 to test" in out
    assert synthetic == [("blob", 2, 1, 200, 7)]
    back = open_collection(folder)
    assert (back.train, back.test, back.reference) == (("blob_0", "blob_1"), ("blob_2",), "blob_0")
    assert back["blob_2"].named.all()
    about = json.loads((folder / "split.json").read_text())
    assert about["record"]["config"]["seed"] == 7


def test_synthesize_packs_into_one_file_and_spares_one_that_is_there(command, synthetic, tmp_path):
    file, options = tmp_path / "toys.npz", ("--train", 2, "--test", 1, "--vertices", 200)
    file.write_bytes(b"someone else's")
    code, _, err = command("data", "synthesize", "blob", file, *options)
    assert code == 2 and "--overwrite" in err and file.read_bytes() == b"someone else's"
    code, out, err = command("data", "synthesize", "blob", file, *options, "--overwrite")
    assert (code, err) == (0, "") and "2 shapes to train and 1 to test" in out
    assert open_collection(file).names == ("blob_0", "blob_1", "blob_2")


def test_help_names_the_commands(command):
    code, out, _ = command("data", "--help")
    assert code == 0 and all(word in out for word in ("check", "make-partial", "synthesize"))
