"""Files that plain mutation of bytes hardly reaches: archives and headers that lie."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_KINDS = ("<f8", "<f4", "<i8", "<i4", "|b1", "|u1", "<U8", "|O", "|S3", "|V0", "<U0", "<f2", ">i4")
_SIZES = (0, 1, 2, 3, 4, 5, 12, -1, 10**6, 10**12, 2**31, 2**62, 2**64)
_ZIP = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


class Choices:
    """Decisions read from bytes, one after the other; zeros when the bytes are spent."""

    def __init__(self, data: bytes) -> None:
        self._data, self._place = data, 0

    def take(self, count: int) -> bytes:
        """The next bytes, fewer at the end."""
        self._place += count
        return self._data[self._place - count : self._place]

    def number(self) -> int:
        """0 to 255."""
        return (self.take(1) or b"\0")[0]

    def one_of(self, options: Sequence[Any]) -> Any:
        """One of several."""
        return options[self.number() % len(options)]


def npy(kind: str, shape: tuple[int, ...], body: bytes, *, fortran: bool = False) -> bytes:
    """An npy file whose header may claim anything."""
    about = f"{{'descr': {kind!r}, 'fortran_order': {fortran}, 'shape': {shape!r}, }}"
    return npy_header(about.encode()) + body


def npy_header(about: bytes) -> bytes:
    """Magic, length and text of an npy file of version 1."""
    padded = about + b" " * (-(len(about) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(padded) % 2**16) + padded


def archive(members: Mapping[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    """A zip file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return buffer.getvalue()


def plain(array: NDArray[Any]) -> bytes:
    """An honest npy file."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def forged_npz(data: bytes, good: Mapping[str, NDArray[Any]]) -> bytes:
    """An archive of arrays some of which are not what they say; the bytes decide which and how."""
    choices = Choices(data)
    method = choices.one_of((*_ZIP[:2], *_ZIP)) if choices.number() > 63 else zipfile.ZIP_STORED
    members = {}
    for name, array in good.items():
        decision = choices.number()
        if decision >= 250:
            continue
        if decision < 96:
            content = plain(array)
        elif decision < 160 and array.dtype.kind == "U":
            text = choices.take(choices.number()).decode("utf-8", errors="replace")
            content = plain(np.array(text))
        elif decision < 200:
            content = _other_values(choices, array)
        else:
            content = _other_header(choices)
        members[f"{name}.npy"] = content
    return archive(members, method)


def _other_values(choices: Choices, array: NDArray[Any]) -> bytes:
    """The same shape and type with other bytes, or the same bytes cut or reshaped."""
    raw = bytearray(array.tobytes())
    for _ in range(choices.number() % 8):
        if raw:
            raw[int.from_bytes(choices.take(2), "little") % len(raw)] = choices.number()
    shape = array.shape
    if choices.number() > 191:
        shape = tuple(choices.one_of(_SIZES) for _ in range(choices.number() % 4))
    return npy(array.dtype.str, shape, bytes(raw))


def _other_header(choices: Choices) -> bytes:
    kind = choices.one_of(_KINDS)
    shape = tuple(choices.one_of(_SIZES) for _ in range(choices.number() % 4))
    body = choices.take(choices.number())
    if choices.number() > 223:
        return npy_header(body) + body
    return npy(kind, shape, body, fortran=choices.number() > 127)


def glb(header: bytes, body: bytes = b"") -> bytes:
    """A binary glTF of one JSON part and one buffer."""
    text = header + b" " * (-len(header) % 4)
    parts = struct.pack("<I4s", len(text), b"JSON") + text
    if body:
        whole = body + bytes(-len(body) % 4)
        parts += struct.pack("<I4s", len(whole), b"BIN\0") + whole
    return struct.pack("<4sII", b"glTF", 2, 12 + len(parts)) + parts


def safetensors(header: Mapping[str, Any] | bytes, body: bytes = b"") -> bytes:
    """A safetensors file with any header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body
