"""Where tasks are computed: this process, processes of this machine, workers of a scheduler."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import closing, contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

from finsler.compute import memory
from finsler.compute.cluster import worker
from finsler.compute.cluster.processes import Processes
from finsler.errors import InputError

# Tasks that wait or run for each thread of a worker: enough to keep it busy, few enough to hold.
_AHEAD = 2
# Seconds after which a scheduler counts as out of reach, and between two counts of its workers.
_PATIENCE, _LOOK = 5.0, 5.0
# Seconds that a scheduler may be without workers.
_EMPTY = 120.0
LOST = "the connection to the scheduler is lost; start it again, and run the same command"
# Host and port, after a protocol that goes over a network.
_ADDRESS = re.compile(r"(?:(?:tcp|tls|ws|wss)://)?(?:[^/:@\s\[\]]+|\[[0-9a-fA-F:]+\]):[0-9]{1,5}")
# What a connection with TLS takes, of distributed.comm.tls in Dask's configuration.
_KEYS = ("ca-file", "client.cert", "client.key")
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
        """Start a task."""

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
    else:
        with closing(Processes(count, None if limit is None else limit * memory.GIB)) as engine:
            yield engine


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
def _remote(address: str, notify: Callable[[str], None]) -> Iterator[Engine]:
    if not find_spec("distributed"):
        raise InputError("--scheduler needs Dask; install finsler[cluster]")
    if not _ADDRESS.fullmatch(address):
        raise InputError(
            f"{address[:100]!r} is no address of a scheduler; give one such as tcp://head:8786"
        )
    dask, distributed = import_module("dask"), import_module("distributed")
    keys = (dask.config.get(f"distributed.comm.tls.{name}") for name in _KEYS)
    if address.startswith(("tls", "wss")) and not all(keys):
        raise InputError(
            f"{address}: no certificates are set up for it; distributed.comm.tls in Dask's"
            f" configuration needs {', '.join(_KEYS)}"
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
        versions = set(client.run(worker.version).values())
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
    if versions != {own}:
        others = ", ".join(sorted(versions - {own}))
        raise InputError(f"{address}: workers have finsler {others}, this is {own}; install one")
