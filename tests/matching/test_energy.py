"""The energy of candidates: what it counts, and that each term can decide."""

import numpy as np
import pytest

import finsler
from finsler.matching.energy import Candidate, MapEnergy
from finsler.matching.points import points_of
from finsler.matching.quality import distance_change


@pytest.fixture(scope="module")
def energy():
    """A bumpy sphere and itself, with positions as features."""
    mesh = finsler.primitives.bumpy_sphere(7)
    area = finsler.mesh.surface_area(mesh)
    mesh = finsler.TriMesh(mesh.vertices / np.sqrt(area), mesh.faces)
    spectrum = finsler.spectrum(finsler.lbo(mesh), 40)
    surface = finsler.describe(mesh, k=40, model="none")
    points = points_of(spectrum, mesh.vertices.astype(np.float32))
    return MapEnergy.sample(surface, surface, points, points, np.random.default_rng(0), 700)


def test_true_map_has_no_energy(energy):
    truth = energy.score(np.eye(40))
    assert truth.energy == pytest.approx(0.0, abs=1e-6)
    found = energy.score_distances([truth], np.random.default_rng(0))
    assert found[0].energy == pytest.approx(0.0, abs=1e-5)
    assert np.array_equal(found[0].functional, truth.functional)


def test_terms_by_their_definition(energy):
    # Functions 3 and 30 exchanged: far from commuting.
    exchanged = np.eye(40)
    exchanged[[3, 30]] = exchanged[[30, 3]]
    values = energy.first.spectrum.eigenvalues
    lack = 2.0 * ((values[3] - values[30]) / values[39]) ** 2 / 40
    assert energy.score(exchanged).energy > 10.0 * lack > 0.0
    # All signs turned but that of the constant: features far apart, and faces turned over.
    turned = np.diag([1.0, *-np.ones(39)])
    assert energy.score(turned).energy > 1.0


def test_distances_separate_equal_energies(energy):
    truth, wrong = np.eye(40), np.diag([1.0, *-np.ones(39)])
    same = np.array([0.5, 0.0, 0.0, 0.0, 0.0])
    candidates = [Candidate.of(each, same, model=False) for each in (truth, wrong)]
    found = energy.score_distances(candidates, np.random.default_rng(0))
    assert candidates[0].energy == candidates[1].energy == 1.0
    assert found[0].energy == pytest.approx(1.0, abs=1e-5)
    assert found[1].energy > 1.01


def test_features_of_the_model_take_part(energy):
    surface = finsler.describe(energy.first.mesh, k=40)
    points = energy.whole_2
    rng = np.random.default_rng(0)
    learned = MapEnergy.sample(surface, surface, points, points, rng, 700)
    assert learned.has_model and not energy.has_model
    truth, wrong = (learned.score(np.diag([1.0, *s * np.ones(39)])) for s in (1, -1))
    assert truth.parts[-1] == pytest.approx(0.0, abs=1e-6)
    # A map that has nothing to do with the features is as far off as a random one.
    assert 0.3 < wrong.parts[-1] < 1.7


def test_distance_change():
    before = np.array([[0.0, 1.0], [2.0, np.inf]])
    assert distance_change(before, before) == 0.0
    after = np.array([[0.4, 0.6], [2.0, np.inf]])
    assert distance_change(before, after) == pytest.approx(np.sqrt(0.08))
    # What cannot be reached counts as the largest distance.
    assert distance_change(np.array([0.0, np.inf]), np.array([0.0, 3.0])) == 0.0
