"""`finsler evaluate` on trained networks."""

import dataclasses
import json
import shutil

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from finsler import primitives
from finsler.cli.main import app
from finsler.data import Collection, PrepareConfig, Shape, Store, pack, prepare
from finsler.errors import InputError
from finsler.evaluation import save_predictions
from finsler.evaluation.network import predict_network
from finsler.nn import OperatorStack
from finsler.nn.training import Sample, TrainConfig, load_model, predict, train


def load(name):
    mesh = primitives.bumpy_sphere(3, amplitude=0.1 + 0.03 * "abcd".index(name))
    labels = np.arange(mesh.n_vertices)
    return Shape(name, mesh, labels, labels % 3 > 0)


COLLECTION = Collection("bumps", ("a", "b"), ("c", "d"), "a", load)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Folder with a pack, a store, a run, and the run's predictions as a file."""
    base = tmp_path_factory.mktemp("trained")
    pack(COLLECTION, base / "bumps.npz")
    store = prepare(COLLECTION, base / "store", PrepareConfig(angles=2, descriptor="xyz")).store
    small = TrainConfig(model="small", channels=4, layers=1, order=2, hidden=8, epochs=2)
    train(store, base / "run", small.override(["device=cpu", "learning_rate=0.05"]))
    network, about = load_model(base / "run/last.safetensors")
    save_predictions(base / "p.npz", predict(network, store, store.test, about=about), {})
    return base


def run(trained, *words):
    options = ["--collection", f"pack:{trained / 'bumps.npz'}", "--json"]
    result = CliRunner().invoke(app, ["evaluate", *options, *(str(word) for word in words)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return json.loads(result.stdout)


def test_a_network_scores_like_its_predictions(trained, tmp_path):
    path, out = trained / "run/last.safetensors", tmp_path / "r.json"
    found = run(trained, path, "--store", trained / "store", "--out", out)
    expected = run(trained, trained / "p.npz")
    assert found["summary"] == expected["summary"] and found["shapes"] == expected["shapes"]
    assert 0 < found["summary"]["named"]["mean"]["mean"] < 200
    [said] = json.loads(out.read_text(encoding="utf-8"))["runs"].values()
    assert said["record"]["config"]["epoch"] == 2
    assert said["record"]["config"]["train"]["model"] == "small"


def test_networks_and_files_together(trained):
    words = [trained / "run/last.safetensors", trained / "p.npz", "--store", trained / "store"]
    found = run(trained, *words)
    assert found["interval"]["runs"] == 2
    assert found["summary"]["every"]["exact"]["half_width"] == 0.0


def test_networks_add_their_scores(trained, tmp_path):
    store = Store.open(trained / "store")
    config = TrainConfig(model="small", channels=4, layers=1, order=2, hidden=8, epochs=1, seed=1)
    for softmax in ("classes", "both"):
        other = dataclasses.replace(config, softmax=softmax, device="cpu")
        train(store, tmp_path / softmax, other)
    paths = [trained / "run/last.safetensors", *tmp_path.glob("*/last.safetensors")]
    found = run(trained, *paths, "--store", trained / "store", "--together")
    assert found["interval"]["runs"] == 1 and found["config"]["predictions"] == ["together"]
    together = predict_network(paths, store).vertices
    networks = [load_model(path) for path in paths]
    for name in store.test:
        total = 0.0
        for network, about in networks:
            sample = Sample.of(store[name], OperatorStack)
            with torch.no_grad():
                logits = network(sample.features, sample.domain)
            both = about.config.softmax == "both"
            total = total + logits.log_softmax(1) + (logits.log_softmax(0) if both else 0.0)
        assert np.array_equal(together[name], total.argmax(1).numpy())


def test_sentences(trained, tmp_path):
    path = trained / "run/last.safetensors"
    with pytest.raises(InputError, match="trained network; give the prepared shapes with --store"):
        run(trained, path)
    with pytest.raises(InputError, match="--store is for trained networks"):
        run(trained, trained / "p.npz", "--store", trained / "store")
    with pytest.raises(InputError, match="no finished store here"):
        run(trained, path, "--store", tmp_path)
    with pytest.raises(InputError, match="no such file"):
        run(trained, tmp_path / "no.safetensors", "--store", trained / "store")
    with pytest.raises(InputError, match="--together is for two or more trained networks"):
        run(trained, path, "--store", trained / "store", "--together")
    prepare(COLLECTION, tmp_path / "other", PrepareConfig(angles=3, descriptor="xyz"))
    with pytest.raises(InputError, match="prepared with angles = 3, the network was"):
        run(trained, path, "--store", tmp_path / "other")


@pytest.mark.parametrize("array", ["features", "values"])
def test_entries_that_are_not_finite_are_not_scored(trained, tmp_path, array):
    shutil.copytree(trained / "store", tmp_path / "store")
    for path in (tmp_path / "store").rglob("*.npz"):
        with np.load(path) as data:
            arrays = {name: data[name] for name in data}
        arrays[array].flat[0] = np.nan
        np.savez(path, **arrays)
    network = trained / "run/last.safetensors"
    with pytest.raises(InputError, match=rf"{array}.* finite"):
        run(trained, network, "--store", tmp_path / "store")
