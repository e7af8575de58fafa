"""The Delaunay option and the share of negative weights on the command line."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner
from ugly_meshes import MESHES

import finsler
from finsler.cli.main import app
from finsler.mesh import TriMesh

runner = CliRunner()


@pytest.fixture(scope="module")
def mesh_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("mesh") / "shape.ply"
    finsler.write_mesh(path, finsler.primitives.bumpy_sphere(6))
    return path


def run(*arguments):
    result = runner.invoke(app, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stdout


def delaunay_of(mesh, alpha=10.0, tau=0.1, theta=0.0):
    frames = finsler.principal_frames(mesh)
    metric = finsler.RandersMetric.from_curvature(mesh, frames, alpha=alpha, tau=tau, theta=theta)
    return finsler.delaunay_laplacian(mesh, metric.diffusivity())


def test_operator_reports_the_share_of_every_angle(mesh_file, tmp_path):
    out = tmp_path / "ops.npz"
    answer = json.loads(run("operator", mesh_file, "-o", out, "--angles", 3, "--json"))
    stack = finsler.angle_stack(finsler.load_mesh(mesh_file), angles=3)
    assert answer["negative_weights"] == [operator.negative_share for operator in stack]
    assert min(answer["negative_weights"]) > 0.1
    assert "% of the weights are negative." in run("operator", mesh_file, "-o", out)


def test_operator_on_delaunay_triangles_is_written_and_read(mesh_file, tmp_path):
    out = tmp_path / "ops.npz"
    options = ("operator", mesh_file, "-o", out, "--theta", 30, "--tau", 0.5, "--delaunay")
    answer = json.loads(run(*options, "--json"))
    result = delaunay_of(finsler.load_mesh(mesh_file), tau=0.5, theta=np.radians(30))
    assert answer["negative_weights"] == [0.0]
    assert answer["negative_weights_before"] == result.negative_before > 0.1
    assert answer["config"]["delaunay"] is True and answer["config"]["theta_degrees"] == 30.0
    stack = finsler.load_operators(out)
    assert len(stack) == 1 and stack.theta[0] == pytest.approx(np.pi / 6)
    assert abs(stack[0].stiffness - result.laplacian.stiffness).max() == 0.0
    # ω of constant strength multiplies the operator by 1/(1 − τ²/(1 + α)).
    diagonal = result.laplacian.stiffness.diagonal()
    assert np.allclose(stack.reference_diagonal[0], diagonal * (1.0 - 0.25 / 11.0))
    assert "0.0% of the weights are negative, " in run(*options)


def test_operator_on_delaunay_triangles_can_be_rescaled(mesh_file, tmp_path):
    out = tmp_path / "ops.npz"
    run("operator", mesh_file, "-o", out, "--theta", 0, "--delaunay", "--chebyshev", "reference")
    with np.load(out) as data:
        matrix = data["values"][0], data["indices"], data["indptr"]
        half = np.sqrt(data["mass"])
    dense = finsler.operator.rescale.sparse.csr_array(matrix).toarray() * half[:, None] / half
    values = np.linalg.eigvalsh(0.5 * (dense + dense.T))
    assert values[0] == pytest.approx(-1.0, abs=1e-9) and values[-1] <= 1.0 + 1e-9


def test_one_angle_alone(mesh_file, tmp_path):
    run("operator", mesh_file, "-o", tmp_path / "one.npz", "--theta", 45)
    result = finsler.load_operators(tmp_path / "one.npz")
    expected = finsler.angle_stack(finsler.load_mesh(mesh_file), angles=[np.pi / 4])
    assert np.array_equal(result.values, expected.values)


def test_delaunay_needs_one_angle(mesh_file, tmp_path):
    with pytest.raises(finsler.InputError, match="--theta"):
        run("operator", mesh_file, "-o", tmp_path / "ops.npz", "--delaunay")


def test_info_reports_negative_cotangent_weights(tmp_path):
    path = tmp_path / "fold.ply"
    mesh = TriMesh(*MESHES["crosses itself"]())
    finsler.write_mesh(path, mesh)
    share = finsler.lbo(mesh).negative_share
    assert share > 0.01
    assert json.loads(run("info", path, "--json"))["negative_weights"] == share
    words = run("info", path)
    assert f"{share:.1%} of the cotangent weights" in words and "--delaunay" in words


def test_info_has_no_share_where_there_is_no_operator(tmp_path, mesh_file):
    path = tmp_path / "bad.ply"
    finsler.write_mesh(path, TriMesh(*MESHES["corner repeated"]()))
    assert json.loads(run("info", path, "--json"))["negative_weights"] is None
    repaired = json.loads(run("info", path, "--json", "--repair", tmp_path / "repaired.ply"))
    assert repaired["repair"]["negative_weights"] == 0.0
    assert "--delaunay" not in run("info", mesh_file)


def test_spectrum_on_delaunay_triangles(mesh_file):
    options = ("spectrum", mesh_file, "-k", 6, "--operator", "flbo")
    plain, other = (json.loads(run(*options, *more, "--json")) for more in ((), ("--delaunay",)))
    result = delaunay_of(finsler.load_mesh(mesh_file))
    expected = finsler.spectrum(result.laplacian, 6).eigenvalues
    assert np.allclose(other["eigenvalues"], expected, rtol=1e-9, atol=1e-9)
    assert plain["negative_weights"] == other["negative_weights_before"] == result.negative_before
    assert other["negative_weights"] == 0.0 and "negative_weights_before" not in plain
    assert f"{result.negative_before:.1%} before --delaunay" in run(*options, "--delaunay")
    assert "--delaunay removes them" in run(*options)


def test_heat_of_a_spike_stays_above_zero_on_delaunay_triangles_alone(mesh_file):
    options = ("heat", mesh_file, "--source", 261, "--operator", "albo", "-t", 0.002, "--steps", 1)
    plain, other = (json.loads(run(*options, *more, "--json")) for more in ((), ("--delaunay",)))
    assert plain["smallest"][0] < -0.01 * plain["largest"][0]
    assert other["smallest"][0] > 0.0 == other["negative_weights"]
    assert plain["config"] | {"delaunay": True} == other["config"]
