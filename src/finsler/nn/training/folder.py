"""The folder of a run: one process writes there at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from finsler.errors import InputError


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes that ask for it out of a folder.

    The lock goes with the process, however that ends; where the file system has no locks, there is
    none.

    Raises
    ------
    InputError
        Another process is in there.
    """
    with open(folder / ".lock", "ab") as file:
        try:
            fcntl = import_module("fcntl")
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(
                f"{folder}: another process works in this folder; wait until it ends, or take"
                " another folder"
            ) from error
        except (ImportError, OSError):
            pass
        yield
