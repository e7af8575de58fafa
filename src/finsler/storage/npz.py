"""Arrays in npz files, without pickle and with bounds on what a file may unpack to."""

from __future__ import annotations

import io
import math
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from finsler.errors import InputError
from finsler.storage.files import is_local, location, read_bytes, write_bytes
from finsler.storage.record import record

# A compressed file may unpack to so many bytes, or so many times its size; GiB that are allowed.
_UNPACKED, _RATIO, UNPACK_GIB = 2**28, 50, "FINSLER_UNPACK_GIB"


def write_npz(
    path: str | os.PathLike[str],
    arrays: Mapping[str, ArrayLike],
    config: Mapping[str, Any],
    *,
    compressed: bool = False,
) -> Path:
    """Write arrays and, under the name `config`, the JSON text of `finsler.storage.record.record`.

    Without pickle; read it with `numpy.load(path)` or `read_npz`.
    """
    buffer = io.BytesIO()
    save = np.savez_compressed if compressed else np.savez
    save(buffer, allow_pickle=False, config=np.array(record(config)), **dict(arrays))
    return write_bytes(path, buffer.getvalue())


def read_npz(
    path: str | os.PathLike[str], names: tuple[str, ...], *, optional: tuple[str, ...] = ()
) -> dict[str, NDArray[Any]]:
    """Read the named arrays of an npz file, and the optional ones it holds, without pickle.

    Raises
    ------
    InputError
        The file is missing or damaged, or lacks one of the names, or would unpack to more than
        256 MiB and fifty times its size; the environment variable FINSLER_UNPACK_GIB allows more.
    """
    where = location(path)
    if is_local(where) and not where.is_file():
        raise InputError(f"{path}: there is no such file; check the path")
    try:
        with _opened(path) as file, zipfile.ZipFile(file) as archive:
            allowed, arrays = _unpackable(file.seek(0, os.SEEK_END)), {}
            for name in (*names, *optional):
                member = archive.NameToInfo.get(f"{name}.npy")
                if member is None:
                    if name in optional:
                        continue
                    raise InputError(f"{path}: the file holds no array {name[:40]!r}")
                allowed -= member.file_size
                if allowed < 0:
                    raise InputError(
                        f"{path}: the file would unpack to far more than its size; set"
                        f" {UNPACK_GIB} to the GiB that it may take, if that is meant"
                    )
                arrays[name] = _array(archive, member)
            return arrays
    except (InputError, PermissionError, ConnectionError):
        raise
    # A damaged archive raises nearly anything, from zipfile and zlib as well as from numpy.
    except Exception as error:
        raise InputError(
            f"{path}: this is not an npz file of plain arrays ({type(error).__name__})"
        ) from error


def _unpackable(size: int) -> int:
    """Bytes that an archive of a size may unpack to."""
    text = os.environ.get(UNPACK_GIB, "0")
    if not text.isdecimal():
        raise InputError(f"{UNPACK_GIB} is {text!r}; it must be a whole number of GiB")
    return max(_UNPACKED, _RATIO * size, int(text) * 2**30)


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    """One array, whose header says exactly what is stored; anything else raises."""
    # Other methods unpack any amount at once.
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError("method of compression")
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, _, kind = read(file)
        stored = member.file_size - file.tell()
    size = math.prod(shape) * kind.itemsize
    if kind.kind not in "biufcUS" or not kind.itemsize or min(shape, default=0) < 0:
        raise ValueError("kind or shape")
    if size != stored:
        raise ValueError("size")
    with archive.open(member) as file:
        array = np.asarray(np.lib.format.read_array(file, allow_pickle=False))
    if kind.kind == "U":
        _require_characters(array)
    return array.astype(kind.newbyteorder("="), copy=False)


def _require_characters(array: NDArray[Any]) -> None:
    """Raise where a text holds what is no character, which Python cannot take."""
    codes = array.reshape(-1).view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
    if (codes > 0x10FFFF).any() or ((codes >= 0xD800) & (codes < 0xE000)).any():
        raise ValueError("text")


def _opened(path: str | os.PathLike[str]) -> BinaryIO:
    where = location(path)
    if is_local(where):
        return where.open("rb")
    try:
        return io.BytesIO(read_bytes(where))
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is no such file; check the path") from error
