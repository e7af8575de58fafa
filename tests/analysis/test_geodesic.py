import sys

import numpy as np
import pytest

import finsler
from exact import union
from finsler import primitives

MESH = primitives.sphere(16)
EXACT = np.arccos(np.clip(MESH.vertices @ MESH.vertices[3], -1, 1))


@pytest.mark.parametrize(("method", "error"), [("heat", 0.02), ("fmm", 0.02), ("exact", 0.002)])
def test_great_circles(method, error):
    found = finsler.geodesic_distance(MESH, 3, method=method)
    assert np.abs(found - EXACT).mean() < error
    assert found[3] == 0.0


@pytest.mark.parametrize("method", ["heat", "fmm", "exact"])
def test_sets_and_each(method):
    together = finsler.geodesic_distance(MESH, [3, 900], method=method)
    each = finsler.geodesic_distance(MESH, [3, 900], method=method, each=True)
    assert each.shape == (MESH.n_vertices, 2)
    assert np.abs(together - each.min(axis=1)).max() < 0.1


def test_eikonal_solver_agrees_with_exact_polyhedral_distances():
    mesh = primitives.bumpy_sphere(20)
    exact = finsler.geodesic_distance(mesh, 3, method="exact")
    ours = finsler.randers_distance(finsler.RandersMetric.isotropic(mesh), 3)
    away = exact > 0
    assert np.mean(np.abs(ours - exact)[away] / exact[away]) < 0.003


def test_matrix_and_its_memory_bound():
    mesh = primitives.sphere(5)
    matrix = finsler.geodesic_matrix(mesh)
    assert matrix.shape == (252, 252) and matrix.dtype == np.float32
    assert np.allclose(matrix[17], finsler.geodesic_distance(mesh, 17), atol=1e-6)
    some = finsler.geodesic_matrix(mesh, [4, 17], dtype=np.float64)
    assert some.shape == (2, 252)
    with pytest.raises(finsler.InputError, match=r"252 x 252 distances need 0\.0 GiB"):
        finsler.geodesic_matrix(mesh, memory=1e-6)


def test_other_components_are_infinitely_far():
    mesh = union(primitives.sphere(4), primitives.torus(12, 8))
    for method in ("heat", "fmm", "exact"):
        found = finsler.geodesic_distance(mesh, 0, method=method)
        assert np.isfinite(found[:162]).all() and np.isinf(found[162:]).all()


def test_refusals(monkeypatch):
    with pytest.raises(finsler.InputError, match="method must be"):
        finsler.geodesic_distance(MESH, 0, method="taxi")
    with pytest.raises(finsler.InputError, match="no vertex"):
        finsler.geodesic_distance(MESH, [])
    with pytest.raises(finsler.InputError, match="must lie in"):
        finsler.geodesic_distance(MESH, 10**7)
    monkeypatch.setitem(__import__("sys").modules, "pygeodesic.geodesic", None)
    with pytest.raises(finsler.InputError, match=r"pip install --upgrade finsler\[exact\]"):
        finsler.geodesic_distance(MESH, 0, method="exact")


@pytest.mark.parametrize("scale", [1e-60, 1e-30, 1e30, 1e60])
def test_units_far_from_one(scale):
    mesh = primitives.sphere(6)
    moved = finsler.TriMesh(scale * mesh.vertices, mesh.faces)
    plain = finsler.geodesic_distance(mesh, 3)
    assert np.allclose(finsler.geodesic_distance(moved, 3) / scale, plain)
    heat = finsler.RandersHeat(finsler.RandersMetric.isotropic(mesh)).distance(3)
    there = finsler.RandersHeat(finsler.RandersMetric.isotropic(moved)).distance(3)
    assert np.allclose(there / scale, heat)


@pytest.mark.parametrize("source", [0, 362])
def test_components_of_very_different_size(source):
    mesh = primitives.sphere(6)
    both = union(mesh, finsler.TriMesh(1e-6 * mesh.vertices + 5.0, mesh.faces))
    here = slice(0, 362) if source == 0 else slice(362, 724)
    size = 1.0 if source == 0 else 1e-6
    plain = finsler.geodesic_distance(mesh, 0)
    assert np.allclose(finsler.geodesic_distance(both, source)[here] / size, plain, atol=1e-6)
    solver = finsler.RandersHeat(finsler.RandersMetric.isotropic(both))
    heat = finsler.RandersHeat(finsler.RandersMetric.isotropic(mesh)).distance(0)
    times = solver.distance([source, 5], each=True)
    assert np.allclose(times[here, 0] / size, heat, atol=1e-6)
    assert np.allclose(times[:362, 1], solver.distance(5)[:362])


@pytest.mark.parametrize(("method", "share"), [("fmm", 0.02), ("heat", 0.06)])
def test_without_the_library_our_own_methods_stand_in(monkeypatch, method, share):
    monkeypatch.setitem(sys.modules, "potpourri3d", None)
    sphere = primitives.sphere(12)
    cosine = np.clip(sphere.vertices @ sphere.vertices[[3, 700]].T, -1.0, 1.0)
    exact = np.arccos(cosine)
    rows = finsler.geodesic_matrix(sphere, [3, 700], method=method)
    assert np.abs(rows.T - exact).max() < share * np.pi
    nearest = finsler.geodesic_distance(sphere, [3, 700], method=method)
    assert np.abs(nearest - exact.min(axis=1)).max() < share * np.pi
