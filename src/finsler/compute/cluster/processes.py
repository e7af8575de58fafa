"""Processes of this machine, each behind a pipe that nobody but its starter holds.

Nothing listens: no other process, of this user or another, can send tasks to them.
"""

from __future__ import annotations

import math
import multiprocessing
import pickle
import queue
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from finsler.compute import memory
from finsler.compute.cluster import worker
from finsler.errors import InputError

# Tasks that wait or run for each process: enough to keep it busy, few enough to hold.
_AHEAD = 2
# Attempts at starting a process, and seconds between two looks at the memory that it holds.
_STARTS, _LOOK = 3, 0.1
# Bytes that a process may take beyond its share: libraries and code compiled on the way.
_LIBRARIES = 2**28
# Spawned, not forked: a fork after a sparse factorisation can hang.
_SPAWN = multiprocessing.get_context("spawn")


class LostWorker(Exception):
    """A process ended before its task: it was killed, or held more memory than it may."""


class Processes:
    """An engine of processes; one that is lost takes its own task with it, and is replaced.

    Parameters
    ----------
    jobs : int
    limit : float, optional
        Bytes that a process may hold before it is ended; by default what it holds at first and an
        equal share of what is free.

    Raises
    ------
    InputError
        The processes cannot be started, or hold more than the limit from the beginning.
    """

    def __init__(self, jobs: int, limit: float | None) -> None:
        self._tasks = queue.SimpleQueue[tuple[Future[Any], bytes] | None]()
        self._closed = False
        self._threads: list[threading.Thread] = []
        if limit is not None and not memory.resident():
            raise InputError("a limit of memory needs psutil here; install finsler[cluster]")
        share = memory.available() / jobs
        self._workers = [_Worker(share, limit) for _ in range(jobs)]
        try:
            for each in self._workers:
                each.start()
            for each in self._workers:
                each.require_started()
        except (OSError, LostWorker) as error:
            self.close()
            raise InputError(
                f"the processes on this machine cannot be started ({error}); try --jobs 1, or raise"
                " the limits of open files and processes (ulimit -n, ulimit -u)"
            ) from error
        except BaseException:
            self.close()
            raise
        for each in self._workers:
            thread = threading.Thread(target=self._compute, args=(each,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def submit(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Future[Any]:
        """Queue a task for the next process that is free."""
        future: Future[Any] = Future()
        try:
            self._tasks.put((future, pickle.dumps((function, args))))
        except Exception as error:
            future.set_exception(error)
        return future

    def width(self) -> int:
        """How many tasks may be under way."""
        return _AHEAD * len(self._workers)

    def check(self) -> None:
        """Nothing to do: lost processes are replaced."""

    def close(self) -> None:
        """End all processes, with what they compute."""
        self._closed = True
        for _ in self._threads:
            self._tasks.put(None)
        for each in self._workers:
            each.kill()
        for thread in self._threads:
            thread.join()
        for each in self._workers:
            each.close()

    def _compute(self, each: _Worker) -> None:
        """Hand tasks to one process until there are no more."""
        while (task := self._tasks.get()) is not None:
            future, content = task
            try:
                if self._closed:
                    raise LostWorker("the processes are ended")
                future.set_result(each.compute(content))
            except BaseException as error:
                future.set_exception(error)


class _Worker:
    """One process with the pipe to it, started again where it was lost."""

    def __init__(self, share: float, limit: float | None) -> None:
        self._share, self._limit = share, limit
        self._most = math.inf
        self._process: BaseProcess | None = None
        self._pipe: Connection

    def start(self) -> None:
        """Launch the process; it imports what it needs meanwhile."""
        self.close()
        self._most = math.inf
        self._pipe, other = _SPAWN.Pipe()
        try:
            arguments = (other, self._share, self._limit)
            process = _SPAWN.Process(target=worker.serve, args=arguments, daemon=True)
            with _interrupts_blocked():
                process.start()
        except BaseException:
            self._pipe.close()
            raise
        finally:
            other.close()
        self._process = process

    def require_started(self) -> None:
        """Wait until the process is ready; start it again where it is lost before that."""
        for attempt in range(_STARTS):
            try:
                if attempt:
                    self.start()
                held: float = pickle.loads(self._receive())
                break
            except LostWorker:
                if attempt == _STARTS - 1:
                    raise
        self._most = held + self._share + _LIBRARIES if self._limit is None else self._limit
        if held >= self._most:
            raise InputError(
                f"the memory of a worker is {self._most / memory.GIB:.3g} GiB, and a process takes"
                f" {held / memory.GIB:.2g} GiB before its first task; give more"
            )

    def compute(self, content: bytes) -> Any:
        """The value of a pickled task."""
        if self._process is None or not self._process.is_alive():
            self.start()
            self.require_started()
        try:
            self._pipe.send_bytes(content)
            answer = self._receive()
        except (LostWorker, OSError) as error:
            self.close()
            raise LostWorker(str(error)) from error
        value, failure = pickle.loads(answer)
        if failure is not None:
            raise failure
        return value

    def _receive(self) -> bytes:
        assert self._process is not None
        while not wait([self._pipe, self._process.sentinel], _LOOK):
            if memory.resident(self._process.pid) > self._most:
                raise LostWorker("it held more memory than it may")
        try:
            # An ended process may have answered before; if not, this is the end of the file.
            return self._pipe.recv_bytes()
        except (EOFError, OSError) as error:
            raise LostWorker("it ended before its task") from error

    def kill(self) -> None:
        """End the process at once."""
        if self._process is not None:
            with suppress(ValueError):
                self._process.kill()

    def close(self) -> None:
        """End the process and let go of the pipe."""
        if self._process is not None:
            self.kill()
            self._process.join()
            self._process.close()
            self._pipe.close()
            self._process = None


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """What is started within never sees Ctrl-C, which is for the process that started it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
