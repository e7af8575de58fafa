"""What happens in a process that is there for tasks alone."""

from __future__ import annotations

import ctypes
import math
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from multiprocessing.connection import wait
from typing import Any

from threadpoolctl import threadpool_limits

from finsler.compute import memory

# Bytes of M_TRIM_THRESHOLD and M_MMAP_THRESHOLD, as malloc.h numbers them.
_KEPT = ((-1, 256 << 20), (-3, 32 << 20))
_LEAST = 1e6
_share = math.inf


def call(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Each worker is one of many: one BLAS thread is enough."""
    with threadpool_limits(1, user_api="blas"):
        return function(*args)


def call_in_process(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """The same in a process of the standard library's pool, which has its share of the memory."""
    return _bounded(_share, function, args)


def call_in_dask(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """The same in a worker of Dask, which is ended above its limit."""
    from distributed import get_worker

    worker = get_worker()
    limit = worker.memory_manager.memory_limit
    free = limit - worker.monitor.get_process_memory() if limit else math.inf
    return _bounded(free, function, args)


def _bounded(free: float, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    _keep_memory()
    known = min(free, memory.available())
    if math.isinf(known):
        return call(function, args)
    with memory.limited(max(known, _LEAST) / memory.GIGABYTE):
        return call(function, args)


@cache
def _keep_memory() -> None:
    """Let the C library keep what a task frees, for the next one.

    Dask has it give back all above 64 KiB, and the next task then waits for the same pages again:
    a quarter of the time of preparing a shape of 5,000 vertices. What a task holds in larger
    pieces than 32 MiB is still given back.
    """
    if sys.platform == "linux":
        with suppress(AttributeError):  # not every C library has it
            for parameter, size in _KEPT:
                ctypes.CDLL(None).mallopt(parameter, size)


def follow(share: float) -> None:
    """Leave Ctrl-C to the process that started this one, and end when that is gone."""
    global _share
    _share = share
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


def version() -> str:
    """Of this package, where it is called."""
    from finsler import __version__

    return __version__
