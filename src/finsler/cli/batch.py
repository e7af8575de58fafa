"""Many meshes, or pairs of them, through one command: a file for each, and a table of all."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from finsler.cli.cluster_options import progress_bar, say_failed

if TYPE_CHECKING:
    from finsler.cluster import Workers
    from finsler.mesh import TriMesh

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

    for name, count in Counter(path.stem for path in paths).items():
        if count > 1:
            raise InputError(f"{count} meshes are called {name!r}; their results need other names")
    files = {path.stem: path for path in paths}
    return Meshes(tuple(files), lambda name: load_mesh(files[name]))


def compute(
    function: Callable[..., Row],
    tasks: Iterable[tuple[str, tuple[Any, ...] | Exception]],
    workers: Workers,
    *,
    title: str,
    total: int,
) -> dict[str, Row]:
    """Rows of the table by name of the task, with `outcome`, `attempts` and `error`."""
    from finsler.cluster import run

    rows = {}
    with progress_bar() as bar:
        task = bar.add_task(title, total=total)
        for done in run(function, tasks, workers):
            figures = {"outcome": "failed"} if done.error is not None else done.value
            rows[done.name] = {**figures, "attempts": done.attempts, "error": done.sentence}
            bar.advance(task)
    return rows


def finish(
    out: str, table: str, columns: tuple[str, ...], rows: Mapping[str, Row], *, as_json: bool
) -> None:
    """Write the table, say what was done, and exit with code 1 if a task failed."""
    from finsler.files import location, write_bytes

    text = io.StringIO()
    writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows.values())
    path = location(out) / table
    write_bytes(path, text.getvalue().encode())
    counts = Counter(row["outcome"] for row in rows.values())
    failed = {name: row["error"] for name, row in rows.items() if row["outcome"] == "failed"}
    report = {key: counts[key] for key in ("computed", "found")} | {"failed": failed}
    if as_json:
        print(json.dumps({"folder": out, "table": str(path), **report}, indent=2))
    else:
        print(
            f"Wrote {out}: {counts['computed']} computed, {counts['found']} found,"
            f" {len(failed)} failed; all of them are in {path}"
        )
    if failed:
        say_failed(failed)
        raise typer.Exit(1)


def key_of(meshes: Iterable[TriMesh], config: Mapping[str, Any]) -> str:
    """A hash of what a result depends on: a file with the same one need not be computed again."""
    import numpy as np

    digest = hashlib.sha256(json.dumps(dict(config), sort_keys=True).encode())
    for mesh in meshes:
        for array in (mesh.vertices, mesh.faces):
            digest.update(str((array.shape, array.dtype.str)).encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def found(path: str, key: str, names: tuple[str, ...]) -> dict[str, Any] | None:
    """The arrays of a result that is there, whole, and has this key; else None."""
    from finsler.errors import InputError
    from finsler.files import exists
    from finsler.json_text import parse_json
    from finsler.npz import read_npz

    if not exists(path):
        return None
    try:
        arrays = read_npz(path, ("config", *names))
        config = parse_json(str(arrays.pop("config"))).get("config")
    except InputError:
        return None
    return arrays if isinstance(config, dict) and config.get("key") == key else None
