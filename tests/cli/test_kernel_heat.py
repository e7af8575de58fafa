"""`finsler kernel` and `finsler heat`, run as a user runs them."""

import io
import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import finsler
from finsler.analysis.heat import diffuse, drift_source, heat_kernel
from finsler.analysis.kernels import chebyshev_polynomial, convolution_kernel
from finsler.cli.main import app
from finsler.mesh.measures import surface_area
from finsler.view.upright import Viewpoint

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
    result = runner.invoke(app, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def scalars_of(path):
    """Names and values of the vertex properties after x, y, z of a binary PLY."""
    header, _, body = path.read_bytes().partition(b"end_header\n")
    lines = header.decode().splitlines()
    names = [line.split()[2] for line in lines if line.startswith("property double")]
    count = next(int(line.split()[2]) for line in lines if line.startswith("element vertex"))
    table = np.frombuffer(body, "<f8", count * len(names)).reshape(count, len(names))
    return dict(zip(names[3:], table.T[3:], strict=True))


class TestKernel:
    def test_polynomial_equals_the_full_spectral_sum(self, mesh, mesh_file, tmp_path):
        out = tmp_path / "k.npz"
        run("kernel", mesh_file, "--vertex", 40, "--theta", 0, "--theta", 67.5, "-o", out)
        stack = finsler.angle_stack(mesh, angles=np.radians([0.0, 67.5]))
        bound = finsler.chebyshev_operators(stack, normalization="plain").lambda_max
        with np.load(out) as data:
            for angle in range(2):
                basis = finsler.spectrum(stack[angle], mesh.n_vertices)
                expected = convolution_kernel(basis, chebyshev_polynomial(5, bound[angle]), 40)
                scale = np.abs(expected).max()
                assert np.allclose(data["kernels"][angle], expected, atol=1e-9 * scale)
            assert not np.allclose(data["kernels"][0], data["kernels"][1], atol=0.01 * scale)
            config = json.loads(str(data["config"]))["config"]
        assert (config["vertex"], config["filter"], config["operator"]) == (
            40,
            "chebyshev:5",
            "flbo",
        )

    def test_heat_filter_and_scalars_of_a_ply(self, mesh, mesh_file, tmp_path):
        out, figure = tmp_path / "k.ply", tmp_path / "k.png"
        arguments = ["--filter", "heat:0.02", "--operator", "albo", "-k", 50, "--theta", -22.5]
        run("kernel", mesh_file, "--vertex", 7, *arguments, "-o", out, "--figure", figure)
        basis = finsler.spectrum(finsler.albo(mesh, theta=np.radians(-22.5)), 50)
        found = scalars_of(out)
        assert list(found) == ["theta_m22p5"]
        expected = heat_kernel(basis, 0.02 * surface_area(mesh), 7)
        assert np.allclose(found["theta_m22p5"], expected, rtol=1e-6)
        assert figure.read_bytes()[:4] == b"\x89PNG"

    def test_default_vertex_is_named(self, mesh, mesh_file):
        answer = json.loads(run("kernel", mesh_file, "--operator", "lbo", "--json"))
        assert answer["vertex"] == Viewpoint().nearest(mesh)
        assert answer["theta_degrees"] == [0.0] and len(answer["largest"]) == 1
        text = run("kernel", mesh_file, "--operator", "lbo")
        assert f"vertex {answer['vertex']} (nearest the viewer; --vertex chooses)" in text
        assert "--vertex chooses" not in run("kernel", mesh_file, "--vertex", 3)

    def test_chebyshev_over_a_few_eigenpairs(self, mesh, mesh_file):
        arguments = ["--operator", "lbo", "--filter", "chebyshev:3", "-k", 30, "--vertex", 5]
        answer = json.loads(run("kernel", mesh_file, *arguments, "--json"))
        basis = finsler.spectrum(finsler.lbo(mesh), 30)
        filter = chebyshev_polynomial(3, basis.eigenvalues[-1])
        expected = convolution_kernel(basis, filter, 5)
        assert answer["at_vertex"][0] == pytest.approx(expected[5])


class TestHeat:
    def test_implicit_and_vtk(self, mesh, mesh_file, tmp_path):
        import pyvista

        out = tmp_path / "h.vtk"
        text = run("heat", mesh_file, "-s", 3, "-s", 50, "-t", 0.02, "-t", 0.005, "-o", out)
        assert "heat from vertex 3, 50" in text and "mean 1" in text
        start = np.zeros(mesh.n_vertices)
        laplacian = finsler.lbo(mesh)
        area = laplacian.mass.sum()
        start[[3, 50]] = 0.5 * area / laplacian.mass[[3, 50]]
        expected = diffuse(laplacian, start, np.array([0.005, 0.02]) * area, steps=16)
        read = pyvista.read(out)
        assert np.array_equal(read.points, mesh.vertices)
        assert np.array_equal(read.faces.reshape(-1, 4)[:, 1:], mesh.faces)
        assert np.allclose(read.point_data["heat_0p005"], expected[0], rtol=1e-6)
        assert np.allclose(read.point_data["heat_0p02"], expected[1], rtol=1e-6)

    def test_spectral_and_npz(self, mesh, mesh_file, tmp_path):
        out = tmp_path / "h.npz"
        arguments = ["--operator", "flbo", "--theta", 30, "--method", "spectral", "-k", 100]
        run("heat", mesh_file, "-s", 9, "-t", 0.05, *arguments, "-o", out, "--amount", 2)
        basis = finsler.spectrum(finsler.flbo(mesh, theta=np.pi / 6), 100)
        area = basis.mass.sum()
        with np.load(out) as data:
            expected = 2 * area * heat_kernel(basis, 0.05 * area, 9)
            assert np.allclose(data["heat"][0], expected, rtol=1e-6)
            assert data["times"].tolist() == [0.05]

    def test_units_do_not_matter(self, mesh, mesh_file, tmp_path):
        small = tmp_path / "small.ply"
        finsler.write_mesh(small, finsler.TriMesh(1e-6 * mesh.vertices, mesh.faces))
        source = ["--operator", "flbo", "--tau", 1, "--finsler-source", "-t", 0.1, "--json"]
        here, there = (json.loads(run("heat", path, *source)) for path in (mesh_file, small))
        assert here["smallest"] == pytest.approx(there["smallest"])
        assert here["largest"] == pytest.approx(there["largest"])

    def test_finsler_source_solves_its_equation_at_rest(self, mesh, mesh_file, tmp_path):
        out = tmp_path / "h.npz"
        arguments = ["--operator", "flbo", "--tau", 1.5, "--finsler-source", "-k", 362]
        run("heat", mesh_file, *arguments, "-t", 100, "--amount", 0.3, "-o", out)
        unit = finsler.TriMesh(mesh.vertices / np.sqrt(surface_area(mesh)), mesh.faces)
        frames = finsler.principal_frames(unit)
        metric = finsler.RandersMetric.from_curvature(unit, frames, tau=1.5)
        laplacian = finsler.laplacian(unit, metric.diffusivity())
        with np.load(out) as data:
            [u] = data["heat"]
        assert laplacian.mass @ u == pytest.approx(0.3)
        assert np.allclose(laplacian.apply(u), drift_source(metric), atol=1e-6)
        assert np.ptp(u) > 0.1

    def test_figure_and_animation(self, mesh_file, tmp_path):
        from PIL import Image

        figure, movie = tmp_path / "h.svg", tmp_path / "h.gif"
        files = ["--figure", figure, "--animate", movie, "--frames", 3]
        answer = json.loads(run("heat", mesh_file, "-s", 20, "-t", 0.05, *files, "--json"))
        assert answer["files"] == [str(figure), str(movie)]
        assert b"<svg" in figure.read_bytes()[:2000]
        with Image.open(io.BytesIO(movie.read_bytes())) as image:
            assert image.n_frames == 3
            pictures = []
            for frame in range(3):
                image.seek(frame)
                pictures.append(np.asarray(image.convert("RGB"), dtype=float))
        # Heat spreads: less and less of the surface is as pale as cold is.
        assert pictures[0].shape == (480, 480, 3)
        green = [picture[..., 1].mean() for picture in pictures]
        assert green[0] > green[1] > green[2]
        assert (pictures[0][240:, :5] == 255).all()
        # One colour bar, the same in all pictures, below the shape.
        bars = [picture[450:, 130:350] for picture in pictures]
        assert np.array_equal(bars[0], bars[2]) and np.ptp(bars[0], axis=(0, 1)).max() > 150

    def test_too_few_eigenpairs_are_noted(self, mesh_file):
        with pytest.warns(UserWarning, match="raise -k or take --method implicit"):
            run("heat", mesh_file, "-t", 0.001, "--method", "spectral", "-k", 20)

    def test_default_source_is_named(self, mesh_file):
        assert "(nearest the viewer; --source chooses)" in run("heat", mesh_file)
        assert "--source chooses" not in run("heat", mesh_file, "-s", 0)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["kernel", "MESH", "--view", "inside"], "it must be one of front, right, back"),
        (["kernel", "MESH", "--vertex", "999999"], "vertex indices must lie in 0..361"),
        (["kernel", "MESH", "--filter", "chebyshev:2.5"], "with a whole number"),
        (["kernel", "MESH", "--filter", "box"], "it must be chebyshev:ORDER"),
        (["kernel", "MESH", "--operator", "lbo", "--theta", "3"], "leave it out"),
        (["kernel", "MESH", "--theta", "3", "--theta", "3"], "given twice"),
        (["kernel", "MESH", "-o", "k.off"], "not one of .ply, .vtk, .npz"),
        (["kernel", "MESH", "-o", "k.ply", "--figure", "none/k.png"], "create it first"),
        (["kernel", "MESH", "-k", "0"], "k is 0"),
        (["heat", "MESH", "-s", "-1"], "vertex indices must lie in"),
        (["heat", "MESH", "-t", "-0.1"], "--time is -0.1"),
        (["heat", "MESH", "-t", "nan"], "--time is nan"),
        (["heat", "MESH", "-t", "0.1", "-t", "0.1"], "given twice"),
        (["heat", "MESH", "--steps", "0"], "steps is 0"),
        (["heat", "MESH", "--amount", "inf"], "--amount is inf"),
        (["heat", "MESH", "--finsler-source"], "needs --operator flbo"),
        (["heat", "MESH", "--animate", "h.mp4"], "not one of .gif"),
        (["heat", "MESH", "--animate", "h.gif", "-t", "0"], "above 0"),
        (["heat", "nowhere.off"], "there is no such file"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(
    mesh_file, tmp_path, monkeypatch, capsys, arguments, sentence
):
    from finsler.cli.main import main

    command = [str(mesh_file) if a == "MESH" else a for a in arguments]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["finsler", *command])
    with pytest.raises(SystemExit) as end:
        main()
    out, err = capsys.readouterr()
    assert (end.value.code, out) == (2, "")
    assert err.startswith("error: ") and sentence in err and err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_notes_go_to_stderr_and_json_stays_whole(mesh_file, tmp_path):
    arguments = ["-t", "0.001", "--method", "spectral", "-k", "20", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "finsler.cli.main", "heat", str(mesh_file), *arguments],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    assert json.loads(done.stdout)["config"]["k"] == 20
    assert done.stderr.startswith("note: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["kernel", "heat"])
def test_help_has_an_example(command):
    # Without the frame of the table, in which sentences are wrapped.
    text = " ".join(run(command, "--help").replace("│", " ").split())
    assert "Example" in text and "--operator" in text and "share of the" in text


class TestDirected:
    def test_heat_is_carried_forwards_and_backwards(self, mesh, mesh_file, tmp_path):
        out, picture = tmp_path / "directed.npz", tmp_path / "directed.png"
        options = ("--operator", "directed", "--filter", "heat:0.01", "--vertex", 30)
        report = json.loads(
            run("kernel", mesh_file, *options, "-o", out, "--figure", picture, "--json")
        )
        assert report["theta_degrees"] == [0.0, 90.0, 180.0, 270.0]
        assert report["config"]["peclet"] == 0.3 and report["config"]["k"] is None
        outward = finsler.gps(finsler.spectrum(finsler.lbo(mesh), k=60))
        mass = finsler.lbo(mesh).mass
        with np.load(out) as data:
            centres = [(mass * u) @ outward / (mass @ u) for u in data["kernels"]]
        assert centres[0] > centres[1] > centres[2] and centres[0] > centres[3] > centres[2]
        assert picture.stat().st_size > 10_000

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            (("--operator", "directed", "-k", 20), "no orthogonal eigenpairs"),
            (("--operator", "directed", "--peclet", 3), "peclet is 3.0"),
            (("--operator", "mixed"), "draw albo and directed one by one"),
        ],
    )
    def test_what_is_refused(self, mesh_file, options, sentence):
        with pytest.raises(finsler.InputError, match=sentence):
            run("kernel", mesh_file, *options)

    def test_operators_with_a_drift_are_written(self, mesh_file, tmp_path):
        out = tmp_path / "mixed.npz"
        run("operator", mesh_file, "--operator", "mixed", "--angles", 4, "-o", out)
        stack = finsler.load_operators(out)
        assert len(stack) == 4 and not stack.drift[:2].any() and stack.drift[2:].any()
