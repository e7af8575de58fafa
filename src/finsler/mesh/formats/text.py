"""Numbers in lines of text, and polygons as triangles."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finsler.errors import InputError
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class NumberRows:
    """Lines of numbers: row `i` is `values[starts[i] : starts[i] + lengths[i]]`."""

    values: FloatArray
    starts: IntArray
    lengths: IntArray

    def __len__(self) -> int:
        return len(self.lengths)

    def slice(self, first: int, last: int) -> NumberRows:
        """Rows `first` to `last` (excluded)."""
        return NumberRows(self.values, self.starts[first:last], self.lengths[first:last])

    def columns(self, which: list[int], what: str) -> FloatArray:
        """Columns (r, len(which)); `what` names a row in the error where one is too short."""
        self.require_lengths(np.full(len(self), max(which) + 1), what)
        return np.asarray(self.values[self.starts[:, None] + np.array(which)])

    def require_lengths(self, lengths: NDArray[Any], what: str) -> None:
        """Raise where a row has fewer numbers than `lengths` (r,)."""
        short = self.lengths < lengths
        if short.any():
            row = int(np.argmax(short))
            raise InputError(
                f"{what} {row} has {self.lengths[row]} numbers instead of"
                f" {lengths[row]:.0f} or more; the file is damaged or cut short"
            )


def number_rows(lines: list[bytes]) -> NumberRows:
    """Parse lines that hold only numbers; blank lines are skipped."""
    lengths = np.array([len(line.split()) for line in lines], dtype=np.int64)
    lengths = lengths[lengths > 0]
    text = b" ".join(lines)
    try:
        # numpy warns where it stops at what is no number, and reads 1.2.3 as two numbers.
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)
            values = np.fromstring(text, sep=" ") if len(lengths) else np.zeros(0)
    except (ValueError, DeprecationWarning):
        values = np.zeros(0)
    if len(values) != lengths.sum():
        raise InputError(f"{_first_word(text)!r} stands where a number should; the file is damaged")
    return NumberRows(values, np.cumsum(lengths) - lengths, lengths)


def _first_word(text: bytes) -> str:
    number = re.compile(rb"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?|[+-]?(nan|inf(inity)?)", re.I)
    wrong = next((token for token in text.split() if not number.fullmatch(token)), b"")
    return wrong[:20].decode("ascii", errors="replace")


def without_comments(data: bytes) -> list[bytes]:
    """Lines of a text file, each cut at its `#`."""
    return (re.sub(rb"#[^\r\n]*", b"", data) if b"#" in data else data).splitlines()


def whole_numbers(values: NDArray[Any]) -> IntArray:
    """Indices as integers; raise where one is not a whole number."""
    if not np.issubdtype(values.dtype, np.integer):
        bad = ~(np.abs(values) < 2.0**53) | (values != np.floor(values))
        if bad.any():
            value = float(values[int(np.argmax(bad))])
            raise InputError(
                f"a face names vertex {value:g}, which is no index; the file is damaged"
            )
    return values.astype(np.int64)


def ranges(starts: IntArray, lengths: IntArray) -> IntArray:
    """All of `starts[i], …, starts[i] + lengths[i] - 1`, one after the other.

    >>> ranges(np.array([0, 7]), np.array([2, 3])).tolist()
    [0, 1, 7, 8, 9]
    """
    before = np.cumsum(lengths) - lengths
    return np.asarray(np.arange(lengths.sum()) + np.repeat(starts - before, lengths))


def fan_triangles(corners: IntArray, degrees: IntArray) -> IntArray:
    """Triangles (m, 3) that fan out from the first corner of each polygon.

    `corners` (sum of degrees,) lists the polygons one after the other.

    >>> fan_triangles(np.array([0, 1, 2, 3, 2, 1, 4]), np.array([4, 3])).tolist()
    [[0, 1, 2], [0, 2, 3], [2, 1, 4]]
    """
    if (degrees < 3).any():
        face = int(np.argmax(degrees < 3))
        raise InputError(
            f"face {face} has {degrees[face]} corners instead of three or more;"
            " remove lines and points from the file"
        )
    first = np.cumsum(degrees) - degrees
    second = ranges(first + 1, degrees - 2)
    return np.stack(
        [corners[np.repeat(first, degrees - 2)], corners[second], corners[second + 1]], axis=1
    )


def coordinate_lines(mesh: TriMesh) -> list[str]:
    """Vertices as text that reads back to the same numbers."""
    return [f"{x!r} {y!r} {z!r}" for x, y, z in mesh.vertices.tolist()]
