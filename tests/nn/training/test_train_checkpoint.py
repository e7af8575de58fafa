"""Checkpoints: what goes in comes out, and nothing damaged or foreign is taken for one."""

import dataclasses
import json
import struct

import pytest
import torch
from safetensors.torch import save_file

from finsler.data import PrepareConfig
from finsler.errors import InputError
from finsler.nn.training import (
    About,
    Checkpoint,
    TrainConfig,
    load_model,
    make_optimiser,
    predict,
    save_checkpoint,
    train,
)

CONFIG = TrainConfig(model="small", channels=4, layers=2, order=3, hidden=8, epochs=1, device="cpu")


@pytest.fixture
def saved(store, tmp_path):
    network, about = train(store, tmp_path, CONFIG)
    return tmp_path / "last.safetensors", network, about


def test_round_trip(saved):
    path, network, about = saved
    again, found = load_model(path)
    assert found == about and not again.training
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, again.state_dict()[name])


def test_state_of_the_optimiser_round_trip(saved, tmp_path):
    path, _, about = saved
    checkpoint = Checkpoint.read(path)
    network = about.build()
    optimiser = make_optimiser(network, CONFIG)
    checkpoint.load(network, optimiser)
    save_checkpoint(tmp_path / "again.safetensors", about, network, optimiser)
    again = Checkpoint.read(tmp_path / "again.safetensors")
    assert checkpoint.tensors.keys() == again.tensors.keys()
    assert all(torch.equal(again.tensors[k], v) for k, v in checkpoint.tensors.items())
    steps = {v.item() for k, v in again.tensors.items() if k.endswith(".step")}
    assert steps == {3.0}


def test_a_parameter_without_gradient_has_no_state(saved, tmp_path):
    _, network, about = saved
    optimiser = make_optimiser(network, CONFIG)
    network.zero_grad()
    first, second, *others = network.parameters()
    for parameter in (second, *others):
        parameter.grad = torch.ones_like(parameter)
    optimiser.step()
    save_checkpoint(tmp_path / "part.safetensors", about, network, optimiser)
    again = make_optimiser(network, CONFIG)
    Checkpoint.read(tmp_path / "part.safetensors").load(network, again)
    assert again.state[first] == {} and again.state[second]["step"] == 1


def test_every_flipped_byte_is_detected(saved):
    path, *_ = saved
    whole = path.read_bytes()
    header = 8 + struct.unpack("<Q", whole[:8])[0]
    offsets = [3, 20, header // 2, header - 30, header + 1, (header + len(whole)) // 2, -1]
    for offset in offsets:
        damaged = bytearray(whole)
        damaged[offset] ^= 0x41
        path.write_bytes(bytes(damaged))
        with pytest.raises(InputError, match=r"last\.safetensors: "):
            load_model(path)


@pytest.mark.parametrize("kept", [0, 7, 100, -1])
def test_truncated(saved, kept):
    path, *_ = saved
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(InputError, match="no whole safetensors file"):
        load_model(path)


def test_foreign_files(saved, store, tmp_path):
    _, network, about = saved
    with pytest.raises(InputError, match="no such file"):
        load_model(tmp_path / "none.safetensors")
    other = tmp_path / "other.safetensors"
    save_file({"weight": torch.zeros(3)}, other)
    with pytest.raises(InputError, match="not a checkpoint of finsler"):
        load_model(other)
    save_checkpoint(other, dataclasses.replace(about, classes=91), network)
    with pytest.raises(InputError, match="the weights do not fit the network 'small'"):
        load_model(other)
    save_checkpoint(other, about, network)
    with pytest.raises(InputError, match="holds only weights"):
        Checkpoint.read(other).load(network, make_optimiser(network, CONFIG))
    (tmp_path / "last.safetensors").write_bytes(b"not a checkpoint")
    with pytest.raises(InputError, match="no whole safetensors file"):
        train(store, tmp_path, CONFIG)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 77}, "another format than 1"),
        ({"classes": "many"}, "no whole numbers"),
        ({"config": {"magic": 1}}, "no setting 'magic'"),
        ({"nonsense": 1}, "damaged"),
    ],
)
def test_forged_descriptions(saved, monkeypatch, change, message):
    path, network, about = saved
    real = json.dumps
    monkeypatch.setattr(
        "finsler.nn.training.checkpoint.json.dumps", lambda found: real({**found, **change})
    )
    save_checkpoint(path, about, network)
    with pytest.raises(InputError, match=message):
        load_model(path)


def test_shapes_prepared_otherwise(saved, store):
    _, network, about = saved
    other = dataclasses.replace(store, config=dataclasses.replace(store.config, alpha=3.0))
    with pytest.raises(
        InputError, match=r"prepared with alpha = 3\.0, the network was trained with"
    ):
        predict(network, other, ["d"], about=about)


def test_about_counts_epochs():
    about = About(CONFIG, 3, 92, 2, PrepareConfig(), "", ({"epoch": 1}, {"epoch": 2}))
    assert about.epoch == 2
