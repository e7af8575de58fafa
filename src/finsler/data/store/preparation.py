"""Prepare a whole collection into a store: on many workers, resumable, self-repairing."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from finsler.compute.cluster import Outcome, Workers, run
from finsler.data.augment import copy_of, original, with_copies
from finsler.data.collection import Collection, Shape
from finsler.data.sets.opening import open_collection
from finsler.data.store.catalog import Store, entry_path, require_same_store, write_list
from finsler.data.store.config import PrepareConfig, key_of
from finsler.data.store.entry import prepare_shape, read_entry, write_entry
from finsler.errors import InputError
from finsler.mesh.health import MeshWarning, collect_warnings
from finsler.mesh.summary import one_line
from finsler.storage.files import (
    exists,
    is_local,
    lasting_location,
    location,
    make_folder,
    shared_folder,
    unwritable,
)


@one_line()
@dataclass(frozen=True)
class Prepared:
    """What preparing did: the store, and how its entries came about.

    `failed` says of each shape that is missing from the store why.
    """

    store: Store
    computed: int
    kept: int
    repaired: int
    failed: dict[str, str]


class PreparationError(InputError):
    """Some shapes could not be prepared; `failed` says which and why, the others are kept.

    No list is written. One of an earlier run stays, and with it the store as it was then: entries
    are named by their content, so all that it lists are still whole.
    """

    def __init__(self, failed: dict[str, str], total: int) -> None:
        self.failed = failed
        name, why = next(iter(failed.items()))
        super().__init__(
            f"{len(failed)} of {total} shapes could not be prepared, such as {name}: {why};"
            " repair them and run again, or leave them out with --skip-failed (skip_failed=True)"
        )


@dataclass(frozen=True)
class _Ensured:
    """An entry of the store, how it came about, and what is wrong with the mesh."""

    key: str
    outcome: str
    notes: list[str]


def _warn(name: str, sentence: str) -> None:
    warnings.warn(f"{name}: {sentence}", MeshWarning, stacklevel=3)


def prepare(
    collection: Collection,
    folder: str | os.PathLike[str],
    config: PrepareConfig | None = None,
    *,
    jobs: int = 1,
    workers: Workers | None = None,
    source: str | None = None,
    skip_failed: bool = False,
    overwrite: bool = False,
    progress: Callable[[str, str], None] = lambda name, outcome: None,
    notify: Callable[[str, str], None] = _warn,
) -> Prepared:
    """Compute what a network needs for every shape of a collection.

    What is there and whole is kept, so an interrupted run is continued by running it again.

    Parameters
    ----------
    folder : path
        Made if it does not exist; with `://` a folder of an object store, whose bucket must exist.
    jobs : int
        Processes on this machine; 1 computes in this one.
    workers : Workers, optional
        Instead of `jobs`: who computes, with how many retries.
    source : str, optional
        What `open_collection` takes on a worker, to read shapes there; by default they are sent.
    skip_failed : bool
        Finish the store without the shapes that cannot be prepared.
    overwrite : bool
        Replace the list of a store of another collection or with other options; entries stay.
    progress : callable
        Called with a shape's name and "computed", "kept", "repaired" or "failed".
    notify : callable
        Called with a shape's name and a sentence on its mesh; by default it is a `MeshWarning`.

    Raises
    ------
    InputError
        The reference cannot be used, the folder cannot be written, or it holds another store.
    PreparationError
        Other shapes cannot be used, without `skip_failed`; a list of an earlier run stays.
    OSError
        The disk is full or not ours to write.
    """
    chosen = PrepareConfig() if config is None else config
    who = Workers(jobs=jobs) if workers is None else workers
    given, collection = collection, with_copies(collection, chosen.copies)
    target = _opened_folder(folder, who, collection, None if overwrite else chosen)
    names = list(dict.fromkeys([collection.reference, *collection.names]))
    tasks = _tasks(given, names, source, target, chosen)
    ended = run(_ensure if source is None else _ensure_named, tasks, who)
    entries, failed = _collect(ended, collection.reference, progress, notify)
    if failed and not skip_failed:
        raise PreparationError(failed, len(names))
    keys = {name: entries[name].key for name in names if name in entries}
    write_list(location(target), collection, keys, chosen, failed)
    outcomes = [entry.outcome for entry in entries.values()]
    computed, kept, repaired = map(outcomes.count, ("computed", "kept", "repaired"))
    return Prepared(Store.open(target), computed, kept, repaired, failed)


def _opened_folder(
    folder: str | os.PathLike[str],
    workers: Workers,
    collection: Collection,
    config: PrepareConfig | None,
) -> str:
    """The folder of a store, made; with a configuration, one that holds no other store."""
    if workers.jobs != 1:
        lasting_location(folder)
    target = shared_folder(folder)
    if config is not None:
        require_same_store(location(target), collection, config)
    if is_local(location(target)):
        make_folder(f"{target}/entries")
    return target


def _collect(
    ended: Iterator[Outcome],
    reference: str,
    progress: Callable[[str, str], None],
    notify: Callable[[str, str], None],
) -> tuple[dict[str, _Ensured], dict[str, str]]:
    """The entries of the shapes, and why others have none."""
    entries: dict[str, _Ensured] = {}
    failed: dict[str, str] = {}
    for done in ended:
        if done.error is None:
            entries[done.name] = done.value
            for sentence in done.value.notes:
                notify(done.name, sentence)
        elif unwritable(done.error):
            raise done.error
        else:
            failed[done.name] = _why(done, reference)
        progress(done.name, "failed" if done.error else done.value.outcome)
    return entries, failed


def _tasks(
    collection: Collection, names: list[str], source: str | None, target: str, config: PrepareConfig
) -> Iterator[tuple[str, tuple[object, ...] | Exception]]:
    for name in names:
        if source is not None:
            yield name, (target, source, name, config)
            continue
        try:
            # Copies are made where they are prepared.
            known = name if name in collection.names else original(name)
            yield name, (target, collection.load(known), config, name)
        except (InputError, OSError) as error:
            yield name, error


def _why(done: Outcome, reference: str) -> str:
    """The sentence of a failure; without the reference, nothing can be trained."""
    if done.name == reference:
        raise InputError(f"shape {done.name}: {done.sentence}") from done.error
    return done.sentence


def _ensure_named(folder: str, source: str, name: str, config: PrepareConfig) -> _Ensured:
    return _ensure(folder, _collection(source, config.copies).load(name), config, name)


@functools.lru_cache(maxsize=1)
def _collection(source: str, copies: int) -> Collection:
    return with_copies(open_collection(source), copies)


def _ensure(folder: str, given: Shape, config: PrepareConfig, name: str) -> _Ensured:
    """The entry of a shape, or of its copy of that name: kept, computed, or repaired."""
    shape = copy_of(given, name)
    key = key_of(shape, config)
    path = entry_path(location(folder), key)
    outcome = "computed"
    if exists(path):
        try:
            read_entry(path, shape.name, config)
            return _Ensured(key, "kept", [])
        except InputError:
            outcome = "repaired"
    prepared, notes = collect_warnings(prepare_shape, shape, config)
    write_entry(path, prepared, config)
    return _Ensured(key, outcome, notes)
