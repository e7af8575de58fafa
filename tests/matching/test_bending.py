"""Maps refined while a surface bends along them."""

import numpy as np
import pytest

import finsler
from finsler import TriMesh
from finsler.data import make_creature
from finsler.matching import describe
from finsler.matching.bending import Ground, bend_and_zoom
from finsler.matching.contenders import in_few_directions
from finsler.matching.functional import pull_back
from finsler.matching.points import Step, points_of


@pytest.fixture(scope="module")
def pair():
    """The same dog in two poses and triangulations, and where vertices of the first really go."""
    first = make_creature("quadruped", vertices=900, seed=1)
    second = make_creature("quadruped", {}, {"head turn": 30.0, "tail wag": 20.0}, vertices=900)
    rest = second.rest_points()
    nearest = ((first.rest_points()[:, None] - rest[None]) ** 2).sum(axis=2).argmin(axis=1)
    return first.mesh, second.mesh, nearest


def start(pair, size):
    """The ground of a pair, and the functional map of the truth."""
    spectra = [finsler.spectrum(finsler.lbo(mesh), 100) for mesh in pair[:2]]
    whole = tuple(points_of(spectrum) for spectrum in spectra)
    bases = [points.basis[:, :size] for points in whole]
    return Ground.of(pair[:2], whole), pull_back(pair[2], *bases, whole[0].weights)


def off(pair, refined):
    """Mean distance from the truth, in √area."""
    apart = pair[1].vertices[refined.map_12] - pair[1].vertices[pair[2]]
    area = finsler.mesh.measures.surface_area(pair[1])
    return np.linalg.norm(apart, axis=1).mean() / np.sqrt(area)


def test_the_last_rounds_sharpen_a_map(pair):
    ground, functional = start(pair, 30)
    steps = [Step(30, 30), Step(60, 60), Step(100, 100)]
    bending = bend_and_zoom(ground, functional, steps, np.random.default_rng(0))
    polished = bending.polished()
    assert off(pair, polished) < 0.95 * off(pair, bending.refined) < 0.05
    assert polished.functional.shape == (100, 100)


def test_the_unit_of_the_meshes_does_not_matter(pair):
    ground, functional = start(pair, 30)
    steps = [Step(30, 30), Step(60, 60)]
    expected = bend_and_zoom(ground, functional, steps, np.random.default_rng(0)).polished()
    scaled = tuple(TriMesh(50.0 * mesh.vertices, mesh.faces) for mesh in pair[:2])
    other, other_map = start((*scaled, pair[2]), 30)
    found = bend_and_zoom(other, other_map, steps, np.random.default_rng(0)).polished()
    assert (found.map_12 == expected.map_12).mean() > 0.99
    assert (found.map_21 == expected.map_21).mean() > 0.99


def test_features_in_few_directions_are_as_far_apart():
    surfaces = [describe(finsler.primitives.bumpy_sphere(n), k=40) for n in (7, 8)]
    few = in_few_directions(*surfaces)
    assert few[0].features.shape[1] == few[1].features.shape[1] < 100
    before, after = (
        one.features[:50, None] - other.features[None] for one, other in (surfaces, few)
    )
    squares = [(apart**2).sum(axis=2) for apart in (before, after)]
    assert np.allclose(*squares, atol=0.02) and squares[0].max() > 0.3
