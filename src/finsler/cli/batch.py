"""How commands go through many meshes: a bar, a file for each, a table, and a summary."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import typer

from finsler.cli.cluster_options import progress_bar, say_failed, say_notes
from finsler.compute.batch import Row, run_batch, write_rows
from finsler.compute.cluster import Workers


def compute_rows(
    function: Callable[..., Row],
    tasks: Iterable[tuple[str, tuple[Any, ...] | Exception]],
    workers: Workers,
    *,
    title: str,
    total: int,
) -> dict[str, Row]:
    """Rows of the table by name of the task, with a bar."""
    with progress_bar() as bar:
        task = bar.add_task(title, total=total)
        return run_batch(function, tasks, workers, progress=lambda: bar.advance(task))


def finish(
    out: str, table: str, columns: Sequence[str], rows: Sequence[Row], *, as_json: bool
) -> None:
    """Write the table, print a summary, and exit with code 1 if a task failed.

    A row has the name of its task as `name`, sentences about defects of meshes as `warnings`, and
    of a map that is `doubtful` the `verdict`.
    """
    path = write_rows(f"{out}/{table}", columns, rows)
    counts = Counter(row["outcome"] for row in rows)
    failed = {row["name"]: row["error"] for row in rows if row["outcome"] == "failed"}
    notes = {row["name"]: row["warnings"] for row in rows if row.get("warnings")}
    doubts = {row["name"]: row["verdict"] for row in rows if row.get("doubtful")}
    summary: Row = {key: counts[key] for key in ("computed", "kept")}
    if "doubtful" in columns:
        summary["doubtful"] = doubts
    if as_json:
        about = {"folder": out, "table": str(path), **summary, "failed": failed, "warnings": notes}
        print(json.dumps(about, indent=2))
    else:
        print(
            f"Wrote {out}: {counts['computed']} computed, {counts['kept']} kept,"
            f" {len(failed)} failed; all of them are in {path}"
        )
        for name, sentence in doubts.items():
            print(f"{name}: {sentence}")
    say_notes(notes)
    if failed:
        say_failed(failed)
        raise typer.Exit(1)
