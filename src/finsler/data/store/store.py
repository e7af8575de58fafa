"""Prepared shapes on disk: entries found by content, and the list that finishes a store."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finsler.analysis.log_maps import Support
from finsler.data.collection import Collection
from finsler.data.sets.layout import require_plain_names
from finsler.data.store.entry import FORMAT, PrepareConfig, PreparedShape
from finsler.errors import InputError
from finsler.storage.files import exists, location, read_bytes, write_bytes
from finsler.storage.json import parse_json
from finsler.storage.npz import read_npz, write_npz

_ARRAYS = (
    "vertices",
    "faces",
    "labels",
    "exact",
    "theta",
    "indptr",
    "indices",
    "stiffness",
    "values",
    "lambda_max",
    "mass",
    "features",
    "eigenvalues",
    "eigenvectors",
)
_SUPPORT = ("indptr", "indices", "r", "theta", "direction", "phi", "weight")


@dataclass(frozen=True, eq=False)
class Store:
    """A folder of prepared shapes and the list of those that make up a collection.

    `entries/KEY.npz` holds one shape; `store.json` names the shapes, their keys, splits, reference
    and configuration. Entries are written whole or not at all, and the list last, so that a store
    that was interrupted is continued by preparing again. `failed` says of each shape that was left
    out why; it is in no split.
    """

    folder: Path
    name: str
    train: tuple[str, ...]
    test: tuple[str, ...]
    reference: str
    keys: dict[str, str]
    config: PrepareConfig
    failed: dict[str, str] = dataclasses.field(default_factory=dict)

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Store:
        """Read the list of a store, here or with `://` in an object store."""
        root = location(folder)
        path = root / "store.json"
        try:
            about = parse_json(read_bytes(path))
            if about["format"] != FORMAT:
                raise InputError(
                    f"format {repr(about['format'])[:20]}, this program reads {FORMAT}"
                )
            config = PrepareConfig(**about["config"])
            splits = tuple(about["train"]), tuple(about["test"])
            keys = {str(name): _checked_key(key) for name, key in about["keys"].items()}
            title, reference = str(about["name"]), str(about["reference"])
            failed = {str(name): str(why) for name, why in about.get("failed", {}).items()}
            # Lists of earlier releases have none.
            if about.get("checksum", _checksum(about)) != _checksum(about):
                raise InputError("its checksum does not fit")
            require_plain_names(title, (*splits[0], *splits[1], reference, *keys))
        except FileNotFoundError as error:
            raise InputError(
                f"{folder}: there is no finished store here (no store.json); run finsler prepare"
            ) from error
        except InputError as error:
            raise InputError(f"{path}: the list is damaged ({error}); prepare again") from error
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{path}: the list is damaged; prepare again") from error
        return cls(root, title, *splits, reference, keys, config, failed)

    @property
    def names(self) -> tuple[str, ...]:
        """All shapes: those of training, then those of testing."""
        return (*self.train, *self.test)

    def __getitem__(self, name: str) -> PreparedShape:
        """One prepared shape.

        Raises
        ------
        InputError
            The store has no such shape, or its entry is missing or damaged.
        """
        if name not in self.keys:
            raise InputError(f"{self.folder}: the store has no shape {name!r}")
        path = entry_path(self.folder, self.keys[name])
        try:
            return read_entry(path, name, self.config.support)
        except InputError as error:
            raise InputError(f"{error}; finsler prepare computes that entry anew") from error


def entry_path(folder: Path, key: str) -> Path:
    """Where the entry with a key lies in a store."""
    return folder / "entries" / f"{key}.npz"


def write_entry(path: Path, shape: PreparedShape, config: PrepareConfig) -> None:
    """Write an entry, whole or not at all."""
    arrays = {name: getattr(shape, name) for name in _ARRAYS}
    if shape.support is not None:
        arrays |= {f"support_{name}": getattr(shape.support, name) for name in _SUPPORT}
    write_npz(path, arrays, {"shape": shape.name, **dataclasses.asdict(config)})


def read_entry(path: Path, name: str, support: float = 0.0) -> PreparedShape:
    """Read an entry, prepared with supports of a radius if one is given.

    The archive's checksums and the shapes of its arrays are verified.
    """
    parts = tuple(f"support_{part}" for part in _SUPPORT) if support else ()
    # The record as well, so that damage anywhere is found.
    data = read_npz(path, (*_ARRAYS, *parts, "config"))
    del data["config"]
    around = {part: data.pop(f"support_{part}") for part in _SUPPORT if support}
    if any(array.ndim == 0 for array in (*data.values(), *around.values())):
        raise InputError(f"{path}: the arrays do not fit together; prepare the collection again")
    n, nnz, angles = len(data["vertices"]), len(data["indices"]), len(data["theta"])
    fits = (
        data["vertices"].shape == (n, 3)
        and data["faces"].shape[1:] == (3,)
        and _name_rows(data["faces"], n)
        and all(len(data[field]) == n for field in ("labels", "exact", "mass", "features"))
        and _is_pattern(data["indptr"], data["indices"], n)
        and data["values"].shape == data["stiffness"].shape == (angles, nnz)
        and data["eigenvectors"].shape == (n, len(data["eigenvalues"]))
    )
    if support:
        pairs = len(around["indices"])
        fits &= _is_pattern(around["indptr"], around["indices"], n)
        fits &= all(around[part].shape == (pairs,) for part in _SUPPORT[1:])
    if not fits:
        raise InputError(f"{path}: the arrays do not fit together")
    found = Support(**around, radius=support) if support else None
    return PreparedShape(name, **data, support=found)


def _is_pattern(indptr: NDArray[Any], indices: NDArray[Any], n: int) -> bool:
    """Whether these are the rows and columns of a sparse matrix (n, n): kernels trust them."""
    return (
        indptr.shape == (n + 1,)
        and indptr.dtype.kind == "i"
        and bool(indptr[0] == 0 and indptr[-1] == len(indices))
        and bool((np.diff(indptr) >= 0).all())
        and indices.ndim == 1
        and _name_rows(indices, n)
    )


def _name_rows(indices: NDArray[Any], n: int) -> bool:
    """Whether all are whole numbers from 0 to n - 1."""
    whole = indices.dtype.kind == "i"
    return whole and (indices.size == 0 or bool(0 <= indices.min() <= indices.max() < n))


def require_same_store(
    folder: str | os.PathLike[str], collection: Collection, config: PrepareConfig
) -> None:
    """Raise where a folder holds the store of another collection or configuration.

    Raises
    ------
    InputError
        It does, or `store.json` there is none that was written here.
    """
    path = location(folder) / "store.json"
    remedy = "add --overwrite to replace its list, or give another folder"
    if not exists(path):
        return
    try:
        store = Store.open(folder)
    except InputError as error:
        # A damaged list of ours is written anew; it still names its parts.
        if b'"reference"' in read_bytes(path):
            return
        raise InputError(f"{path}: this file is no list of a store; {remedy}") from error
    known = {*store.names, *store.failed, store.reference}
    if store.name != collection.name or known != {*collection.names, collection.reference}:
        raise InputError(
            f"{folder}: this is the store of another collection, {store.name}; {remedy}"
        )
    if store.config != config:
        raise InputError(f"{folder}: this store was prepared with other options; {remedy}")


def write_list(
    folder: Path,
    collection: Collection,
    keys: dict[str, str],
    config: PrepareConfig,
    failed: Mapping[str, str],
) -> None:
    """Write `store.json`: from now on the store counts as finished."""
    about: dict[str, Any] = {
        "format": FORMAT,
        "name": collection.name,
        "train": [name for name in collection.train if name in keys],
        "test": [name for name in collection.test if name in keys],
        "reference": collection.reference,
        "keys": keys,
        "failed": dict(failed),
        "config": dataclasses.asdict(config),
    }
    about["checksum"] = _checksum(about)
    write_bytes(folder / "store.json", (json.dumps(about, indent=1) + "\n").encode())


def _checksum(about: Mapping[str, Any]) -> str:
    """Of all else that a list says."""
    rest = {name: value for name, value in about.items() if name != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _checked_key(key: object) -> str:
    text = str(key)
    if len(text) != 64 or not set(text) <= set("0123456789abcdef"):
        raise InputError(f"the store's list holds {text[:20]!r} in place of a key")
    return text
