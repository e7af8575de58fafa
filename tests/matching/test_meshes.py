"""Matching whole meshes: accuracy on creatures, and meshes of every kind."""

import numpy as np
import pytest

import finsler
from finsler import TriMesh
from finsler.data import cut, synthetic_collection
from finsler.errors import InputError
from finsler.matching import match
from finsler.mesh import surface_area


@pytest.fixture(scope="module")
def people():
    shapes = synthetic_collection("humanoid", train=0, test=4, poses=2, vertices=1000)
    return tuple(shapes[name] for name in (shapes.reference, *shapes.test[2:]))


def label_errors(reference, first, second, map_12):
    """Straight distances on the reference between found and true labels, by √area."""
    places = reference.mesh.vertices
    apart = places[second.labels[map_12]] - places[first.labels]
    return np.linalg.norm(apart, axis=1) / np.sqrt(surface_area(reference.mesh))


def test_person_in_another_pose_unit_and_position(people):
    reference, first, second = people
    # Another unit and position.
    moved = TriMesh(1000.0 * second.mesh.vertices[:, [2, 0, 1]] + 5e4, second.mesh.faces)
    found = match(first.mesh, moved, k=120)
    errors = label_errors(reference, first, second, found.map_12)
    assert errors.mean() < 0.04
    assert found.orientation > 0.7


def test_anisotropic_basis(people):
    reference, first, second = people
    found = match(
        first.mesh, second.mesh, k=100, operator=lambda mesh: finsler.albo(mesh, alpha=1.0)
    )
    assert label_errors(reference, first, second, found.map_12).mean() < 0.04


def test_initial_map_is_refined(people):
    reference, first, second = people
    # What a learned map may look like: a third of the vertices anywhere.
    rng = np.random.default_rng(0)
    places = reference.mesh.vertices
    goals = ((places[first.labels][:, None] - places[second.labels][None]) ** 2).sum(axis=2)
    start = goals.argmin(axis=1)
    start = np.where(rng.random(1000) < 0.3, rng.integers(0, 1000, 1000), start)
    found = match(first.mesh, second.mesh, k=100, initial=start)
    before = label_errors(reference, first, second, start).mean()
    after = label_errors(reference, first, second, found.map_12).mean()
    assert after < 0.04 < 0.1 < before


@pytest.fixture(scope="module")
def bumpy():
    return finsler.primitives.bumpy_sphere(8)


def test_numbering_unit_and_rotation_do_not_matter(bumpy):
    order = np.random.default_rng(0).permutation(642)
    faces = np.argsort(order)[bumpy.faces]
    turned = TriMesh(1e-3 * bumpy.vertices[order][:, [1, 2, 0]], faces)
    found = match(bumpy, turned)
    # Vertex order[x] of the first mesh is vertex x of the second.
    assert (order[found.map_12] == np.arange(642)).mean() > 0.97
    assert (found.map_21 == order).mean() > 0.97
    assert np.median(found.cycle) == 0.0 and np.median(found.confidence) > 0.9
    assert found.functional.shape == (200, 200)


def test_part_is_found_on_the_whole(bumpy):
    part = cut(bumpy, share=0.7, seed=3)
    found = match(part.mesh, bumpy, partial=True)
    apart = np.linalg.norm(bumpy.vertices[found.map_12] - part.mesh.vertices, axis=1)
    assert apart.mean() / np.sqrt(surface_area(bumpy)) < 0.05
    assert found.functional.shape[0] < found.functional.shape[1]


def test_damaged_mesh_gets_a_map_for_every_vertex(bumpy):
    # Every vertex twice, one of each pair without a face, one face double, one without area.
    vertices = np.concatenate([bumpy.vertices, bumpy.vertices])
    faces = np.concatenate([bumpy.faces, bumpy.faces[:1], [[5, 5, 9]]])
    found = match(TriMesh(vertices, faces), bumpy)
    assert found.map_12.shape == (1284,) and found.map_21.shape == (642,)
    assert (found.map_12[:642] == np.arange(642)).mean() > 0.97
    assert np.array_equal(found.map_12[:642], found.map_12[642:])
    assert np.isfinite(found.confidence).all()


