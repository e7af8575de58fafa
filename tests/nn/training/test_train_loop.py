"""The loop: it learns, stops at bad losses, and goes on after interruptions."""

import dataclasses
import json
import sys

import numpy as np
import pytest
import torch

from finsler.data.store.catalog import entry_path
from finsler.data.store.entry import write_entry
from finsler.errors import ConvergenceError, InputError
from finsler.nn.training import (
    MODELS,
    Checkpoint,
    Model,
    Sample,
    TrainConfig,
    load_model,
    predict,
    train,
)
from finsler.nn.training import checkpoint as checkpoint_module
from finsler.nn.training.plan import epoch_batches
from finsler.nn.training.prediction import predicted_vertices

TINY = TrainConfig(
    model="small", channels=4, layers=2, order=3, hidden=16, dropout=0.2, epochs=3, device="cpu"
)


def curve(path):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [{key: m[key] for key in m if key != "seconds"} for m in lines]


def stop_after(epoch):
    def stop(metrics):
        if metrics["epoch"] == epoch:
            raise KeyboardInterrupt

    return stop


def assert_same_run(here, there):
    assert curve(here / "metrics.jsonl") == curve(there / "metrics.jsonl")
    for name in ("last.safetensors", "best.safetensors"):
        mine, theirs = Checkpoint.read(here / name).tensors, Checkpoint.read(there / name).tensors
        assert mine.keys() == theirs.keys()
        assert all(torch.equal(mine[key], theirs[key]) for key in mine)


@pytest.mark.parametrize("model", ["small", "chebyshev"])
def test_two_shapes_are_learned_by_heart(store, tmp_path, model):
    sizes = {"model": model, "channels": 16, "hidden": 64, "dropout": 0.0, "max_shapes": 2}
    rates = {"epochs": 150, "learning_rate": 0.01, "schedule": "onecycle", "evaluate_every": 150}
    config = dataclasses.replace(TINY, **sizes, **rates, train_on="every")
    network, about = train(store, tmp_path, config)
    assert about.history[-1]["loss"] < 0.05 * about.history[0]["loss"]
    for name, found in predict(network, store, ["a", "b"], about=about).items():
        assert (found == store[name].labels).mean() > 0.99
    assert about.history[-1]["test_every"] > 0.3


def test_metrics_are_what_the_last_checkpoint_predicts(store, tmp_path):
    config = dataclasses.replace(TINY, learning_rate=0.03, epochs=8, evaluate_every=3)
    train(store, tmp_path, config)
    lines = curve(tmp_path / "metrics.jsonl")
    assert [m["epoch"] for m in lines if "test_named" in m] == [3, 6, 8]
    network, about = load_model(tmp_path / "last.safetensors")
    assert not network.training and about.epoch == 8
    assert about.config == config.on_device("cpu")
    right = predict(network, store, ["d"], about=about)["d"] == store["d"].labels
    assert lines[-1]["test_every"] == right.mean() > 0
    assert lines[-1]["test_named"] == right[store["d"].named].mean()
    best = load_model(tmp_path / "best.safetensors")[1].history[-1]
    assert best["test_named"] == max(m["test_named"] for m in lines if "test_named" in m)


def test_held_out_shapes_choose_the_best(store, tmp_path):
    config = dataclasses.replace(TINY, validation=0.3, learning_rate=0.03, epochs=6)
    _, about = train(store, tmp_path, config)
    best = load_model(tmp_path / "best.safetensors")[1]
    shares = [m["validation_named"] for m in about.history]
    assert best.epoch == 1 + int(np.argmax(shares))


def test_same_seed_same_run_other_seed_other_run(store, tmp_path):
    for name, seed in (("one", 0), ("two", 0), ("three", 1)):
        train(store, tmp_path / name, dataclasses.replace(TINY, seed=seed))
    assert_same_run(tmp_path / "one", tmp_path / "two")
    assert curve(tmp_path / "one/metrics.jsonl") != curve(tmp_path / "three/metrics.jsonl")


