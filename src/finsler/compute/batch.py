"""Many results, a file for each and a table of all: complete results are not computed again.

A batch calls one function for each task, on this machine or many. The function keeps its result
with [`ensure_result`][finsler.compute.batch.ensure_result] and returns a row of the table.
"""

from __future__ import annotations

import csv
import io
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from finsler.compute.cluster import Workers, run
from finsler.errors import InputError
from finsler.storage.files import exists, location, read_bytes, write_bytes
from finsler.storage.json import parse_json
from finsler.storage.npz import read_npz, write_npz

Row = dict[str, Any]
Arrays = dict[str, Any]


def run_batch(
    function: Callable[..., Row],
    tasks: Iterable[tuple[str, tuple[Any, ...] | Exception]],
    workers: Workers | None = None,
    *,
    progress: Callable[[], None] = lambda: None,
) -> dict[str, Row]:
    """Rows of the table by name of the task, with `outcome`, `attempts` and `error`.

    Parameters
    ----------
    function : callable
        Returns a row, whose `outcome` is "computed" or "kept"; an error makes it "failed".
    tasks, workers
        As for `finsler.compute.cluster.run`.
    progress : callable
        Called after each task.

    Examples
    --------
    >>> rows = run_batch(lambda n: {"outcome": "computed", "root": n**0.5}, [("nine", (9,))])
    >>> rows["nine"]["root"]
    3.0
    """
    rows = {}
    for done in run(function, tasks, workers):
        figures = {"outcome": "failed"} if done.error is not None else done.value
        rows[done.name] = {**figures, "attempts": done.attempts, "error": done.sentence}
        progress()
    return rows


def ensure_result(
    path: str | os.PathLike[str],
    key: str,
    config: Mapping[str, Any],
    names: Sequence[str],
    compute: Callable[[], tuple[Arrays, list[str]]],
) -> tuple[Arrays, Row]:
    """The arrays of a result, and for the table how it came about.

    They are read where they are there, whole, and have this key; else computed and written.

    Parameters
    ----------
    path : path
        An .npz file.
    key : str
        A hash of everything that the result depends on.
    config : mapping
        For the record in the file.
    names : sequence of str
        The arrays; all of them are read, as damage shows only then.
    compute : callable
        Returns the arrays, and sentences about defects of the input.
    """
    kept = _read_result(path, key, names)
    if kept is not None:
        arrays, notes = kept
        return arrays, {"outcome": "kept", "seconds": None, "warnings": notes}
    start = time.perf_counter()
    arrays, notes = compute()
    seconds = round(time.perf_counter() - start, 3)
    write_npz(path, arrays, {**config, "key": key, "warnings": notes})
    return arrays, {"outcome": "computed", "seconds": seconds, "warnings": notes}


def _read_result(
    path: str | os.PathLike[str], key: str, names: Sequence[str]
) -> tuple[Arrays, list[str]] | None:
    """The arrays of a result and its warnings; None where it is missing, damaged or another's."""
    if not exists(path) or (config := _read_config(path)).get("key") != key:
        return None
    try:
        arrays = read_npz(path, tuple(names))
    except InputError:
        return None
    notes = config.get("warnings")
    return arrays, [str(note) for note in notes] if isinstance(notes, list) else []


def _read_config(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The configuration that a result carries; empty where it is damaged or another's."""
    try:
        config = parse_json(str(read_npz(path, ("config",))["config"])).get("config")
    except InputError:
        return {}
    return config if isinstance(config, dict) else {}


def require_own_folder(
    folder: str | os.PathLike[str],
    table: str,
    columns: Sequence[str],
    names: Iterable[str],
    *,
    overwrite: bool = False,
) -> None:
    """Raise where a batch would replace files that others wrote.

    A folder with a table of these columns was written by a batch before, and so was a result that
    carries a key.

    Parameters
    ----------
    folder : path
    table : str
        Name of the .csv file.
    columns : sequence of str
    names : iterable of str
        The tasks, each with its file NAME.npz.
    overwrite : bool
        Replace them all the same.

    Raises
    ------
    InputError
        There is a file of others, and `overwrite` is not given.
    """
    base = location(folder)
    remedy = "add --overwrite to replace it, or give another folder"
    if overwrite or not exists(base):
        return
    if exists(base / table):
        heading = read_bytes(base / table).decode(errors="replace").partition("\n")[0]
        if heading != ",".join(columns):
            raise InputError(f"{base / table}: this file is no table of such results; {remedy}")
        return
    for name in names:
        path = base / f"{name}.npz"
        if exists(path) and "key" not in _read_config(path):
            raise InputError(f"{path}: this file exists and is no result of this command; {remedy}")


def write_rows(
    path: str | os.PathLike[str], columns: Sequence[str], rows: Iterable[Mapping[str, Any]]
) -> Path:
    """Write these columns of the rows as a .csv file; `warnings` are joined by bars."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({**row, "warnings": " | ".join(row.get("warnings", ()))})
    target = location(path)
    # Sentences may name files whose names are no text.
    write_bytes(target, text.getvalue().encode(errors="backslashreplace"))
    return target