def test_several_components_and_holes(bumpy):
    small = finsler.primitives.ellipsoid(5)
    both = TriMesh(
        np.concatenate([bumpy.vertices, 0.3 * small.vertices + 3.0]),
        np.concatenate([bumpy.faces[30:], small.faces + 642]),
    )
    found = match(both, both)
    same = found.map_12 == np.arange(both.n_vertices)
    assert same.mean() > 0.8
    assert (found.confidence >= 0.0).all() and (found.confidence <= 1.0).all()


def test_crumbs_do_not_displace_the_basis(bumpy):
    # Single faces apart from the surface, each with a constant function of its own.
    corner = 2.0 + 0.01 * np.arange(3)[:, None] * np.eye(3)
    crumbed = TriMesh(
        np.concatenate([bumpy.vertices, corner, -corner]),
        np.concatenate([bumpy.faces, [[642, 643, 644], [645, 646, 647]]]),
    )
    found, clean = match(crumbed, bumpy, k=60), match(bumpy, bumpy, k=60)
    assert np.array_equal(found.map_12[:642], clean.map_12)
    assert found.map_12.shape == found.expected.shape == (648,)
    # They follow the nearest vertex of the surface.
    nearest = np.linalg.norm(bumpy.vertices - corner[0], axis=1).argmin()
    assert found.map_12[642] == found.map_12[nearest]
    assert found.map_21.max() < 642


def test_kept_map(bumpy):
    same = np.arange(642)
    start = np.roll(same, 1)
    found = match(bumpy, bumpy, initial=start, keep=True, k=50)
    assert np.array_equal(found.map_12, start)
    assert found.functional.shape == (50, 50)
    right = match(bumpy, bumpy, initial=same, keep=True, k=50)
    assert np.allclose(right.functional, np.eye(50), atol=1e-6)
    assert right.expected.max() < 1e-6 < 0.01 < found.expected.mean()


def test_trust_decides_what_the_first_map_is_read_off(bumpy):
    # Half of the vertices go to the antipode; only the others are trusted.
    same = np.arange(642)
    wrong = bumpy.vertices[:, 0] > 0.0
    antipode = np.argmin(bumpy.vertices @ bumpy.vertices.T, axis=1)
    start = np.where(wrong, antipode, same)
    trusted = match(bumpy, bumpy, initial=start, trust=1e-3 + ~wrong, k=100)
    assert (trusted.map_12 == same).mean() > 0.9


def test_two_hundred_vertices(bumpy):
    small = finsler.primitives.bumpy_sphere(4)
    assert small.n_vertices < 200
    found = match(small, TriMesh(50.0 * small.vertices[:, [2, 0, 1]], small.faces))
    assert (found.map_12 == np.arange(small.n_vertices)).mean() > 0.9


def test_small_mesh(bumpy):
    small = finsler.primitives.bumpy_sphere(4)
    found = match(small, bumpy)
    apart = np.linalg.norm(bumpy.vertices[found.map_12] - small.vertices, axis=1)
    assert found.functional.shape == (54, 54)
    assert apart.mean() / np.sqrt(surface_area(small)) < 0.1


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"k": 9}, "k of at least 10"),
        ({"initial": [0, 1]}, "each of the 642 vertices"),
        ({"initial": np.full(642, 642)}, "outside 0..641"),
        ({"initial": np.arange(642), "trust": np.zeros(642)}, "not 0 for all"),
        ({"trust": np.ones(642)}, "none is given"),
        ({"keep": True}, "none is given"),
    ],
)
def test_bad_options(bumpy, options, sentence):
    with pytest.raises(InputError, match=sentence):
        match(bumpy, bumpy, **options)


def test_bad_meshes(bumpy):
    tetrahedron = TriMesh(
        [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]],
        [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
    )
    with pytest.raises(InputError, match="the smaller mesh has 4 vertices"):
        match(bumpy, tetrahedron)
    larger = TriMesh(3.0 * bumpy.vertices, bumpy.faces)
    with pytest.raises(InputError, match="exchange the meshes, or rescale one"):
        match(larger, bumpy, partial=True)
