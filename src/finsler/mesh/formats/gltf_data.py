"""The arrays of a glTF file: every size is compared with the bytes that are there.

A buffer lies inside the file, or beside it or below, never elsewhere.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from finsler.errors import InputError
from finsler.mesh.formats.content import stored_bytes

_KINDS = {"SCALAR": {5121: "<u1", 5123: "<u2", 5125: "<u4"}, "VEC3": {5126: "<f4"}}
_WIDTHS = {"SCALAR": 1, "VEC3": 3}

Json = dict[str, Any]


def items(holder: Json, name: str) -> list[Json]:
    """A list of objects; empty where it is not there."""
    objects = holder.get(name, [])
    if not isinstance(objects, list) or not all(isinstance(item, dict) for item in objects):
        raise InputError(f"the part {name!r} is no list of objects; the file is damaged")
    return objects


def whole(holder: Json, name: str, default: int | None = None) -> int:
    """A whole number from 0."""
    value = holder.get(name, default)
    if type(value) is not int or not 0 <= value < 2**63:
        raise InputError(f"a value of {name!r} is no whole number; the file is damaged")
    return value


def named(objects: list[Json], index: object, what: str) -> Json:
    """The object with an index."""
    if type(index) is not int or not 0 <= index < len(objects):
        raise InputError(f"a {what} is named that is not there; the file is damaged")
    return objects[index]


@dataclass(frozen=True, eq=False)
class Asset:
    """The JSON part of a file, the buffer inside a binary one, and where other buffers may lie."""

    header: Json
    body: bytes | None
    folder: Path

    @cached_property
    def accessors(self) -> list[Json]:
        """What the arrays are."""
        return items(self.header, "accessors")

    @cached_property
    def views(self) -> list[Json]:
        """Where they lie."""
        return items(self.header, "bufferViews")

    @cached_property
    def buffers(self) -> list[bytes]:
        """The stored bytes."""
        return [self._buffer(buffer) for buffer in items(self.header, "buffers")]

    def array(self, index: object, shape: str) -> NDArray[Any]:
        """The values (count, width) of an accessor, a view of its buffer."""
        accessor = named(self.accessors, index, "array")
        if "bufferView" not in accessor or "sparse" in accessor:
            raise InputError(
                "an array has no stored data (compressed or sparse glTF); export without"
                " compression"
            )
        kind = whole(accessor, "componentType")
        if accessor.get("type") != shape or kind not in _KINDS[shape]:
            raise InputError(
                "positions must be single-precision vectors and indices whole numbers; export"
                " without quantization"
            )
        view = named(self.views, accessor["bufferView"], "buffer view")
        item, width = np.dtype(_KINDS[shape][kind]), _WIDTHS[shape]
        start, count = whole(accessor, "byteOffset", 0), whole(accessor, "count")
        size = width * item.itemsize
        stride = whole(view, "byteStride", size)
        stored = self._bytes(view)
        if stride < size or (count and start + (count - 1) * stride + size > len(stored)):
            raise InputError(
                f"an array counts {count} items, more than its buffer holds; the file is damaged"
                " or cut short"
            )
        if count == 0:
            return np.zeros((0, width), dtype=item)
        return np.ndarray((count, width), item, stored, start, (stride, item.itemsize))

    def _bytes(self, view: Json) -> memoryview:
        index, start = view.get("buffer"), whole(view, "byteOffset", 0)
        if type(index) is not int or not 0 <= index < len(self.buffers):
            raise InputError("a buffer is named that is not there; the file is damaged")
        return memoryview(self.buffers[index])[start : start + whole(view, "byteLength")]

    def _buffer(self, buffer: Json) -> bytes:
        uri, length = buffer.get("uri"), whole(buffer, "byteLength")
        if uri is None:
            stored = self.body or b""
        elif not isinstance(uri, str):
            raise InputError("the address of a buffer is no text; the file is damaged")
        elif uri.startswith("data:"):
            stored = _inline(uri)
        else:
            stored = _beside(self.folder, unquote(uri), length)
        if len(stored) < length:
            raise InputError(
                f"a buffer counts {length} bytes, but there are {len(stored)}; the file is cut"
                " short"
            )
        return stored[:length]


def _inline(uri: str) -> bytes:
    kind, _, text = uri.partition(",")
    try:
        if not kind.endswith(";base64"):
            raise ValueError(kind)
        return base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error) as error:
        raise InputError("a buffer inside the file is not base64; the file is damaged") from error


def _beside(folder: Path, name: str, length: int) -> bytes:
    """The first bytes of a file in the folder or below it; links that lead out do not count."""
    try:
        path = (folder / name).resolve()
        inside = path.is_relative_to(folder.resolve()) and path.is_file()
    except (OSError, ValueError, RuntimeError):
        inside = False
    if not inside:
        raise InputError(
            f"the buffer {name[:60]!r} is no file beside the glTF or below; put it there, or export"
            " one .glb file"
        )
    return stored_bytes(path, length)
