"""Predicted correspondences of one run, in one file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Container, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from finsler.data.collection import Collection
from finsler.errors import InputError
from finsler.evaluation.error import reference_vertices
from finsler.mesh.summary import one_line
from finsler.storage.json import parse_json
from finsler.storage.npz import read_npz, write_npz
from finsler.typing import IntArray

# Names with a meaning in the file or in numpy's writer.
_RESERVED = {"names", "config", "file", "allow_pickle"}


@one_line()
@dataclass(frozen=True, eq=False)
class Predictions:
    """What one run predicts.

    Attributes
    ----------
    vertices : mapping of str to (n,)
        Name of a shape, and the reference vertex that each of its vertices is sent to.
    record : dict
        Configuration, versions and hardware of the run that wrote the file.
    """

    vertices: Mapping[str, IntArray]
    record: dict[str, Any]

    @property
    def names(self) -> tuple[str, ...]:
        """The shapes, in the order of the file."""
        return tuple(self.vertices)


def save_predictions(
    path: str | os.PathLike[str], vertices: Mapping[str, ArrayLike], config: Mapping[str, Any]
) -> Path:
    """Write the predictions of one run to an npz file without pickle.

    `names` (text) lists the shapes; under the name of each lies an integer vector, the reference
    vertex (from 0) of each of its vertices; `config` is a JSON text with the configuration,
    versions and hardware.

    Raises
    ------
    InputError
        No shape, a name that cannot be used, or values that are not whole numbers.
    """
    if len(vertices) == 0:
        raise InputError("there are no predictions to save; give at least one shape")
    arrays = {}
    for name, values in vertices.items():
        if name in _RESERVED or name == "":
            raise InputError(f"a shape cannot be called {name!r} in a file of predictions")
        try:
            arrays[name] = reference_vertices(values, np.iinfo(np.int32).max).astype(np.int32)
        except InputError as error:
            raise InputError(f"shape {name!r}: {error}") from error
    return write_npz(path, {"names": np.array(list(arrays)), **arrays}, config)


def load_predictions(
    path: str | os.PathLike[str], collection: Collection, *, skip: Container[str] = ()
) -> Predictions:
    """Read predictions and check that they fit the shapes of a collection.

    Shapes whose names are in `skip` are left out, unread.

    Raises
    ------
    InputError
        The file is missing, damaged or not one of predictions; the collection has no such shape;
        a shape has another number of vertices, or one is sent to what the reference does not have.
    """
    about = read_npz(path, ("names", "config"))
    names = _checked_names(path, about["names"])
    known = {*collection.names, collection.reference}
    for name in names:
        if name not in known:
            raise InputError(
                f"{path}: shape {name[:40]!r} is not in the collection {collection.name}; are these"
                " the predictions for another one?"
            )
    names = tuple(name for name in names if name not in skip)
    if not names:
        raise InputError(f"{path}: none of its shapes is left to be scored")
    arrays = read_npz(path, names)
    n = collection[collection.reference].mesh.n_vertices
    vertices = {}
    for name in names:
        try:
            vertices[name] = reference_vertices(arrays[name], n)
        except InputError as error:
            raise InputError(f"{path}: shape {name!r}: {error}") from error
        size = collection[name].mesh.n_vertices
        if len(vertices[name]) != size:
            raise InputError(
                f"{path}: shape {name!r} has {size} vertices, but there are predictions for"
                f" {len(vertices[name])}; predict every vertex once, in the order of the mesh"
            )
    return Predictions(vertices, _record(path, about["config"]))


def unreadable_shapes(collection: Collection) -> dict[str, str]:
    """The test shapes of a collection that cannot be read, each with the sentence that says why."""
    failed = {}
    for name in collection.test:
        try:
            collection[name]
        except InputError as error:
            failed[name] = str(error)
    return failed


def _checked_names(path: str | os.PathLike[str], names: np.ndarray[Any, Any]) -> tuple[str, ...]:
    if names.ndim != 1 or names.dtype.kind != "U" or len(names) == 0:
        raise InputError(f"{path}: `names` must be a vector of text, the names of the shapes")
    listed = tuple(str(name) for name in names)
    for name, count in Counter(listed).items():
        if count > 1:
            raise InputError(f"{path}: shape {name[:40]!r} is listed more than once in `names`")
    return listed


def _record(path: str | os.PathLike[str], text: np.ndarray[Any, Any]) -> dict[str, Any]:
    try:
        return parse_json(str(text))
    except InputError as error:
        raise InputError(f"{path}: `config`: {error}") from error