@pytest.mark.parametrize("model", ["small", "chebyshev"])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_interrupted_at_any_write_and_continued(store, tmp_path, monkeypatch, model, moment):
    config = dataclasses.replace(TINY, model=model, learning_rate=0.03, batch=2, feature_noise=0.01)
    real, calls = checkpoint_module.write_bytes, []

    def counting(path, content):
        calls.append(path)
        return real(path, content)

    monkeypatch.setattr(checkpoint_module, "write_bytes", counting)
    train(store, tmp_path / "calm", config)
    assert len(calls) >= 4

    def run_until(stop):
        done = []

        def failing(path, content):
            done.append(path)
            if moment == "after" or len(done) < stop:
                real(path, content)
            if len(done) == stop:
                raise KeyboardInterrupt

        monkeypatch.setattr(checkpoint_module, "write_bytes", failing)
        with pytest.raises(KeyboardInterrupt):
            train(store, tmp_path / f"stopped{stop}", config)

    for stop in range(1, len(calls) + 1):
        run_until(stop)
        monkeypatch.setattr(checkpoint_module, "write_bytes", real)
        train(store, tmp_path / f"stopped{stop}", config)
        assert_same_run(tmp_path / "calm", tmp_path / f"stopped{stop}")


def test_checkpoints_now_and_then(store, tmp_path):
    config = dataclasses.replace(TINY, epochs=5, checkpoint_every=2)
    train(store, tmp_path / "calm", config)
    with pytest.raises(KeyboardInterrupt):
        train(store, tmp_path / "stopped", config, on_epoch=stop_after(3))
    assert len(curve(tmp_path / "stopped/metrics.jsonl")) == 3
    assert Checkpoint.read(tmp_path / "stopped/last.safetensors").about.epoch == 2
    said = []
    train(store, tmp_path / "stopped", config, notify=said.append)
    assert "continuing after epoch 2 of 5" in said
    assert_same_run(tmp_path / "calm", tmp_path / "stopped")


