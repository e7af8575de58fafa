"""`finsler view`, run as a user runs it."""

import re
import signal
import subprocess
import sys
import urllib.request

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import finsler
from finsler.cli import view as command
from finsler.errors import InputError
from finsler.mesh import primitives
from finsler.storage.npz import write_npz
from finsler.view.web import Page

pytest.importorskip("viser")

runner = CliRunner()
app = typer.Typer()
app.command()(command.view)

BALL = primitives.sphere(3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("meshes")
    finsler.write_mesh(folder / "a.off", BALL)
    finsler.write_mesh(folder / "b.off", BALL)
    send = np.roll(np.arange(BALL.n_vertices), 1)
    error = np.linspace(0.0, 1.0, BALL.n_vertices)
    arrays = {"map_12": send, "cycle": error, "error": error**2}
    write_npz(folder / "map.npz", arrays, {})
    turned = {"alternatives_12": send[None, ::-1], "alternatives_probability": np.array([0.2])}
    write_npz(folder / "several.npz", {**arrays, "probability": np.array(0.7), **turned}, {})
    (folder / "pairs.txt").write_text("3 4\n7 1\n")
    (folder / "far.txt").write_text("3 5000\n")
    (folder / "a.vts").write_text("3\n7\n9\n")
    (folder / "b.vts").write_text("5\n1\n2\n")
    (folder / "short.vts").write_text("5\n")
    return folder


@pytest.fixture
def shown(monkeypatch):
    """The scenes of the commands that were run, which stop at once instead of serving on."""
    scenes = []

    class Recorded(Page):
        def __init__(self, scene, **options):
            scenes.append(scene)
            scene.outputs = options["outputs"]
            super().__init__(scene, **options)

        def open(self):
            scenes.append("opened")

    monkeypatch.setattr("finsler.cli.view.Page", Recorded)
    monkeypatch.setattr(command, "_wait", lambda: None)
    return scenes


def run(*arguments):
    result = runner.invoke(app, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


def test_a_mesh_alone_is_served_here_and_opened(folder, shown):
    result = run(folder / "a.off")
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+ \(Ctrl-C stops\)\n", result.stdout)
    assert result.stderr == ""
    [scene, opened] = shown
    assert opened == "opened" and len(scene.surfaces) == 1
    assert scene.map_12 is None and scene.error is None


def test_maps_labels_and_errors_reach_the_scene(folder, shown):
    pair = (folder / "a.off", folder / "b.off", "--no-browser")
    run(*pair, "--map", folder / "map.npz", "--error", folder / "map.npz")
    labels = ("--labels", folder / "a.vts", folder / "b.vts")
    with pytest.warns(UserWarning, match="names 3 of the 92 vertices"):
        run(*pair, *labels, "--error", f"{folder}/map.npz:cycle")
    mapped, labelled = shown
    count = np.arange(BALL.n_vertices)
    assert np.array_equal(mapped.map_12, np.roll(count, 1))
    expected = np.full(BALL.n_vertices, -1)
    expected[[2, 6, 8]] = 4, 0, 1
    assert np.array_equal(labelled.map_12, expected)
    assert np.allclose(np.sqrt(mapped.error), labelled.error)


def test_alternatives_and_landmarks_reach_the_scene_and_files_the_page(folder, shown, tmp_path):
    pair = (folder / "a.off", folder / "b.off", "--no-browser", "--map", folder / "several.npz")
    files = ("--landmarks", folder / "pairs.txt", "--save", tmp_path / "chosen.npz")
    run(*pair, *files, "--overwrite")
    run(*pair, "--landmarks", tmp_path / "new.txt")
    [scene, fresh] = shown
    assert [offer.title for offer in scene.maps] == ["best map, 70%", "alternative 1, 20%"]
    assert np.array_equal(scene.maps[1].map_12, scene.map_12[::-1])
    assert scene.landmarks == ((3, 4), (7, 1)) and fresh.landmarks == ()
    assert scene.outputs.map == tmp_path / "chosen.npz" and scene.outputs.overwrite
    assert scene.outputs.about == {"mesh_1": "a.off", "mesh_2": "b.off"}
    assert (fresh.outputs.map, fresh.outputs.overwrite) == (None, False)
    # Looking writes nothing.
    assert list(tmp_path.iterdir()) == []
    assert (folder / "pairs.txt").read_text() == "3 4\n7 1\n"


def test_serving_to_others_is_said_in_one_sentence(folder, shown, tmp_path):
    result = run(folder / "a.off", "--no-browser", "--host", "0.0.0.0")
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("warning: every machine that reaches")
    assert "written" not in result.stderr
    pair = (folder / "a.off", folder / "b.off", "--save", tmp_path / "chosen.npz")
    result = run(*pair, "--no-browser", "--host", "0.0.0.0")
    assert result.stderr.count("\n") == 1 and "chosen.npz written" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("a.off", "--map", "map.npz"), "give MESH2"),
        (("a.off", "b.off", "--map", "map.npz", "--labels", "a.vts", "b.vts"), "give one of them"),
        (("a.off", "b.off", "--labels", "a.vts", "short.vts"), "has 3 lines and .* has 1"),
        (("a.off", "--error", "map.npz:nothing"), "no array 'nothing"),
        (("a.off", "--error", "missing.npz"), "no such file"),
        (("missing.off",), "missing.off"),
        (("a.off", "--host", "example.org"), "numeric address"),
        (("a.off", "--landmarks", "new.txt"), "give MESH2"),
        (("a.off", "--save", "new.npz"), "give MESH2"),
        (("a.off", "b.off", "--save", "new.txt"), "not one of .npz"),
        (("a.off", "b.off", "--save", "none/new.npz"), "create it first"),
        (("a.off", "b.off", "--save", "map.npz"), "add --overwrite"),
        (("a.off", "b.off", "--map", "map.npz", "--save", "map.npz", "--overwrite"), "is read by"),
        (("a.off", "b.off", "--landmarks", "pairs.txt"), "add --overwrite"),
        (("a.off", "b.off", "--landmarks", "a.vts"), "not one of .txt, .csv"),
        (("a.off", "b.off", "--landmarks", "far.txt", "--overwrite"), "5000 is not a vertex"),
    ],
)
def test_bad_input_is_one_sentence(folder, monkeypatch, arguments, sentence):
    monkeypatch.chdir(folder)
    with pytest.raises(InputError, match=sentence):
        run(*arguments, "--no-browser")


def test_ctrl_c_stops_it_cleanly(folder):
    # A shell makes its background jobs ignore the signal, and they hand that on: undo it.
    script = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
        " import typer; from finsler.cli.view import view; typer.run(view)"
    )
    arguments = [sys.executable, "-c", script, str(folder / "a.off"), "--no-browser"]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        url = process.stdout.readline().split()[0]
        with urllib.request.urlopen(url, timeout=20) as answer:
            assert b"<!doctype html>" in answer.read(100)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert (process.returncode, out.strip(), err) == (0, "", "")
