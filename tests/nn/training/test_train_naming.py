"""Points of the ground truth as classes: what labels follow from them, and what is read."""

import dataclasses
import itertools

import numpy as np
import pytest
import torch

from finsler import primitives
from finsler.data import Collection, PrepareConfig, Shape, Store, prepare
from finsler.data.labels import canonical_labels
from finsler.errors import InputError
from finsler.nn.training import TrainConfig, predict, train
from finsler.nn.training.class_maps import class_maps
from finsler.nn.training.naming import Points, named_points, neighbor_weights, vertices_of_points
from finsler.nn.training.prediction import count_exact, predict_together
from finsler.nn.training.samples import Samples

POINTS = TrainConfig(
    epochs=2, channels=6, hidden=8, order=3, classes="points", point_neighbors=8, device="cpu"
)


def make_store(folder, *, spoiled=False, missing=False) -> Store:
    """Bumpy spheres with 120 points at 92 vertices, so that several lie at one."""

    def load(name):
        mesh = primitives.bumpy_sphere(3, amplitude=0.1 + 0.02 * "abcd".index(name))
        points = np.random.default_rng("abcd".index(name)).permutation(
            np.r_[np.arange(80), np.arange(40)]
        )
        reference = np.random.default_rng(0).permutation(np.r_[np.arange(80), np.arange(40)])
        truth = canonical_labels(mesh, points, reference)
        labels = truth.labels + (1 if spoiled and name == "b" else 0)
        if missing and name == "b":
            points = points[:-1]
        return Shape(name, mesh, labels, truth.named, points)

    train, test = (("b", "a", "c"), ("d",)) if spoiled else (("a", "b", "c"), ("d",))
    shapes = Collection("bumps", train, test, "a", load)
    return prepare(shapes, folder, PrepareConfig(angles=2, descriptor="xyz")).store


@pytest.fixture(scope="module")
def listed(tmp_path_factory):
    return make_store(tmp_path_factory.mktemp("listed"))


def test_labels_follow_the_first_point_at_each_vertex():
    # Against all ways to place three points on three vertices, each with its probability.
    scores = torch.randn(3, 3, generator=torch.Generator().manual_seed(1))
    q, reference = scores.softmax(0), torch.tensor([1, 0, 1])
    expected = torch.zeros(3, 2)
    for places in itertools.product(range(3), repeat=3):
        chance = np.prod([q[v, i] for i, v in enumerate(places)])
        for v in set(places):
            expected[v, reference[places.index(v)]] += chance
    found = vertices_of_points(scores, reference, 2).exp()
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_points_are_classes_where_labels_follow_from_them(listed, store, tmp_path):
    assert named_points(listed, TrainConfig()) is None
    assert named_points(store, POINTS) is None
    np.testing.assert_array_equal(named_points(listed, POINTS), listed["a"].points)
    assert named_points(make_store(tmp_path, spoiled=True), POINTS) is None


def test_weights_of_neighbours():
    torch.manual_seed(0)
    places = [torch.rand(40, 3) for _ in range(5)]
    neighbors, weights = neighbor_weights(places, 6, 40)
    torch.testing.assert_close(weights.sum(1), torch.ones(40))
    assert all(i not in row for i, row in enumerate(neighbors.tolist()))
    # Motions and scales of all shapes change nothing.
    turn = torch.linalg.qr(torch.randn(3, 3)).Q
    others = neighbor_weights([7.0 * x @ turn + 1.0 for x in places], 6, 40)
    assert torch.equal(others[0], neighbors)
    torch.testing.assert_close(others[1], weights, rtol=1e-3, atol=1e-4)
    # Of a single shape they are the constrained least squares problem that they are said to be.
    i = 3
    apart = (places[0][neighbors[i]] - places[0][i]).double()
    _, one = neighbor_weights(places[:1], 40 - 1, 40)
    assert one.shape == (40, 39)
    near, one = neighbor_weights(places[:1], 6, 40)
    apart = (places[0][near[i]] - places[0][i]).double()
    gram = apart @ apart.T
    gram += 0.3 * gram.diagonal().mean() * torch.eye(6, dtype=torch.float64)

    def energy(w):
        return w @ gram @ w

    best = one[i].double()
    for j, k in itertools.permutations(range(6), 2):
        other = best.clone()
        other[j] += 1e-3
        other[k] -= 1e-3
        assert energy(other) > energy(best)


