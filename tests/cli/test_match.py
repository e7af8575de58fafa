"""`finsler match`, run as a user runs it."""

import json

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import finsler
from finsler.cli.match import match
from finsler.errors import InputError

runner = CliRunner()
app = typer.Typer()
app.command()(match)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("meshes")
    mesh = finsler.primitives.bumpy_sphere(6)
    finsler.write_mesh(folder / "a.off", mesh)
    turned = finsler.TriMesh(100.0 * mesh.vertices[:, [1, 2, 0]], mesh.faces)
    finsler.write_mesh(folder / "b.ply", turned)
    return folder / "a.off", folder / "b.ply"


def run(*arguments):
    result = runner.invoke(app, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_files_and_report(files, tmp_path):
    out, colors = tmp_path / "map.npz", tmp_path / "colors"
    answer = json.loads(run(*files, "-o", out, "--colors", colors, "-k", 60, "--json"))
    with np.load(out) as data:
        arrays = {name: data[name] for name in data}
    same = np.arange(362)
    assert (arrays["map_12"] == same).mean() > 0.95 and (arrays["map_21"] == same).mean() > 0.95
    assert arrays["functional"].shape == (60, 60) and arrays["eigenvalues_1"].shape == (60,)
    assert arrays["confidence"].mean() == pytest.approx(answer["confidence"]["mean"])
    assert arrays["expected"].mean() == pytest.approx(answer["expected_error"])
    assert answer["expected_error"] < 0.01
    assert arrays["cycle"].mean() == pytest.approx(answer["cycle"]["mean"])
    config = json.loads(str(arrays["config"]))["config"]
    assert config == answer["config"] and config["operator"] == "lbo" and config["model"] == "box"
    assert "map_12 sends each vertex of mesh_1" in config["direction"]
    said = answer["verdict"]
    assert said["doubtful"] is False and said["sentence"].startswith("probably right")
    assert arrays["torn_share"] == said["torn_share"] == 0.0
    assert arrays["distance_change"] == said["distance_change"] < 0.02
    assert answer["vertices"] == [362, 362] and answer["orientation"] > 0.9
    # Each vertex of A has the colour of its partner on B.
    written = [colors / "A_a.ply", colors / "B_b.ply"]
    assert answer["files"] == [str(path) for path in (out, *written)]
    shades = [_colors(path) for path in written]
    assert np.array_equal(shades[0], shades[1][arrays["map_12"]])
    assert len(np.unique(shades[1], axis=0)) > 300


def test_coloured_meshes_next_to_the_map(files, tmp_path):
    out = tmp_path / "map.npz"
    run(*files, "-o", out, "-k", 40)
    with np.load(out) as data:
        map_12 = data["map_12"]
    shades = [_colors(tmp_path / name) for name in ("map_A.ply", "map_B.ply")]
    assert np.array_equal(shades[0], shades[1][map_12])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["map.npz", "map_A.ply", "map_B.ply"]


def _colors(path):
    import trimesh

    return np.asarray(trimesh.load(path, process=False).visual.vertex_colors)[:, :3]


def test_text_figure_and_operator(files, tmp_path):
    figure = tmp_path / "map.png"
    options = ["--operator", "flbo", "--omega", "curved", "--alpha", 0.5, "-k", 40]
    text = run(*files, *options, "--figure", figure)
    assert "362 vertices of A sent to B, which has 362; functional map 40 × 40" in text
    assert "right side up" in text and f"Wrote {figure}" in text
    assert figure.stat().st_size > 10_000


def test_failed_match_is_announced(files, tmp_path):
    # A ball on a ring: no map can be right.
    finsler.write_mesh(tmp_path / "ring.off", finsler.primitives.torus(24, 12))
    text = run(files[0], tmp_path / "ring.off", "-k", 30)
    assert "\ndoubtful (" in text and "--landmarks" in text


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-o", "map.txt"], "not one of .npz"),
        (["-o", "none/map.npz"], "create it first"),
        (["--figure", "map.gif"], "not one of .png"),
        (["--no-refine"], "give one with --model"),
        (["--model", "none.safetensors"], "no such file"),
        (["-k", "3"], "k of at least 10"),
        (["--landmarks", "none.txt"], "none.txt"),
        (["--model", "boxes.npz"], "no such file"),
    ],
)
def test_bad_options(files, tmp_path, monkeypatch, arguments, sentence):
    if "--model" in arguments:
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=sentence):
        run(*files, *arguments)
    assert list(tmp_path.iterdir()) == []


def test_unreadable_files(files, tmp_path):
    broken = tmp_path / "broken.off"
    broken.write_text("OFF\n3 1 0\n0 0", encoding="utf-8")
    for path in (broken, tmp_path / "missing.off", tmp_path):
        with pytest.raises(InputError, match=str(path)):
            run(files[0], path)
    with pytest.raises(InputError, match="this is a file; give a folder"):
        run(*files, "--colors", broken)


def test_help_has_an_example():
    text = " ".join(run("--help").split())
    assert "Example" in text and "--partial" in text and "--model" in text


def test_alternatives_landmarks_and_strict(files, tmp_path):
    out, report = tmp_path / "map.npz", tmp_path / "map.html"
    marks = tmp_path / "marks.txt"
    marks.write_text("0 0\n100 100\n250 250\n")
    options = ["-k", 40, "--landmarks", marks, "--strict", "--json"]
    assert json.loads(run(*files, *options))["verdict"]["probability"] > 0.5
    # An egg fits onto itself in several ways.
    ball = finsler.primitives.sphere(6)
    finsler.write_mesh(
        tmp_path / "egg.off", finsler.TriMesh(ball.vertices * [1, 1.2, 1.5], ball.faces)
    )
    egg = tmp_path / "egg.off"
    options = ["-k", 40, "--alternatives", 1, "--json", "-o", out, "--report", report]
    answer = json.loads(run(egg, egg, *options))
    assert len(answer["alternatives"]) == 1
    with np.load(out) as data:
        assert data["alternatives_12"].shape == (1, 362)
        assert data["alternatives_21"].shape == (1, 362)
        assert data["alternatives_probability"][0] <= data["probability"]
    page = report.read_text()
    assert "Alternative 1: " in page and "in place of the best map" in page


def test_strict_exits_with_its_own_status(files, tmp_path):
    finsler.write_mesh(tmp_path / "ring.off", finsler.primitives.torus(24, 12))
    arguments = (files[0], tmp_path / "ring.off", "-k", 30, "--strict")
    result = runner.invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 3 and "doubtful" in result.stdout


def test_without_model(files):
    answer = json.loads(run(*files, "-k", 40, "--model", "none", "--json"))
    assert answer["config"]["model"] == "none" and answer["verdict"]["features"] is None
