"""The directed network in the learning of maps, from random weights and from those in the box."""

import dataclasses

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from finsler import match, primitives, write_mesh
from finsler.analysis.spectrum import spectrum
from finsler.cli.main import app
from finsler.data import Collection, PrepareConfig, Shape, Store, prepare
from finsler.descriptors.learned import FeatureModel, shipped_model, two_histograms
from finsler.errors import InputError
from finsler.matching.learned import learned_map
from finsler.mesh.trimesh import TriMesh
from finsler.nn.maps.directed_shapes import DirectedShapes
from finsler.nn.training import Checkpoint, TrainConfig, train
from finsler.nn.training.map_prediction import MapModel
from finsler.nn.training.map_samples import MapShape, MapShapes
from finsler.nn.training.maps import MapObjective, about_maps
from finsler.operator import lbo

CONFIG = TrainConfig(
    objective="maps",
    model="directed",
    device="cpu",
    channels=12,
    layers=2,
    maps_basis=16,
    maps_features=24,
    maps_wave=8,
    epochs=2,
    validation=0.4,
)
BOX = TrainConfig(
    objective="maps", model="directed", maps_start="box", device="cpu", maps_basis=16, epochs=2
)
SPHERES = PrepareConfig(kind="lbo", angles=1, bins=2, radius=0.3, eigenpairs=16)
FOR_BOX = PrepareConfig(kind="lbo", angles=1, descriptor="shot_two", eigenpairs=128)


def bumps(name):
    """A bumpy sphere of 252 vertices, numbered anew; its labels are the old numbers."""
    number = "abcdef".index(name)
    mesh = primitives.bumpy_sphere(5, amplitude=0.2 + 0.02 * number)
    order = np.random.default_rng(number).permutation(mesh.n_vertices)
    moved = TriMesh(mesh.vertices[order], np.argsort(order)[mesh.faces])
    return Shape(name, moved, order, np.ones(len(order), dtype=bool))


def make(folder, prepared, names="abcde") -> Store:
    shapes = Collection("bumps", tuple(names), ("f",), names[0], bumps)
    return prepare(shapes, folder, prepared).store


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Store:
    return make(tmp_path_factory.mktemp("store"), SPHERES)


@pytest.fixture(scope="module")
def box_store(tmp_path_factory) -> Store:
    return make(tmp_path_factory.mktemp("box"), FOR_BOX, "abc")


def objective_and_shapes(store, config, names="ab"):
    about = about_maps(store, config)
    torch.manual_seed(0)
    shapes = [MapShape.of(store[name], about) for name in names]
    return MapObjective(about.build(), config), shapes


def test_shapes_side_by_side_are_described_as_alone(store):
    objective, (one, other) = objective_and_shapes(store, CONFIG)
    assert one.features.shape == (252, SPHERES.channels + 8)
    together = objective.describe([one, other])
    for shape, features in zip((one, other), together, strict=True):
        assert features.shape == (252, 24)
        assert torch.allclose(features.norm(dim=1), torch.tensor(24.0).sqrt())
        assert torch.allclose(features, objective.describe([shape])[0], atol=1e-5)
    assert not torch.allclose(*together, atol=1e-2)
    batch = DirectedShapes.batch([one.domain, other.domain]).to("cpu")
    assert batch.sizes == [252, 252]


def test_all_weights_have_finite_gradients(store):
    objective, shapes = objective_and_shapes(store, CONFIG)
    objective(shapes).backward()
    for name, weight in objective.network.named_parameters():
        assert weight.grad is not None and weight.grad.isfinite().all(), name
        assert weight.grad.abs().max() > 0.0, name


@pytest.mark.parametrize("start", ["random", "box"])
def test_a_run_that_was_interrupted_ends_the_same(store, box_store, tmp_path, start):
    class Stop(Exception):
        pass

    def stop(metrics):
        raise Stop

    shapes, config = (store, CONFIG) if start == "random" else (box_store, BOX)
    config = dataclasses.replace(config, feature_noise=0.1, maps_shapes=3)
    whole, about = train(shapes, tmp_path / "whole", config)
    with pytest.raises(Stop):
        train(shapes, tmp_path / "parts", config, on_epoch=stop)
    parts, other = train(shapes, tmp_path / "parts", config)
    for name, tensor in whole.state_dict().items():
        assert torch.equal(tensor, parts.state_dict()[name]), name
    assert [m["loss"] for m in about.history] == [m["loss"] for m in other.history]


