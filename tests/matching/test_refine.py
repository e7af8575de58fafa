"""ZoomOut."""

import numpy as np
import pytest
from scipy.spatial import cKDTree

import finsler
from finsler import TriMesh
from finsler.data import cut, synthetic_collection
from finsler.errors import InputError
from finsler.matching import refine
from finsler.matching.elastic import ElasticSurface
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


@pytest.fixture(scope="module")
def people():
    shapes = synthetic_collection("humanoid", train=0, test=6, poses=2, vertices=1000)
    first, second = (shapes[name] for name in (shapes.test[0], shapes.test[4]))
    spectra = [finsler.spectrum(finsler.lbo(s.mesh), 100) for s in (first, second)]
    return shapes[shapes.reference].mesh.vertices, first, second, spectra


class TestWithMeshes:
    """Bending surface 1 along the map."""

    def test_keeps_more_of_what_is_right(self, people):
        points, first, second, spectra = people
        truth = cKDTree(points[second.labels]).query(points[first.labels])[1]

        def error(map_12):
            apart = points[second.labels[map_12]] - points[first.labels]
            return np.linalg.norm(apart, axis=1).mean()

        plain = refine(truth, *spectra, first=40)
        meshes = (first.mesh, second.mesh)
        bent = refine(truth, *spectra, first=40, step=40, meshes=meshes)
        assert error(bent.map_12) < 0.8 * error(plain.map_12)
        # The unit does not matter: all in centimetres.
        scaled = [TriMesh(100.0 * mesh.vertices + 7.0, mesh.faces) for mesh in meshes]
        own = [finsler.spectrum(finsler.lbo(mesh), 100) for mesh in scaled]
        again = refine(truth, *own, first=40, step=40, meshes=tuple(scaled))
        assert (again.map_12 == bent.map_12).mean() > 0.95

    def test_both_ways_and_inside_out(self, mesh, found):
        same = np.arange(mesh.n_vertices)
        start = np.roll(same, 1)
        refined = refine(start, found, found, meshes=(mesh, mesh))
        assert (refined.map_12 == same).mean() > 0.99 and (refined.map_21 == same).mean() > 0.99
        turned = TriMesh(mesh.vertices, mesh.faces[:, ::-1])
        refined = refine(start, found, found, meshes=(mesh, turned))
        assert (refined.map_12 == same).mean() > 0.99

    def test_other_meshes_are_refused(self, mesh, found):
        other = finsler.primitives.bumpy_sphere(4)
        with pytest.raises(InputError, match="have 812 and 162 vertices, the bases 812 and 812"):
            refine(np.arange(812), found, found, meshes=(mesh, other))


def test_bent_towards_its_own_rotation_a_surface_turns(mesh):
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    turn *= np.linalg.det(turn)
    unit = TriMesh(mesh.vertices / np.sqrt(finsler.mesh.surface_area(mesh)), mesh.faces)
    elastic = ElasticSurface.of(unit)
    goal = unit.vertices @ turn.T
    assert np.allclose(elastic.bent(goal, goal), goal, atol=1e-10)
    assert np.allclose(elastic.rotations(goal), turn, atol=1e-10)
    assert np.allclose(elastic.turned_normals(goal), elastic.normals @ turn.T, atol=1e-10)
    # Noise in the targets is smoothed away.
    noise = 0.02 * np.random.default_rng(1).normal(size=goal.shape)
    left = elastic.bent(goal, goal + noise) - goal
    assert np.linalg.norm(left) < 0.5 * np.linalg.norm(noise)


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
