"""ZoomOut."""

import numpy as np
import pytest

import finsler
from finsler.data import cut
from finsler.errors import InputError
from finsler.matching import refine
from finsler.matching.refine import basis_sizes


@pytest.fixture(scope="module")
def mesh():
    return finsler.primitives.bumpy_sphere(9)


@pytest.fixture(scope="module")
def found(mesh):
    return finsler.spectrum(finsler.lbo(mesh), 90)


def test_noise_is_removed(mesh, found):
    rng = np.random.default_rng(0)
    same = np.arange(mesh.n_vertices)
    noisy = np.where(rng.random(len(same)) < 0.4, rng.integers(0, len(same), len(same)), same)
    refined = refine(noisy, found, found, first=10)
    assert (noisy == same).mean() < 0.65
    assert (refined.map_12 == same).mean() > 0.99
    assert np.allclose(refined.functional, np.eye(90), atol=0.05)


def test_samples_give_the_same_map(mesh, found):
    start = np.roll(np.arange(mesh.n_vertices), 1)
    refined = refine(start, found, found, samples=400)
    assert (refined.map_12 == np.arange(mesh.n_vertices)).mean() > 0.9
    again = refine(start, found, found, samples=400)
    assert np.array_equal(again.map_12, refined.map_12)


def test_part_of_a_surface(mesh, found):
    part = cut(mesh, share=0.6, seed=1)
    own = finsler.spectrum(finsler.lbo(part.mesh), 90)
    sizes = basis_sizes(own, found, first=20, step=20, partial=True)
    assert sizes[-1].size_2 == 90 and 0.4 * 90 < sizes[-1].size_1 < 0.8 * 90
    assert own.eigenvalues[sizes[-1].size_1 - 1] <= found.eigenvalues[-1]
    rng = np.random.default_rng(0)
    n = part.mesh.n_vertices
    noisy = np.where(rng.random(n) < 0.2, rng.integers(0, mesh.n_vertices, n), part.vertex_map)
    refined = refine(noisy, own, found, partial=True)
    apart = mesh.vertices[refined.map_12] - part.mesh.vertices
    off = mesh.vertices[noisy] - part.mesh.vertices
    assert np.linalg.norm(apart, axis=1).mean() < 0.2 * np.linalg.norm(off, axis=1).mean()
    assert refined.functional.shape == (sizes[-1].size_1, 90)


def test_sizes_end_with_the_whole_basis(found):
    sizes = [step.size_1 for step in basis_sizes(found, found, first=40, step=30)]
    assert sizes == [40, 70, 90]
    assert [step.size_1 for step in basis_sizes(found, found, first=200, step=5)] == [90]


@pytest.mark.parametrize(
    ("start", "options", "sentence"),
    [
        (np.zeros(3, dtype=int), {}, "one vertex for each of the 812"),
        (np.zeros(812), {}, "type float64"),
        (np.full(812, 812), {}, "outside 0..811"),
        (np.full(812, -1), {}, "outside 0..811"),
        (np.zeros(812, dtype=int), {"step": 0}, "must be >= 1"),
    ],
)
def test_bad_input(found, start, options, sentence):
    with pytest.raises(InputError, match=sentence):
        refine(start, found, found, **options)
