"""A whole collection in one file, small enough to carry to another machine."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finsler.data.collection import Collection, Shape
from finsler.data.sets.layout import require_plain_names
from finsler.errors import InputError
from finsler.mesh.trimesh import TriMesh
from finsler.storage.json import parse_json
from finsler.storage.npz import read_npz, write_npz
from finsler.storage.schema import ArraySchema, from_record, require_arrays

_VERSION = 1
_FIELDS = ("vertices", "faces", "labels", "exact")
_ARRAYS: ArraySchema = {
    "vertices": ("f", ("n", 3)),
    "faces": ("iu", ("m", 3)),
    "labels": ("iu", ("n",)),
    "exact": ("b", ("n",)),
    "counts": ("iu", ("shapes", 2)),
}


def pack(
    collection: Collection,
    path: str | os.PathLike[str],
    *,
    progress: Callable[[str], None] = lambda name: None,
) -> None:
    """Write meshes, labels and splits of a collection to one npz file, without loss.

    Operators and descriptors are not in it: they are far larger and are computed from it where they
    are needed. A hundred shapes of 5,000 vertices take about 20 MB.
    """
    parts: dict[str, list[NDArray[np.generic]]] = {field: [] for field in _FIELDS}
    counts = []
    names = list(dict.fromkeys([*collection.names, collection.reference]))
    for name in names:
        shape = collection[name]
        counts.append([shape.mesh.n_vertices, shape.mesh.n_faces])
        parts["vertices"].append(shape.mesh.vertices)
        parts["faces"].append(shape.mesh.faces.astype(np.int32))
        parts["labels"].append(shape.labels.astype(np.int32))
        parts["exact"].append(shape.named)
        progress(name)
    about = {
        "version": _VERSION,
        "name": collection.name,
        "names": names,
        "train": collection.train,
        "test": collection.test,
        "reference": collection.reference,
    }
    arrays = {field: np.concatenate(parts[field]) for field in _FIELDS}
    arrays |= {"counts": np.array(counts), "about": np.array(json.dumps(about))}
    write_npz(path, arrays, {"collection": collection.name}, compressed=True)


def packed(path: str | os.PathLike[str]) -> Collection:
    """The collection in a file that [`pack`][finsler.data.pack] wrote.

    Raises
    ------
    InputError
        The file is missing, damaged, of another version, or its parts do not fit together.
    """
    data = read_npz(path, (*_FIELDS, "counts", "about"))
    try:
        about = _described(parse_json(str(data["about"])))
        position = {name: i for i, name in enumerate(about.names)}
        _require_fitting(data, len(position), position[about.reference])
    except InputError as error:
        raise InputError(f"{path}: {error}; pack the collection again") from error
    counts = data["counts"]
    ends = np.cumsum(counts, axis=0)

    def load(name: str) -> Shape:
        i = position[name]
        v = slice(ends[i, 0] - counts[i, 0], ends[i, 0])
        f = slice(ends[i, 1] - counts[i, 1], ends[i, 1])
        mesh = TriMesh(data["vertices"][v], data["faces"][f])
        labels = data["labels"][v].astype(np.int64)
        return Shape(name, mesh, labels, data["exact"][v].astype(bool))

    return Collection(about.name, about.train, about.test, about.reference, load)


@dataclass(frozen=True)
class _About:
    """What a pack says of its collection."""

    version: int
    name: str
    names: tuple[str, ...]
    train: tuple[str, ...]
    test: tuple[str, ...]
    reference: str


def _described(about: dict[str, Any]) -> _About:
    version = about.get("version")
    if version != _VERSION:
        raise InputError(f"packed in format {repr(version)[:20]}, this program reads {_VERSION}")
    try:
        known = from_record(_About, about, "a pack")
    except InputError as error:
        raise InputError(f"the description of the collection is damaged ({error})") from error
    names, used = known.names, {*known.train, *known.test, known.reference}
    require_plain_names(known.name, (*names, *used))
    if len(set(names)) != len(names) or not used <= set(names):
        raise InputError("the names in the description do not fit together")
    return known


def _require_fitting(data: dict[str, NDArray[Any]], shapes: int, reference: int) -> None:
    """Raise where the arrays are not those of so many shapes, labelled by one of them."""
    sizes = require_arrays(data, _ARRAYS)
    counts, labels = data["counts"], data["labels"]
    fits = sizes["shapes"] == shapes and bool((counts >= 0).all() and (counts <= 2**40).all())
    fits = fits and counts.sum(axis=0).tolist() == [sizes["n"], sizes["m"]] and sizes["n"] > 0
    if not fits or not 0 <= labels.min() <= labels.max() < counts[reference, 0]:
        raise InputError("the arrays do not fit together")
