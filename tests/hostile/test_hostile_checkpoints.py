"""Checkpoints that lie about what they hold."""

import dataclasses
import json
import pickle
import struct
from pathlib import Path

import pytest

from finsler.data import PrepareConfig
from finsler.errors import InputError

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.torch")
from finsler.nn.training.checkpoint import (  # noqa: E402
    About,
    Checkpoint,
    _checksum,
    load_model,
    save_checkpoint,
)
from finsler.nn.training.config import TrainConfig  # noqa: E402

CONFIG = TrainConfig(model="small", channels=2, layers=2, order=1, hidden=2)
ABOUT = About(CONFIG, 3, 4, 1, PrepareConfig(descriptor="xyz", angles=1), "")


def refused(path, words):
    with pytest.raises(InputError, match=words) as caught:
        load_model(path)
    assert str(caught.value).isprintable() and len(str(caught.value)) < 600


def signed(path, text):
    """A checkpoint whose description is any text, with the checksum that fits."""
    weights = ABOUT.build().state_dict()
    tensors = {f"network.{name}": tensor for name, tensor in weights.items()}
    checksum = str(_checksum(text, tensors))
    path.write_bytes(safetensors.save(tensors, {"finsler": text, "crc32": checksum}))
    return path


def described(path, **other):
    about = {"format": 1, **dataclasses.asdict(ABOUT)}
    parts = {name: {**about[name], **other.pop(name, {})} for name in ("config", "prepare")}
    return signed(path, json.dumps({**about, **parts, **other}))


@pytest.mark.parametrize("model", ["small", "chebyshev", "fieldconv"])
def test_an_honest_one_is_read(tmp_path, model):
    honest = dataclasses.replace(ABOUT, config=dataclasses.replace(ABOUT.config, model=model))
    network = honest.build()
    save_checkpoint(tmp_path / "a.safetensors", honest, network)
    again, about = load_model(tmp_path / "a.safetensors")
    assert about == honest
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, again.state_dict()[name])
    assert load_model(described(tmp_path / "b.safetensors"))[1] == ABOUT


@pytest.mark.parametrize("model", ["small", "chebyshev", "fieldconv"])
def test_sizes_are_compared_before_memory_is_taken(tmp_path, model):
    path = tmp_path / "a.safetensors"
    huge = {"model": model, "channels": 2**16, "hidden": 2**20, "order": 2**12}
    refused(described(path, config=huge, classes=2**31 - 1), "weights do not fit the network")


def test_sizes_that_no_network_has(tmp_path):
    path = tmp_path / "a.safetensors"
    refused(described(path, config={"layers": 1000}), "sizes of this checkpoint|do not fit")
    refused(described(path, config={"layers": 10**9}), "layers is 1000000000")
    refused(described(path, classes=10**15), "no whole numbers")
    refused(described(path, angles=-1), "no whole numbers")
    refused(described(path, config={"model": "other"}), "model is 'other'; it must be one of")
    refused(described(path, in_channels=True), "no whole numbers")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a":' * 100_000, "nested too deeply"),
        ('{"format": ' + "1" * 10_000 + "}", "not a JSON text"),
        ('{"format": 1, "format": 1}', "a name stands twice"),
        ('{"format": 1, "config": NaN}', "NaN is not JSON"),
        ('{"format": 1}', "description is damaged"),
        ("[]", "JSON object"),
        ("", "not a JSON text"),
        ('{"format": "\\u001b"}', "another format"),
    ],
)
def test_descriptions(tmp_path, text, words):
    refused(signed(tmp_path / "a.safetensors", text), words)


@pytest.mark.parametrize(
    "other",
    [{"history": 7}, {"history": [7]}, {"config": 7}, {"prepare": 7}, {"extra": 7}],
    ids=str,
)
def test_parts_of_the_wrong_kind(tmp_path, other):
    about = {"format": 1, **dataclasses.asdict(ABOUT), **other}
    refused(signed(tmp_path / "a.safetensors", json.dumps(about)), "description is damaged")


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        ({"magic": 1}, "no setting 'magic' of preparing"),
        ({"smoothing": 10**9}, "smoothing is 1000000000; it must lie between 0 and 1000"),
        ({"smoothing": 1.5}, "smoothing is 1.5; it must be a"),
        ({"alpha": "ten"}, "alpha is 'ten'; it must be a"),
        ({"omega": "windy"}, "omega must be"),
        ({"support_apart": 1}, "support_apart is 1; it must be true or false"),
        ({"descriptor": "shot"}, "takes 3 features a vertex, but the descriptor 'shot' .* has 352"),
        ({"descriptor": "sift"}, "descriptor must be"),
        ({"angles": 8}, "weights for 1 angles, but .* prepared with 8"),
    ],
    ids=str,
)
@pytest.mark.usefixtures("deadline")
def test_preparations_that_cannot_be(tmp_path, prepare, words):
    refused(described(tmp_path / "a.safetensors", prepare=prepare), words)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers(tmp_path, bad):
    network, path = ABOUT.build(), tmp_path / "a.safetensors"
    with torch.no_grad():
        network.classifier.bias[1] = bad
    save_checkpoint(path, ABOUT, network)
    refused(path, r"classifier\.bias of the network holds numbers that are not finite")


TENSOR = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


@pytest.mark.parametrize(
    ("header", "body"),
    [
        ({"a": {**TENSOR, "shape": [2**62]}}, 8),
        ({"a": {**TENSOR, "shape": [2**32, 2**32]}}, 8),
        ({"a": {**TENSOR, "shape": [-2]}}, 8),
        ({"a": {**TENSOR, "data_offsets": [0, 2**62]}}, 8),
        ({"a": {**TENSOR, "data_offsets": [8, 0]}}, 8),
        ({"a": TENSOR, "b": TENSOR}, 8),
        ({"a": {**TENSOR, "dtype": "PICKLE"}}, 8),
        ({"a": TENSOR}, 4),
        ({"a": TENSOR}, 12),
        ({"__metadata__": {"finsler": 7}}, 0),
        ([], 0),
    ],
    ids=lambda value: str(value)[:60],
)
def test_forged_headers(tmp_path, header, body):
    text = json.dumps(header).encode()
    path = tmp_path / "a.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(body))
    refused(path, "no whole safetensors file")


@pytest.mark.parametrize("length", [0, 1, 2**20, 2**62, 2**64 - 1])
def test_forged_lengths(tmp_path, length):
    path = tmp_path / "a.safetensors"
    path.write_bytes(struct.pack("<Q", length) + b"{}" + bytes(6))
    refused(path, "safetensors file")


def test_a_file_cut_anywhere_is_refused(tmp_path):
    path = tmp_path / "a.safetensors"
    save_checkpoint(path, ABOUT, ABOUT.build())
    data = path.read_bytes()
    for length in range(0, len(data), 7):
        path.write_bytes(data[:length])
        refused(path, "safetensors file")
    for place in range(0, len(data), 11):
        changed = bytearray(data)
        changed[place] ^= 1
        path.write_bytes(changed)
        with pytest.raises(InputError):
            Checkpoint.read(path)


class Harmful:
    """Unpickling this makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


def test_code_in_a_file_is_never_run(tmp_path):
    mark, path = tmp_path / "harmed", tmp_path / "a.safetensors"
    torch.save({"network": Harmful(mark)}, path)
    refused(path, "no whole safetensors file")
    path.write_bytes(pickle.dumps(Harmful(mark)))
    refused(path, "no whole safetensors file")
    assert not mark.exists()
    pickle.loads(path.read_bytes())
    assert mark.exists(), "the file is harmful where pickles are read"
