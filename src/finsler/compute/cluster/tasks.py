"""Many independent tasks on one machine or many, with retries, and failures that stop nothing."""

from __future__ import annotations

import math
import queue
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from finsler.compute.cluster.engines import LOST, Engine, Submitted, started
from finsler.compute.cluster.processes import LostWorker
from finsler.compute.cluster.worker import portable
from finsler.errors import InputError
from finsler.storage.files import unwritable
from finsler.storage.outputs import running_command, written_by

# Seconds between two looks at whether the workers are still there.
_LOOK = 5.0

Arguments = tuple[Any, ...]
# Name, arguments, and which attempt at it this is.
Task = tuple[str, Arguments, int]


@dataclass(frozen=True)
class Outcome:
    """What became of a task: its value, or the error of its last attempt."""

    name: str
    value: Any
    error: Exception | None
    attempts: int

    @property
    def sentence(self) -> str:
        """The error in one sentence; empty where there is none."""
        if self.error is None:
            return ""
        if _lost(self.error):
            return (
                f"its worker was lost, {self.attempts} times in all; it may need more memory than"
                " a worker has"
            )
        told = " ".join(str(self.error).split())
        plain = isinstance(self.error, (InputError, OSError)) and told
        return told if plain else f"{type(self.error).__name__}: {told}"

    def required(self) -> Any:
        """The value, where nothing works without it.

        Raises
        ------
        InputError
            The worker was lost with it, again and again.
        Exception
            The error that ended the task.
        """
        if self.error is None:
            return self.value
        raise InputError(self.sentence) if _lost(self.error) else self.error


@dataclass(frozen=True)
class Workers:
    """Who computes.

    Attributes
    ----------
    jobs : int, optional
        Processes on this machine, by default one for each core; 1 computes in this one.
    scheduler : str, optional
        Address of a Dask scheduler, such as tcp://head:8786, whose workers compute.
    retries : int
        How often a task is tried again after its worker was lost or a file could not be reached.
    memory : float, optional
        GiB that a process on this machine may take; one that takes more is ended and its task tried
        again.
    bundle : int
        Tasks that a worker is sent at a time. A scheduler handles some hundred bundles a second:
        with hundreds of workers and short tasks take more than 1. Attempts after the first are
        made singly.
    notify : callable
        Called with a sentence for the user: the address of the dashboard, or that all workers are
        gone and others are waited for.
    """

    jobs: int | None = None
    scheduler: str | None = None
    retries: int = 2
    memory: float | None = None
    bundle: int = 1
    notify: Callable[[str], None] = lambda sentence: None

    def __post_init__(self) -> None:
        if self.jobs is not None and self.jobs < 1:
            raise InputError(f"jobs is {self.jobs}; at least one process is needed")
        if self.retries < 0:
            raise InputError(f"retries is {self.retries}; it must not be negative")
        if self.bundle < 1:
            raise InputError(f"bundle is {self.bundle}; at least one task is sent at a time")
        if self.memory is not None and not 0.0 < self.memory < math.inf:
            raise InputError(
                f"the memory of a worker is {self.memory} GiB; it must be positive and finite"
            )
        if self.scheduler is not None and (self.jobs is not None or self.memory is not None):
            raise InputError(
                "a scheduler has workers of its own: say their number and memory where they are"
                " started, not here"
            )


def run(
    function: Callable[..., Any],
    tasks: Iterable[tuple[str, Arguments | Exception]],
    workers: Workers | None = None,
) -> Iterator[Outcome]:
    """Call a function for each task, and give the outcomes as they come.

    Tasks are taken from the iterable a few ahead of the workers and no faster, so that neither
    arguments nor results pile up. A task may be computed more than once, when its worker is lost: a
    result that it writes must appear whole. An error ends its task and nothing else; lost workers
    and OSErrors are tried again, other errors would come again and are not.

    Parameters
    ----------
    function : callable
        Importable by the workers, as arguments and results must be picklable.
    tasks : iterable of (name, arguments)
        With an exception in place of the arguments, the task counts as failed.
    workers : Workers, optional
        By default this process.

    Yields
    ------
    Outcome
        One for each task, in the order in which they end.

    Raises
    ------
    InputError
        The processes cannot be started; the scheduler cannot be reached, has no worker, or is
        lost; Dask is needed and not there.

    Examples
    --------
    >>> for outcome in run(pow, [("square", (3, 2)), ("bad", (0, -1))]):
    ...     print(outcome.name, outcome.value, outcome.sentence)
    square 9
    bad None ZeroDivisionError: 0.0 cannot be raised to a negative power
    """
    chosen = Workers(jobs=1) if workers is None else workers
    with opened(chosen) as pool:
        yield from pool.run(function, tasks)