def test_curves_in_tensorboard(store, tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    config = dataclasses.replace(TINY, epochs=5, checkpoint_every=2)
    with pytest.raises(KeyboardInterrupt):
        train(store, tmp_path, config, on_epoch=stop_after(3))
    train(store, tmp_path, config)
    curves = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    for name in ("loss", "learning_rate", "test_named", "test_every"):
        found = [(event.step, event.value) for event in curves.Scalars(name)]
        lines = curve(tmp_path / "metrics.jsonl")
        assert found == [(m["epoch"], pytest.approx(m[name], rel=1e-6)) for m in lines]


def test_without_tensorboard(store, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    said = []
    train(store, tmp_path, TINY, notify=said.append)
    assert [sentence for sentence in said if "TensorBoard is not installed" in sentence]
    assert not (tmp_path / "tensorboard").exists()
    assert len(curve(tmp_path / "metrics.jsonl")) == 3


def test_a_finished_run_is_left_as_it_is(store, tmp_path):
    train(store, tmp_path, TINY)
    before = (tmp_path / "last.safetensors").read_bytes()
    network, about = train(store, tmp_path, dataclasses.replace(TINY, memory=0.0))
    assert about.epoch == 3 and not network.training
    assert (tmp_path / "last.safetensors").read_bytes() == before


def test_a_folder_with_another_run(store, own_store, tmp_path):
    train(store, tmp_path / "run", TINY)
    other = dataclasses.replace(TINY, epochs=4)
    with pytest.raises(InputError, match="this run has epochs = 3, not 4; take another folder"):
        train(store, tmp_path / "run", other)
    smaller = dataclasses.replace(own_store, train=("a", "b"))
    with pytest.raises(InputError, match="learned from another store"):
        train(smaller, tmp_path / "run", TINY)
    train(store, tmp_path / "run", other, restart=True)
    train(store, tmp_path / "fresh", other)
    assert_same_run(tmp_path / "run", tmp_path / "fresh")


def test_a_loss_that_is_no_number_names_step_and_shape(own_store, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        train(own_store, tmp_path, TINY, on_epoch=stop_after(1))
    before = (tmp_path / "last.safetensors").read_bytes()
    bad = own_store["b"].features.copy()
    bad[5, 1] = np.nan
    entry = entry_path(own_store.folder, own_store.keys["b"])
    write_entry(entry, dataclasses.replace(own_store["b"], features=bad), own_store.config)
    step = 1 + epoch_batches(own_store.train, TINY, 2).index(("b",))
    with pytest.raises(ConvergenceError, match=rf"nan in epoch 2, step {step} \(shape b\)"):
        train(own_store, tmp_path, TINY)
    assert (tmp_path / "last.safetensors").read_bytes() == before
    assert len(curve(tmp_path / "metrics.jsonl")) == 1


def test_weights_that_are_no_numbers_are_not_written(store, tmp_path, monkeypatch):
    def build(*sizes):
        network = MODELS["small"].build(*sizes)
        network.classifier.bias.register_hook(lambda slope: slope * float("nan"))
        return network

    # The only step has a finite loss, but its gradient is not.
    monkeypatch.setitem(MODELS, "spoiled", Model(build, MODELS["small"].domain))
    config = dataclasses.replace(TINY, model="spoiled", max_shapes=1, epochs=1)
    with pytest.raises(ConvergenceError, match="not finite after epoch 1; lower learning_rate"):
        train(store, tmp_path, config)
    assert not (tmp_path / "last.safetensors").exists()


def test_a_shape_with_nan_is_not_scored(store, tmp_path):
    network, _ = train(store, tmp_path, dataclasses.replace(TINY, epochs=1))
    features = store["d"].features.copy()
    features[5, 1] = np.nan
    shape = dataclasses.replace(store["d"], features=features)
    with pytest.raises(InputError, match="answer for shape d is not finite"):
        predicted_vertices(network, Sample.of(shape, MODELS["small"].domain))


@pytest.mark.parametrize(
    "sizes",
    [
        {"channels": 2**16, "layers": 1000, "order": 2**12, "hidden": 2**20},
        {"hidden": 2**20, "model": "chebyshev", "layers": 1, "channels": 2**16, "order": 1},
        {"model": "fieldconv", "channels": 2**16, "layers": 1000, "hidden": 2**20},
        {"model": "chebyshev", "order": 2**12, "batch": 2**20},
    ],
    ids=str,
)
def test_memory_is_asked_for_before_it_is_taken(store, tmp_path, monkeypatch, sizes):
    monkeypatch.setenv("FINSLER_MEMORY", "2")
    with pytest.raises(InputError, match=r"needs about .* GiB|no network has the sizes"):
        train(store, tmp_path / "run", dataclasses.replace(TINY, **sizes))


def test_another_model_takes_a_few_lines(store, tmp_path, monkeypatch):
    class Linear(torch.nn.Module):
        def __init__(self, channels, classes):
            super().__init__()
            self.classifier = torch.nn.Linear(channels, classes)

        def hidden(self, features, domain):
            return features

        def forward(self, features, domain):
            return self.classifier(features)

    domain = MODELS["small"].domain
    linear = Model(lambda config, c, classes, angles: Linear(c, classes), domain)
    monkeypatch.setitem(MODELS, "linear", linear)
    network, about = train(store, tmp_path, dataclasses.replace(TINY, model="linear"))
    assert isinstance(network, Linear) and about.epoch == 3
    with pytest.raises(InputError, match="model is 'magic'; it must be one of chebyshev, small"):
        train(store, tmp_path / "other", dataclasses.replace(TINY, model="magic"))


def test_stores_that_cannot_be_learned_from(own_store, tmp_path):
    with pytest.raises(InputError, match="the store has no training shapes"):
        train(dataclasses.replace(own_store, train=()), tmp_path / "run", TINY)
    shape = own_store["a"]
    empty = dataclasses.replace(shape, features=shape.features[:, :0])
    write_entry(entry_path(own_store.folder, own_store.keys["a"]), empty, own_store.config)
    config = dataclasses.replace(own_store.config, descriptor="none")
    bare = dataclasses.replace(own_store, config=config)
    with pytest.raises(InputError, match="no features"):
        train(bare, tmp_path / "run", TINY)


def test_test_shapes_need_no_ground_truth(own_store, tmp_path):
    nameless = dataclasses.replace(own_store["d"], named=np.zeros(92, dtype=bool))
    write_entry(entry_path(own_store.folder, own_store.keys["d"]), nameless, own_store.config)
    _, about = train(own_store, tmp_path, TINY)
    assert "test_named" not in about.history[-1] and "test_every" in about.history[-1]
    assert (tmp_path / "best.safetensors").exists()


def test_a_wrong_word_forgets_nothing(store, tmp_path):
    train(store, tmp_path, TINY)
    before = (tmp_path / "last.safetensors").read_bytes()
    with pytest.raises(InputError, match="model is 'magic'"):
        train(store, tmp_path, dataclasses.replace(TINY, model="magic"), restart=True)
    assert (tmp_path / "last.safetensors").read_bytes() == before


def test_without_test_shapes_there_is_no_best(store, tmp_path):
    _, about = train(dataclasses.replace(store, test=()), tmp_path, TINY)
    assert not (tmp_path / "best.safetensors").exists()
    assert "test_every" not in about.history[-1]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a device")
def test_no_device(store, tmp_path):
    with pytest.raises(InputError, match="torch finds no such device"):
        train(store, tmp_path, dataclasses.replace(TINY, device="cuda"))


def test_mixed_precision_needs_a_processor_that_knows_it(store, tmp_path, monkeypatch):
    monkeypatch.setattr("finsler.nn.training.loop.has_bf16", lambda: False)
    with pytest.raises(InputError, match='precision "bf16" needs cuda or a processor'):
        train(store, tmp_path, dataclasses.replace(TINY, precision="bf16", device="cpu"))


def test_the_precision_of_a_run_is_that_of_its_device(store, tmp_path):
    config = dataclasses.replace(TINY, device="cpu")
    assert config.precision == "auto"
    _, about = train(store, tmp_path, config)
    assert about.config.precision == "float32"
    # The same run goes on with what "auto" meant.
    longer = dataclasses.replace(config, precision="float32")
    assert train(store, tmp_path, longer)[1].history == about.history
    with pytest.raises(InputError, match="precision = float32, not tf32"):
        train(store, tmp_path, dataclasses.replace(config, precision="tf32"))


def test_networks_whose_mixed_precision_was_not_measured_keep_single_precision():
    assert TrainConfig().on_device("cuda").precision == "bf16"
    for other in (TrainConfig(model="fieldconv"), TrainConfig(objective="maps")):
        assert other.on_device("cuda").precision == "float32"
    assert TrainConfig(precision="tf32").on_device("cuda").precision == "tf32"


@pytest.mark.parametrize("model", ["chebyshev", "small"])
def test_mixed_precision_on_a_processor_is_close(store, tmp_path, monkeypatch, model):
    # Slow where the processor does not know it, but the same numbers.
    monkeypatch.setattr("finsler.nn.training.loop.has_bf16", lambda: True)
    losses = {}
    for precision in ("float32", "bf16"):
        config = dataclasses.replace(TINY, precision=precision, device="cpu", model=model)
        _, about = train(store, tmp_path / precision, config)
        losses[precision] = about.history[0]["loss"]
    assert losses["bf16"] != losses["float32"]
    assert losses["bf16"] == pytest.approx(losses["float32"], rel=0.02)
