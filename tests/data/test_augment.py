"""Deformed copies of training shapes."""

import dataclasses

import numpy as np
import pytest

from finsler.data import PrepareConfig, prepare
from finsler.data.augment import deform, original, with_copies
from finsler.data.collection import Collection, Shape
from finsler.data.store.config import key_of
from finsler.errors import InputError
from finsler.mesh import primitives
from finsler.mesh.measures import surface_area
from finsler.nn.training import TrainConfig
from finsler.nn.training.plan import split


@pytest.fixture
def collection():
    mesh = primitives.bumpy_sphere(4)
    n = mesh.n_vertices

    def load(name):
        return Shape(name, mesh, np.arange(n), np.ones(n, dtype=bool))

    return Collection("toy", ("a", "b", "c"), ("d",), "a", load)


def test_a_copy_is_near_its_original_and_has_its_labels(collection):
    more = with_copies(collection, 2)
    assert more.train == ("a", "b", "c", "a~1", "b~1", "c~1", "a~2", "b~2", "c~2")
    assert more.test == collection.test
    shape, copy = collection.load("b"), more.load("b~2")
    unit = np.sqrt(surface_area(shape.mesh))
    moved = np.linalg.norm(copy.mesh.vertices - shape.mesh.vertices, axis=1) / unit
    assert 0.005 < moved.mean() < 0.1
    np.testing.assert_array_equal(copy.labels, shape.labels)
    np.testing.assert_array_equal(copy.mesh.faces, shape.mesh.faces)


def test_a_copy_is_the_same_each_time_and_unlike_the_others(collection):
    more = with_copies(collection, 2)
    first = more.load("a~1").mesh.vertices
    np.testing.assert_array_equal(first, with_copies(collection, 1).load("a~1").mesh.vertices)
    assert np.abs(first - more.load("a~2").mesh.vertices).max() > 1e-3
    assert np.abs(first - more.load("b~1").mesh.vertices).max() > 1e-3


def test_deformation_does_not_depend_on_where_and_how_large_a_shape_is():
    mesh = primitives.bumpy_sphere(4)
    here = deform(mesh, np.random.default_rng(0)).vertices
    far = deform(
        type(mesh)(100.0 * mesh.vertices + 7.0, mesh.faces), np.random.default_rng(0)
    ).vertices
    np.testing.assert_allclose(far, 100.0 * here + 7.0, atol=1e-6 * 100)


def test_copies_stay_with_their_originals_when_shapes_are_held_out():
    names = ("a", "b", "c", "d", "a~1", "b~1", "c~1", "d~1")
    learned, held_out = split(names, TrainConfig(validation=0.5))
    assert len(held_out) == 2 and len(learned) == 4
    assert not {original(name) for name in learned} & set(held_out)
    limited, none = split(names, TrainConfig(max_shapes=1))
    assert limited == ("a", "a~1") and none == ()


def test_a_store_holds_the_copies(collection, tmp_path):
    config = PrepareConfig(kind="lbo", angles=1, descriptor="none", copies=1)
    store = prepare(collection, tmp_path / "store", config).store
    assert store.train == ("a", "b", "c", "a~1", "b~1", "c~1")
    shape, copy = store["a"], store["a~1"]
    assert np.abs(shape.values - copy.values).max() > 1e-3


def test_entries_of_given_shapes_do_not_depend_on_copies(collection):
    config = PrepareConfig(descriptor="none")
    more = dataclasses.replace(config, copies=3)
    shape = collection.load("a")
    assert key_of(shape, config) == key_of(shape, more)
    assert config.settings() != more.settings()


def test_a_negative_number_of_copies():
    with pytest.raises(InputError, match="copies is -1"):
        PrepareConfig(copies=-1)