def grid_points(count=11):
    x = torch.linspace(0.0, 1.0, count)
    places = torch.stack([*torch.meshgrid(x, x, indexing="ij"), torch.zeros(count, count)], -1)
    return places.reshape(-1, 3)


def test_neighbours_correct_a_point_that_is_in_doubt():
    places = grid_points()
    n = len(places)
    neighbors, weights = neighbor_weights([places], 8, n)
    scores = 20.0 * torch.eye(n)
    doubtful = 60
    # A vertex two steps away looks a little better than the right one.
    scores[doubtful, doubtful], scores[doubtful + 2, doubtful] = 10.0, 10.5
    reference = torch.arange(n)
    alone = Points(reference, neighbors[:, :0], weights[:, :0])
    assert int((alone.named_by(scores, places) != reference).sum()) == 1
    together = Points(reference, neighbors, weights)
    assert torch.equal(together.named_by(scores, places), reference)


def test_training_with_points(listed, tmp_path):
    network, about = train(listed, tmp_path / "run", POINTS)
    assert about.classes == 120
    found = predict(network, listed, listed.test, about=about)["d"]
    assert found.shape == (92,) and 0 <= found.min() <= found.max() < 92
    samples = Samples(listed, about, learned=listed.train, device=torch.device("cpu"))
    counts = count_exact(network, samples, listed.test, points=samples.points)
    assert counts.tolist()[2] == int((found == listed["d"].labels).sum())
    # A network with itself says what it says alone.
    twice = predict_together([(network, about)] * 2, listed, listed.test)
    np.testing.assert_array_equal(twice["d"], found)


LEARNED = TrainConfig(
    epochs=150,
    channels=16,
    hidden=64,
    order=4,
    classes="points",
    softmax="both",
    dropout=0.0,
    learning_rate=1e-2,
    point_neighbors=0,
    device="cpu",
)


@pytest.fixture(scope="module")
def learned(listed, tmp_path_factory):
    """A folder, and the network that was trained there."""
    folder = tmp_path_factory.mktemp("learned")
    return folder, *train(listed, folder, LEARNED)


def test_learns_where_points_lie(listed, learned):
    _, network, about = learned
    found = predict(network, listed, ("a",), about=about)["a"]
    shape = listed["a"]
    assert (found == shape.labels)[shape.named].mean() > 0.9


def test_a_shape_that_lists_other_points_is_refused(tmp_path):
    spoiled = make_store(tmp_path / "store", missing=True)
    with pytest.raises(InputError, match="lists 119 points, the reference 120; prepare"):
        train(spoiled, tmp_path / "run", POINTS)


def test_a_network_of_points_wants_its_store(listed, store, tmp_path):
    network, about = train(listed, tmp_path / "run", POINTS)
    with pytest.raises(InputError, match=r"know 120 classes, the reference of .* has 92; take"):
        predict(network, store, store.test, about=about)


def test_maps_between_shapes(listed, learned, tmp_path, finsler_command):
    run, network, about = learned
    maps = {(a, b): images for a, b, images in class_maps(network, about, listed, ("a", "b", "c"))}
    assert len(maps) == 6
    for (a, b), images in maps.items():
        here, there = listed[a], listed[b]
        # A point that lies alone at its vertex says where this goes.
        alone = np.isin(np.arange(120), np.flatnonzero(np.bincount(here.points)[here.points] == 1))
        right = images[here.points[alone]] == there.points[alone]
        assert right.mean() > 0.9
        assert 0 <= images.min() <= images.max() < len(there.vertices)
    out = tmp_path / "maps"
    given = ("maps", run / "last.safetensors", listed.folder, "--split", "train")
    code, _, said = finsler_command(*given)
    assert code == 2 and "give --out" in said
    code, told, _ = finsler_command(*given, "-o", out)
    assert code == 0 and "6 pairs matched" in told
    with np.load(out / "a__b.npz") as written:
        np.testing.assert_array_equal(written["map_12"], maps["a", "b"])


def test_maps_of_a_network_that_names_vertices(store, tmp_path):
    config = dataclasses.replace(LEARNED, epochs=40, classes="vertices", point_neighbors=128)
    network, about = train(store, tmp_path, config)
    for _, _, images in class_maps(network, about, store, ("a", "b")):
        assert (images == np.arange(92))[store["a"].named].mean() > 0.9
