"""The page docs/reliability.md: the text of reliability_page.md with its tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from string import Template
from typing import Any

TEMPLATE = Path(__file__).with_suffix(".md")

Row = dict[str, Any]
Run = dict[str, Any]

# What must not happen; the rows of a part count their own kind of it.
WRONG = ("crashes", "defects", "lost")
NOT_RUN = "*Not run yet.*"
# The columns of each part: the heading, and the key of a row.
COLUMNS = {
    "hostile": {
        "reader": "what",
        "inputs": "tries",
        "seconds": "seconds",
        "peak MiB": "peak_mib",
        "crashes": "crashes",
    },
    "ugly": {
        "mesh": "what",
        "works": "ok",
        "works, warns": "warned",
        "refused": "refused",
        "defects": "defects",
    },
    "faults": {
        "fault": "what",
        "tries": "tries",
        "equal": "equal",
        "reported": "reported",
        "lost": "lost",
    },
    "cluster": {"who": "what", "shapes": "shapes", "seconds": "seconds", "shapes / s": "rate"},
    "million": {
        "step": "what",
        "vertices": "vertices",
        "seconds": "seconds",
        "peak GiB": "peak_gib",
        "predicted GiB": "predicted_gib",
    },
}


def wrong(found: Run) -> int:
    """How many outcomes must not be: those that are wrong, and what was never tried.

    A run that failed or left nothing is one itself.
    """
    counted = sum(int(row.get(kind, 0)) for row in found["rows"] for kind in WRONG)
    counted += sum(row.get("tries") == 0 for row in found["rows"])
    return counted or int(found["code"] != 0 or not found["rows"])


def page(state: dict[str, Any]) -> str:
    """The template with the tables of all parts and of the versions."""
    runs = state["parts"]
    tables = {name: section(runs.get(name), columns) for name, columns in COLUMNS.items()}
    text = TEMPLATE.read_text(encoding="utf-8")
    return Template(text).substitute(
        tables, summary=summary(runs), versions=versions(state["versions"])
    )


def section(found: Run | None, columns: dict[str, str]) -> str:
    """The table of a part, and how, when and with what it was run."""
    if found is None:
        return NOT_RUN
    rows = [[row[key] for key in columns.values()] for row in found["rows"]]
    shown = table(list(columns), rows) if rows else "**No results.**"
    ended = f"ended with code {found['code']}" if found["code"] else "ended in order"
    packages = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    return (
        f"{shown}\n\n`{found['command']}`, {found['date']}: {ended} after {found['seconds']:,.0f} s"
        f" on {found['machine']['cores']} cores, with {packages}."
    )


def summary(runs: dict[str, Run]) -> str:
    """One line a kind: how many, how they ended, and how many ended as they must not."""
    lines: list[Sequence[Any]] = []
    for name, (title, described) in KINDS.items():
        found = runs.get(name)
        if found is None:
            lines.append((title, "", "not run yet", ""))
        elif not found["rows"]:
            lines.append((title, "", f"no results, code {found['code']}", wrong(found)))
        else:
            lines.append((title, *described(found["rows"]), wrong(found)))
    return table(["kind", "how many", "outcome", "wrong"], lines)


def _hostile(rows: list[Row]) -> tuple[str, str]:
    return f"{len(rows)} readers, {_sum(rows, 'tries')} inputs", "read, or refused in one sentence"


def _ugly(rows: list[Row]) -> tuple[str, str]:
    return (
        f"{len(rows)} meshes, {_sum(rows, 'ok', 'warned', 'refused', 'defects')} calls",
        f"{_sum(rows, 'ok')} work, {_sum(rows, 'warned')} work and warn,"
        f" {_sum(rows, 'refused')} refused in one sentence",
    )


def _faults(rows: list[Row]) -> tuple[str, str]:
    return (
        f"{len(rows)} kinds, {_sum(rows, 'tries')} injected",
        f"{_sum(rows, 'equal')} equal to the undisturbed run, {_sum(rows, 'reported')} reported",
    )


def _cluster(rows: list[Row]) -> tuple[str, str]:
    return f"{len(rows)} ways to compute, {_sum(rows, 'shapes')} shapes", "every shape prepared"


def _million(rows: list[Row]) -> tuple[str, str]:
    most = max(row["peak_gib"] for row in rows)
    return (
        f"{len(rows)} steps at {rows[0]['vertices']:,} vertices",
        f"finished with at most {most:.2g} GiB",
    )


KINDS: dict[str, tuple[str, Callable[[list[Row]], tuple[str, str]]]] = {
    "hostile": ("Hostile files", _hostile),
    "ugly": ("Ugly meshes", _ugly),
    "faults": ("Faults", _faults),
    "cluster": ("Load: collections", _cluster),
    "million": ("Load: large meshes", _million),
}


def versions(rows: list[Row]) -> str:
    """How the tests ended with each set of versions."""
    if not rows:
        return NOT_RUN
    columns = ["python", "versions", "passed", "skipped", "failed", "note"]
    return table(columns, [[row[key] for key in columns] for row in rows])


def table(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table of Markdown; columns of numbers stand to the right."""
    rows = list(rows)
    columns = zip(*rows, strict=True)
    right = [all(isinstance(cell, int | float) for cell in column) for column in columns]
    lines = [headings, ["---:" if numbers else "---" for numbers in right]]
    lines += [[_cell(value) for value in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _sum(rows: list[Row], *keys: str) -> str:
    return f"{sum(int(row[key]) for row in rows for key in keys):,}"
