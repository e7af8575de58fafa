"""The metrics of a run, one line an epoch, and the same as curves in TensorBoard."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from finsler.storage.files import write_bytes

METRICS, CURVES = "metrics.jsonl", "tensorboard"


class Log:
    """Writes to a run's folder.

    Parameters
    ----------
    folder : Path
    history : sequence of dict
        The epochs that are done: the files begin anew with them.
    notify : callable
        Called with a sentence where TensorBoard is not installed.
    """

    def __init__(
        self, folder: Path, history: Sequence[Mapping[str, Any]], notify: Callable[[str], None]
    ) -> None:
        self._path = folder / METRICS
        self._lines = [_line(metrics) for metrics in history]
        write_bytes(self._path, "".join(self._lines).encode())
        self._curves = _Curves.begin(folder / CURVES)
        if self._curves is None:
            notify(f"TensorBoard is not installed; the curves are only in {self._path}")
            return
        for metrics in history:
            self._curves.add(metrics)

    def write(self, metrics: Mapping[str, Any]) -> None:
        """Add an epoch."""
        self._lines.append(_line(metrics))
        write_bytes(self._path, "".join(self._lines).encode())
        if self._curves is not None:
            self._curves.add(metrics)


def _line(metrics: Mapping[str, Any]) -> str:
    return json.dumps(dict(metrics), allow_nan=False) + "\n"


class _Curves:
    """A file for TensorBoard.

    Its own writer has a thread, which can tell nobody that the disk is full.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._append(file_version="brain.Event:2")

    @classmethod
    def begin(cls, folder: Path) -> _Curves | None:
        """A new file in place of those that are there; None where TensorBoard is not installed."""
        try:
            import_module("torch.utils.tensorboard")
        except ImportError:
            return None
        # Files are read in the order of the times in their names, which a clock may get wrong.
        clear_curves(folder)
        folder.mkdir(exist_ok=True)
        return cls(folder / f"events.out.tfevents.{int(time.time())}.{os.getpid()}")

    def add(self, metrics: Mapping[str, Any]) -> None:
        """Add an epoch."""
        scalar = import_module("torch.utils.tensorboard.summary").scalar
        for name, value in metrics.items():
            if name != "epoch":
                self._append(step=metrics["epoch"], summary=scalar(name, value))

    def _append(self, **fields: Any) -> None:
        event = import_module("tensorboard.compat.proto.event_pb2").Event
        records = import_module("tensorboard.summary.writer.record_writer").RecordWriter
        try:
            with open(self._path, "ab") as file:
                records(file).write(event(wall_time=time.time(), **fields).SerializeToString())
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self._path)) from error


def clear_curves(folder: Path) -> None:
    """Remove the curves of earlier."""
    for path in folder.glob("events*"):
        path.unlink()
