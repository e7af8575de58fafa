"""How much memory is free: of the machine, of its control groups, of the process, or as stated."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from finsler.compute.memory.estimates import GIB
from finsler.errors import InputError

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

# Bytes for which nobody looks at the machine, unless a limit is stated.
_SMALL = 1e8
_MEMINFO = Path("/proc/meminfo")
_PROCESSES = Path("/proc")
_CGROUP = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")
# Of control groups of version 2 and 1, by controller, which is also the folder: the files of limit
# and use, and what of the use can be dropped.
_FILES = {
    "": ("memory.max", "memory.current", "inactive_file"),
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}
# Larger limits mean none.
_UNLIMITED = 2.0**60
_stated: ContextVar[float | None] = ContextVar("stated", default=None)


@contextmanager
def limited(gib: float) -> Iterator[None]:
    """Within the block, this many GiB of memory count as free.

    Raises
    ------
    InputError
        Not a positive number.
    """
    if not 0.0 < gib < math.inf:
        raise InputError(f"memory is {gib} GiB; it must be a positive number")
    token = _stated.set(gib)
    try:
        yield
    finally:
        _stated.reset(token)


def available() -> float:
    """Bytes that may still be used: the least that machine, control groups and `ulimit -v` leave.

    `limited` takes their place, else the environment variable FINSLER_MEMORY, in GiB. Infinite
    where the system says nothing.

    Raises
    ------
    InputError
        FINSLER_MEMORY is not a positive number.
    """
    stated = _stated_bytes()
    if stated is not None:
        return stated
    return min(_free_in_machine(), _free_in_groups(), _free_in_process())


def free_for(needed: float) -> float:
    """What is available; for what is small, only a stated limit is looked at."""
    stated = _stated_bytes()
    if stated is None and needed < _SMALL:
        return math.inf
    return available()


def _stated_bytes() -> float | None:
    stated = _stated.get()
    if stated is not None:
        return stated * GIB
    variable = os.environ.get("FINSLER_MEMORY")
    return _stated_gib(variable) * GIB if variable else None


def _stated_gib(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 < value < math.inf:
        raise InputError(f"FINSLER_MEMORY is {text!r}; it must be a positive number of GiB")
    return value


def _free_in_machine() -> float:
    for line in _lines(_MEMINFO):
        if line.startswith("MemAvailable:"):
            return 1024.0 * float(line.split()[1])
    return math.inf


def _free_in_groups() -> float:
    """What the control groups that this process is in leave, each with those above it."""
    own = dict.fromkeys(_FILES, "")
    for line in _lines(_OWN_GROUPS):
        _, controllers, path = line.split(":", 2)
        own |= dict.fromkeys(controllers.split(","), path)
    free = math.inf
    for controller, files in _FILES.items():
        root = _CGROUP / controller
        group = root / own[controller].strip("/")
        for folder in (group, *group.parents):
            free = min(free, _free_in_group(folder, *files))
            if folder == root:
                break
    return free


def _free_in_group(folder: Path, limit: str, use: str, droppable: str) -> float:
    """Limit less use; pages of files that nobody has read lately can be dropped."""
    most = "".join(_lines(folder / limit)).strip()
    if most in ("", "max") or float(most) > _UNLIMITED:
        return math.inf
    used = float("".join(_lines(folder / use)) or 0)
    stat = (line.split() for line in _lines(folder / "memory.stat"))
    return float(most) - used + sum(float(value) for name, value in stat if name == droppable)


def _free_in_process() -> float:
    """What the limit of the process's address space (`ulimit -v`) leaves."""
    if resource is None:
        return math.inf
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    size = _pages("self", 0)
    return math.inf if most == resource.RLIM_INFINITY else max(most - size, 0.0)


def resident(pid: int | None = None) -> float:
    """Bytes that a process, by default this one, holds in memory; 0 where nobody says."""
    held = _pages("self" if pid is None else str(pid), 1)
    if held or _PROCESSES.exists() or find_spec("psutil") is None:
        return held
    return float(import_module("psutil").Process(pid).memory_info().rss)


def _pages(process: str, column: int) -> float:
    lines = _lines(_PROCESSES / process / "statm")
    return float(lines[0].split()[column]) * os.sysconf("SC_PAGE_SIZE") if lines else 0.0


def _lines(path: Path) -> list[str]:
    """The lines of a file; none where it cannot be read."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read().decode().splitlines()
    except OSError:
        return []
