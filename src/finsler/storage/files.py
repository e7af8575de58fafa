"""Files here and in object stores, never half written."""

from __future__ import annotations

import errno
import functools
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from finsler.errors import InputError

# Object stores, where an object appears whole, and the library that fsspec itself looks for.
_OBJECTS = {"s3": "s3fs", "gs": "gcsfs", "az": "adlfs", "abfs": "adlfs"}
_DENIED = ("PermissionDeniedError", "UnauthenticatedError", "NoCredentialsError")
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM)
# Drives of Windows have one letter.
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(.*)", re.DOTALL)
# Seconds to connect, and to go on trying, before a store counts as out of reach.
_CONNECT, _TRY = 3, 5


def location(path: str | os.PathLike[str]) -> Path:
    """A path on this machine, or with `://` a location that fsspec reaches.

    The latter has the methods of a path, but is none that `open` takes: use `read_bytes` and
    `write_bytes`. Keys and addresses come from the environment (`AWS_ACCESS_KEY_ID`,
    `AWS_SECRET_ACCESS_KEY`, `AWS_ENDPOINT_URL`, ...) and from fsspec's configuration files.

    Raises
    ------
    InputError
        A library that is needed to get there is not installed, or the protocol is unknown.
    """
    text = str(path)
    if "://" not in text:
        return Path(path)
    if text.startswith("file://"):
        return Path(text.removeprefix("file://"))
    try:
        from upath import UPath

        where = UPath(text, **_object_options(text.partition("://")[0]))
        assert where.fs is not None
    except (ImportError, ValueError) as error:
        raise InputError(
            f"{text}: this location cannot be opened ({error}); install finsler[cluster] and check"
            " the address"
        ) from error
    return cast(Path, where)


def local_path(path: str | os.PathLike[str]) -> Path:
    """A path on this machine, for what can be nowhere else.

    An address that has become a `Path` is found as well, which has one slash where there were two.

    Raises
    ------
    InputError
        An address such as s3://bucket/folder.
    """
    address = _ADDRESS.match(str(path))
    if address:
        raise InputError(
            f"{address[1]}://{address[2]}: this must be a path on this machine, not an address"
        )
    return Path(path)


def lasting_location(path: str | os.PathLike[str]) -> Path:
    """A `location` whose files other processes see, and that are there when this one has ended.

    Raises
    ------
    InputError
        As for `location`, or a location in this process's memory.
    """
    where: Any = location(path)
    if not is_local(where) and where.protocol == "memory":
        raise InputError(
            f"{path}: what is written there ends with this process; give a folder or an object"
            " store"
        )
    return cast(Path, where)


def is_local(where: Path) -> bool:
    """Whether a location is a path on this machine."""
    return isinstance(where, Path)


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """What a file holds.

    Raises
    ------
    FileNotFoundError, ConnectionError
        There is no such file; it is elsewhere and out of reach.
    """
    where: Any = location(path)
    if is_local(where):
        if where.exists() and not where.is_file():
            raise InputError(f"{where}: this is a folder or device; give the path of a file")
        return Path(where).read_bytes()
    with _reaching(where):
        return cast(bytes, where.fs.cat_file(where.path))


def exists(path: str | os.PathLike[str]) -> bool:
    """Whether there is such a file or folder."""
    where: Any = location(path)
    if is_local(where):
        return Path(where).exists()
    with _reaching(where):
        return bool(where.fs.exists(where.path))


def make_folder(path: str | os.PathLike[str]) -> Path:
    """Make a folder and those above it; of a location elsewhere, see that it can be written.

    Raises
    ------
    InputError
        This is a file, or a bucket that is missing or closed.
    """
    where = location(path)
    if not is_local(where):
        probe: Any = where / ".writable"
        write_bytes(probe, b"")
        with _reaching(where):
            probe.fs.rm_file(probe.path)
        return where
    if where.exists() and not where.is_dir():
        raise InputError(f"{where}: this is a file; give a folder")
    where.mkdir(parents=True, exist_ok=True)
    return where


