import json
import re
import subprocess
import sys
from importlib.metadata import version

import numpy as np
import pytest

from finsler.cli.main import main
from finsler.mesh import TriMesh, health, load_mesh, primitives, write_mesh


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
def torus_file(tmp_path):
    path = tmp_path / "torus.off"
    write_mesh(path, primitives.torus(12, 8))
    return path


@pytest.fixture
def broken_file(tmp_path):
    """A torus with an unused vertex, a face without area and a face turned over."""
    mesh = primitives.torus(12, 8)
    faces = mesh.faces.copy()
    faces[3] = faces[3][::-1]
    path = tmp_path / "broken [1].obj"
    write_mesh(path, TriMesh([*mesh.vertices, [9, 9, 9]], [*faces, [0, 0, 1]]))
    return path


def test_report_of_a_clean_mesh(command, torus_file):
    code, out, err = command("info", torus_file)
    assert (code, err) == (0, "")
    assert re.search(r"genus +1\b", out) and "No defects found." in out


def test_report_of_a_broken_mesh_names_remedies(command, broken_file):
    code, out, _ = command("info", broken_file)
    assert code == 0 and "broken [1].obj" in out
    assert "1 face without area" in out and "--repair OUT" in out
    assert re.search(r"operators +cannot be built", out)


def test_json_is_one_object(command, broken_file):
    code, out, err = command("info", broken_file, "--json")
    answer = json.loads(out)
    assert (code, err) == (0, "")
    assert answer["path"] == str(broken_file) and answer["usable"] is False
    assert answer["unreferenced_vertices"] == 1 and "repair" not in answer


def test_repair_writes_and_reports(command, broken_file, tmp_path):
    mended = tmp_path / "mended.ply"
    code, out, _ = command("info", broken_file, "--repair", mended)
    assert code == 0
    assert "dropped degenerate faces: 1" in out and "flipped faces: 1" in out
    assert "0 findings left" in out
    assert health(load_mesh(mended)).problems == []


def test_repair_in_json(command, broken_file, tmp_path):
    _, out, _ = command("info", broken_file, "--json", "--repair", tmp_path / "mended.off")
    done = json.loads(out)["repair"]
    assert done["changes"]["dropped_vertices"] == 1 and done["problems"] == []
    assert (tmp_path / "mended.off").exists()


def test_repair_of_a_clean_mesh_says_so(command, torus_file, tmp_path):
    _, out, _ = command("info", torus_file, "--repair", tmp_path / "same.off")
    assert "nothing to change" in out
    np.testing.assert_array_equal(
        load_mesh(tmp_path / "same.off").faces, load_mesh(torus_file).faces
    )


def test_merge_tolerance_reaches_the_repair(command, torus_file, tmp_path):
    points = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1e-6, 0, 0], [-1, 0, 0]]
    write_mesh(tmp_path / "torn.off", TriMesh(points, [[0, 1, 2], [3, 2, 4]]))
    arguments = ("info", tmp_path / "torn.off", "--json", "--repair", tmp_path / "a.off")
    for tolerance, merged in [("0", 0), ("1e-5", 1)]:
        _, out, _ = command(*arguments, "--merge-tolerance", tolerance)
        assert json.loads(out)["repair"]["changes"]["merged_vertices"] == merged
    code, _, err = command("info", torus_file, "--merge-tolerance", "1e-5")
    assert code == 2 and "--repair OUT" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["info", "none.off"], "none.off: there is no such file"),
        (["info", "none.xyz"], "'.xyz' is none of the known ones"),
    ],
)
def test_bad_input_is_one_sentence_and_code_2(command, arguments, words):
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ") and words in err and err.count("\n") == 1


def test_system_errors_are_sentences_too(command, torus_file, tmp_path, monkeypatch):
    def fail(source, *_):
        raise PermissionError(13, "Permission denied", str(source))

    monkeypatch.setattr("os.replace", fail)
    code, _, err = command("info", torus_file, "--repair", tmp_path / "a.off")
    assert code == 2 and err.startswith("error: ") and "Permission denied" in err


def test_wrong_usage_is_code_2(command):
    assert command("info")[0] == 2
    assert command("info", "a.off", "--no-such-option")[0] == 2


def test_interrupt_is_code_130(command, torus_file, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("finsler.cli.info.load_mesh", interrupt)
    code, _, err = command("info", torus_file)
    assert code == 130 and "Traceback" not in err


def test_version_and_help(command):
    assert command("--version")[1] == f"finsler {version('finsler')}\n"
    code, out, _ = command("info", "--help")
    assert code == 0 and "--repair" in out and "Example" in out


def test_help_imports_nothing_heavy():
    script = (
        "import sys\nsys.argv = ['finsler', '--help']\nfrom finsler.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print('HEAVY', sorted({'torch', 'numpy', 'numba', 'trimesh', 'matplotlib'}"
        " & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "info" in done.stdout and "HEAVY []" in done.stdout
