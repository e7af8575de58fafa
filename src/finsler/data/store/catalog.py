"""The list that makes prepared shapes a store."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from finsler.data.collection import Collection
from finsler.data.sets.layout import require_plain_names
from finsler.data.store.config import FORMAT, PrepareConfig
from finsler.data.store.entry import PreparedShape, read_entry
from finsler.errors import InputError
from finsler.mesh.summary import one_line
from finsler.storage.files import exists, location, read_bytes, write_bytes
from finsler.storage.hashing import content_key
from finsler.storage.json import parse_json
from finsler.storage.schema import from_record


@one_line("folder", "name", "train", "test", "reference", "failed")
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
    failed: dict[str, str] = field(default_factory=dict)

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Store:
        """Read the list of a store, here or with `://` in an object store.

        Raises
        ------
        InputError
            There is no list, or it is damaged or of another release.
        """
        root = location(folder)
        path = root / "store.json"
        try:
            listed, config = _read_list(parse_json(read_bytes(path)))
        except FileNotFoundError as error:
            raise InputError(
                f"{folder}: there is no finished store here (no store.json); run finsler prepare"
            ) from error
        except InputError as error:
            raise InputError(f"{path}: the list is damaged ({error}); prepare again") from error
        splits = listed.train, listed.test
        return cls(root, listed.name, *splits, listed.reference, listed.keys, config, listed.failed)

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
            return read_entry(path, name, self.config)
        except InputError as error:
            raise InputError(f"{error}; finsler prepare computes that entry anew") from error


@dataclass(frozen=True)
class _List:
    """What `store.json` says."""

    format: int
    name: str
    train: tuple[str, ...]
    test: tuple[str, ...]
    reference: str
    keys: dict[str, str]
    config: dict[str, Any]
    failed: dict[str, str] = field(default_factory=dict)
    # Lists of earlier releases have none.
    checksum: str = ""


def _read_list(about: dict[str, Any]) -> tuple[_List, PrepareConfig]:
    if about.get("format") != FORMAT:
        raise InputError(f"format {repr(about.get('format'))[:20]}, this program reads {FORMAT}")
    listed = from_record(_List, about, "the list of a store")
    config = PrepareConfig.from_record(listed.config)
    for key in listed.keys.values():
        if len(key) != 64 or not set(key) <= set("0123456789abcdef"):
            raise InputError(f"the store's list holds {key[:20]!r} in place of a key")
    if listed.checksum not in ("", _checksum(about)):
        raise InputError("its checksum does not fit")
    require_plain_names(listed.name, (*listed.train, *listed.test, listed.reference, *listed.keys))
    return listed, config


def entry_path(folder: Path, key: str) -> Path:
    """Where the entry with a key lies in a store."""
    return folder / "entries" / f"{key}.npz"


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


def require_same_store(folder: Path, collection: Collection, config: PrepareConfig) -> None:
    """Raise where a folder holds another store, whose list would be replaced.

    A damaged list, which still names its parts, may be.
    """
    path = folder / "store.json"
    remedy = "choose another folder, or replace its list with --overwrite (overwrite=True)"
    if not exists(path):
        return
    try:
        there = Store.open(folder)
    except InputError as error:
        if b'"reference"' in read_bytes(path):
            return
        raise InputError(f"{path}: this file is no list of a store; {remedy}") from error
    own, theirs = dataclasses.asdict(config), dataclasses.asdict(there.config)
    changed = [
        f"{name} = {value}, not {own[name]}" for name, value in theirs.items() if value != own[name]
    ]
    if changed:
        raise InputError(
            f"{folder}: this store was prepared with other options ({', '.join(changed)}); {remedy}"
        )
    known = {*there.names, *there.failed, there.reference}
    same = (there.name, there.reference) == (collection.name, collection.reference)
    if not same or known != {*collection.names, collection.reference}:
        raise InputError(
            f"{folder}: this is the store of another collection, {there.name} with {len(known)}"
            f" shapes; {remedy}"
        )


def _checksum(about: Mapping[str, Any]) -> str:
    """Of all else that a list says."""
    return content_key({name: value for name, value in about.items() if name != "checksum"})
