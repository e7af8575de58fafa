"""The readers of lists, ground truth, settings and checkpoints."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import forged
from target import Target, square

from finsler.data import open_collection
from finsler.data.labels import read_barycentric, read_vts
from finsler.data.store.catalog import Store
from finsler.data.store.config import FORMAT
from finsler.matching.pairs import choose_pairs
from finsler.mesh import write_mesh


def _read_vts(data: bytes, folder: Path) -> None:
    path = folder / "a.vts"
    path.write_bytes(data)
    base = 0 if data[:1] == b"-" else 1
    found = read_vts(path, 40, base=base)
    assert found.min() >= base - 1 and found.max() < 40


def _read_barycentric(data: bytes, folder: Path) -> None:
    path = folder / "a.baryc_gt"
    path.write_bytes(data)
    assert read_barycentric(path, square()).max() < 4


def _read_split(data: bytes, folder: Path) -> None:
    root = folder / "stored"
    if not root.exists():
        (root / "off").mkdir(parents=True)
        (root / "corres").mkdir()
        for name in ("a", "b"):
            write_mesh(root / "off" / f"{name}.off", square())
            (root / "corres" / f"{name}.vts").write_text("1\n2\n3\n4\n")
    (root / "split.json").write_bytes(data)
    for shape in open_collection(root):
        assert shape.name in ("a", "b")


def _read_pairs(data: bytes, folder: Path) -> None:
    path = folder / "pairs.csv"
    path.write_bytes(data)
    pairs = choose_pairs(str(path), ("a", "b c")).values()
    assert {name for pair in pairs for name in pair} <= {"a", "b c"}


def _store_seeds(folder: Path) -> list[bytes]:
    about = {
        "format": FORMAT,
        "name": "squares",
        "train": ["a"],
        "test": ["b"],
        "reference": "a",
        "keys": {"a": "0" * 64, "b": "f" * 64},
        "config": {"tau": 0.5},
    }
    return [json.dumps(about).encode()]


def _read_store(data: bytes, folder: Path) -> None:
    (folder / "store.json").write_bytes(data)
    store = Store.open(folder)
    for name in store.names:
        store[name]


def _read_toml(data: bytes, folder: Path) -> None:
    from finsler.nn.training.config import TrainConfig

    path = folder / "a.toml"
    path.write_bytes(data)
    config = TrainConfig.load(path)
    path.write_text(config.to_toml())
    assert TrainConfig.load(path) == config


def _read_settings(data: bytes, folder: Path) -> None:
    from finsler.nn.training.config import TrainConfig

    text = data.decode("utf-8", errors="surrogateescape")
    TrainConfig().override(text.split("\n"))


@cache
def _checkpoint_seed() -> tuple[str, Any]:
    from finsler.data.store import PrepareConfig
    from finsler.nn.training.checkpoint import About
    from finsler.nn.training.config import TrainConfig

    config = TrainConfig(model="small", channels=2, layers=1, order=1, hidden=2)
    about = About(config, 3, 4, 1, PrepareConfig(descriptor="xyz", angles=1), "")
    return json.dumps({"format": 1, **dataclasses.asdict(about)}), about.build()


def _signed(text: str) -> bytes:
    """A checkpoint whose description is any text, with the checksum that fits."""
    from safetensors.torch import save

    from finsler.nn.training.checkpoint import _checksum

    tensors = {f"network.{k}": v for k, v in _checkpoint_seed()[1].state_dict().items()}
    return save(tensors, {"finsler": text, "crc32": str(_checksum(text, tensors))})


def _checkpoint_seeds(folder: Path) -> list[bytes]:
    text = _checkpoint_seed()[0]
    tensor = {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}
    return [_signed(text), forged.safetensors(tensor, bytes(8)), forged.safetensors({})]


def _read_checkpoint(data: bytes, folder: Path) -> None:
    from finsler.nn.training.checkpoint import load_model

    path = folder / "a.safetensors"
    path.write_bytes(data)
    load_model(path)


def _read_description(data: bytes, folder: Path) -> None:
    _read_checkpoint(_signed(data.decode("utf-8", errors="replace")), folder)


def _given(*seeds: bytes) -> Callable[[Path], list[bytes]]:
    return lambda folder: list(seeds)


_TOML = (
    b'model = "small"\nepochs = 3\nschedule = "steps"\nstep_epochs = [1, 2]\ncuda_graphs = false\n'
)
_SPLIT = b'{"name": "n", "reference": "a", "train": ["a"], "test": ["b"]}'
_SETTINGS = b"epochs=3\nschedule=steps\nstep_epochs=1,2"

TEXTS = {
    "vts": Target(_given(b"1\n2\n40\n", b"-1\n0\n39\n"), _read_vts),
    "barycentric": Target(_given(b"1 0.2 0.3 0.5\n2,1,0,0\n"), _read_barycentric),
    "split": Target(_given(_SPLIT), _read_split),
    "pairs": Target(_given(b'a,b c\n"b c", a\n', b"a a\n"), _read_pairs),
    "store": Target(_store_seeds, _read_store),
    "toml": Target(_given(_TOML), _read_toml),
    "settings": Target(_given(_SETTINGS), _read_settings),
    "checkpoint": Target(_checkpoint_seeds, _read_checkpoint),
    "description": Target(lambda folder: [_checkpoint_seed()[0].encode()], _read_description),
}