def test_a_run_from_the_box_starts_with_its_features(box_store, tmp_path):
    """Steps too short to change a weight leave the features of the model in the box."""
    _, about = train(box_store, tmp_path, dataclasses.replace(BOX, epochs=1, learning_rate=1e-30))
    model = MapModel.load(tmp_path / "last.safetensors", device="cpu")
    assert about.classes == shipped_model().size
    shape = box_store["a"]
    mesh = TriMesh(shape.vertices, shape.faces)
    wanted = shipped_model().features(mesh, spectrum(lbo(mesh), 128), two_histograms(mesh))
    features = model.describe(model.shape(shape)).features.numpy()
    assert np.einsum("nc,nc->n", features, wanted).min() > 0.9999
    # What is read is in the checkpoint, for the day when the package has another model.
    assert Checkpoint.read(tmp_path / "last.safetensors").tensors["network.axes"].any()


def test_steps_from_the_box_lower_the_energy_and_move_weights(box_store, tmp_path):
    config = dataclasses.replace(BOX, epochs=6, learning_rate=1e-3)
    network, about = train(box_store, tmp_path, config)
    losses = [metrics["loss"] for metrics in about.history]
    assert losses[-1] < 0.9 * losses[0], losses
    moved = network.state_dict()["network.last.weight"]
    assert not np.allclose(moved.numpy(), shipped_model().weights["last.weight"], atol=1e-4)
    mesh = bumps("a").mesh
    assert (learned_map(tmp_path / "last.safetensors", mesh, mesh).map_12 == range(252)).all()


def test_a_tuned_box_is_left_as_a_model_for_matching(box_store, tmp_path):
    config = dataclasses.replace(BOX, validation=0.4, evaluate_every=1)
    train(box_store, tmp_path, config)
    model = FeatureModel.read(tmp_path / "model.npz")
    assert model.version.startswith("tuned-") and model.key != shipped_model().key
    shape = box_store["a"]
    mesh = TriMesh(shape.vertices, shape.faces)
    found = model.features(mesh, spectrum(lbo(mesh), 128), two_histograms(mesh))
    network = MapModel.load(tmp_path / "best.safetensors", device="cpu")
    wanted = network.describe(network.shape(shape)).features.numpy()
    assert np.einsum("nc,nc->n", found, wanted).min() > 0.999  # weights in half precision
    matched = match(mesh, mesh, k=40, model=tmp_path / "model.npz")
    assert (matched.map_12 == range(252)).all()


def test_what_is_kept_in_memory_is_counted(store):
    kept = MapShapes(store, about_maps(store, CONFIG), torch.device("cpu"))
    assert kept["a"] is kept["a"]
    small = dataclasses.replace(CONFIG, memory=1e-4)
    shapes = MapShapes(store, about_maps(store, small), torch.device("cpu"))
    assert shapes["a"] is not shapes["a"]
    domain = kept["a"].domain.parts[0]
    used = CONFIG.memory * 2**30 - kept._free
    assert used > domain.eigenvectors.nbytes + 2 * domain.derivative.values().nbytes


def test_bad_input(store, box_store, tmp_path):
    def fails(sentence, where, config, **settings):
        with pytest.raises(InputError, match=sentence):
            train(where, tmp_path / "run", dataclasses.replace(config, **settings))

    fails("directed is for objective = maps", store, TrainConfig(model="directed", device="cpu"))
    fails("set model=directed", box_store, BOX, model="diffusionnet")
    fails("channels is 8, but the model in the box has its own", box_store, BOX, channels=8)
    fails("maps_wave is 0, but the model in the box", box_store, BOX, maps_wave=0)
    fails("prepare with --descriptor shot_two --eigenpairs 128", store, BOX)
    with pytest.raises(InputError, match="no effect unless objective is"):
        TrainConfig(maps_start="box")
    with pytest.raises(InputError, match="shot_two has 10"):
        PrepareConfig(descriptor="shot_two", bins=5)
    bare = dataclasses.replace(store["a"], eigenvalues=np.zeros(0))
    with pytest.raises(InputError, match="prepared without eigenpairs"):
        DirectedShapes.of(bare)


def test_the_command_learns_from_a_folder_of_meshes(tmp_path, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    (tmp_path / "meshes").mkdir()
    for name in "abc":
        write_mesh(tmp_path / "meshes" / f"{name}.off", bumps(name).mesh)
    where = [str(tmp_path / "meshes"), "--out", str(tmp_path / "run"), "--device", "cpu"]
    settings = ("model=directed", "maps_basis=16", "maps_wave=8", "channels=12", "epochs=12")
    chosen = [f"--set={setting}" for setting in (*settings, "learning_rate=3e-3")]
    done = CliRunner().invoke(app, ["train", *where, "--objective", "maps", *chosen])
    assert done.exit_code == 0, done.output
    about = Checkpoint.read(tmp_path / "run" / "last.safetensors").about
    assert about.prepare.kind == "lbo" and about.prepare.eigenpairs == 16
    losses = [metrics["loss"] for metrics in about.history]
    assert losses[-1] < 0.7 * losses[0], losses
