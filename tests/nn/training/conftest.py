"""A store of tiny shapes that a tiny network can learn."""

import numpy as np
import pytest

from finsler import primitives
from finsler.data import Collection, PrepareConfig, Shape, Store, prepare


def make_store(folder, *, train=("a", "b", "c"), test=("d",), descriptor="xyz", **settings):
    """Bumpy spheres of 92 vertices, some without ground truth; each vertex is its own label."""

    def load(name):
        mesh = primitives.bumpy_sphere(3, amplitude=0.1 + 0.03 * "abcd".index(name))
        labels = np.arange(mesh.n_vertices)
        return Shape(name, mesh, labels, labels % 3 > 0)

    shapes = Collection("bumps", train, test, train[0], load)
    return prepare(shapes, folder, PrepareConfig(angles=2, descriptor=descriptor, **settings)).store


@pytest.fixture(scope="session")
def store_maker():
    """Makes such a store with other shapes or settings."""
    return make_store


@pytest.fixture(scope="session")
def store(tmp_path_factory) -> Store:
    return make_store(tmp_path_factory.mktemp("store"))


@pytest.fixture
def own_store(tmp_path) -> Store:
    """A store that a test may damage."""
    return make_store(tmp_path / "store")
