"""`finsler describe`, run as a user runs it."""

import json
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import finsler
from finsler.compute.memory import limited
from finsler.descriptors import hks, shot, shot_radius, wks
from finsler.mesh.measures import vertex_normals

runner = CliRunner()


@pytest.fixture(scope="module")
def mesh():
    # In millimetres, so that units would be noticed.
    shape = finsler.primitives.bumpy_sphere(6)
    return finsler.TriMesh(1000.0 * shape.vertices, shape.faces)


@pytest.fixture(scope="module")
def mesh_file(mesh, tmp_path_factory):
    path = tmp_path_factory.mktemp("mesh") / "shape.ply"
    finsler.write_mesh(path, mesh)
    return path


def run(*arguments):
    from finsler.cli.main import app

    result = runner.invoke(app, ["describe", *(str(a) for a in arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def written(path):
    with np.load(path) as data:
        return {name: data[name] for name in data}


def test_shot_is_the_default(mesh, mesh_file, tmp_path):
    out = tmp_path / "s.npz"
    text = run(mesh_file, "-o", out)
    data = written(out)
    assert np.array_equal(data["descriptors"], shot(mesh, radius=shot_radius(mesh)))
    config = json.loads(str(data["config"]))["config"]
    assert (config["descriptor"], config["radius"], config["bins"]) == ("shot", 0.09, 10)
    assert "362 vertices, 352 values each" in text and f"Wrote {out}" in text


def test_shot_options_and_json(mesh, mesh_file, tmp_path):
    out = tmp_path / "s.npz"
    options = ["--radius", 0.2, "--bins", 4, "--as-released", "-o", out, "--json"]
    answer = json.loads(run(mesh_file, *options))
    radius = 0.2 * np.sqrt(finsler.lbo(mesh).mass.sum())
    data = written(out)
    expected = shot(mesh, radius=radius, bins=4, as_released=True)
    assert np.allclose(data["descriptors"], expected, atol=1e-12)
    assert answer["shape"] == [362, 160] and answer["files"] == [str(out)]
    assert answer["radius"] == pytest.approx(radius)
    assert answer["norms"]["largest"] == pytest.approx(1.0)
    counts = data["neighbors"]
    assert answer["neighbors"] == {
        "smallest": counts.min(),
        "median": np.median(counts),
        "largest": counts.max(),
        "rows_of_zeros": 0,
    }


def test_small_radius_is_remarked_upon(mesh_file):
    assert "too few neighbours and a row of zeros" in run(mesh_file, "--radius", 0.03)


@pytest.mark.parametrize(("name", "signature"), [("hks", hks), ("wks", wks)])
def test_signatures(mesh, mesh_file, tmp_path, name, signature):
    out = tmp_path / "h.npz"
    run(mesh_file, "--descriptor", name, "-k", 20, "--count", 8, "-o", out)
    expected = signature(finsler.spectrum(finsler.lbo(mesh), 20), count=8)
    assert np.allclose(written(out)["descriptors"], expected, rtol=1e-6)


def test_anisotropic_signatures_side_by_side(mesh, mesh_file, tmp_path):
    out = tmp_path / "h.npz"
    options = ["--descriptor", "hks", "--operator", "albo", "--angles", 3, "--alpha", 5, "-k", 20]
    answer = json.loads(run(mesh_file, *options, "-o", out, "--json"))
    spectra = [
        finsler.spectrum(finsler.albo(mesh, alpha=5.0, theta=np.pi * a / 3), 20) for a in range(3)
    ]
    assert np.allclose(written(out)["descriptors"], hks(spectra), rtol=1e-6)
    assert answer["shape"] == [362, 48] and answer["config"]["alpha"] == 5.0
    assert "neighbors" not in answer


def test_positions_and_normals(mesh, mesh_file, tmp_path):
    for name, expected in (("xyz", mesh.vertices), ("normals", vertex_normals(mesh))):
        out = tmp_path / f"{name}.npz"
        run(mesh_file, "--descriptor", name, "-o", out)
        assert np.allclose(written(out)["descriptors"], expected)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--radius", "0"], "--radius is 0.0; it must be positive"),
        (["--radius", "nan"], "--radius is nan"),
        (["--bins", "0"], "--bins is 0; it must lie between 1 and 1,000"),
        (["--angles", "4"], "--angles has no effect on shot"),
        (["--operator", "albo"], "--operator has no effect on shot"),
        (["--descriptor", "hks", "--radius", "0.1"], "--radius has no effect on hks"),
        (["--descriptor", "xyz", "--as-released"], "--as-released has no effect on xyz"),
        (["--descriptor", "normals", "-k", "3"], "-k has no effect on normals"),
        (["--descriptor", "wks", "--angles", "4"], "add --operator albo or flbo"),
        (["--descriptor", "hks", "-k", "0"], "-k is 0"),
        (["--descriptor", "hks", "-k", "999"], "k is 999"),
        (["--bins", "100000000"], "bins is 100000000; it must lie between 1 and 1,000"),
        (["--descriptor", "wks", "--count", "100000000"], "count is 100000000; it must lie"),
        (["-o", "out.csv"], "not one of .npz"),
        (["-o", "none/out.npz"], "create it first"),
    ],
)
def test_bad_input_is_one_sentence(mesh_file, tmp_path, monkeypatch, capsys, arguments, sentence):
    from finsler.cli.main import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["finsler", "describe", str(mesh_file), *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    out, err = capsys.readouterr()
    assert (end.value.code, out) == (2, "")
    assert err.startswith("error: ") and sentence in err and err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_mesh_without_area(tmp_path, monkeypatch, capsys):
    from finsler.cli.main import main

    path = tmp_path / "line.off"
    path.write_text("OFF\n3 1 0\n0 0 0\n1 0 0\n2 0 0\n3 0 1 2\n", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["finsler", "describe", str(path)])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2 and "no area" in capsys.readouterr().err


def test_help_has_an_example():
    text = " ".join(run("--help").split())
    assert "Example" in text and "--descriptor" in text and "--radius" in text


def test_memory_counts_the_file_as_well(mesh_file, tmp_path):
    columns, n = 32 * 1001, 362
    once = 8.0 * columns * n / 2**30
    options = ["--bins", "1000", "-o", str(tmp_path / "large.npz")]
    with (
        limited(1.5 * once),
        pytest.raises(finsler.InputError, match=r"need about .* descriptor and its file"),
    ):
        run(mesh_file, *options)
    with limited(2.5 * once):
        run(mesh_file, *options)
