"""DiffusionNet in the same harness: store, training, prediction."""

import numpy as np

from finsler.baselines.diffusion_net import DiffusionNet
from finsler.nn.training import TrainConfig, load_model, predict, train

CONFIG = TrainConfig(
    model="diffusionnet",
    channels=24,
    layers=2,
    hidden=32,
    dropout=0.0,
    epochs=120,
    learning_rate=0.01,
    schedule="onecycle",
    evaluate_every=120,
    checkpoint_every=120,
    train_on="every",
    device="cpu",
)


def test_learns_one_shape_and_is_loaded_again(store_maker, tmp_path):
    store = store_maker(tmp_path / "store", train=("a",), test=("b",), eigenpairs=40)
    network, about = train(store, tmp_path / "run", CONFIG)
    assert isinstance(network, DiffusionNet)
    named = predict(network, store, ["a"], about=about)["a"]
    assert np.mean(named == store["a"].labels) > 0.8
    again, there = load_model(tmp_path / "run" / "last.safetensors")
    assert np.array_equal(predict(again, store, ["a"], about=there)["a"], named)
