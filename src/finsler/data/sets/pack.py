"""A whole collection in one file, small enough to carry to another machine."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
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
from finsler.typing import IntArray

# Format 1 has no points, pairs and bridges.
_VERSION, _READ = 2, (1, 2)
_FIELDS = ("vertices", "faces", "labels", "exact")
_ARRAYS: ArraySchema = {
    "vertices": ("f", ("n", 3)),
    "faces": ("iu", ("m", 3)),
    "labels": ("iu", ("n",)),
    "exact": ("b", ("n",)),
    "counts": ("iu", ("shapes", 2)),
}
# Points of all shapes, and lines of all bridges, with the length of each one's part.
_LISTS = ("points", "point_counts", "bridges", "bridge_counts")


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
    counts, points, families = [], [], []
    names = list(dict.fromkeys([*collection.names, collection.reference]))
    for name in names:
        shape = collection[name]
        counts.append([shape.mesh.n_vertices, shape.mesh.n_faces])
        parts["vertices"].append(shape.mesh.vertices)
        parts["faces"].append(shape.mesh.faces.astype(np.int32))
        parts["labels"].append(shape.labels.astype(np.int32))
        parts["exact"].append(shape.named)
        points.append(np.empty(0, np.int64) if shape.points is None else shape.points)
        families.append(shape.family)
        progress(name)
    bridges = _bridges(collection, dict(zip(names, families, strict=True)))
    about = {
        "version": _VERSION,
        "name": collection.name,
        "names": names,
        "train": collection.train,
        "test": collection.test,
        "reference": collection.reference,
        "families": families,
        "pairs": collection.pairs or (),
        "every_pair": collection.pairs is None,
        "ends": list(bridges),
    }
    arrays = {field: np.concatenate(parts[field]) for field in _FIELDS}
    arrays |= {"counts": np.array(counts), "about": np.array(json.dumps(about))}
    for field, lists in (("point", points), ("bridge", list(bridges.values()))):
        arrays[f"{field}s"] = np.concatenate([np.empty(0, np.int64), *lists]).astype(np.int32)
        arrays[f"{field}_counts"] = np.array([len(values) for values in lists], dtype=np.int64)
    write_npz(path, arrays, {"collection": collection.name}, compressed=True)


def _bridges(collection: Collection, family: Mapping[str, str]) -> dict[tuple[str, str], IntArray]:
    """The bridges between families that a pair of the collection needs."""
    ends = dict.fromkeys((family[a], family[b]) for a, b in collection.pairs or ())
    known = {(a, b): collection.bridge(a, b) for a, b in ends if collection.bridge and a != b}
    return {pair: points for pair, points in known.items() if points is not None}


def packed(path: str | os.PathLike[str]) -> Collection:
    """The collection in a file that [`pack`][finsler.data.pack] wrote.

    Raises
    ------
    InputError
        The file is missing, damaged, of another version, or its parts do not fit together.
    """
    data = read_npz(path, (*_FIELDS, "counts", "about"), optional=_LISTS)
    try:
        about = _described(parse_json(str(data["about"])))
        position = {name: i for i, name in enumerate(about.names)}
        _require_fitting(data, len(position), position[about.reference])
        points = _parts(data, "point", len(about.names))
        leading = dict(zip(about.ends, _parts(data, "bridge", len(about.ends)), strict=True))
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
        exact = data["exact"][v].astype(bool)
        family = about.families[i] if about.families else ""
        if len(points[i]) and points[i].max() >= mesh.n_vertices:
            raise InputError(f"{path}: a point of {name} is no vertex; pack the collection again")
        return Shape(name, mesh, labels, exact, points[i] if len(points[i]) else None, family)

    bridge = (lambda a, b: leading.get((a, b))) if leading else None
    pairs = None if about.every_pair else about.pairs
    return Collection(about.name, about.train, about.test, about.reference, load, pairs, bridge)


@dataclass(frozen=True)
class _About:
    """What a pack says of its collection."""

    version: int
    name: str
    names: tuple[str, ...]
    train: tuple[str, ...]
    test: tuple[str, ...]
    reference: str
    families: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    every_pair: bool = True
    ends: tuple[tuple[str, str], ...] = ()


def _parts(data: dict[str, NDArray[Any]], field: str, count: int) -> list[IntArray]:
    """Points or bridges, each one's part; empty ones in files of the first format."""
    if f"{field}s" not in data:
        return [np.empty(0, np.int64)] * count
    values, lengths = data[f"{field}s"], data.get(f"{field}_counts", np.empty(0))
    whole = values.ndim == lengths.ndim == 1 and values.dtype.kind == lengths.dtype.kind == "i"
    if not whole or len(lengths) != count or lengths.min(initial=0) < 0:
        raise InputError(f"the {field}s do not fit together")
    ends = np.cumsum(lengths)
    if ends.max(initial=0) != len(values) or values.min(initial=0) < -1:
        raise InputError(f"the {field}s do not fit together")
    return [part.astype(np.int64) for part in np.split(values, ends[:-1])] if count else []


def _described(about: dict[str, Any]) -> _About:
    version = about.get("version")
    if version not in _READ:
        raise InputError(f"packed in format {repr(version)[:20]}, this program reads {_VERSION}")
    try:
        known = from_record(_About, about, "a pack")
    except InputError as error:
        raise InputError(f"the description of the collection is damaged ({error})") from error
    names, used = known.names, {*known.train, *known.test, known.reference}
    require_plain_names(known.name, (*names, *used))
    used |= {name for pair in known.pairs for name in pair}
    fitting = len(known.families) in (0, len(names))
    fitting = fitting and all(len(pair) == 2 for pair in (*known.pairs, *known.ends))
    if len(set(names)) != len(names) or not used <= set(names) or not fitting:
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
