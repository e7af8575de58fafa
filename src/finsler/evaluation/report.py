"""Results as JSON and as Markdown tables."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from finsler.evaluation.curves import MEASURES, RADIUS, Interval, Score, Summary
from finsler.evaluation.error import UNITS
from finsler.evaluation.protocol import VERTICES, Evaluation, RunScore, Vertices
from finsler.storage.files import write_bytes
from finsler.storage.record import record

# Factor and digits of each measure in a table: shares are in per cent.
_FORMATS = {"exact": (100.0, 2), "within": (100.0, 2), "mean": (1.0, 3), "auc": (1.0, 4)}


def results_dict(evaluation: Evaluation, config: Mapping[str, Any]) -> dict[str, Any]:
    """All results, with configuration, versions and hardware, ready for JSON.

    Curves are given of the whole collection, not of each shape. Infinite means are null.
    """
    some = next(iter(evaluation.runs.values())).every
    return {
        **json.loads(record(config)),
        "collection": evaluation.collection,
        "missing": list(evaluation.missing),
        "unit": evaluation.unit,
        "distances": {
            "method": evaluation.method,
            "area": evaluation.area,
            "diameter": evaluation.diameter,
        },
        "radius": RADIUS,
        "interval": {"kind": "Student t", "level": evaluation.level, "runs": len(evaluation.runs)},
        "grid": some.grid.tolist(),
        "summary": {
            which: _summary_dict(evaluation.summary(which), curve=True) for which in VERTICES
        },
        "shapes": {
            name: {which: _summary_dict(evaluation.summary(which, name)) for which in VERTICES}
            for name in evaluation.shapes
        },
        "runs": {label: _run_dict(run) for label, run in evaluation.runs.items()},
    }


def write_results(path: str | os.PathLike[str], results: Mapping[str, Any]) -> Path:
    """Write `results_dict` as JSON, whole or not at all."""
    return write_bytes(path, (json.dumps(results, indent=2, allow_nan=False) + "\n").encode())


def markdown_table(
    rows: Mapping[str, Score | Summary | None], *, heading: str, range_end: float
) -> str:
    """A Markdown table: a row for each label, mean ± half-width for each measure.

    Parameters
    ----------
    rows : mapping of str to Score or Summary
        None becomes a row of dashes.
    heading : str
        Of the first column.
    range_end : float
        End of the range of the AUC, for its heading.
    """
    cells = [[_escaped(label), *row_cells(row)] for label, row in rows.items()]
    return markdown_rows([heading, *heading_cells(range_end)], cells)


def markdown_rows(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table of texts, the first column to the left and the others to the right."""
    lines = [headings, ["---", *["---:"] * (len(headings) - 1)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def heading_cells(range_end: float) -> list[str]:
    """Headings of the four measures."""
    return ["exact, %", f"within {RADIUS:g}, %", "mean × 100", f"AUC, 0..{range_end:g}"]


def markdown_report(evaluation: Evaluation, *, label: str = "ours") -> str:
    """The figures of the collection, and those of each shape."""
    every = evaluation.summary("every")
    assert every is not None
    named = evaluation.summary("named")
    end = float(every.grid[-1])
    rows = {f"{label}, {VERTICES['named']}": named, f"{label}, {VERTICES['every']}": every}
    kind: Vertices = "every" if named is None else "named"
    shapes = {name: evaluation.summary(kind, name) for name in evaluation.shapes}
    parts = [
        f"# {_escaped(evaluation.collection)}: {len(evaluation.shapes)} shapes\n",
        _explanation(evaluation),
        markdown_table(rows, heading="method", range_end=end),
        f"## Each shape, {VERTICES[kind]}\n",
        markdown_table(shapes, heading="shape", range_end=end),
    ]
    return "\n".join(parts)


def _explanation(evaluation: Evaluation) -> str:
    runs = len(evaluation.runs)
    spread = (
        f"mean of {runs} runs ± half-width of Student's {100 * evaluation.level:g}% interval"
        if runs > 1
        else "one run"
    )
    missing = (
        f" Not scored, as there are no predictions: {len(evaluation.missing)} of the test shapes."
        if evaluation.missing
        else ""
    )
    return (
        f"Geodesic distance ({evaluation.method}) on the reference between predicted and true"
        f" vertex, divided by {UNITS[evaluation.unit]}; {spread}.{missing}\n"
    )


def _run_dict(run: RunScore) -> dict[str, Any]:
    return {
        "record": dict(run.record),
        "named": _score_dict(run.named, curve=True),
        "every": _score_dict(run.every, curve=True),
        "shapes": {
            shape.name: {"named": _score_dict(shape.named), "every": _score_dict(shape.every)}
            for shape in run.shapes
        },
    }


def _score_dict(score: Score | None, *, curve: bool = False) -> dict[str, Any] | None:
    if score is None:
        return None
    figures = {name: _finite(getattr(score, name)) for name in MEASURES}
    return {"count": score.count, **figures, **({"curve": score.curve.tolist()} if curve else {})}


def _summary_dict(summary: Summary | None, *, curve: bool = False) -> dict[str, Any] | None:
    if summary is None:
        return None
    intervals: dict[str, Interval] = {name: getattr(summary, name) for name in MEASURES}
    figures = {
        name: {"mean": _finite(interval.mean), "half_width": interval.half_width}
        for name, interval in intervals.items()
    }
    return {**figures, **({"curve": summary.curve.tolist()} if curve else {})}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def row_cells(row: Score | Summary | None) -> list[str]:
    """The four measures as text; a dash where there is none."""
    cells = []
    for name in MEASURES:
        value: float | Interval | None = getattr(row, name, None)
        if isinstance(value, Interval):
            cells.append(measure_cell(name, value.mean, value.half_width))
        else:
            cells.append("-" if value is None else measure_cell(name, value))
    return cells


def measure_cell(
    name: str, value: float, half_width: float | None = None, *, signed: bool = False
) -> str:
    """A measure as text, value ± half-width; shares in per cent."""
    factor, digits = _FORMATS[name]
    text = f"{factor * value:{'+' if signed else ''}.{digits}f}"
    return text if half_width is None else f"{text} ± {factor * half_width:.{digits}f}"


def _escaped(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
