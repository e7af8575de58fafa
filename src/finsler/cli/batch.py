"""Many meshes, or pairs of them, through one command: a file for each, and a table of all."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from finsler.cli.cluster_options import progress_bar, say_failed, say_notes

if TYPE_CHECKING:
    from finsler.compute.cluster import Workers
    from finsler.mesh import TriMesh
    from finsler.operator import OperatorSpec

_ENDINGS = (".off", ".obj", ".ply", ".stl", ".glb", ".gltf")
Row = dict[str, Any]


@dataclass(frozen=True)
class Meshes:
    """Meshes by name, read when they are asked for."""

    names: tuple[str, ...]
    load: Callable[[str], TriMesh]


def meshes_at(where: list[str]) -> Meshes:
    """Several mesh files, or those of one folder, or the shapes of one collection.

    Raises
    ------
    InputError
        There are none, or two would get the same name.
    """
    from finsler.data import open_collection

    paths = [Path(text) for text in where]
    if len(paths) == 1 and paths[0].is_dir():
        paths = sorted(path for path in paths[0].iterdir() if path.suffix.lower() in _ENDINGS)
    if len(where) == 1 and (not paths or paths[0].suffix.lower() not in _ENDINGS):
        shapes = open_collection(where[0])
        names = tuple(dict.fromkeys(shapes.names))
        return Meshes(names, lambda name: shapes.load(name).mesh)
    return _files(paths)


def _files(paths: list[Path]) -> Meshes:
    from finsler.errors import InputError
    from finsler.mesh import load_mesh

    for name, count in Counter(map(_name, paths)).items():
        if count > 1:
            raise InputError(f"{count} meshes are called {name!r}; their results need other names")
    files = {_name(path): path for path in paths}
    return Meshes(tuple(files), lambda name: load_mesh(files[name]))


def _name(path: Path) -> str:
    """The name of a file without its ending, as text: bytes that are none are written \\xff."""
    return os.fsencode(path.stem).decode(errors="backslashreplace")


def check_operator(spec: OperatorSpec, degrees: float = 0.0) -> None:
    """Try the options of an operator on a small sphere, before many meshes are read.

    Raises
    ------
    InputError
        No mesh can take them.
    """
    from finsler.mesh import primitives

    spec.metric(primitives.sphere(1), math.radians(degrees))


def compute(
    function: Callable[..., Row],
    tasks: Iterable[tuple[str, tuple[Any, ...] | Exception]],
    workers: Workers,
    *,
    title: str,
    total: int,
) -> dict[str, Row]:
    """Rows of the table by name of the task, with `outcome`, `attempts` and `error`."""
    from finsler.compute.cluster import run

    rows = {}
    with progress_bar() as bar:
        task = bar.add_task(title, total=total)
        for done in run(function, tasks, workers):
            figures = {"outcome": "failed"} if done.error is not None else done.value
            rows[done.name] = {**figures, "attempts": done.attempts, "error": done.sentence}
            bar.advance(task)
    return rows


def check_folder(
    out: str, table: str, columns: tuple[str, ...], names: Iterable[str], *, overwrite: bool
) -> None:
    """See that no file that others wrote would be replaced in a folder of results.

    A folder with a table of these columns was written here before, and so was a result that carries
    a key.

    Raises
    ------
    InputError
        There is another file, and `overwrite` is not given.
    """
    from finsler.errors import InputError
    from finsler.storage.files import exists, location, read_bytes

    folder = location(out)
    remedy = "add --overwrite to replace it, or give another folder"
    if overwrite or not exists(folder):
        return
    if exists(folder / table):
        if read_bytes(folder / table).decode(errors="replace").partition("\n")[0] != ",".join(
            columns
        ):
            raise InputError(f"{folder / table}: this file is no table of such results; {remedy}")
        return
    for name in names:
        path = folder / f"{name}.npz"
        if exists(path) and "key" not in (_config(str(path)) or {}):
            raise InputError(f"{path}: this file exists and is no result of this command; {remedy}")


def _config(path: str) -> dict[str, Any] | None:
    """The configuration that a result carries; None where it is damaged or another's."""
    from finsler.errors import InputError
    from finsler.storage.json import parse_json
    from finsler.storage.npz import read_npz

    try:
        config = parse_json(str(read_npz(path, ("config",))["config"])).get("config")
    except InputError:
        return None
    return config if isinstance(config, dict) else None


