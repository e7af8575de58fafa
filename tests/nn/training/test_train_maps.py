"""Learning maps between shapes: the loop, its errors, and what is read from its features."""

import dataclasses

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from finsler import primitives, write_mesh
from finsler.cli.main import app
from finsler.data import Collection, PrepareConfig, Shape, Store, prepare
from finsler.data.meshes import unlabelled_collection
from finsler.errors import InputError
from finsler.matching.learned import learned_map
from finsler.mesh.trimesh import TriMesh
from finsler.nn.training import TrainConfig, load_model, train
from finsler.nn.training.map_prediction import MapModel, choose_map, map_energy, read_out
from finsler.nn.training.map_samples import MapShape
from finsler.nn.training.maps import MapObjective, epoch_groups, straight_errors

CONFIG = TrainConfig(
    objective="maps",
    device="cpu",
    channels=16,
    layers=2,
    order=4,
    hidden=32,
    maps_basis=16,
    maps_features=24,
    maps_wave=8,
    epochs=2,
    validation=0.4,
)
PREPARE = PrepareConfig(kind="albo", angles=2, descriptor="shot", bins=2, radius=0.3, eigenpairs=16)


def bumps(name):
    """A bumpy sphere of 252 vertices, numbered anew; its labels are the old numbers."""
    number = "abcdef".index(name)
    mesh = primitives.bumpy_sphere(5, amplitude=0.2 + 0.02 * number)
    order = np.random.default_rng(number).permutation(mesh.n_vertices)
    place = np.argsort(order)
    moved = TriMesh(mesh.vertices[order], place[mesh.faces])
    return Shape(name, moved, order, np.ones(len(order), dtype=bool))


def make(folder, names="abcde", test="f", load=bumps):
    shapes = Collection("bumps", tuple(names), tuple(test), names[0], load)
    return prepare(shapes, folder, PREPARE).store


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Store:
    return make(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def trained(store, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    config = dataclasses.replace(CONFIG, epochs=20, learning_rate=3e-3, schedule="cosine")
    _, about = train(store, folder, config)
    return folder / "last.safetensors", about


def test_maps_are_learned_without_labels(store, trained):
    path, about = trained
    network, again = load_model(path)
    assert again == about and again.config.objective == "maps" and again.classes == 24
    losses = [metrics["loss"] for metrics in about.history]
    assert losses[-1] < 0.5 * losses[0]
    shapes = [MapShape.of(store[name], about) for name in "af"]
    torch.manual_seed(0)
    errors = []
    with torch.no_grad():
        for net in (network, about.build()):
            described = MapObjective(net, about.config).describe(shapes)
            errors += straight_errors(*shapes, *described)
    learned, untrained = map(float, errors)
    assert learned < 0.65 * untrained, (learned, untrained)
    assert about.history[-1]["validation_error"] < 0.5 * untrained


def test_a_run_that_was_interrupted_ends_the_same(store, tmp_path):
    class Stop(Exception):
        pass

    def stop(metrics):
        raise Stop

    config = dataclasses.replace(CONFIG, feature_noise=0.1, maps_shapes=3)
    whole, about = train(store, tmp_path / "whole", config)
    with pytest.raises(Stop):
        train(store, tmp_path / "parts", config, on_epoch=stop)
    said = []
    parts, other = train(store, tmp_path / "parts", config, notify=said.append)
    assert any("continuing after epoch 1 of 2" in sentence for sentence in said)
    for name, tensor in whole.state_dict().items():
        assert torch.equal(tensor, parts.state_dict()[name]), name
    assert [m["loss"] for m in about.history] == [m["loss"] for m in other.history]
    with pytest.raises(InputError, match="maps_shapes = 3, not 2"):
        train(store, tmp_path / "parts", dataclasses.replace(config, maps_shapes=2))


@pytest.mark.parametrize("model", ["diffusionnet", "small"])
def test_other_networks_and_ground_truth(store, tmp_path, model):
    config = dataclasses.replace(
        CONFIG, model=model, supervised=True, maps_points=100, epochs=1, maps_resolution=0.5
    )
    _, about = train(store, tmp_path, config)
    assert np.isfinite(about.history[0]["loss"])
    assert (tmp_path / "best.safetensors").exists()


def test_every_shape_is_learned_from_in_every_epoch():
    config = dataclasses.replace(CONFIG, maps_shapes=3)
    groups = epoch_groups("abcdefg", config, 4)
    assert [len(set(group)) for group in groups] == [3, 3, 3]
    assert {name for group in groups for name in group} == set("abcdefg")
    assert groups == epoch_groups("abcdefg", config, 4) != epoch_groups("abcdefg", config, 5)
    assert epoch_groups("ab", config, 1)[0] in (("a", "b"), ("b", "a"))


def test_bad_input(store, tmp_path):
    def nameless(name):
        return dataclasses.replace(bumps(name), named=np.zeros(252, dtype=bool))

    def fails(sentence, where=store, **settings):
        with pytest.raises(InputError, match=sentence):
            train(where, tmp_path / "run", dataclasses.replace(CONFIG, **settings))

    fails("prepare with --eigenpairs 17", maps_basis=17)
    fails("all weights of the loss are 0", **{f"maps_{n}": 0.0 for n in _WEIGHTS})
    fails("rotation is for objective = labels", rotation=5.0)
    fails("has 1 training shapes", where=make(tmp_path / "one", "a", ""), validation=0.0)
    unnamed = make(tmp_path / "unnamed", "ab", "", nameless)
    fails("shape a has no vertex with ground truth", where=unnamed, supervised=True, validation=0.0)
    with pytest.raises(InputError, match="no effect unless objective is"):
        TrainConfig(supervised=True)


_WEIGHTS = ("bijectivity", "orthogonality", "coupling")


def test_care_is_asked_for(tmp_path):
    def load(name):
        one = bumps("a")
        mesh, n = one.mesh, one.mesh.n_vertices
        vertices = np.concatenate([mesh.vertices, mesh.vertices + 9.0])
        two = TriMesh(vertices, np.concatenate([mesh.faces, mesh.faces + n]))
        return Shape(name, two, np.zeros(2 * n, dtype=int), np.zeros(2 * n, dtype=bool))

    said = []
    shapes = make(tmp_path / "store", ("cat1", "cat2", "dog1"), (), load)
    config = dataclasses.replace(CONFIG, epochs=1, validation=0.0)
    train(shapes, tmp_path / "run", config, notify=said.append)
    assert sum("has 2 or more components" in sentence for sentence in said) == 3
    assert any("of 2 kinds (cat, dog)" in sentence for sentence in said)


def test_a_shape_and_itself(store, trained):
    model = MapModel.load(trained[0], device="cpu")
    one = model.describe(model.shape(store["a"]))
    every = torch.arange(252)
    for name, maps in read_out(one, one).items():
        assert torch.equal(maps.map_12, every) and torch.equal(maps.map_21, every), name
        assert maps.energy == 0.0
    assert map_energy(one.shape, one.shape, every.roll(1), every) > 0.1
    maps = read_out(one, model.describe(model.shape(store["f"])))
    best = choose_map(maps)
    assert maps[best].energy == min(each.energy for each in maps.values())


def test_tuning_lowers_the_loss_and_is_forgotten(store, trained):
    model = MapModel.load(trained[0], device="cpu")
    shapes = [model.shape(store[name]) for name in "ef"]
    before = [model.describe(shape).features for shape in shapes]
    tuned = model.tune(*shapes, steps=4, rate=1e-3)
    after = [model.describe(shape).features for shape in shapes]
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))
    objective = MapObjective(torch.nn.Identity(), trained[1].config)
    at_first, then = (
        objective.pair((shapes[0], first), (shapes[1], second))
        for first, second in (before, [each.features for each in tuned])
    )
    assert then < at_first
    assert not torch.equal(tuned[0].features, before[0])


