"""Where tasks are computed: this process, processes of this machine, workers of a scheduler."""

from __future__ import annotations

import logging
import multiprocessing
import os
import re
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Future, ProcessPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

from finsler.compute import memory
from finsler.compute.cluster import worker
from finsler.errors import InputError

# Tasks that wait or run for each thread of a worker: enough to keep it busy, few enough to hold.
_AHEAD = 2
# Seconds after which a scheduler counts as out of reach, and between two counts of its workers.
_PATIENCE, _LOOK = 5.0, 5.0
# Attempts at starting the processes of this machine.
_STARTS = 3
# Seconds that a scheduler may be without workers.
_EMPTY = 120.0
LOST = "the connection to the scheduler is lost; start it again, and run the same command"
# Ctrl-C is for the process that started the workers.
_DEAF = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
# Host and port, after a protocol that goes over a network.
_ADDRESS = re.compile(r"(?:(?:tcp|tls|ws|wss)://)?(?:[^/:@\s\[\]]+|\[[0-9a-fA-F:]+\]):[0-9]{1,5}")
# Of a cluster on this machine: one loss is one attempt, which are counted by who submits; a worker
# computes until it is ended at its limit, as none that waits for memory would ever go on; and the
# dashboard serves no data but to its own pages, whose origin is checked.
_LOCAL = {
    "distributed.scheduler.allowed-failures": 0,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.scheduler.http.routes": ["distributed.http.health", "distributed.http.statics"],
}
_ORIGINS = "distributed.scheduler.dashboard.bokeh-application.allow_websocket_origin"
# Arguments are meshes, and large.
_LARGE = {"distributed.admin.large-graph-warning-threshold": "1TB"}


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
    limit: float | None,
    notify: Callable[[str], None],
) -> Iterator[Engine]:
    """The engine that `finsler.compute.cluster.Workers` asks for."""
    count = (os.cpu_count() or 1) if jobs is None else jobs
    if scheduler is not None:
        with _remote(scheduler, notify) as engine:
            yield engine
    elif count == 1 and limit is None:
        yield _Here()
    elif find_spec("distributed"):
        with _local_cluster(count, limit, notify) as engine:
            yield engine
    elif limit is not None:
        raise InputError("a limit of memory needs Dask; install finsler[cluster]")
    else:
        processes = _Processes(count)
        try:
            yield processes
        finally:
            processes.close()


class _Here:
    """This process."""

    def submit(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Submitted:
        future: Future[Any] = Future()
        try:
            future.set_result(worker.call(function, args))
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
        self._share = memory.available() / jobs
        self._pool = self._started()

    def _started(self) -> ProcessPoolExecutor:
        spawn = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(
            self._jobs, spawn, initializer=worker.follow, initargs=(self._share,)
        )

    def submit(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Submitted:
        try:
            return self._pool.submit(worker.call_in_process, function, args)
        except BrokenExecutor:
            self._pool.shutdown()
            self._pool = self._started()
            return self._pool.submit(worker.call_in_process, function, args)

    def width(self) -> int:
        return _AHEAD * self._jobs

    def check(self) -> None:
        pass

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


class _Dask:
    """Workers of a Dask scheduler."""

    def __init__(self, client: Any, notify: Callable[[str], None]) -> None:
        self._client = client
        self._notify = notify
        self._threads, self._looked = 0, 0.0
        self._empty: float | None = None

    def submit(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Submitted:
        future: Submitted = self._client.submit(worker.call_in_dask, function, args, pure=False)
        return future

    def width(self) -> int:
        now = time.monotonic()
        if now - self._looked > _LOOK:
            self._looked, self._threads = now, max(1, self._count())
        return _AHEAD * self._threads

    def check(self) -> None:
        if self._client.status != "running":
            raise InputError(LOST)
        now = time.monotonic()
        if self._count():
            self._empty = None
        elif self._empty is None:
            self._empty = now
            self._notify(f"the scheduler has no worker left; waiting {_EMPTY:g} s for another")
        elif now - self._empty > _EMPTY:
            raise InputError(
                f"the scheduler has had no worker for {_EMPTY:g} s; start some, and run the same"
                " command"
            )

    def _count(self) -> int:
        try:
            return sum(self._client.nthreads().values())
        except OSError as error:
            raise InputError(LOST) from error


@contextmanager
def _local_cluster(
    jobs: int, limit: float | None, notify: Callable[[str], None]
) -> Iterator[Engine]:
    """Processes of this machine, on its loopback interface alone."""
    dask, distributed = import_module("dask"), import_module("distributed")
    watched, page = find_spec("bokeh") is not None, f"127.0.0.1:{_free_port()}"
    # By default each has its share of all.
    bounds = {} if limit is None else {"memory_limit": int(limit * 2**30)}
    options = {
        "n_workers": jobs,
        "threads_per_worker": 1,
        "host": "127.0.0.1",
        "dashboard_address": page,
        "silence_logs": logging.CRITICAL,
        "preload": _DEAF,
        **bounds,
    }
    with (
        dask.config.set({**_LARGE, **_LOCAL, _ORIGINS: [page]}),
        _begun(distributed.LocalCluster, options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        if watched:
            notify(f"the work can be watched at {cluster.dashboard_link}")
        yield _Dask(client, notify)


def _begun(cluster: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Start the cluster; again where a worker was lost before it had begun."""
    for _ in range(_STARTS):
        try:
            return cluster(**options)
        except RuntimeError as error:
            reason = " ".join(str(error).split())
    raise InputError(f"the processes on this machine cannot be started ({reason}); try --jobs 1")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _remote(address: str, notify: Callable[[str], None]) -> Iterator[Engine]:
    if not find_spec("distributed"):
        raise InputError("--scheduler needs Dask; install finsler[cluster]")
    if not _ADDRESS.fullmatch(address):
        raise InputError(
            f"{address[:100]!r} is no address of a scheduler; give one such as tcp://head:8786"
        )
    dask, distributed = import_module("dask"), import_module("distributed")
    if address.startswith(("tls", "wss")) and not dask.config.get("distributed.comm.tls.ca-file"):
        raise InputError(
            f"{address}: no certificates are set up for it; see distributed.comm.tls in Dask's"
            " configuration"
        )
    try:
        client = distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
    # Certificates that do not fit, and the like, raise nearly anything.
    except Exception as error:
        raise InputError(
            f"{address}: no scheduler answers there within {_PATIENCE:g} s; start one with `dask"
            " scheduler` and check the address"
        ) from error
    silence = distributed.utils.silence_logging_cmgr(logging.CRITICAL)
    with silence, client, dask.config.set(_LARGE):
        _greet(client, address)
        notify(f"the scheduler's dashboard, if it has one, is at {client.dashboard_link}")
        yield _Dask(client, notify)


def _greet(client: Any, address: str) -> None:
    """See that there are workers and that all have this package."""
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
        found = set(client.run(worker.version).values())
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
    own = worker.version()
    if found != {own}:
        others = ", ".join(sorted(found - {own}))
        raise InputError(f"{address}: workers have finsler {others}, this is {own}; install one")
