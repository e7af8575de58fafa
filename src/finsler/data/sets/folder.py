"""Collections as a folder of plain files that `open_collection` reads back."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from finsler.data.collection import Collection
from finsler.data.sets.files import folders_in, listed_names, mesh_files, missing, truth_files
from finsler.data.sets.layout import FILLED, ShapeFiles
from finsler.errors import InputError
from finsler.mesh.io import write_mesh
from finsler.storage.files import write_bytes
from finsler.storage.json import parse_json
from finsler.storage.record import record
from finsler.storage.schema import from_record

SPLIT = "split.json"
_SOURCE = "write the collection again"
_LAYOUT = "put meshes into off and, for each, a .vts file that lists the same points into corres"
_PARTS = ("off", "corres")


def write_collection(
    folder: str | os.PathLike[str],
    collection: Collection,
    config: Mapping[str, Any] | None = None,
    *,
    progress: Callable[[str], None] = lambda name: None,
) -> Path:
    """Write a collection as `off/*.off`, `corres/*.vts` and `split.json`.

    Line i of a `.vts` file is the reference vertex, from 1, of vertex i, as for the partial shapes
    of SHREC'16; a `.filled` file beside it lists the vertices, from 1, whose label is not ground
    truth. `split.json` names the reference and the shapes that train and test, and keeps the
    configuration; it is written last, so an unfinished folder is not taken for a collection. What
    is interrupted is removed again.

    Parameters
    ----------
    folder : path
        Made if missing; it must be empty.
    collection : Collection
    config : mapping, optional
        What the collection was made from, for the record.
    progress : callable
        Called with the name of each shape that is written.

    Raises
    ------
    InputError
        The folder holds files already.
    """
    root = Path(folder)
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise InputError(f"{root}: this is not an empty folder; choose another one")
    is_new = not root.exists()
    try:
        _write_shapes(root, collection, progress)
    except BaseException:
        # Half a collection would be in the way of the next attempt.
        for part in _PARTS:
            shutil.rmtree(root / part, ignore_errors=True)
        if is_new:
            with suppress(OSError):
                root.rmdir()
        raise
    about = {
        "name": collection.name,
        "reference": collection.reference,
        "train": collection.train,
        "test": collection.test,
        "record": json.loads(record(config or {})),
    }
    write_bytes(root / SPLIT, (json.dumps(about, indent=2) + "\n").encode())
    return root


def _write_shapes(root: Path, collection: Collection, progress: Callable[[str], None]) -> None:
    for part in _PARTS:
        (root / part).mkdir(parents=True)
    reference = collection.load(collection.reference)
    for name in dict.fromkeys((collection.reference, *collection.names)):
        shape = reference if name == collection.reference else collection.load(name)
        write_mesh(root / "off" / f"{name}.off", shape.mesh)
        _write_numbers(root / "corres" / f"{name}.vts", shape.labels)
        if not shape.named.all():
            _write_numbers(root / "corres" / f"{name}{FILLED}", np.flatnonzero(~shape.named))
        progress(name)


@dataclass(frozen=True)
class _Split:
    """What `split.json` says."""

    name: str
    reference: str
    train: tuple[str, ...]
    test: tuple[str, ...]
    record: dict[str, Any] = field(default_factory=dict)


def stored_files(path: str | os.PathLike[str]) -> ShapeFiles | None:
    """Files of a collection that `write_collection` wrote, at or below a path; None if none is.

    Raises
    ------
    InputError
        `split.json` is damaged.
    """
    candidates = (each for each in folders_in(Path(path), ()) if (each / SPLIT).is_file())
    folder = next(candidates, None)
    if folder is None:
        return None
    try:
        split = from_record(_Split, parse_json((folder / SPLIT).read_bytes()), SPLIT)
    except InputError as error:
        raise InputError(
            f"{folder / SPLIT}: this is not a split that finsler wrote ({error}); {_SOURCE}"
        ) from error
    return ShapeFiles(
        name=split.name,
        folder=folder,
        reference=split.reference,
        train=split.train,
        test=split.test,
        meshes={entry.stem: entry for entry in sorted((folder / "off").glob("*.off"))},
        truths={entry.stem: entry for entry in sorted((folder / "corres").glob("*.vts"))},
        truth="vertex",
        least=0,
        source=_SOURCE,
    )


def _write_numbers(path: Path, values: np.ndarray[Any, Any]) -> None:
    write_bytes(path, ("\n".join(map(str, (values + 1).tolist())) + "\n").encode())


def plain_files(path: str | os.PathLike[str]) -> ShapeFiles:
    """Any shapes in `off` or `shapes`, with `corres/*.vts` that list the same canonical points.

    `train.txt` and `test.txt` give the split; without them all shapes test. The reference is the
    first shape.

    Raises
    ------
    InputError
        There are no such files, or finsler wrote them: then `.vts` files mean something else.
    """
    for folder in folders_in(Path(path), ()):
        if (folder / SPLIT).is_file():
            raise InputError(
                f"{folder}: finsler wrote this collection, whose .vts files name reference vertices"
                " instead of listing points; give the path alone, without folder:"
            )
        meshes, truths = mesh_files(folder, ".+"), truth_files(folder / "corres", ".+")
        if meshes and any(name in truths for name in meshes):
            train, test = (listed_names(folder / f"{part}.txt") for part in ("train", "test"))
            test = test if train or test else tuple(sorted(meshes))
            first = (*train, *test)[0]
            return ShapeFiles(
                *(folder.name, folder, first, train, test, meshes, truths, "canonical"),
                source=_LAYOUT,
            )
    raise missing(path, "folder of meshes with corres/*.vts", _LAYOUT)