def shared_folder(path: str | os.PathLike[str]) -> str:
    """Make a folder; its name as a text that every worker understands."""
    folder = make_folder(path)
    return str(folder.absolute() if is_local(folder) else folder)


def write_bytes(path: str | os.PathLike[str], content: bytes) -> Path:
    """Write a file whole: the target is old or complete, never half written.

    Here, and wherever files can be renamed, it is written beside the target and moved; an object of
    an object store is put in one piece. A link is followed, and the file it names keeps its
    permissions. What a process that was killed left beside the target is
    removed by the next one that writes it.

    Raises
    ------
    InputError
        The path is a folder, its folder does not exist, or a bucket is missing or closed.
    OSError
        The disk is full, or the folder not ours to write.
    ConnectionError
        The target is elsewhere and out of reach.
    """
    target = named = location(path)
    if not is_local(target):
        _put(target, content)
        return target
    if target.is_symlink():
        target = target.resolve()
    if target.is_dir():
        raise InputError(f"{target}: this is a folder; give the path of a file")
    if not target.parent.is_dir():
        raise InputError(f"{target}: the folder {target.parent} does not exist; create it first")
    temporary = _beside(target)
    with suppress(OSError):
        _clear(target, len(temporary.name))
    try:
        _write_through(temporary, target, content)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    return named


def unwritable(error: BaseException | None) -> bool:
    """Whether an error says that nothing can be written there: it is full, or not ours to write."""
    return isinstance(error, OSError) and error.errno in _UNWRITABLE


def _beside(target: Any) -> Any:
    """A name that no other process takes, on this machine or another."""
    return target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")


def _write_through(temporary: Path, target: Path, content: bytes) -> None:
    while True:
        temporary.write_bytes(content)
        with suppress(OSError):
            shutil.copymode(target, temporary)
        try:
            os.replace(temporary, target)
        except FileNotFoundError:
            # Another process writes the same file at this time, and took this for a leftover.
            continue
        return


def _clear(target: Path, length: int) -> None:
    """Remove what processes left that were killed while they wrote this file."""
    for name in os.listdir(target.parent):
        ours = name.startswith(f".{target.name}.") and name.endswith(".tmp")
        if ours and len(name) == length:
            target.with_name(name).unlink(missing_ok=True)


def _put(target: Any, content: bytes) -> None:
    with _reaching(target):
        try:
            if target.protocol in (*_OBJECTS, "memory"):
                target.fs.pipe_file(target.path, content)
                return
            temporary = _beside(target)
            target.fs.makedirs(target.parent.path, exist_ok=True)
            target.fs.pipe_file(temporary.path, content)
            target.fs.mv(temporary.path, target.path)
        except FileNotFoundError as error:
            raise InputError(
                f"{target}: there is no such bucket or folder; create it first"
            ) from error


@functools.cache
def _object_options(protocol: str) -> dict[str, Any]:
    """Where fsspec's own library for an object store is missing, obstore is taken."""
    library = _OBJECTS.get(protocol)
    if library is None or find_spec(library) or not find_spec("obstore"):
        return {}
    from obstore.fsspec import register

    register(protocol)
    # Plain http is for stores on one's own network, which are asked for by their address.
    options = {"connect_timeout": timedelta(seconds=_CONNECT), "allow_http": True}
    patience = {"max_retries": 3, "retry_timeout": timedelta(seconds=_TRY)}
    return {"retry_config": patience, "client_options": options}


@contextmanager
def _reaching(where: Any) -> Iterator[None]:
    """Turn what the libraries of object stores raise into one sentence."""
    try:
        yield
    except InputError:
        raise
    # Each library has errors of its own, and not all are OSErrors.
    except Exception as error:
        told = str(error)
        if isinstance(error, FileNotFoundError) or "NoSuchBucket" in told:
            raise FileNotFoundError(f"{where}: there is no such file or bucket") from error
        if isinstance(error, PermissionError) or type(error).__name__ in _DENIED:
            raise InputError(
                f"{where}: access is denied; check the keys and the rights of this location"
            ) from error
        reason = " ".join(told.partition("Debug source")[0].split())[:300]
        raise ConnectionError(f"{where}: this location cannot be reached ({reason})") from error
