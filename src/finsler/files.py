"""Writing files so that nothing is ever half written, and the record each result carries."""

from __future__ import annotations

import io
import json
import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from finsler.errors import InputError

_PACKAGES = ("finsler", "numpy", "scipy", "numba", "cholespy", "potpourri3d", "pygeodesic", "torch")


def write_bytes(path: str | os.PathLike[str], content: bytes) -> Path:
    """Write beside the target, then rename: the target is old or complete, never half written.

    Raises
    ------
    InputError
        The path is a folder, or its folder does not exist.
    """
    target = Path(path)
    if target.is_dir():
        raise InputError(f"{target}: this is a folder; give the path of a file")
    if not target.parent.is_dir():
        raise InputError(f"{target}: the folder {target.parent} does not exist; create it first")
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    return target


def write_npz(
    path: str | os.PathLike[str],
    arrays: Mapping[str, ArrayLike],
    config: Mapping[str, Any],
    *,
    compressed: bool = False,
) -> Path:
    """Write arrays and, under the name `config`, a JSON text with [`record`][finsler.files.record].

    Without pickle; read it with `numpy.load(path)` or `read_npz`.
    """
    buffer = io.BytesIO()
    save = np.savez_compressed if compressed else np.savez
    save(buffer, allow_pickle=False, config=np.array(record(config)), **dict(arrays))
    return write_bytes(path, buffer.getvalue())


def read_npz(path: str | os.PathLike[str], names: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """Read the named arrays of an npz file, without pickle.

    Raises
    ------
    InputError
        The file is missing or damaged, or lacks one of the names.
    """
    try:
        # Opened here: numpy leaves the file open where it is no archive.
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as data:
            return {name: data[name] for name in names}
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is no such file; check the path") from error
    except KeyError as error:
        raise InputError(
            f"{path}: the file holds no array {error}; was it written by finsler?"
        ) from error
    except PermissionError:
        raise
    # A damaged archive raises nearly anything, from zipfile and zlib as well as from numpy.
    except Exception as error:
        raise InputError(f"{path}: this is not an npz file of plain arrays ({error})") from error


def record(config: Mapping[str, Any]) -> str:
    """Configuration, versions and hardware as a JSON text, to be kept with a result."""
    return json.dumps({"config": dict(config), "versions": _versions(), "machine": _machine()})


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _machine() -> dict[str, str | int | None]:
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
    }
