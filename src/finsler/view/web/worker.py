"""One thread that computes, and forgets what has been overtaken."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Hashable


class Worker:
    """Runs the newest job of each owner, one at a time, in the order in which owners began to wait.

    A job that still waits when its owner submits another is dropped; one that runs is finished.
    A job that raises is reported on stderr; the next ones run all the same.
    """

    def __init__(self) -> None:
        self._waiting: dict[Hashable, Callable[[], None]] = {}
        self._changed = threading.Condition()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="finsler view", daemon=True)
        self._thread.start()

    def submit(self, owner: Hashable, job: Callable[[], None]) -> None:
        """Have a job done in place of the one of this owner that waits."""
        with self._changed:
            self._waiting[owner] = job
            self._changed.notify()

    def stop(self) -> None:
        """Drop what waits, and return once the running job is done."""
        with self._changed:
            self._stopped = True
            self._waiting.clear()
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._stopped or self._waiting)
                if self._stopped:
                    return
                job = self._waiting.pop(next(iter(self._waiting)))
            try:
                job()
            except Exception:
                traceback.print_exc()
