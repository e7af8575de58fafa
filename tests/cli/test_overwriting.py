"""Nothing that a user has is overwritten unasked."""

import os
import stat

import pytest
from typer.testing import CliRunner

import finsler
from finsler.cli.main import app
from finsler.errors import InputError
from finsler.storage.files import write_bytes
from finsler.storage.outputs import require_outputs, written_by

BALL = finsler.primitives.bumpy_sphere(4)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    finsler.write_mesh(tmp_path / "m.ply", BALL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("command", ["heat", "distance", "kernel"])
@pytest.mark.parametrize("link", [None, os.symlink, os.link])
def test_an_input_is_never_written(folder, command, link):
    out = "m.ply" if link is None else "other.ply"
    if link is not None:
        link(folder / "m.ply", folder / out)
    before = (folder / "m.ply").read_bytes()
    with pytest.raises(InputError, match="is read by the same command"):
        run(command, f"../{folder.name}/m.ply", "-o", out, "--overwrite")
    assert (folder / "m.ply").read_bytes() == before


def test_repair_does_not_replace_its_input(folder):
    with pytest.raises(InputError, match="is read by the same command"):
        run("info", "m.ply", "--repair", "m.ply", "--overwrite")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("r.npz", ["distance", "m.ply", "-o", "r.npz"]),
        ("r.ply", ["distance", "m.ply", "-o", "r.ply"]),
        ("r.vtk", ["heat", "m.ply", "-t", 0.1, "-o", "r.vtk"]),
        ("r.png", ["distance", "m.ply", "--figure", "r.png"]),
        ("r.svg", ["distance", "m.ply", "--figure", "r.svg"]),
        ("r.pdf", ["distance", "m.ply", "--figure", "r.pdf"]),
        ("r.gif", ["distance", "m.ply", "--animate", "r.gif", "--frames", 2]),
        ("r.mat", ["operator", "m.ply", "--angles", 1, "-o", "r.mat"]),
        ("r_mass.mtx", ["operator", "m.ply", "--angles", 1, "-o", "r.mtx"]),
        ("r.off", ["info", "m.ply", "--repair", "r.off"]),
        ("r.obj", ["info", "m.ply", "--repair", "r.obj"]),
        ("r.stl", ["info", "m.ply", "--repair", "r.stl"]),
    ],
)
def test_a_foreign_file_is_replaced_only_when_asked(folder, name, options):
    (folder / name).write_bytes(b"what a user made")
    with pytest.raises(InputError, match="add --overwrite"):
        run(*options)
    assert (folder / name).read_bytes() == b"what a user made"
    run(*options, "--overwrite")
    assert (folder / name).read_bytes() != b"what a user made"
    # The command's own result says so inside, and is replaced without a question.
    run(*options)


def test_the_result_of_another_command_is_foreign(folder):
    run("operator", "m.ply", "--angles", 1, "-o", "r.npz")
    with pytest.raises(InputError, match="was not written by this command"):
        run("spectrum", "m.ply", "-k", 3, "-o", "r.npz")
    assert len(finsler.load_operators("r.npz").theta) == 1


def test_a_mesh_that_python_wrote_is_foreign(folder):
    finsler.write_mesh("r.ply", BALL)
    with pytest.raises(InputError, match="add --overwrite"):
        run("distance", "m.ply", "-o", "r.ply")


def test_two_results_need_two_files(folder):
    with written_by("heat"), pytest.raises(InputError, match="two results"):
        require_outputs(["a.ply", f"../{folder.name}/a.ply"])


def test_meshes_with_marks_are_read_back(folder):
    for ending in ("off", "obj", "ply", "stl"):
        run("info", "m.ply", "--repair", f"r.{ending}")
        assert b"made by finsler info" in (folder / f"r.{ending}").read_bytes()
        assert finsler.load_mesh(f"r.{ending}").n_faces == BALL.n_faces


