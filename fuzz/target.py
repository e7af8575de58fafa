"""What a target is, and what may come of it: a reader succeeds or raises InputError."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from finsler.data import Collection, Shape
from finsler.errors import InputError
from finsler.mesh import TriMesh

_LONGEST_SENTENCE = 700


@dataclass(frozen=True)
class Target:
    """A reader: what it is fed first, and how it is called with bytes and an empty-ish folder."""

    seeds: Callable[[Path], list[bytes]]
    read: Callable[[bytes, Path], object]


def outcome(target: Target, data: bytes, folder: Path) -> str:
    """Feed bytes to a reader: "read" or "refused"; anything else raises.

    A refusal is one printable line of moderate length, whatever the bytes were.
    """
    try:
        target.read(data, folder)
    except InputError as error:
        sentence = str(error)
        assert sentence.isprintable(), f"not printable: {sentence[:200]!r}"
        assert len(sentence) < _LONGEST_SENTENCE + len(str(folder)), sentence[:200]
        return "refused"
    return "read"


def square() -> TriMesh:
    """Two triangles."""
    corners = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    return TriMesh(corners, [[0, 1, 2], [0, 2, 3]])


def collection() -> Collection:
    """Two squares, one to train and one to test."""
    shapes = {
        name: Shape(name, square(), np.arange(4), np.ones(4, dtype=bool)) for name in ("a", "b")
    }
    return Collection("squares", ("a",), ("b",), "a", shapes.__getitem__)


def written(path: Path) -> bytes:
    """What a file holds; it is removed."""
    content = path.read_bytes()
    path.unlink()
    return content
