"""Heat and wave kernel signatures."""

import numpy as np
import pytest

import finsler
from exact import rate, relabelled, rotation, union
from finsler import TriMesh, primitives
from finsler.analysis.heat import heat_kernel
from finsler.compute.memory import limited
from finsler.descriptors import hks, wks

MESH = primitives.bumpy_sphere(9)
SPECTRUM = finsler.spectrum(finsler.lbo(MESH), 40)
ANGLES = [
    finsler.spectrum(stack, 40) for stack in finsler.angle_stack(MESH, alpha=8.0, tau=0.2, angles=3)
]
both = pytest.mark.parametrize("signature", [hks, wks])


def test_hks_is_the_diagonal_of_the_heat_kernel():
    times = [0.05, 0.3, 2.0]
    found = hks(SPECTRUM, times)
    for column, t in enumerate(times):
        kernel = heat_kernel(SPECTRUM, t, range(MESH.n_vertices))
        assert np.allclose(found[:, column], np.diag(kernel))


def test_hks_default_times():
    values = SPECTRUM.eigenvalues
    ends = 4 * np.log(10) / values[[-1, 1]]
    expected = hks(SPECTRUM, np.geomspace(*ends, 16))
    assert np.allclose(hks(SPECTRUM), expected)
    # Late heat is spread out: 1e-4 of the first mode is left, the mean is one over the area.
    late = hks(SPECTRUM)[:, -1] * SPECTRUM.mass.sum()
    assert np.abs(late - 1).max() < 1e-3
    assert hks(SPECTRUM, count=5).shape == (MESH.n_vertices, 5)
    assert (np.diff(hks(SPECTRUM), axis=1) < 0).all()


def test_closed_forms_on_the_sphere_with_their_rate():
    # Every degree l is spread evenly, Σ_m φ_lm² = (2l+1)/4π, so both signatures are constant.
    degree = np.arange(7)
    values, share = degree * (degree + 1.0), (2 * degree + 1) / (4 * np.pi)
    t = 0.15
    exact_hks = (share * np.exp(-values * t)).sum()
    weights = np.exp(-((np.log(values[1:]) - 2.0) ** 2) / (2 * 0.5**2))
    exact_wks = (weights * share[1:]).sum() / (weights * (2 * degree + 1)[1:]).sum()
    errors = {hks: [], wks: []}
    for frequency in (6, 12, 24):
        found = finsler.spectrum(finsler.lbo(primitives.sphere(frequency)), 49)
        errors[hks].append(np.abs(hks(found, [t]) / exact_hks - 1).max())
        errors[wks].append(np.abs(wks(found, [2.0], sigma=0.5) / exact_wks - 1).max())
    for name, error in errors.items():
        assert rate([1 / 6, 1 / 12, 1 / 24], error) > 1.7, name
        assert error[-1] < 0.01


def test_wks_by_its_definition():
    log = np.log(SPECTRUM.eigenvalues[1:])
    span = log[-1] - log[0]
    sigma = 7 * span / 48
    energies = np.linspace(log[0] + 2 * sigma, log[-1] - 2 * sigma, 20)
    found = wks(SPECTRUM, count=20)
    for column, e in enumerate(energies):
        weight = np.exp(-((e - log) ** 2) / (2 * sigma**2))
        expected = (SPECTRUM.eigenvectors[:, 1:] ** 2 @ weight) / weight.sum()
        assert np.allclose(found[:, column], expected)
    # A share: it integrates to one.
    assert np.allclose(SPECTRUM.mass @ found, 1.0)
    assert np.allclose(SPECTRUM.mass @ wks(SPECTRUM), 1.0)


def test_wks_of_a_narrow_band_is_one_mode():
    log = float(np.log(SPECTRUM.eigenvalues[7]))
    found = wks(SPECTRUM, [log, log - 50.0], sigma=1e-3)
    assert np.allclose(found[:, 0], SPECTRUM.eigenvectors[:, 7] ** 2)
    assert np.allclose(found[:, 1], SPECTRUM.eigenvectors[:, 1] ** 2)


@both
def test_motion_and_numbering_do_not_matter(signature):
    moved = TriMesh(MESH.vertices @ rotation(4).T - 2, MESH.faces)
    renamed, old, _ = relabelled(moved, 5)
    found = signature(finsler.spectrum(finsler.lbo(renamed), 40))
    assert np.allclose(found, signature(SPECTRUM)[old], atol=1e-6)


@both
@pytest.mark.parametrize("scale", [1e-3, 20.0])
def test_scaling_law(signature, scale):
    large = TriMesh(scale * MESH.vertices, MESH.faces)
    found = signature(finsler.spectrum(finsler.lbo(large), 40))
    assert np.allclose(scale**2 * found, signature(SPECTRUM), rtol=1e-5)


def test_hks_scaling_law_at_given_times():
    large = finsler.spectrum(finsler.lbo(TriMesh(3 * MESH.vertices, MESH.faces)), 40)
    assert np.allclose(9 * hks(large, [0.9]), hks(SPECTRUM, [0.1]))


@both
def test_angles_stand_side_by_side(signature):
    found = signature(ANGLES, count=6)
    assert found.shape == (MESH.n_vertices, 18)
    for angle, spectrum in enumerate(ANGLES):
        assert np.array_equal(found[:, 6 * angle : 6 * angle + 6], signature(spectrum, count=6))
    assert not np.allclose(found[:, :6], found[:, 6:12], rtol=0.01)


@both
def test_several_components(signature):
    # Two equal pieces have two zeros; their signatures repeat.
    one = primitives.bumpy_sphere(6)
    n = one.n_vertices
    found = signature(finsler.spectrum(finsler.lbo(union(one, one)), 40))
    assert np.isfinite(found).all()
    assert np.allclose(found[:n], found[n:], rtol=1e-6)
    alone = signature(finsler.spectrum(finsler.lbo(one), 20))
    share = 2.0 if signature is wks else 1.0
    assert np.allclose(share * found[:n], alone, rtol=1e-6)


@both
def test_refusals(signature):
    with pytest.raises(finsler.InputError, match="there is no spectrum"):
        signature([])
    with pytest.raises(finsler.InputError, match="count is 0"):
        signature(SPECTRUM, count=0)
    with pytest.raises(finsler.InputError, match="count is 100000000; it must lie between 1 and"):
        signature(SPECTRUM, count=100_000_000)
    with limited(0.001), pytest.raises(finsler.InputError, match="5000 values each need about"):
        signature(SPECTRUM, count=5000)
    with pytest.raises(finsler.InputError, match="none of the 1 eigenvalues"):
        signature(finsler.spectrum(finsler.lbo(MESH), 1))
    other = finsler.spectrum(finsler.lbo(primitives.sphere(3)), 9)
    with pytest.raises(finsler.InputError, match="belong to one surface"):
        signature([SPECTRUM, other])
    for wrong in ([], [np.nan], [[1.0]], 1.0):
        with pytest.raises(finsler.InputError, match="must be a list of finite numbers"):
            signature(SPECTRUM, wrong)


def test_refusals_of_one_kind():
    with pytest.raises(finsler.InputError, match="each 0 or more"):
        hks(SPECTRUM, [-1.0])
    for sigma in (0.0, -1.0, np.nan):
        with pytest.raises(finsler.InputError, match="sigma is"):
            wks(SPECTRUM, sigma=sigma)
    with pytest.raises(finsler.InputError, match="a quarter of that"):
        wks(SPECTRUM, sigma=100.0)
    with pytest.raises(finsler.InputError, match="all equal"):
        wks(finsler.spectrum(finsler.lbo(MESH), 2))
