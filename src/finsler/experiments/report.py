"""A table as a JSON object and as Markdown, with the published figures."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from functools import partial
from statistics import mean
from typing import Any

from finsler.evaluation import MEASURES, UNITS, VERTICES, Vertices
from finsler.evaluation.curves import DEFAULT_GRID, RADIUS
from finsler.evaluation.report import heading_cells, markdown_rows, measure_cell
from finsler.experiments.methods import Method
from finsler.experiments.scores import Results, paired, spread
from finsler.experiments.tables import PUBLISHED, label_rule
from finsler.storage.record import record


def table_dict(results: Results) -> dict[str, Any]:
    """Figures, configuration, and what each run says of itself, ready for JSON."""
    plan, names = results.plan, [method.name for method in results.methods]
    config = {
        "table": plan.table,
        "methods": names,
        "seeds": list(results.seeds),
        "settings": list(plan.settings),
    }
    published = PUBLISHED.get(plan.table, {})
    return {
        **json.loads(record(config)),
        "labels": label_rule(plan.table, plan.parts),
        "distances": "fmm",
        "radius": RADIUS,
        "parts": {
            part: {"name": shapes.name, "train": list(shapes.train), "test": list(shapes.test)}
            for part, shapes in plan.parts.items()
        },
        "methods": {method.name: _method_dict(results, method) for method in results.methods},
        "published": {
            name: {"exact": round(exact / 100, 4), "within": round(within / 100, 4)}
            for name, (exact, within) in published.items()
        },
        "baseline": results.baseline.name,
        "runs": [
            {"method": trial.method.name, "part": trial.part, "seed": trial.seed, **trial.record()}
            for trial in plan.trials
        ],
        "grid": DEFAULT_GRID.tolist(),
        "curves": {name: _curves(results, name) for name in names},
    }


def _method_dict(results: Results, method: Method) -> dict[str, Any]:
    """Cost and figures of a method, by unit and vertices."""
    runs = [trial.record()["config"] for trial in results.plan.trials if trial.method == method]
    peaks = [run["peak_gib"] for run in runs if run["peak_gib"] is not None]
    return {
        "note": method.note,
        "prepare": dataclasses.asdict(method.prepare),
        "seconds_per_epoch": mean(run["seconds_per_epoch"] for run in runs),
        "peak_gib": max(peaks, default=None),
        "devices": sorted({run["device"] for run in runs}),
        **{unit: {v: _figures(results, method.name, unit, v) for v in VERTICES} for unit in UNITS},
    }


def _figures(results: Results, method: str, unit: str, vertices: Vertices) -> dict[str, Any]:
    ours = results.of(unit, vertices, method)
    return {
        "all": spread(ours),
        "minus_baseline": paired(ours, results.of(unit, vertices, results.baseline.name)),
        "parts": {
            part: spread(results.of(unit, vertices, method, part))
            for part in results.plan.parts
            if part
        },
    }


def _curves(results: Results, method: str) -> dict[str, Any]:
    """Mean curves over the seeds, by unit and vertices."""
    return {
        unit: {
            vertices: None
            if (summary := results.summary(unit, vertices, method)) is None
            else summary.curve.tolist()
            for vertices in VERTICES
        }
        for unit in UNITS
    }


def table_markdown(results: Results) -> str:
    """All of it: both units, published figures, parts, what a method changes, cost."""
    sections = [*_introduction(results), _notes(results)]
    for unit, size in UNITS.items():
        for vertices, words in VERTICES.items():
            sections.append(f"## {words.capitalize()}, distances divided by {size}\n")
            sections.append(main_table(results, unit, vertices))
    shown = VERTICES[results.shown]
    if len(results.plan.parts) > 1:
        for unit, size in UNITS.items():
            sections.append(f"## Each part, {shown}, distances divided by {size}\n")
            sections.append(_part_table(results, unit))
    if len(results.methods) > 1:
        sections += [
            f"## What changes against {results.baseline.name}\n",
            "Differences between runs of the same seed: their mean ± half of the width of Student's"
            f" 95% interval (number of seeds); {shown}, distances divided by √area.\n",
            _difference_table(results),
        ]
    return "\n".join([*sections, "## Cost\n", _cost_table(results)])


def main_table(results: Results, unit: str, vertices: Vertices) -> str:
    """One row a method in Markdown, with the published figures."""
    published = PUBLISHED.get(results.plan.table, {})
    names = [method.name for method in results.methods]
    rows = []
    for name in [*names, *(name for name in published if name not in names)]:
        ours = spread(results.of(unit, vertices, name)) if name in names else None
        figures = [f"{value:.2f}" for value in published.get(name, ())] or ["-", "-"]
        rows.append([name, *_cells(ours, "deviation"), *figures])
    return _table("method", rows, ["published exact, %", "published within 0.01, %"])


def _part_table(results: Results, unit: str) -> str:
    scores = partial(results.of, unit, results.shown)
    rows = [
        [f"{method.name}, {part}", *_cells(spread(scores(method.name, part)), "deviation")]
        for method in results.methods
        for part in results.plan.parts
    ]
    return _table("method, part", rows)


def _difference_table(results: Results) -> str:
    scores = partial(results.of, "sqrt_area", results.shown)
    base = results.baseline.name
    rows = [
        [m.name, *_cells(paired(scores(m.name), scores(base)), "half_width", signed=True)]
        for m in results.methods
        if m.name != base
    ]
    return _table("method", rows)


def _notes(results: Results) -> str:
    return "".join(f"- {m.name}: {m.note}.\n" for m in results.methods if m.note)


def _cells(figures: Mapping[str, Any] | None, width: str, *, signed: bool = False) -> list[str]:
    """Mean ± width (seeds) of each measure, shares in per cent."""
    cells = []
    for name in MEASURES:
        values = None if figures is None else figures[name]
        if values is None or values["mean"] is None:
            cells.append("-")
            continue
        text = measure_cell(name, values["mean"], values[width], signed=signed)
        cells.append(f"{text} ({values['seeds']})")
    return cells


def _table(heading: str, rows: Sequence[Sequence[str]], more: Sequence[str] = ()) -> str:
    return markdown_rows([heading, *heading_cells(float(DEFAULT_GRID[-1])), *more], rows)


def _cost_table(results: Results) -> str:
    rows = []
    for method in results.methods:
        about = _method_dict(results, method)
        peak = "-" if about["peak_gib"] is None else f"{about['peak_gib']:.2f}"
        seconds, devices = f"{about['seconds_per_epoch']:.3f}", ", ".join(about["devices"])
        rows.append([method.name, seconds, peak, devices])
    return markdown_rows(["method", "seconds an epoch", "peak GiB", "device"], rows)


def _introduction(results: Results) -> list[str]:
    plan = results.plan
    names = ", ".join(shapes.name for shapes in plan.parts.values())
    train = sum(len(shapes.train) for shapes in plan.parts.values())
    test = sum(len(shapes.test) for shapes in plan.parts.values())
    config = plan.trials[0].config
    settings = f" Settings: {', '.join(plan.settings)}." if plan.settings else ""
    return [
        f"# {names}: {train} shapes train, {test} test\n",
        "Each cell is a mean over seeds ± the standard deviation over them (number of seeds), here"
        f" {len(results.seeds)}. Distances are geodesic (fmm), on the reference. Published figures"
        " are the paper's; a dash means that there is none. Exact matches do not depend on what"
        " distances are divided by, the share within 0.01 does: both are given below.\n",
        f"Labels: {label_rule(plan.table, plan.parts)}\n",
        f"Training: Adam, learning rate {config.learning_rate:g} ({config.schedule}),"
        f" {config.epochs} epochs, shapes a step: {config.batch}, {config.precision}, loss on"
        f" {config.train_on} vertices.{settings} The weights are those after the last epoch.\n",
    ]
