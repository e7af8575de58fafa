"""A whole collection in one file, small enough to carry to another machine."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from finsler.data.collection import Collection, Shape
from finsler.errors import InputError
from finsler.files import read_npz, write_npz
from finsler.mesh.trimesh import TriMesh

_VERSION = 1
_FIELDS = ("vertices", "faces", "labels", "exact")


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
        parts["exact"].append(shape.exact)
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
    """The collection in a file that [`pack`][finsler.data.pack.pack] wrote.

    Raises
    ------
    InputError
        The file is missing, damaged, of another version, or its parts do not fit together.
    """
    data = read_npz(path, (*_FIELDS, "counts", "about"))
    try:
        about = json.loads(str(data["about"]))
        names, version = list(about["names"]), about["version"]
        splits = tuple(about["train"]), tuple(about["test"])
        title, reference = str(about["name"]), str(about["reference"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: the description of the collection is damaged ({error})"
        ) from error
    if version != _VERSION:
        raise InputError(f"{path}: packed in format {version}, this program reads {_VERSION}")
    counts = data["counts"]
    fits = (
        counts.shape == (len(names), 2)
        and bool((counts >= 0).all())
        and {*splits[0], *splits[1], reference} <= set(names)
        and all(len(data[field]) == counts[:, int(field == "faces")].sum() for field in _FIELDS)
    )
    if not fits:
        raise InputError(f"{path}: the arrays do not fit together; pack the collection again")
    ends = np.cumsum(counts, axis=0)

    def load(name: str) -> Shape:
        i = names.index(name)
        v = slice(ends[i, 0] - counts[i, 0], ends[i, 0])
        f = slice(ends[i, 1] - counts[i, 1], ends[i, 1])
        mesh = TriMesh(data["vertices"][v], data["faces"][f])
        labels = data["labels"][v].astype(np.int64)
        return Shape(name, mesh, labels, data["exact"][v].astype(bool))

    return Collection(title, *splits, reference, load)
