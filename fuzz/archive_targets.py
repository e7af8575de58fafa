"""The readers of npz files."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import forged
import numpy as np
from numpy.typing import NDArray
from target import Target, collection, square, written

from finsler.data import pack
from finsler.data.sets.pack import packed
from finsler.data.store import PrepareConfig
from finsler.data.store.entry import PreparedShape, read_entry, write_entry
from finsler.errors import InputError
from finsler.evaluation.distances import _checksum, reference_distances
from finsler.evaluation.predictions import load_predictions, save_predictions
from finsler.mesh import primitives
from finsler.operator import angle_stack, load_operators, save_operators
from finsler.storage.npz import read_npz

_Arrays = dict[str, NDArray[Any]]


def _read_archive(
    good: Callable[[Path], _Arrays], check: Callable[[Path], object], data: bytes, folder: Path
) -> None:
    """Bytes that begin like a zip file are one; others decide how one is forged."""
    path = folder / "a.npz"
    raw = data[:2] == b"PK"
    path.write_bytes(data if raw else forged.forged_npz(data, good(folder)))
    check(path)


@cache
def _arrays_of(make: Callable[[Path], bytes], folder: Path) -> _Arrays:
    path = folder / "good.npz"
    path.write_bytes(make(folder))
    with np.load(path) as data:
        return {name: data[name] for name in data.files}


def _archive(make: Callable[[Path], bytes], check: Callable[[Path], object]) -> Target:
    def seeds(folder: Path) -> list[bytes]:
        return [make(folder), bytes(40), b"\0" + b"\xc8" * 60, b"\0\0\0" + b"\x9f" * 60]

    return Target(seeds, partial(_read_archive, partial(_arrays_of, make), check))


def _plain_npz(folder: Path) -> bytes:
    numbers, text = forged.plain(np.arange(12.0).reshape(3, 4)), forged.plain(np.array("{}"))
    return forged.archive({"a.npy": numbers, "config.npy": text})


def _check_npz(path: Path) -> None:
    found = read_npz(path, ("a", "config"))
    assert not any(array.dtype.hasobject for array in found.values())


def _pack(folder: Path) -> bytes:
    pack(collection(), folder / "pack.npz")
    return written(folder / "pack.npz")


def _check_pack(path: Path) -> None:
    for shape in packed(path):
        assert len(shape.labels) == shape.mesh.n_vertices == len(shape.named)
        assert Path(shape.name).name == shape.name


def _predictions(folder: Path) -> bytes:
    save_predictions(folder / "predictions.npz", {"a": np.arange(4), "b": np.zeros(4, int)}, {})
    return written(folder / "predictions.npz")


def _check_predictions(path: Path) -> None:
    found = load_predictions(path, collection())
    assert all(values.max() < 4 for values in found.vertices.values())


def _operators(folder: Path) -> bytes:
    save_operators(folder / "stack.npz", angle_stack(primitives.sphere(3), angles=2))
    return written(folder / "stack.npz")


def _check_operators(path: Path) -> None:
    stack = load_operators(path)
    assert [laplacian.stiffness.nnz for laplacian in stack]


def _cache_name(folder: Path) -> Path:
    cached = folder / "distances"
    if not cached.is_dir() or not list(cached.iterdir()):
        reference_distances(square(), cache=cached)
    return next(cached.iterdir())


def _distances(folder: Path) -> bytes:
    return _cache_name(folder).read_bytes()


def _check_distances(path: Path) -> None:
    cached = _cache_name(path.parent)
    cached.write_bytes(path.read_bytes())
    _sign(cached)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = reference_distances(square(), cache=cached.parent)
    assert found.matrix.shape == (4, 4)


def _sign(path: Path) -> None:
    """Give a file the checksum that fits, which anyone can compute."""
    try:
        data = read_npz(path, ("matrix", "sizes"))
    except InputError:
        return
    data["checksum"] = np.array(_checksum(path.name, data["matrix"], data["sizes"]))
    np.savez(path, allow_pickle=False, **data)


_CONFIG = PrepareConfig(angles=1, descriptor="none")


def _entry(folder: Path) -> bytes:
    one, none = np.ones((1, 4), np.float32), np.zeros((4, 0), np.float32)
    whole = np.arange(5, dtype=np.int32)
    shape = PreparedShape(
        name="a",
        vertices=square().vertices.astype(np.float32),
        faces=square().faces.astype(np.int32),
        labels=whole[:4],
        named=np.ones(4, dtype=bool),
        points=np.array([2, -1, 0], dtype=np.int32),
        theta=np.zeros(1),
        indptr=whole,
        indices=whole[:4],
        values=one,
        lambda_max=np.ones(1),
        mass=one[0],
        features=none,
        eigenvalues=np.zeros(0),
        eigenvectors=none,
    )
    write_entry(folder / "entry.npz", shape, _CONFIG)
    return written(folder / "entry.npz")


def _check_entry(path: Path) -> None:
    shape = read_entry(path, "a", _CONFIG)
    assert len(shape.labels) == len(shape.vertices)


ARCHIVES = {
    "npz": _archive(_plain_npz, _check_npz),
    "pack": _archive(_pack, _check_pack),
    "predictions": _archive(_predictions, _check_predictions),
    "operators": _archive(_operators, _check_operators),
    "distances": _archive(_distances, _check_distances),
    "entry": _archive(_entry, _check_entry),
}
