"""Surfaces that are described once: the same maps, from memory, from files and from a cache."""

import numpy as np
import pytest

import finsler
from finsler import TriMesh, describe, match, read_described, write_described
from finsler.data import cut
from finsler.errors import InputError
from finsler.matching import surfaces
from finsler.matching.surfaces import comparable, histogram_radius


@pytest.fixture(scope="module")
def meshes():
    bumpy = finsler.primitives.bumpy_sphere(6)
    # One vertex without a face, which repair leaves out.
    other = np.concatenate([7.0 * bumpy.vertices[:, [1, 2, 0]], [[9.0, 9.0, 9.0]]])
    return bumpy, TriMesh(other, bumpy.faces)


@pytest.fixture(scope="module")
def both(meshes):
    return tuple(describe(mesh, k=40) for mesh in meshes)


def same(one, other):
    names = ("map_12", "map_21", "expected", "functional", "eigenvalues_1")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def test_described_surfaces_and_files_give_the_map_of_the_meshes(meshes, both, tmp_path):
    expected = match(*meshes, k=40)
    assert expected.map_21.shape == (363,)
    assert same(match(*both), expected) and same(match(both[0], meshes[1], k=40), expected)
    write_described(tmp_path / "a.npz", both[0])
    finsler.write_mesh(tmp_path / "b.off", meshes[1])
    assert same(match(tmp_path / "a.npz", str(tmp_path / "b.off"), k=40), expected)


def test_fewer_functions_are_taken_from_a_description(meshes, both):
    # A basis of its own size has other roundings, so only nearly the same.
    found = match(*both, k=20)
    assert found.functional.shape == (20, 20)
    assert (found.map_12 == match(*meshes, k=20).map_12).mean() > 0.9


def test_initial_map_between_described_surfaces(meshes, both):
    start = np.roll(np.arange(362), 1)
    expected = match(*meshes, k=40, initial=start)
    assert same(match(*both, initial=start), expected)


def test_part_is_described_in_the_unit_of_the_whole(meshes, both):
    part = cut(meshes[0], share=0.7, seed=3).mesh
    expected = match(part, meshes[0], k=40, partial=True)
    found = match(describe(part, k=40), both[0], k=40, partial=True)
    assert (found.map_12 == expected.map_12).mean() > 0.98
    assert found.functional.shape == expected.functional.shape


def test_unequal_radii_are_compared_at_the_smaller(both, monkeypatch):
    assert both[0].histograms.radius == histogram_radius(362) == 0.18
    monkeypatch.setattr(surfaces, "_NEIGHBORS", 20)
    fine = describe(both[0].mesh, k=40)
    assert fine.histograms.radius == histogram_radius(362) < 0.18
    same_fine, again = comparable(fine, both[1], 40)
    assert same_fine is fine and again.histograms.radius == fine.histograms.radius
    assert not np.array_equal(again.histograms.scores, both[1].histograms.scores)
    assert (match(fine, both[1]).map_12 == np.arange(362)).mean() > 0.9


def test_radii_are_few_and_hold_a_thousand_vertices():
    counts = np.arange(1000, 200_000, 500)
    radii = np.array([histogram_radius(int(n)) for n in counts])
    assert (counts * np.pi * radii**2 <= 1000.001)[counts > 9824].all()
    assert (radii[counts <= 9824] == 0.18).all() and len(set(radii)) <= 7


def test_cache_is_used_and_survives_damage(meshes, tmp_path, monkeypatch):
    folder = tmp_path / "kept"
    expected = match(*meshes, k=40, cache=folder)
    files = sorted(folder.iterdir())
    assert len(files) == 2 and same(match(*meshes, k=40), expected)

    def refuse(*_):
        raise AssertionError("described again")

    with monkeypatch.context() as patch:
        patch.setattr("finsler.matching.descriptions.describe_unit", refuse)
        assert same(match(*meshes, k=40, cache=folder), expected)
    # Another operator has another key; an archive cut short, or with other arrays, is replaced.
    describe(meshes[0], k=40, operator=lambda m: finsler.albo(m, alpha=1.0), cache=folder)
    assert len(list(folder.iterdir())) == 3
    files[0].write_bytes(files[0].read_bytes()[:1000])
    with np.load(files[1]) as data:
        arrays = dict(data)
    np.savez(files[1], **{**arrays, "mass": -arrays["mass"]})
    assert same(match(*meshes, k=40, cache=folder), expected)
    assert (read_described(files[1]).mass > 0.0).all()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"mass": np.ones(3)}, "mass is .3,. of float64, and must be .362"),
        ({"vertex_map": np.full(362, 400)}, "vertex_map names a vertex outside 0..361"),
        ({"eigenvalues": np.full(40, np.nan)}, "eigenvalues holds values that are not finite"),
        ({"radius": np.array(0.0)}, "radius must be above 0"),
        ({"faces": np.full((720, 3), 500)}, "face"),
    ],
)
def test_damaged_files(both, tmp_path, change, sentence):
    path = tmp_path / "a.npz"
    write_described(path, both[0])
    with np.load(path) as data:
        arrays = dict(data)
    np.savez(path, **{**arrays, **change})
    with pytest.raises(InputError, match=f"{path}: no described surface can be read: .*{sentence}"):
        match(path, both[1])


def test_bad_paths_and_meshes(both, tmp_path):
    with pytest.raises(InputError, match=r"written as \.npz"):
        write_described(tmp_path / "a.off", both[0])
    with pytest.raises(InputError, match="no such file"):
        match(tmp_path / "none.npz", both[1])
    with pytest.raises(InputError, match=r"the smaller mesh has 6 vertices"):
        describe(_octahedron())
    with pytest.raises(InputError, match="a DescribedSurface or the path of a file"):
        match(3, both[1])


def _octahedron():
    vertices = np.concatenate([np.eye(3), -np.eye(3)])
    faces = [[0, 1, 2], [1, 3, 2], [3, 4, 2], [4, 0, 2], [1, 0, 5], [3, 1, 5], [4, 3, 5], [0, 4, 5]]
    return TriMesh(vertices, faces)
