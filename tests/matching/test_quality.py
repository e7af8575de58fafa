"""Orientation, round trips and confidence of vertex maps."""

import numpy as np
import pytest

import finsler
from finsler.matching import confidence, cycle_distances, orientation_share


@pytest.fixture(scope="module")
def mesh():
    return finsler.primitives.sphere(8)


def test_orientation_of_identity_and_mirror_image(mesh):
    same = np.arange(mesh.n_vertices)
    assert orientation_share(mesh, mesh, same) == pytest.approx(1.0)
    # An icosphere contains the antipode of each of its vertices.
    antipode = np.argmin(mesh.vertices @ mesh.vertices.T, axis=1)
    assert np.allclose(mesh.vertices[antipode], -mesh.vertices)
    assert orientation_share(mesh, mesh, antipode) == pytest.approx(0.0)
    assert orientation_share(mesh, mesh, 0 * same) == 0.0


def test_cycle_distances(mesh):
    same = np.arange(mesh.n_vertices)
    antipode = np.argmin(mesh.vertices @ mesh.vertices.T, axis=1)
    assert np.allclose(cycle_distances(mesh, antipode, antipode), 0.0)
    assert np.allclose(cycle_distances(mesh, same, antipode), 2.0)


def test_confidence_of_a_perfect_map(mesh):
    same = np.arange(mesh.n_vertices)
    assert np.allclose(confidence(mesh, mesh, same, same), 1.0)


def test_confidence_by_its_definition(mesh):
    same = np.arange(mesh.n_vertices)
    away = np.argmin(mesh.vertices @ mesh.vertices[7])
    wrong = same.copy()
    wrong[7] = away
    # Returns at once, but its edges are stretched: only the second factor acts.
    back = same.copy()
    back[away] = 7
    values = confidence(mesh, mesh, wrong, back)
    ring = np.unique(mesh.faces[(mesh.faces == 7).any(axis=1)])
    ring = ring[ring != 7]
    before = np.linalg.norm(mesh.vertices[ring] - mesh.vertices[7], axis=1).mean()
    after = np.linalg.norm(mesh.vertices[ring] - mesh.vertices[away], axis=1).mean()
    assert values[7] == pytest.approx(2.0 * before / after)
    # Returns to another place: half at 0.05 √area, the first factor alone.
    trip = np.linalg.norm(mesh.vertices[7] - mesh.vertices[ring[0]])
    home = same.copy()
    home[7] = ring[0]
    values = confidence(mesh, mesh, same, home, unit=trip / 0.05)
    assert values[7] == pytest.approx(0.5)
    assert np.delete(values, 7).min() == 1.0
