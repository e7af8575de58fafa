"""The metrics of a run, one line an epoch, and the same as curves in TensorBoard."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from finsler.files import write_bytes

METRICS, CURVES = "metrics.jsonl", "tensorboard"


class Log:
    """Writes to a run's folder.

    Parameters
    ----------
    folder : Path
    history : sequence of dict
        The epochs that are done: the file is cut back to them.
    notify : callable
        Called with a sentence where TensorBoard is not installed.
    """

    def __init__(
        self, folder: Path, history: Sequence[Mapping[str, Any]], notify: Callable[[str], None]
    ) -> None:
        self._path = folder / METRICS
        write_bytes(self._path, "".join(_line(metrics) for metrics in history).encode())
        self._curves = _writer(folder / CURVES, len(history) + 1)
        if self._curves is None:
            notify(f"TensorBoard is not installed; the curves are in {self._path} alone")

    def write(self, metrics: Mapping[str, Any]) -> None:
        """Add an epoch."""
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(_line(metrics))
        if self._curves is not None:
            for name, value in metrics.items():
                if name != "epoch":
                    self._curves.add_scalar(name, value, metrics["epoch"])
            self._curves.flush()

    def close(self) -> None:
        """Close the files."""
        if self._curves is not None:
            self._curves.close()


def _line(metrics: Mapping[str, Any]) -> str:
    return json.dumps(dict(metrics), allow_nan=False) + "\n"


def _writer(folder: Path, first: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    make: Any = SummaryWriter
    return make(str(folder), purge_step=first)
