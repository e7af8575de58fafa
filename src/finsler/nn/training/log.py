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
        self._curves = _writer(folder / CURVES)
        if self._curves is None:
            notify(f"TensorBoard is not installed; the curves are in {self._path} alone")
        for metrics in history:
            self._draw(metrics)

    def write(self, metrics: Mapping[str, Any]) -> None:
        """Add an epoch."""
        self._lines.append(_line(metrics))
        write_bytes(self._path, "".join(self._lines).encode())
        self._draw(metrics)

    def _draw(self, metrics: Mapping[str, Any]) -> None:
        if self._curves is None:
            return
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


def _writer(folder: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    # TensorBoard orders files by the time in their names, which a clock may get wrong: one will do.
    clear_curves(folder)
    make: Any = SummaryWriter
    return make(str(folder))


def clear_curves(folder: Path) -> None:
    """Remove the curves of earlier."""
    for path in folder.glob("events*"):
        path.unlink()
