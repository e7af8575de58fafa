"""What every benchmark shares: timing by the median, memory, a table, and a JSON file."""

from __future__ import annotations

import json
import platform
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from finsler.storage.record import record


def median_time(job: Callable[[], object], repeats: int) -> float:
    """Median wall-clock seconds of several runs, after one that is not counted."""
    job()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def peak_memory_gib() -> float:
    """Largest resident memory of this process so far."""
    unit = 1 if platform.system() == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30


def print_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print rows with right-aligned columns."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for heading in headings:
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(*(_text(value) for value in row))
    Console(width=140).print(table)


def save(name: str, results: dict[str, Any]) -> None:
    """Write results with versions and hardware to benchmarks/results/NAME.json."""
    folder = Path(__file__).parent / "results"
    folder.mkdir(exist_ok=True)
    content = {**json.loads(record({"benchmark": name})), "results": results}
    (folder / f"{name}.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
