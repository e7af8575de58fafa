"""What happens in a process that is there to compute tasks."""

from __future__ import annotations

import ctypes
import math
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from multiprocessing.connection import Connection, wait
from typing import Any

from threadpoolctl import threadpool_limits

from finsler.compute import memory

# Bytes of M_TRIM_THRESHOLD and M_MMAP_THRESHOLD, as malloc.h numbers them.
_KEPT = ((-1, 256 << 20), (-3, 32 << 20))
_LEAST = 1e6


def call(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Each worker is one of many: one BLAS thread is enough."""
    with threadpool_limits(1, user_api="blas"):
        return function(*args)


def serve(pipe: Connection, share: float, limit: float | None) -> None:
    """Compute the tasks that come through a pipe, until it is closed or the starter is gone.

    Each may plan with a share of the memory, or with what a limit leaves.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    with suppress(EOFError, OSError):
        pipe.send(memory.resident())
        while True:
            content = pipe.recv_bytes()
            try:
                function, args = pickle.loads(content)
                free = share if limit is None else limit - memory.resident()
                answer = pickle.dumps((_bounded(free, function, args), None))
            except Exception as error:
                answer = pickle.dumps((None, portable(error)))
            pipe.send_bytes(answer)


def call_in_dask(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """The same in a worker of Dask, which is ended above its limit."""
    from distributed import get_worker

    worker = get_worker()
    limit = worker.memory_manager.memory_limit
    free = limit - worker.monitor.get_process_memory() if limit else math.inf
    return _bounded(free, function, args)


def portable(error: Exception) -> Exception:
    """The error, or where it cannot be sent, one that can."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def version() -> str:
    """Of this package, where it is called."""
    from finsler import __version__

    return __version__


def _bounded(free: float, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    _keep_memory()
    known = min(free, memory.available())
    if math.isinf(known):
        return call(function, args)
    with memory.limited(max(known, _LEAST) / memory.GIB):
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


def _end_with(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)
