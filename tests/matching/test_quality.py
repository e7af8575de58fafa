"""Orientation, round trips and confidence of vertex maps."""

import numpy as np
import pytest

import finsler
from finsler.matching import Refined, confidence, cycle_distances, orientation_share
from finsler.matching.quality import expected_errors


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


@pytest.fixture(scope="module")
def basis(mesh):
    return finsler.spectrum(finsler.lbo(mesh), 60)


def test_perfect_map_has_no_expected_error(mesh, basis):
    same = np.arange(mesh.n_vertices)
    found = expected_errors(mesh, basis, basis, Refined(same, np.eye(60)), same)
    assert np.array_equal(found, np.zeros(mesh.n_vertices))


def test_expected_errors_are_lengths(mesh, basis):
    # Vertices go to a neighbour and stay there on the way back.
    same = np.arange(mesh.n_vertices)
    ends = finsler.mesh.topology.edges(mesh).vertices
    shifted = same.copy()
    shifted[ends[:, 0]] = ends[:, 1]
    moved = shifted != same
    true = np.linalg.norm(mesh.vertices - mesh.vertices[shifted], axis=1)
    found = expected_errors(mesh, basis, basis, Refined(shifted, np.eye(60)), same)
    # Left over and round trip are both as long as the edge.
    assert found[moved].mean() == pytest.approx(2.0 * true[moved].mean(), rel=0.1)
    # In another unit of length they are other numbers.
    large = finsler.TriMesh(10.0 * mesh.vertices, mesh.faces)
    other = finsler.spectrum(finsler.lbo(large), 60)
    again = expected_errors(large, other, other, Refined(shifted, np.eye(60)), same)
    assert again.mean() == pytest.approx(10.0 * found.mean(), rel=1e-3)


def test_expected_error_is_large_where_the_map_is_wrong(mesh, basis):
    same = np.arange(mesh.n_vertices)
    wrong = mesh.vertices[:, 2] > 0.7
    shuffled = same.copy()
    shuffled[wrong] = np.random.default_rng(0).permutation(same[wrong])
    found = expected_errors(mesh, basis, basis, Refined(shuffled, np.eye(60)), same)
    far = mesh.vertices[:, 2] < 0.0
    assert found[wrong].min() > 10.0 * found[far].max()


def test_confidence_falls_with_the_expected_error():
    values = confidence(np.linspace(0.0, 1.0, 50))
    assert values[0] == 1.0 and (np.diff(values) < 0.0).all() and values[-1] < 1e-3