@contextmanager
def opened(workers: Workers) -> Iterator[Pool]:
    """Workers that several calls of `finsler.compute.cluster.Pool.run` share."""
    with ExitStack() as stack:
        yield Pool(workers, stack)


class Pool:
    """Workers that are started when the first tasks come, and ended with the stack."""

    def __init__(self, workers: Workers, stack: ExitStack) -> None:
        self._workers = workers
        self._stack = stack

    @cached_property
    def _engine(self) -> Engine:
        chosen = self._workers
        return self._stack.enter_context(
            started(
                jobs=chosen.jobs,
                scheduler=chosen.scheduler,
                limit=chosen.memory,
                notify=chosen.notify,
            )
        )

    def run(
        self,
        function: Callable[..., Any],
        tasks: Iterable[tuple[str, Arguments | Exception]],
    ) -> Iterator[Outcome]:
        """As `finsler.compute.cluster.run`."""
        retries, size = self._workers.retries, self._workers.bundle
        engine, done = self._engine, queue.SimpleQueue[Submitted]()
        pending: dict[Submitted, list[Task]] = {}
        waiting: list[Task] = []
        last: deque[Task] = deque()

        def submit(bundle: list[Task]) -> None:
            arguments = (running_command(), function, [args for _, args, _ in bundle])
            future = engine.submit(_several, arguments)
            pending[future] = bundle
            future.add_done_callback(done.put)

        def ended() -> Iterator[Outcome]:
            future = _next(done, engine)
            bundle = pending.pop(future)
            for (name, args, attempt), (value, error) in zip(
                bundle, _results(future, len(bundle)), strict=True
            ):
                if error is None or not _passing(error) or attempt > retries:
                    yield Outcome(name, value, error, attempt)
                elif _lost(error) and attempt == retries:
                    last.append((name, args, attempt + 1))
                else:
                    submit([(name, args, attempt + 1)])

        for name, args in tasks:
            if isinstance(args, Exception):
                yield Outcome(name, None, args, 1)
                continue
            while len(pending) >= engine.width():
                yield from ended()
            waiting.append((name, args, 1))
            if len(waiting) == size:
                submit(waiting)
                waiting = []
        if waiting:
            submit(waiting)
        # A task that was lost with its worker again and again may have ended it, or only have been
        # near one that did: by itself, it is seen which.
        while pending or last:
            if not pending:
                submit([last.popleft()])
            yield from ended()


def _several(
    command: str | None, function: Callable[..., Any], bundle: list[Arguments]
) -> list[tuple[Any, Exception | None]]:
    """The value of each task, or the error that ended it; what they write names the command."""
    with written_by(command):
        return [_attempted(function, args) for args in bundle]


def _attempted(function: Callable[..., Any], args: Arguments) -> tuple[Any, Exception | None]:
    try:
        return function(*args), None
    except Exception as error:
        return None, portable(error)


def _next(done: queue.SimpleQueue[Submitted], engine: Engine) -> Submitted:
    while True:
        try:
            return done.get(timeout=_LOOK)
        except queue.Empty:
            engine.check()


def _results(future: Submitted, count: int) -> list[tuple[Any, Exception | None]]:
    """Of each task of a bundle that has ended; the same error for all where it was lost."""
    try:
        results: list[tuple[Any, Exception | None]] = future.result()
    except CancelledError as error:
        raise InputError(LOST) from error
    except Exception as error:
        # Of Dask, which is not always there: no answer from the scheduler.
        if type(error).__name__ == "CommClosedError":
            raise InputError(LOST) from error
        return [(None, error)] * count
    return results


def _passing(error: Exception) -> bool:
    """Whether an error may be gone at the next attempt: a worker was lost, or a connection."""
    return (isinstance(error, OSError) and not unwritable(error)) or _lost(error)


def _lost(error: Exception) -> bool:
    return isinstance(error, LostWorker) or type(error).__name__ == "KilledWorker"
