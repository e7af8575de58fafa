"""Solving without a factor: the same answers as with one."""

import sys

import numpy as np
import pytest
from scipy import sparse

import finsler
from exact import union
from finsler import RandersHeat, RandersMetric, primitives
from finsler.analysis.heat import diffuse
from finsler.analysis.kernels import chebyshev_filter
from finsler.mesh.measures import face_normals
from finsler.operator.drift import drift_operator
from finsler.solvers import factorise, factorise_unsymmetric, iterate, iterate_decaying


def windy(mesh, strength):
    normal = face_normals(mesh)
    omega = strength * (np.array([1.0, 0.0, 0.0]) - normal[:, :1] * normal)
    return RandersMetric(mesh, RandersMetric.isotropic(mesh).M, omega)


@pytest.mark.parametrize("alpha", [0.0, 10.0, 100.0])
@pytest.mark.parametrize("shift", [1e-4, 1.0, 1e4])
def test_conjugate_gradients_agree_with_the_factor(alpha, shift):
    laplacian = finsler.albo(primitives.bumpy_sphere(16), alpha=alpha)
    system = sparse.csr_array(laplacian.stiffness + shift * sparse.diags_array(laplacian.mass))
    right = np.random.default_rng(0).standard_normal((len(laplacian.mass), 3))
    solve = iterate(system)
    found = solve(right)
    residual = np.linalg.norm(system @ found - right, axis=0)
    assert (residual <= 1.01e-10 * np.linalg.norm(right, axis=0)).all()
    exact = factorise(system)(right)
    assert np.abs(found - exact).max() <= 1e-7 * np.abs(exact).max()
    assert np.array_equal(solve(right), found), "runs repeat to the last bit"
    one = solve(right[:, 1])
    assert one.shape == right[:, 1].shape
    assert np.abs(one - exact[:, 1]).max() <= 1e-7 * np.abs(exact).max()
    assert not solve(np.zeros(len(right))).any()


def test_iterations_do_not_grow_with_the_mesh(monkeypatch):
    iteration = sys.modules["finsler.solvers.iteration"]
    counts = []
    cycle = iteration._Levels.cycle

    def counted(levels, right, depth=0):
        counts[-1] += depth == 0
        return cycle(levels, right, depth)

    monkeypatch.setattr(iteration._Levels, "cycle", counted)
    for frequency in (11, 22, 44):
        laplacian = finsler.lbo(primitives.bumpy_sphere(frequency))
        system = sparse.csr_array(laplacian.stiffness + 0.1 * sparse.diags_array(laplacian.mass))
        counts.append(0)
        iterate(system)(laplacian.mass * np.random.default_rng(0).standard_normal(system.shape[0]))
    assert max(counts) <= 20 and counts[2] <= counts[0] + 8


@pytest.mark.parametrize("strength", [0.0, 0.5, 0.9])
def test_windows_hold_relative_accuracy_over_many_decades(strength):
    mesh = primitives.bumpy_sphere(24)
    operator = drift_operator(windy(mesh, strength))
    right = np.zeros((mesh.n_vertices, 2))
    right[0, 0] = right[100, 1] = 1e250
    exact = factorise_unsymmetric(operator.matrix)[0](right)
    found = iterate_decaying(operator.matrix)(right)
    assert exact.min() < 1e-12 * exact.max(), "one window cannot hold this range"
    assert np.abs(found / exact - 1.0).max() < 1e-4
    assert np.array_equal(iterate_decaying(operator.matrix)(right[:, 1]), found[:, 1])


@pytest.mark.parametrize("strength", [0.0, 0.6])
@pytest.mark.parametrize("reverse", [False, True])
def test_heat_distance_agrees(strength, reverse):
    mesh = union(primitives.bumpy_sphere(20), primitives.sphere(8))
    metric = windy(mesh, strength)
    direct = RandersHeat(metric, solver="direct")
    iterative = RandersHeat(metric, solver="iterative")
    assert (direct.solver, iterative.solver) == ("direct", "iterative")
    sources = [0, 1500]
    exact = direct.distance(sources, reverse=reverse, each=True)
    found = iterative.distance(sources, reverse=reverse, each=True)
    reached = np.isfinite(exact)
    assert np.array_equal(np.isfinite(found), reached)
    assert not reached.all()
    assert np.abs(found[reached] - exact[reached]).max() < 1e-5 * exact[reached].max()


