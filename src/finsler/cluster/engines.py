"""Where tasks are computed: this process, processes of this machine, workers of a scheduler."""

from __future__ import annotations

import ctypes
import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from multiprocessing.connection import wait
from typing import Any, Protocol

from threadpoolctl import threadpool_limits

from finsler.errors import InputError

# Tasks that wait or run for each thread of a worker: enough to keep it busy, few enough to hold.
_AHEAD = 2
# Seconds after which a scheduler counts as out of reach, and between two counts of its workers.
_PATIENCE, _LOOK = 5.0, 5.0
LOST = "the connection to the scheduler is lost; start it again, and run the same command"
# Ctrl-C is for the process that started the workers.
_DEAF = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
# Arguments are meshes, and large.
_LARGE = {"distributed.admin.large-graph-warning-threshold": "1TB"}

# Bytes of M_TRIM_THRESHOLD and M_MMAP_THRESHOLD, as malloc.h numbers them.
_KEPT = ((-1, 256 << 20), (-3, 32 << 20))


class Submitted(Protocol):
    """A task that is being computed, as the standard library and Dask know it."""

    def add_done_callback(self, callback: Callable[[Any], object], /) -> object:
        """Have a function called when the task has ended."""

    def result(self) -> Any:
        """Its value; raises the error that ended it."""


class Engine(Protocol):
    """Something that computes tasks."""

    def submit(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Submitted:
        """Begin a task."""

    def width(self) -> int:
        """How many tasks may be under way."""

    def check(self) -> None:
        """Raise where no task will ever end, as the scheduler is gone."""


@contextmanager
def started(
    *,
    jobs: int | None,
    scheduler: str | None,
    memory: float | None,
    notify: Callable[[str], None],
) -> Iterator[Engine]:
    """The engine that `finsler.cluster.Workers` asks for."""
    count = (os.cpu_count() or 1) if jobs is None else jobs
    if scheduler is not None:
        with _remote(scheduler) as engine:
            yield engine
    elif count == 1 and memory is None:
        yield _Here()
    elif find_spec("distributed"):
        with _local_cluster(count, memory, notify) as engine:
            yield engine
    elif memory is not None:
        raise InputError("a limit of memory needs Dask; install finsler[cluster]")
    else:
        processes = _Processes(count)
        try:
            yield processes
        finally:
            processes.close()


def _call(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Each worker is one of many: one BLAS thread is enough."""
    with threadpool_limits(1, user_api="blas"):
        return function(*args)


def _call_in_worker(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """The same in a process that is there for tasks alone."""
    _keep_memory()
    return _call(function, args)


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


class _Here:
    """This process."""

    def submit(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Submitted:
        future: Future[Any] = Future()
        try:
            future.set_result(_call(function, args))
        except Exception as error:
            future.set_exception(error)
        return future

    def width(self) -> int:
        return 1

    def check(self) -> None:
        pass


class _Processes:
    """The standard library's processes, replaced when one of them is lost.

    They are spawned, not forked: a fork after a sparse factorisation can hang.
    """

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._pool = self._started()

    def _started(self) -> ProcessPoolExecutor:
        spawn = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self._jobs, mp_context=spawn, initializer=_follow)

    def submit(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Submitted:
        try:
            return self._pool.submit(_call_in_worker, function, args)
        except BrokenExecutor:
            self._pool.shutdown()
            self._pool = self._started()
            return self._pool.submit(_call_in_worker, function, args)

    def width(self) -> int:
        return _AHEAD * self._jobs

    def check(self) -> None:
        pass

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


def _follow() -> None:
    """Leave Ctrl-C to the process that started this one, and end when that is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


class _Dask:
    """Workers of a Dask scheduler."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._threads, self._looked = 0, 0.0

    def submit(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Submitted:
        future: Submitted = self._client.submit(_call_in_worker, function, args, pure=False)
        return future

    def width(self) -> int:
        now = time.monotonic()
        if now - self._looked > _LOOK:
            self._looked = now
            try:
                self._threads = max(1, sum(self._client.nthreads().values()))
            except OSError as error:
                raise InputError(LOST) from error
        return _AHEAD * self._threads

    def check(self) -> None:
        if self._client.status != "running":
            raise InputError(LOST)


@contextmanager
def _local_cluster(
    jobs: int, memory: float | None, notify: Callable[[str], None]
) -> Iterator[Engine]:
    """Processes of this machine, on its loopback interface alone."""
    dask, distributed = import_module("dask"), import_module("distributed")
    # One loss is one attempt, and those are counted by who submits.
    settings = {"distributed.scheduler.allowed-failures": 0, **_LARGE}
    watched = find_spec("bokeh") is not None
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=jobs,
            threads_per_worker=1,
            host="127.0.0.1",
            memory_limit="auto" if memory is None else int(memory * 2**30),
            dashboard_address="127.0.0.1:0" if watched else None,
            silence_logs=logging.CRITICAL,
            preload=_DEAF,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        if watched:
            notify(f"the work can be watched at {cluster.dashboard_link}")
        yield _Dask(client)


@contextmanager
def _remote(address: str) -> Iterator[Engine]:
    if not find_spec("distributed"):
        raise InputError("--scheduler needs Dask; install finsler[cluster]")
    dask, distributed = import_module("dask"), import_module("distributed")
    try:
        client = distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{address}: no scheduler answers there within {_PATIENCE:g} s; start one with `dask"
            " scheduler` and check the address"
        ) from error
    silence = distributed.utils.silence_logging_cmgr(logging.CRITICAL)
    with silence, client, dask.config.set(_LARGE):
        _greet(client, address)
        yield _Dask(client)


def _greet(client: Any, address: str) -> None:
    """See that there is a worker and that it has this package."""
    from finsler import __version__

    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
        found = client.submit(_version, pure=False).result(timeout=60.0)
    except TimeoutError as error:
        raise InputError(
            f"{address}: the scheduler has no worker that answers; start some with `dask worker"
            f" {address}`"
        ) from error
    except (CancelledError, OSError) as error:
        raise InputError(LOST) from error
    except ImportError as error:
        raise InputError(
            f"{address}: the workers cannot import finsler ({error}); install it there as well"
        ) from error
    if found != __version__:
        raise InputError(
            f"{address}: the workers have finsler {found}, this is {__version__}; install one"
        )


def _version() -> str:
    from finsler import __version__

    return __version__
