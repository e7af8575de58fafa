"""Outputs that are not UTF-8, names that are no text, odd settings, interruptions."""

import os
import subprocess
import sys

import pytest

import finsler
from finsler.cli.main import main

BALL = finsler.primitives.bumpy_sphere(4)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    finsler.write_mesh(tmp_path / "m.off", BALL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def finsler_run(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "finsler", *arguments],
        capture_output=True,
        env={**os.environ, **environment},
        check=False,
    )


@pytest.fixture
def command(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["finsler", *map(str, arguments)])
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code
        out, err = capsys.readouterr()
        return code or 0, out, err

    return run


@pytest.mark.parametrize(
    "surroundings",
    [
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"PYTHONIOENCODING": "cp1252"},
    ],
)
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["info", "m.off"], b"components"),
        (["spectrum", "m.off", "-k", "25"], b"largest relative residual"),
        (["distance", "--help"], b"sqrt (1 + alpha)"),
    ],
)
def test_outputs_that_are_not_utf_8(folder, surroundings, arguments, text):
    done = finsler_run(*arguments, **surroundings)
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr
    assert text in done.stdout


@pytest.mark.parametrize("name", ["x[/].npz", "[bold]x.npz"])
def test_names_that_look_like_markup(folder, command, name):
    (folder / "x[").mkdir()
    code, out, _ = command("spectrum", "m.off", "-k", 3, "-o", name)
    assert code == 0 and f"Wrote {name}" in out
    assert (folder / name).exists()


def test_names_that_are_no_text(folder):
    name = os.fsdecode(b"\xff.off")
    try:
        finsler.write_mesh(name, BALL)
    except OSError:
        pytest.skip("this file system takes names of text only")
    done = finsler_run("info", name)
    assert (done.returncode, done.stderr) == (0, b"")
    assert rb"\udcff.off" in done.stdout


def test_a_senseless_backend_of_matplotlib(folder):
    done = finsler_run("spectrum", "m.off", "-k", "3", "--figure", "s.png", MPLBACKEND="nonsense")
    assert done.returncode == 0, done.stderr
    assert (folder / "s.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["kernel", "m.off", "--filter", "chebyshev:100000"], "at most 10000"),
        (["describe", "m.off", "--bins", "100000000"], "between 1 and 1,000"),
        (
            ["describe", "m.off", "--descriptor", "wks", "--count", "100000000"],
            "between 1 and 100,000",
        ),
    ],
)
def test_sizes_are_bounded(folder, command, arguments, sentence):
    code, _, err = command(*arguments)
    assert code == 2 and sentence in err and err.count("\n") == 1


def test_large_orders_need_little_memory(folder, command):
    assert command("kernel", "m.off", "--filter", "chebyshev:10000", "--theta", 0)[0] == 0


def test_too_little_memory_is_one_sentence(folder, command, monkeypatch):
    def exhaust(*_):
        raise MemoryError

    monkeypatch.setattr("finsler.cli.info.load_mesh", exhaust)
    code, out, err = command("info", "m.off")
    assert (code, out) == (2, "")
    assert err.startswith("error: there is not enough memory") and err.count("\n") == 1


@pytest.mark.parametrize("exists", [True, False])
def test_an_interrupted_collection_can_be_made_again(folder, command, monkeypatch, exists):
    from finsler.data.sets import folder as writing

    if exists:
        (folder / "people").mkdir()
    size = ("--train", 1, "--test", 1, "--vertices", 500, "--jobs", 1)
    options = ("data", "synthesize", "humanoid", "people", *size)

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(writing, "_write_numbers", interrupt)
        code, _, err = command(*options)
    assert code == 130 and "run the same command again" in err
    assert (folder / "people").exists() == exists
    assert command(*options)[0] == 0