def test_heat_distance_with_anisotropy_on_an_open_surface():
    mesh = primitives.plane(40, 30, size=(2.0, 1.5), jitter=0.2)
    frames = finsler.FaceFrames.from_directions(mesh, np.tile([1.0, 0, 0], (mesh.n_faces, 1)))
    metric = RandersMetric.from_curvature(mesh, frames, alpha=4.0, tau=0.5)
    exact = RandersHeat(metric, solver="direct").distance(0)
    found = RandersHeat(metric, solver="iterative").distance(0)
    assert np.abs(found - exact).max() < 1e-5 * exact.max()


def test_epsilon_is_raised_the_same_way():
    # Too strong a drift for the mesh: the first ε gives negative heat with either solver.
    mesh = primitives.bumpy_sphere(8)
    metric = windy(mesh, 0.95)
    solvers = [RandersHeat(metric, epsilon=0.02, solver=s) for s in ("direct", "iterative")]
    found = [solver.distance(0) for solver in solvers]
    assert solvers[0].epsilon > 0.02
    assert solvers[0].epsilon == solvers[1].epsilon
    assert np.abs(found[0] - found[1]).max() < 1e-5 * found[0].max()


def test_diffusion_agrees_and_conserves_heat():
    laplacian = finsler.albo(primitives.bumpy_sphere(16))
    start = np.random.default_rng(0).random((len(laplacian.mass), 2))
    for time in (1e-4, 1e-2, 1.0):
        exact = diffuse(laplacian, start, time, steps=3, solver="direct")
        found = diffuse(laplacian, start, time, steps=3, solver="iterative")
        assert np.abs(found - exact).max() < 1e-8
        assert np.allclose(laplacian.mass @ found, laplacian.mass @ start, rtol=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 10.0])
def test_spectrum_agrees(alpha):
    laplacian = finsler.albo(primitives.bumpy_sphere(16), alpha=alpha)
    exact = finsler.spectrum(laplacian, 12, solver="direct")
    found = finsler.spectrum(laplacian, 12, solver="iterative")
    assert (exact.solver, found.solver) == ("direct", "iterative")
    assert np.abs(found.eigenvalues - exact.eigenvalues).max() < 1e-9 * exact.eigenvalues[-1]
    overlap = found.coefficients(exact.eigenvectors)
    assert np.abs(np.abs(np.linalg.svd(overlap)[1]) - 1.0).max() < 1e-6
    assert found.residuals.max() < 1e-6


def test_spectrum_of_several_components():
    mesh = union(primitives.torus(24, 16), primitives.torus(24, 16))
    laplacian = finsler.lbo(mesh)
    exact = finsler.spectrum(laplacian, 10, solver="direct").eigenvalues
    found = finsler.spectrum(laplacian, 10, solver="iterative").eigenvalues
    assert np.abs(found - exact).max() < 1e-9 * exact[-1]


def test_a_full_basis_is_restarted():
    # The cut goes through a cluster of equal eigenvalues, so that one basis is not enough.
    laplacian = finsler.lbo(primitives.sphere(10))
    found = finsler.spectrum(laplacian, 60)
    half = 1.0 / np.sqrt(laplacian.mass)
    dense = half[:, None] * laplacian.stiffness.toarray() * half
    exact = np.linalg.eigvalsh(dense)[:60]
    assert np.abs(found.eigenvalues - exact).max() < 1e-9 * exact[-1]


def test_filter_in_single_precision():
    mesh = primitives.bumpy_sphere(16)
    operators = finsler.chebyshev_operators(finsler.angle_stack(mesh))
    rng = np.random.default_rng(0)
    functions = rng.standard_normal((mesh.n_vertices, 4))
    coefficients = rng.standard_normal((8, 16))
    exact = chebyshev_filter(operators, functions, coefficients)
    found = chebyshev_filter(operators, functions, coefficients, dtype=np.float32)
    assert exact.dtype == np.float64 and found.dtype == np.float32
    error = np.linalg.norm(found - exact) / np.linalg.norm(exact)
    assert 1e-9 < error < 2e-6


def test_without_pyamg_one_sentence_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyamg", None)
    with pytest.raises(finsler.InputError, match="needs pyamg"):
        diffuse(finsler.lbo(primitives.sphere(4)), np.ones(162), 1.0, solver="iterative")


def test_what_cannot_be_iterated_is_refused():
    matrix = sparse.csr_array(np.diag([1.0, np.nan]))
    for make in (iterate, iterate_decaying):
        with pytest.raises(finsler.InputError, match="not finite"):
            make(matrix)
    # Indefinite: conjugate gradients never get there.
    laplacian = finsler.lbo(primitives.sphere(10))
    system = sparse.csr_array(laplacian.stiffness - 5.0 * sparse.diags_array(laplacian.mass))
    with pytest.raises(finsler.ConvergenceError, match="after 1000 iterations"):
        iterate(system)(np.random.default_rng(0).standard_normal(len(laplacian.mass)))
