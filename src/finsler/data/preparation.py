"""Prepare a whole collection into a store: several processes, resumable, self-mending."""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from threadpoolctl import threadpool_limits

from finsler.data.collection import Collection, Shape
from finsler.data.store import (
    PrepareConfig,
    Store,
    entry_path,
    key_of,
    prepare_shape,
    read_entry,
    write_entry,
    write_list,
)
from finsler.errors import InputError


@dataclass(frozen=True)
class Prepared:
    """What preparing did: the store, and how its entries came about."""

    store: Store
    computed: int
    found: int
    mended: int


def prepare(
    collection: Collection,
    folder: str | os.PathLike[str],
    config: PrepareConfig | None = None,
    *,
    jobs: int = 1,
    progress: Callable[[str, str], None] = lambda name, outcome: None,
) -> Prepared:
    """Compute what a network needs for every shape of a collection.

    Entries that are there and whole are kept, damaged ones are computed anew, so an interrupted run
    is continued by running it again. Processes are spawned, not forked (a fork after a sparse
    factorisation can hang), with one BLAS thread each.

    Parameters
    ----------
    collection : Collection
    folder : path
        Made if it does not exist. Several collections and configurations may not share one.
    config : PrepareConfig, optional
    jobs : int
        Processes. 1 computes in this one.
    progress : callable
        Called with a shape's name and "computed", "found" or "mended".

    Raises
    ------
    InputError
        A shape cannot be used: the sentence names it.
    """
    chosen = PrepareConfig() if config is None else config
    if jobs < 1:
        raise InputError(f"jobs is {jobs}; at least one process is needed")
    target = Path(folder)
    (target / "entries").mkdir(parents=True, exist_ok=True)
    names = list(dict.fromkeys([*collection.names, collection.reference]))
    keys: dict[str, str] = {}
    outcomes = {"computed": 0, "found": 0, "mended": 0}

    def finished(name: str, outcome: str) -> None:
        outcomes[outcome] += 1
        progress(name, outcome)

    if jobs == 1:
        for name in names:
            keys[name], outcome = _ensure(target, collection[name], chosen)
            finished(name, outcome)
    else:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(jobs, mp_context=context) as pool:
            # Shapes are read here, so that any collection works, a few ahead of the processes.
            pending: deque[tuple[str, Future[tuple[str, str]]]] = deque()
            for name in [*names, *[""] * (2 * jobs)]:
                if name:
                    pending.append((name, pool.submit(_ensure, target, collection[name], chosen)))
                if pending and (not name or len(pending) > 2 * jobs):
                    done, future = pending.popleft()
                    keys[done], outcome = future.result()
                    finished(done, outcome)
    write_list(target, collection, keys, chosen)
    return Prepared(Store.open(target), **outcomes)


def _ensure(folder: Path, shape: Shape, config: PrepareConfig) -> tuple[str, str]:
    """Key of a shape's entry, and whether it was found, computed, or mended."""
    key = key_of(shape, config)
    path = entry_path(folder, key)
    outcome = "computed"
    if path.exists():
        try:
            read_entry(path, shape.name, config.support)
            return key, "found"
        except InputError:
            outcome = "mended"
    try:
        with threadpool_limits(1, user_api="blas"):
            write_entry(path, prepare_shape(shape, config), config)
    except InputError as error:
        raise InputError(f"shape {shape.name}: {error}") from error
    return key, outcome
