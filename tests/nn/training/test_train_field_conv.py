"""FieldConv in the same harness: store, training, prediction."""

import dataclasses

import numpy as np
import pytest
import torch

from finsler.baselines.field_conv import FieldConvNet, SupportGraph
from finsler.errors import InputError
from finsler.nn.training import TrainConfig, load_model, predict, train

FIELD = TrainConfig(
    model="fieldconv",
    channels=8,
    layers=2,
    hidden=32,
    dropout=0.0,
    epochs=80,
    learning_rate=0.01,
    schedule="steps",
    step_epochs=(60,),
    evaluate_every=80,
    checkpoint_every=80,
    train_on="every",
    device="cpu",
)


@pytest.fixture(scope="module")
def field_store(store_maker, tmp_path_factory):
    return store_maker(tmp_path_factory.mktemp("field"), train=("a",), test=("b",), support=0.3)


def test_learns_one_shape_and_is_loaded_again(field_store, tmp_path):
    network, about = train(field_store, tmp_path, FIELD)
    assert isinstance(network, FieldConvNet)
    found = predict(network, field_store, ["a"], about=about)["a"]
    assert np.mean(found == field_store["a"].labels) > 0.9
    again, there = load_model(tmp_path / "last.safetensors")
    assert np.array_equal(predict(again, field_store, ["a"], about=there)["a"], found)


def test_turned_coordinates_change_the_curve(field_store, tmp_path):
    short = dataclasses.replace(FIELD, epochs=2, step_epochs=(1,))
    _, plain = train(field_store, tmp_path / "plain", short)
    _, turned = train(field_store, tmp_path / "turned", dataclasses.replace(short, rotation=45.0))
    assert turned.history[-1]["loss"] != plain.history[-1]["loss"]


def test_graphs_side_by_side_are_those_of_supports_side_by_side(field_store):
    shapes = [field_store["a"], field_store["b"]]
    one = SupportGraph.batch([SupportGraph.of(shape) for shape in shapes])
    other = SupportGraph.from_supports([shape.support for shape in shapes])
    assert one.sizes == other.sizes == (92, 92)
    for name in ("rows", "columns", "r", "theta", "direction", "phi", "weight"):
        assert torch.equal(getattr(one, name), getattr(other, name)), name


def test_a_store_without_supports(store, tmp_path):
    with pytest.raises(InputError, match="was prepared without supports"):
        train(store, tmp_path, dataclasses.replace(FIELD, rotation=0.0))


def test_only_coordinates_are_turned(store_maker, tmp_path):
    shot = store_maker(tmp_path / "store", train=("a",), test=("b",), descriptor="shot", radius=0.3)
    with pytest.raises(InputError, match="rotation turns coordinates"):
        train(shot, tmp_path / "run", dataclasses.replace(FIELD, rotation=10.0))
