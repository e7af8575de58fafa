"""The commands that compute, run as a user runs them."""

import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import finsler
from finsler.cli.main import COMMANDS, app, load_command
from finsler.data.sets.opening import DATA_SETS

runner = CliRunner()


@pytest.fixture(scope="module")
def mesh_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("mesh") / "shape.off"
    finsler.write_mesh(path, finsler.primitives.bumpy_sphere(8))
    return path


def run(*arguments):
    result = runner.invoke(app, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


class TestOperator:
    def test_writes_what_the_library_computes(self, mesh_file, tmp_path):
        out = tmp_path / "ops.npz"
        result = run("operator", mesh_file, "--alpha", 5, "--tau", 0.3, "--angles", 4, "-o", out)
        assert "4 operators on 642 vertices" in result.stdout
        stack = finsler.load_operators(out)
        expected = finsler.angle_stack(finsler.load_mesh(mesh_file), alpha=5, tau=0.3, angles=4)
        assert np.array_equal(stack.values, expected.values)

    def test_json(self, mesh_file, tmp_path):
        result = run("operator", mesh_file, "-o", tmp_path / "ops.mtx", "--json", "--angles", 2)
        answer = json.loads(result.stdout)
        assert len(answer["files"]) == 3
        assert answer["vertices"] == 642
        assert answer["config"]["alpha"] == 10.0

    def test_varying_omega(self, mesh_file, tmp_path):
        run("operator", mesh_file, "--omega", "curved", "--peak", 0.8, "-o", tmp_path / "c.npz")
        mesh = finsler.load_mesh(mesh_file)
        tau = finsler.tau_of_strength(mesh, finsler.curvature_strength(mesh, peak=0.8))
        expected = finsler.angle_stack(mesh, tau=tau)
        assert np.allclose(finsler.load_operators(tmp_path / "c.npz").values, expected.values)

    def test_chebyshev(self, mesh_file, tmp_path):
        run("operator", mesh_file, "--chebyshev", "reference", "-o", tmp_path / "c.npz")
        stack = finsler.angle_stack(finsler.load_mesh(mesh_file))
        expected = finsler.chebyshev_operators(stack, normalization="reference")
        with np.load(tmp_path / "c.npz") as data:
            assert np.array_equal(data["values"], expected.values)
            assert np.array_equal(data["lambda_max"], expected.lambda_max)


class TestSpectrum:
    def test_table(self, mesh_file):
        result = run("spectrum", mesh_file, "-k", 30)
        found = finsler.spectrum(finsler.lbo(finsler.load_mesh(mesh_file)), 30)
        assert f"{found.eigenvalues[1]:.8g}" in result.stdout
        assert "residual" in result.stdout

    def test_files_and_json(self, mesh_file, tmp_path):
        out, figure = tmp_path / "s.npz", tmp_path / "s.png"
        arguments = ["-k", 6, "--operator", "flbo", "--theta", 45, "-o", out, "--figure", figure]
        answer = json.loads(run("spectrum", mesh_file, *arguments, "--json").stdout)
        mesh = finsler.load_mesh(mesh_file)
        expected = finsler.spectrum(finsler.flbo(mesh, theta=np.pi / 4), 6)
        assert np.allclose(answer["eigenvalues"], expected.eigenvalues)
        with np.load(out) as data:
            assert np.allclose(data["eigenvectors"], expected.eigenvectors)
        assert figure.read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["spectrum", "nowhere.off"], "there is no such file"),
        (["spectrum", "MESH", "-k", "0"], "k is 0"),
        (["spectrum", "MESH", "-o", "s.txt"], "not one of .npz"),
        (["operator", "MESH", "-o", "ops.xyz"], "not one of .npz"),
        (["operator", "MESH", "-o", "ops.npz", "--tau", "9"], "lower tau"),
        (["operator", "MESH", "-o", "ops.npz", "--alpha", "nan"], "alpha is nan"),
        (
            ["operator", "MESH", "-o", "ops.npz", "--angles", "0"],
            "angles is 0; it must lie between 1",
        ),
        (["operator", "MESH", "-o", "ops.npz", "--omega", "curved", "--peak", "1"], "peak is 1"),
        (["operator", "MESH", "-o", "ops.mat", "--chebyshev", "plain"], "as .npz only"),
    ],
)
def test_bad_input_is_one_sentence_and_code_2(mesh_file, tmp_path, arguments, sentence):
    command = [str(mesh_file) if a == "MESH" else a for a in arguments]
    done = subprocess.run(
        [sys.executable, "-m", "finsler.cli.main", *command],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stderr.startswith("error: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", list(COMMANDS))
def test_every_command_explains_itself(command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert len(result.stdout) > 500
    first, _, _ = (load_command(command).help or "").partition("\n\n")
    assert " ".join(first.split()) == COMMANDS[command]


def test_a_mistyped_command_is_pointed_to_the_right_one():
    result = run("inof")
    assert result.exit_code == 2
    assert "Did you mean 'info'?" in result.output


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "store", "--out", "run"],
        ["train", "--settings"],
        ["reproduce", "faust", "synthetic:humanoid", "--out", "run"],
        ["evaluate", "m.safetensors", "--store", "s", "--collection", "synthetic:humanoid"],
        ["match", "a.off", "b.off", "--model", "m", "-o", "x.npz"],
        ["match", ".", "--pairs", "all", "--model", "m", "-o", "x"],
    ],
)
def test_without_torch_what_to_install_is_named(arguments, tmp_path):
    for name in ("a.off", "b.off"):
        finsler.write_mesh(tmp_path / name, finsler.primitives.bumpy_sphere(3))
    script = "import sys; sys.modules['torch'] = None; from finsler.cli.main import main; main()"
    found = subprocess.run(
        [sys.executable, "-c", script, *arguments], cwd=tmp_path, capture_output=True, text=True
    )
    assert found.returncode == 2
    assert found.stderr == "error: this needs torch; pip install 'finsler[learn]'\n"


def test_help_needs_no_torch():
    script = """
import sys
sys.modules["torch"] = None
from typer.testing import CliRunner
from finsler.cli.main import COMMANDS, app
for name in COMMANDS:
    done = CliRunner().invoke(app, [name, "--help"])
    print(name, done.exit_code, len(done.output) > 500, done.exception)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.splitlines() == [f"{name} 0 True None" for name in COMMANDS], done.stderr


@pytest.mark.parametrize(
    "words", [["prepare"], ["evaluate"], ["reproduce"], ["data", "pack"], ["data", "make-partial"]]
)
def test_help_lists_every_data_set(words):
    command = load_command(words[0])
    for word in words[1:]:
        command = command.commands[word]
    [text] = [option.help for option in command.params if option.name == "collection"]
    assert all(f" {name}:" in text for name in DATA_SETS)