def test_a_network_for_labels_matches_no_pairs(store, tmp_path):
    config = TrainConfig(device="cpu", channels=4, layers=1, order=2, hidden=8, epochs=1)
    network, about = train(store, tmp_path, config)
    with pytest.raises(InputError, match="train one with --objective maps"):
        MapModel(network, about)
    mesh = bumps("a").mesh
    with pytest.raises(InputError, match="only a network that learned maps is tuned"):
        learned_map(tmp_path / "last.safetensors", mesh, mesh, tune=3)


def test_scale_and_position_do_not_matter(trained):
    mesh, other = bumps("a").mesh, bumps("f").mesh
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))
    moved = TriMesh(3.0 * other.vertices @ turn.T + 5.0, other.faces)
    one, same = (learned_map(trained[0], mesh, each) for each in (other, moved))
    assert (one.map_12 == same.map_12).mean() > 0.98
    assert 0.0 <= one.trust.min() <= one.trust.max() <= 1.0 + 1e-6


@pytest.mark.filterwarnings("ignore:the direction of the field")
def test_commands(store, trained, tmp_path, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    run = CliRunner().invoke
    out = tmp_path / "maps"
    done = run(app, ["maps", str(trained[0]), str(store.folder), "--split", "all", "-o", str(out)])
    assert done.exit_code == 0, done.output
    assert "30 pairs matched" in done.output and "mean error" in done.output
    assert np.load(out / "a__b.npz")["map_12"].shape == (252,)
    assert len(list(out.glob("*__*.npz"))) == 30
    (tmp_path / "meshes").mkdir()
    for name in "ab":
        write_mesh(tmp_path / "meshes" / f"{name}.off", bumps(name).mesh)
    assert unlabelled_collection(tmp_path) is None
    small = [f"--set={key}" for key in ("epochs=1", "channels=4", "layers=1", "maps_basis=16")]
    where = [str(tmp_path / "meshes"), "--out", str(tmp_path / "run"), "--device", "cpu"]
    done = run(app, ["train", *where, "--objective", "maps", *small])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "run" / "store" / "store.json").exists()
    assert not (tmp_path / "run" / "predictions.npz").exists()
