"""One thread that computes, and forgets what has been overtaken."""

from __future__ import annotations

import contextvars
import threading
import traceback
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor


class Worker:
    """Runs the newest job of each owner, one at a time, in the order in which owners asked.

    A job that still waits when its owner submits another is dropped; one that runs is finished.
    A job that raises is reported on stderr; the next ones run all the same. Jobs run in the context
    in which the worker was made: what they write carries the name of the same command.
    """

    def __init__(self) -> None:
        self._waiting: dict[Hashable, Callable[[], None]] = {}
        self._context = contextvars.copy_context()
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = ThreadPoolExecutor(1, "finsler view")

    def submit(self, owner: Hashable, job: Callable[[], None]) -> None:
        """Have a job done in place of the one of this owner that waits; none once stopped."""
        with self._lock:
            if self._pool is not None:
                self._waiting[owner] = job
                self._pool.submit(self._run, owner)

    def stop(self) -> None:
        """Drop what waits, and return once the running job is done."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(cancel_futures=True)

    def _run(self, owner: Hashable) -> None:
        job = self._waiting.pop(owner, None)
        try:
            if job is not None:
                self._context.run(job)
        except Exception:
            traceback.print_exc()
