"""Nearest rows, functional maps, and vertex maps from them."""

import numpy as np
import pytest
from scipy.spatial import cKDTree

import finsler
from finsler.errors import InputError
from finsler.matching import functional_map, nearest_rows, pull_back, vertex_map


@pytest.fixture(scope="module")
def found():
    return finsler.spectrum(finsler.lbo(finsler.primitives.bumpy_sphere(7)), 30)


def test_nearest_rows_are_those_of_a_tree():
    rng = np.random.default_rng(0)
    points, queries = rng.normal(size=(700, 6)), rng.normal(size=(300, 6))
    assert np.array_equal(nearest_rows(queries, points), cKDTree(points).query(queries)[1])


def test_nearest_rows_far_from_the_origin():
    points = 1e4 + np.arange(20.0)[:, None] * [1.0, 0.0]
    assert np.array_equal(nearest_rows(points + 0.2, points), np.arange(20))


def test_nearest_rows_in_several_blocks(monkeypatch):
    monkeypatch.setattr("finsler.matching.nearest._CELLS", 50)
    points = np.random.default_rng(1).normal(size=(40, 3))
    assert np.array_equal(nearest_rows(points[::-1], points), np.arange(40)[::-1])


@pytest.mark.parametrize(
    ("queries", "points", "sentence"),
    [((2, 3), (4, 2), "cannot be compared"), ((2, 3), (0, 3), "no point")],
)
def test_rows_that_do_not_fit(queries, points, sentence):
    with pytest.raises(InputError, match=sentence):
        nearest_rows(np.zeros(queries), np.zeros(points))


def test_functional_map_finds_the_one_that_made_the_descriptors():
    rng = np.random.default_rng(2)
    truth, b = rng.normal(size=(5, 7)), rng.normal(size=(7, 40))
    values = np.arange(7.0)
    c = functional_map(truth @ b, b, values[:5], values, commutativity=0.0)
    assert np.allclose(c, truth, atol=1e-6)


def test_functional_map_that_must_commute_is_diagonal():
    rng = np.random.default_rng(3)
    values = np.arange(6.0)
    a, b = rng.normal(size=(6, 30)), rng.normal(size=(6, 30))
    c = functional_map(a, b, values, values, commutativity=1e9)
    assert np.abs(c - np.diag(np.diag(c))).max() < 1e-6 < np.abs(np.diag(c)).min()


def test_pull_back_of_a_numbering(found):
    basis, mass = found.eigenvectors, np.asarray(found.mass)
    order = np.random.default_rng(4).permutation(len(basis))
    # DescribedSurface 2 is surface 1 with vertex x called order[x].
    other = np.empty_like(basis)
    other[order] = basis
    c = pull_back(order, basis, other, mass)
    assert np.allclose(c, np.eye(30), atol=1e-6)
    assert np.array_equal(vertex_map(c, basis, other), order)


def test_pull_back_takes_functions_of_surface_2_to_surface_1(found):
    basis, mass = found.eigenvectors, np.asarray(found.mass)
    map_12 = np.zeros(len(basis), dtype=int)
    c = pull_back(map_12, basis, basis[:, :5], mass)
    pulled = basis @ (c @ [0.0, 1.0, 0.0, 0.0, 0.0])
    assert c.shape == (30, 5)
    assert np.allclose(pulled, basis[0, 1], atol=1e-6)


def test_features_decide_where_the_basis_does_not():
    basis = np.ones((4, 1))
    features = np.eye(4)
    order = np.array([2, 3, 1, 0])
    c = np.ones((1, 1))
    found = vertex_map(c, basis, basis, features_1=features[order], features_2=features, weight=0.1)
    assert np.array_equal(found, order)


def test_functional_map_larger_than_the_basis(found):
    with pytest.raises(InputError, match="31 × 31, but the bases have 30 and 30"):
        vertex_map(np.eye(31), found.eigenvectors, found.eigenvectors)