def finish(
    out: str, table: str, columns: tuple[str, ...], rows: Mapping[str, Row], *, as_json: bool
) -> None:
    """Write the table, say what was done, and exit with code 1 if a task failed.

    `warnings` of a row are the sentences about defects of its meshes, `verdict` that about a map
    that is `probably_wrong`.
    """
    from finsler.storage.files import location, write_bytes

    text = io.StringIO()
    writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in rows.values():
        writer.writerow({**row, "warnings": " | ".join(row.get("warnings", ()))})
    path = location(out) / table
    # Sentences may name files whose names are no text.
    write_bytes(path, text.getvalue().encode(errors="backslashreplace"))
    counts = Counter(row["outcome"] for row in rows.values())
    failed = {name: row["error"] for name, row in rows.items() if row["outcome"] == "failed"}
    notes = {name: row["warnings"] for name, row in rows.items() if row.get("warnings")}
    doubts = {name: row["verdict"] for name, row in rows.items() if row.get("probably_wrong")}
    report: Row = {key: counts[key] for key in ("computed", "found")}
    if "probably_wrong" in columns:
        report["probably_wrong"] = doubts
    if as_json:
        about = {"folder": out, "table": str(path), **report, "failed": failed, "warnings": notes}
        print(json.dumps(about, indent=2))
    else:
        print(
            f"Wrote {out}: {counts['computed']} computed, {counts['found']} found,"
            f" {len(failed)} failed; all of them are in {path}"
        )
        for name, sentence in doubts.items():
            print(f"{name}: {sentence}")
    say_notes(notes)
    if failed:
        say_failed(failed)
        raise typer.Exit(1)


def key_of(meshes: Iterable[TriMesh], config: Mapping[str, Any]) -> str:
    """A hash of what a result depends on: a file with the same one need not be computed again."""
    from finsler.storage.hashing import content_key

    return content_key(config, (array for mesh in meshes for array in (mesh.vertices, mesh.faces)))


def ensured(
    path: str,
    key: str,
    config: Mapping[str, Any],
    names: tuple[str, ...],
    arrays_of: Callable[[], dict[str, Any]],
) -> tuple[dict[str, Any], Row]:
    """The arrays of a result, and for the table how it came about.

    They are read where they are there, whole, and have this key; else computed and written. All
    names are read, as damage shows only then.
    """
    from finsler.mesh.health import collect_warnings
    from finsler.storage.npz import write_npz

    known = _found(path, key, names)
    if known is not None:
        arrays, notes = known
        return arrays, {"outcome": "found", "seconds": None, "warnings": notes}
    start = time.perf_counter()
    # Spinners are for one mesh.
    with contextlib.redirect_stderr(io.StringIO()):
        arrays, notes = collect_warnings(arrays_of)
    seconds = round(time.perf_counter() - start, 3)
    write_npz(path, arrays, {**config, "key": key, "warnings": notes})
    return arrays, {"outcome": "computed", "seconds": seconds, "warnings": notes}


def _found(path: str, key: str, names: tuple[str, ...]) -> tuple[dict[str, Any], list[str]] | None:
    """The arrays of a result and its warnings; None where it is missing, damaged or another's."""
    from finsler.errors import InputError
    from finsler.storage.files import exists
    from finsler.storage.json import parse_json
    from finsler.storage.npz import read_npz

    if not exists(path):
        return None
    try:
        arrays = read_npz(path, ("config", *names))
        config = parse_json(str(arrays.pop("config"))).get("config")
    except InputError:
        return None
    if not isinstance(config, dict) or config.get("key") != key:
        return None
    notes = config.get("warnings")
    return arrays, [str(note) for note in notes] if isinstance(notes, list) else []
