import json

import numpy as np
import pytest
from scipy import io as scipy_io

import finsler
from finsler import primitives

# Newer releases of scipy warn that readers will return another kind of matrix.
pytestmark = pytest.mark.filterwarnings("ignore:The default value for `spmatrix`")
STACK = finsler.angle_stack(primitives.bumpy_sphere(4), angles=3)


def test_npz_round_trip_with_a_record(tmp_path):
    [path] = finsler.save_operators(tmp_path / "ops.npz", STACK, {"alpha": 10.0})
    again = finsler.load_operators(path)
    for name in ("theta", "indptr", "indices", "values", "mass", "reference_diagonal"):
        assert np.array_equal(getattr(again, name), getattr(STACK, name))
    with np.load(path, allow_pickle=False) as data:
        kept = json.loads(str(data["config"]))
    assert kept["config"] == {"alpha": 10.0}
    assert kept["versions"]["numpy"] == np.__version__
    assert kept["machine"]["cores"] >= 1


def test_matlab_file(tmp_path):
    [path] = finsler.save_operators(tmp_path / "ops.mat", STACK)
    data = scipy_io.loadmat(path)
    assert data["stiffness"].shape == (1, 3)
    for angle in range(3):
        found = data["stiffness"][0, angle].toarray()
        assert np.array_equal(found, STACK[angle].stiffness.toarray())
    assert np.array_equal(data["mass"].diagonal(), STACK.mass)
    assert np.array_equal(data["theta"].ravel(), STACK.theta)


def test_matrix_market_files(tmp_path):
    paths = finsler.save_operators(tmp_path / "ops.mtx", STACK)
    assert [path.name for path in paths] == [
        "ops_theta0.mtx",
        "ops_theta1.mtx",
        "ops_theta2.mtx",
        "ops_mass.mtx",
    ]
    found = scipy_io.mmread(paths[1]).toarray()
    expected = STACK[1].stiffness.toarray()
    assert np.allclose(found, expected, rtol=1e-14, atol=1e-15)
    assert np.allclose(scipy_io.mmread(paths[3]).diagonal(), STACK.mass, rtol=1e-15)


def test_refusals(tmp_path):
    with pytest.raises(finsler.InputError, match="not one of"):
        finsler.save_operators(tmp_path / "ops.txt", STACK)
    with pytest.raises(finsler.InputError, match="does not exist"):
        finsler.save_operators(tmp_path / "nowhere" / "ops.npz", STACK)
    with pytest.raises(finsler.InputError, match="no such file"):
        finsler.load_operators(tmp_path / "ops.npz")
    (tmp_path / "bad.npz").write_bytes(b"not a zip file at all")
    with pytest.raises(finsler.InputError, match="not an npz file"):
        finsler.load_operators(tmp_path / "bad.npz")
    with open(tmp_path / "single.npz", "wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(finsler.InputError, match="not an npz file"):
        finsler.load_operators(tmp_path / "single.npz")
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(finsler.InputError, match="holds no array"):
        finsler.load_operators(tmp_path / "other.npz")
    np.savez(tmp_path / "pickle.npz", theta=np.array([{"a": 1}], dtype=object))
    with pytest.raises(finsler.InputError, match="not an npz file of plain arrays"):
        finsler.load_operators(tmp_path / "pickle.npz")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("indices", np.full(len(STACK.indices), 10**6, dtype=np.int32)),
        ("indptr", STACK.indptr[:-1]),
        ("values", STACK.values[:, :-1]),
        ("diagonal", STACK.diagonal.astype(np.float64)),
    ],
)
def test_forged_arrays_are_refused(tmp_path, name, value):
    fields = ("theta", "indptr", "indices", "values", "mass", "diagonal", "reference_diagonal")
    arrays = {field: getattr(STACK, field) for field in fields}
    np.savez(tmp_path / "forged.npz", **{**arrays, name: value})
    with pytest.raises(finsler.InputError, match="do not fit together"):
        finsler.load_operators(tmp_path / "forged.npz")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    target = tmp_path / "ops.npz"
    finsler.save_operators(target, STACK)
    before = target.read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="No space"):
        finsler.save_operators(target, STACK)
    assert target.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["ops.npz"]


def test_drifts_are_kept(tmp_path):
    mesh = primitives.bumpy_sphere(4)
    field = finsler.oriented_field(mesh, mesh.vertices[:, 2])
    stack = finsler.directed_stack(field, directions=2)
    [path] = finsler.save_operators(tmp_path / "directed.npz", stack)
    assert np.array_equal(finsler.load_operators(path).drift, stack.drift)
    [path] = finsler.save_operators(tmp_path / "directed.mat", stack)
    matrix = scipy_io.loadmat(path)["drift"][0, 1].toarray()
    assert np.allclose(matrix, stack.drift_matrix(1).toarray())
    first, *_ = finsler.save_operators(tmp_path / "directed.mtx", stack)
    whole = stack[0].stiffness + stack.drift_matrix(0)
    assert np.allclose(scipy_io.mmread(first).toarray(), whole.toarray())