def test_links_are_followed_and_permissions_kept(folder):
    (folder / "real.npz").write_bytes(b"old")
    (folder / "real.npz").chmod(0o640)
    (folder / "link.npz").symlink_to("real.npz")
    assert write_bytes(folder / "link.npz", b"new") == folder / "link.npz"
    assert (folder / "link.npz").is_symlink()
    assert (folder / "real.npz").read_bytes() == b"new"
    assert stat.S_IMODE((folder / "real.npz").stat().st_mode) == 0o640


def test_match_spares_meshes_that_are_named_like_its_coloured_copies(folder):
    # The copies would be map_A.ply and map_B.ply.
    finsler.write_mesh("map_A.ply", BALL)
    finsler.write_mesh("map_B.ply", BALL)
    before = [(folder / f"map_{name}.ply").read_bytes() for name in "AB"]
    with pytest.raises(InputError, match="is read by the same command"):
        run("match", "map_A.ply", "map_B.ply", "-o", "map.npz", "--overwrite")
    with pytest.raises(InputError, match="add --overwrite"):
        run("match", "m.ply", "m.ply", "-o", "map.npz")
    assert before == [(folder / f"map_{name}.ply").read_bytes() for name in "AB"]
    assert not (folder / "map.npz").exists()


def test_describe_spares_foreign_files(folder):
    (folder / "d.npz").write_bytes(b"what a user made")
    with pytest.raises(InputError, match="add --overwrite"):
        run("describe", "m.ply", "--descriptor", "xyz", "-o", "d.npz")
    finsler.write_mesh("n.ply", BALL)
    many = ("describe", "m.ply", "n.ply", "--descriptor", "xyz", "-o", "many")
    (folder / "many").mkdir()
    (folder / "many" / "n.npz").write_bytes(b"what a user made")
    with pytest.raises(InputError, match="no result of this command"):
        run(*many)
    run(*many, "--overwrite")
    run(*many)
    (folder / "many" / "meshes.csv").write_text("name,grade\n")
    with pytest.raises(InputError, match="no table of such results"):
        run(*many)


def test_a_store_keeps_its_collection_and_options(folder):
    make = ("data", "synthesize", "humanoid")
    size = ("--test", 1, "--vertices", 500, "--jobs", 1)
    run(*make, "a", "--train", 1, *size)
    run(*make, "b", "--train", 2, *size)
    options = ("--descriptor", "xyz", "--angles", 2, "--jobs", 1, "--out", "store")
    run("prepare", "a", *options)
    before = (folder / "store" / "store.json").read_bytes()
    run("prepare", "a", *options)
    with pytest.raises(InputError, match="with other options"):
        run("prepare", "a", *options, "--alpha", 3)
    with pytest.raises(InputError, match="another collection"):
        run("prepare", "b", *options)
    assert (folder / "store" / "store.json").read_bytes() == before
    run("prepare", "b", *options, "--overwrite")
    (folder / "store" / "store.json").write_text('{"mine": 1}')
    with pytest.raises(InputError, match="no list of a store"):
        run("prepare", "b", *options)


def test_demo_spares_foreign_files(folder):
    (folder / "demo").mkdir()
    (folder / "demo" / "shape.ply").write_bytes(b"what a user made")
    with pytest.raises(InputError, match="add --overwrite"):
        run("demo", "--out", "demo", "--quick")
    assert [path.name for path in (folder / "demo").iterdir()] == ["shape.ply"]


def test_train_spares_a_folder_that_is_no_run(folder):
    pytest.importorskip("torch")
    size = ("--train", 1, "--test", 1, "--vertices", 500, "--jobs", 1)
    run("data", "synthesize", "humanoid", "a", *size)
    run("prepare", "a", "--descriptor", "xyz", "--angles", 2, "--jobs", 1, "--out", "store")
    (folder / "run").mkdir()
    (folder / "run" / "report.html").write_bytes(b"what a user made")
    with pytest.raises(InputError, match="belongs to no run; add --overwrite"):
        run("train", "store", "--out", "run", "--model", "small", "--set", "epochs=1")
    assert [path.name for path in (folder / "run").iterdir()] == ["report.html"]
