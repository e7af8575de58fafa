"""`finsler evaluate`, run as a user runs it."""

import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from finsler.cli.main import app
from finsler.data import Collection, Shape
from finsler.errors import InputError
from finsler.evaluation import CacheWarning, save_predictions, student_interval
from finsler.mesh import primitives

runner = CliRunner()

AROUND, UP = 12, 3
PRISM = primitives.cylinder(AROUND, UP)
N = PRISM.n_vertices
SIDE = 2 * np.sin(np.pi / AROUND)
AREA, DIAMETER = AROUND * SIDE * 2.0, np.hypot(6 * SIDE, 2.0)


def turned(k):
    return (np.arange(N) + k * (UP + 1)) % N


def load(name):
    return Shape(name, PRISM, turned(0), np.arange(N) % 2 == 0)


COLLECTION = Collection("prisms", ("r",), ("a", "b"), "r", load)


@pytest.fixture(autouse=True)
def collections(monkeypatch):
    def open_collection(text):
        if text != "prisms:here":
            raise InputError(f"{text}: no data set is recognised here")
        return COLLECTION

    monkeypatch.setattr("finsler.cli.evaluate.open_collection", open_collection)


@pytest.fixture
def seeds(tmp_path):
    half = np.where(np.arange(N) < N // 2, turned(0), turned(1))
    return [
        save_predictions(tmp_path / "seed1.npz", {"a": turned(0), "b": turned(1)}, {"seed": 1}),
        save_predictions(tmp_path / "seed2.npz", {"a": turned(0), "b": half}, {"seed": 2}),
    ]


def run(*arguments):
    options = ["--collection", "prisms:here", "--distances", "exact"]
    result = runner.invoke(app, ["evaluate", *options, *(str(a) for a in arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_one_run(seeds):
    text = run(seeds[0]).stdout
    assert "prisms: 2 shapes, runs: 1; exact distances divided by √area" in text
    mean = f"{100 * 0.5 * SIDE / np.sqrt(AREA):.3f}"
    for line in text.splitlines():
        if line.startswith(("with ground truth", "all")):
            assert line.split()[-4:-1] == ["50.00", "50.00", mean]
    assert "±" not in text


@pytest.mark.parametrize("memory", ["0", "-1", "nan", "inf"])
def test_memory_of_the_matrix_is_a_positive_number(seeds, memory):
    with pytest.raises(InputError, match=r"--matrix-memory is .*; it must be a positive number"):
        run(seeds[0], "--matrix-memory", memory)


@pytest.mark.parametrize("option", ["--cache", "--out", "--table", "--figure", "--report"])
def test_addresses_are_refused(seeds, tmp_path, monkeypatch, option):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"^s3://bucket/x\S*: this must be a path on this machine"):
        run(seeds[0], option, "s3://bucket/x" + ENDINGS.get(option, ""))
    with pytest.raises(InputError, match=r"^s3://bucket/x.npz: this must be a path"):
        run("s3://bucket/x.npz")
    assert not (tmp_path / "s3:").exists()


ENDINGS = {"--out": ".json", "--table": ".md", "--figure": ".png", "--report": ".html"}


def test_files_of_several_runs(seeds, tmp_path):
    out, table, figure = (tmp_path / name for name in ("r.json", "r.md", "r.png"))
    result = run(*seeds, "-o", out, "--table", table, "--figure", figure)
    assert result.stdout.count("Wrote") == 3 and "Student's 95% interval" in result.stdout
    back = json.loads(out.read_text(encoding="utf-8"))
    expected = student_interval([0.5, 0.75])
    found = back["summary"]["every"]["exact"]
    assert found == {"mean": expected.mean, "half_width": pytest.approx(expected.half_width)}
    assert list(back["runs"]) == ["seed1.npz", "seed2.npz"]
    assert back["runs"]["seed2.npz"]["record"]["config"] == {"seed": 2}
    assert back["config"]["unit"] == "sqrt_area"
    assert str(tmp_path) not in out.read_text(encoding="utf-8")
    assert "| ours, all vertices | 62.50 ± " in table.read_text(encoding="utf-8")
    assert figure.read_bytes()[:4] == b"\x89PNG"


def test_json_and_diameter(seeds):
    answer = json.loads(run(seeds[0], "--json", "--unit", "diameter").stdout)
    assert answer["summary"]["named"]["mean"]["mean"] == pytest.approx(50 * SIDE / DIAMETER)
    assert answer["shapes"]["b"]["every"]["exact"]["mean"] == 0.0
    assert answer["distances"]["diameter"] == pytest.approx(DIAMETER)
    assert answer["auc_range"] == [0.0, 0.25] and answer["files"] == []
    assert "curve" not in answer["summary"]["every"]


def test_little_memory_gives_the_same(seeds):
    few = json.loads(run(seeds[1], "--json", "--matrix-memory", 1e-9).stdout)
    all_rows = json.loads(run(seeds[1], "--json").stdout)
    for name in ("exact", "within", "mean", "auc"):
        one, two = (answer["summary"]["every"][name]["mean"] for answer in (few, all_rows))
        assert one == pytest.approx(two, rel=1e-6)


def test_cache(seeds, tmp_path):
    folder = tmp_path / "cache"
    first = run(seeds[0], "--cache", folder).stdout
    [file] = folder.iterdir()
    written = file.stat().st_mtime_ns
    assert run(seeds[0], "--cache", folder).stdout == first
    assert file.stat().st_mtime_ns == written
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.warns(CacheWarning, match="computed anew"):
        assert run(seeds[0], "--cache", folder).stdout == first


def test_missing_shapes_are_told(tmp_path):
    path = save_predictions(tmp_path / "p.npz", {"a": turned(0)}, {})
    assert "no predictions: 1 of the test shapes" in run(path).stdout


def test_shapes_that_cannot_be_read_are_skipped_if_asked(seeds, monkeypatch):
    def broken(name):
        if name == "b":
            raise InputError("b.off: the file is empty")
        return load(name)

    torn = Collection("prisms", ("r",), ("a", "b"), "r", broken)
    monkeypatch.setattr("finsler.cli.evaluate.open_collection", lambda text: torn)
    with pytest.raises(InputError, match="the file is empty"):
        run(seeds[0])
    result = run(seeds[0], "--skip-failed", "--json")
    assert result.exit_code == 1
    assert result.stderr.strip() == "failed: b: b.off: the file is empty"
    found = json.loads(result.stdout)
    assert found["failed"] == {"b": "b.off: the file is empty"}
    assert found["summary"]["every"]["exact"]["mean"] == 1.0


def test_same_file_names_are_told_apart(tmp_path):
    paths = []
    for k in (0, 1):
        (tmp_path / str(k)).mkdir()
        path = tmp_path / str(k) / "p.npz"
        paths.append(save_predictions(path, {"a": turned(k)}, {}))
    assert json.loads(run(*paths, "--json").stdout)["interval"]["runs"] == 2


class TestBadInput:
    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            (["--collection", "nowhere"], "no data set"),
            (["--out", "r.txt"], "not one of .json"),
            (["--table", "r.txt"], "not one of .md"),
            (["--figure", "r.gif"], "not one of .png"),
            (["--out", "no/such/folder/r.json"], "does not exist"),
        ],
    )
    def test_sentences(self, seeds, options, sentence):
        with pytest.raises(InputError, match=sentence):
            run(seeds[0], *options)

    def test_files(self, seeds, tmp_path):
        with pytest.raises(InputError, match="given twice"):
            run(seeds[0], seeds[0])
        with pytest.raises(InputError, match="no such file"):
            run(tmp_path / "none.npz")
        short = save_predictions(tmp_path / "short.npz", {"a": turned(0)[1:]}, {})
        out = tmp_path / "r.json"
        with pytest.raises(InputError, match=r"short.npz: shape 'a' has 48 vertices"):
            run(short, "--out", out)
        assert not out.exists()

    def test_exit_code(self, tmp_path):
        command = [sys.executable, "-m", "finsler.cli.main", "evaluate", str(tmp_path / "no.npz")]
        command += ["--collection", str(tmp_path / "nowhere")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
