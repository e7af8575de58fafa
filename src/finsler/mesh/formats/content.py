"""The bytes of a file, read only where they fit into memory."""

from __future__ import annotations

from pathlib import Path

from finsler.compute.memory.estimates import GIB
from finsler.compute.memory.machine import free_for
from finsler.errors import InputError

# Memory that reading a mesh takes at its peak, measured at 6 to 10 times the size of the file.
_PEAK = 8


def stored_bytes(path: Path, length: int | None = None) -> bytes:
    """The first `length` bytes of a file, or all of them.

    Raises
    ------
    InputError
        Reading them as a mesh would take more memory than is free.
    """
    size = path.stat().st_size
    size = size if length is None else min(size, length)
    free = free_for(_PEAK * size)
    if _PEAK * size > free:
        needed, left = _PEAK * size / GIB, max(free, 0.0) / GIB
        raise InputError(
            f"{path.name} has {size / GIB:.3g} GiB, and reading it takes about {needed:.3g} GiB of"
            f" memory, of which {left:.3g} are free;"
            " simplify the mesh, or say with --memory or FINSLER_MEMORY that there are more GiB"
        )
    with path.open("rb") as file:
        return file.read(size)
