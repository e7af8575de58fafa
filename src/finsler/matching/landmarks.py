"""Pairs of vertices that are known to correspond, and how they steer a match."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from finsler.errors import InputError
from finsler.matching.surfaces import DescribedSurface
from finsler.storage.files import read_bytes, write_bytes
from finsler.storage.outputs import mark
from finsler.typing import IntArray

# Most pairs: a handful steers a map, and each costs a distance on both surfaces.
_MOST = 100
# Of distances in √area beside features of length 1.
_WEIGHT = 3.0


def with_landmarks(
    first: DescribedSurface, second: DescribedSurface, pairs: IntArray
) -> tuple[DescribedSurface, DescribedSurface]:
    """Both surfaces with the distances from landmarks beside the features of the model.

    Points that correspond are about equally far from landmarks that correspond. All landmarks
    together count as much as the model.

    Parameters
    ----------
    first, second : DescribedSurface
    pairs : (p, 2)
        A vertex of the first surface and one of the second.
    """
    scale = _WEIGHT / np.sqrt(len(pairs))
    one, other = (
        replace(surface, features=np.hstack([surface.features, scale * _distances(surface, marks)]))
        for surface, marks in zip((first, second), pairs.T, strict=True)
    )
    return one, other


def _distances(surface: DescribedSurface, marks: IntArray) -> NDArray[np.float32]:
    """Along the surface from landmarks, (n, p); to other components as long as the longest."""
    distances = surface.distances.from_each(marks).T
    largest = distances[np.isfinite(distances)].max(initial=1.0)
    return np.asarray(np.minimum(distances, largest), dtype=np.float32)


def checked_landmarks(pairs: ArrayLike, n_1: int, n_2: int) -> IntArray:
    """Pairs (p, 2) of a vertex of mesh 1 and one of mesh 2.

    Raises
    ------
    InputError
        Another shape, no pair, more than 100, or a vertex that a mesh does not have.
    """
    given = np.asarray(pairs)
    if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu" or len(given) == 0:
        raise InputError(
            "landmarks must be pairs of whole numbers, a vertex of mesh 1 and one of mesh 2 each,"
            f" of shape (p, 2); the shape is {given.shape}"
        )
    if len(given) > _MOST:
        raise InputError(f"there are {len(given)} landmarks; give at most {_MOST}")
    for column, count, number in ((given[:, 0], n_1, 1), (given[:, 1], n_2, 2)):
        outside = column[(column < 0) | (column >= count)]
        if len(outside):
            raise InputError(
                f"landmark {outside[0]} is not a vertex of mesh {number}, which has 0..{count - 1}"
            )
    return given.astype(np.int64)


def read_landmarks(path: str | os.PathLike[str]) -> IntArray:
    """Pairs (p, 2) from a text file: two vertices on each line, counted from 0; # for comments.

    Raises
    ------
    InputError
        The file cannot be read, or a line holds something else.
    """
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is no such file; check the path") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: this is no text with two vertices on each line") from error
    pairs = []
    for number, line in enumerate(text.splitlines(), start=1):
        cells = line.partition("#")[0].replace(",", " ").split()
        if not cells:
            continue
        if len(cells) != 2 or not all(cell.isascii() and cell.isdigit() for cell in cells):
            raise InputError(
                f"{path}: line {number} must hold a vertex of A and one of B, counted from 0, such"
                f" as 12 345; it is {line.strip()[:60]!r}"
            )
        pairs.append([min(int(cell), 2**62) for cell in cells])
    if not pairs:
        raise InputError(f"{path}: there is no pair of vertices in this file")
    return np.array(pairs, dtype=np.int64)


def write_landmarks(path: str | os.PathLike[str], pairs: ArrayLike) -> Path:
    """Write pairs (p, 2) as the text that `read_landmarks` reads.

    Raises
    ------
    InputError
        There is no pair, or the file cannot be there.
    """
    rows = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    if len(rows) == 0:
        raise InputError(f"{path}: there is no pair of vertices to write; choose one first")
    about = ["# a vertex of A and one of B on each line, counted from 0"]
    about += [f"# {mark()}"] if mark() else []
    lines = [*about, *(f"{one} {other}" for one, other in rows)]
    return write_bytes(path, ("\n".join(lines) + "\n").encode())
