"""A table of `finsler reproduce` as Markdown, beside the published figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from finsler.evaluation.protocol import Vertices
from finsler.evaluation.report import heading_cells
from finsler.experiments.scores import (
    NORMALIZATIONS,
    VERTICES,
    Results,
    method_dict,
    paired,
    spread,
)
from finsler.experiments.tables import PUBLISHED, label_rule

_SCALES = {"exact": (100.0, 2), "within": (100.0, 2), "mean": (1.0, 3), "auc": (1.0, 4)}


def markdown(results: Results) -> str:
    """All of it: both normalizations, published figures, parts, what a method changes, cost."""
    sections = [*_introduction(results), _notes(results)]
    for normalization, size in NORMALIZATIONS.items():
        for vertices, words in VERTICES.items():
            sections.append(f"## {words.capitalize()}, distances divided by {size}\n")
            sections.append(main_table(results, normalization, vertices))
    shown = VERTICES[results.shown]
    if len(results.parts) > 1:
        for normalization, size in NORMALIZATIONS.items():
            sections.append(f"## Each part, {shown}, distances divided by {size}\n")
            sections.append(_part_table(results, normalization))
    if len(results.methods) > 1:
        sections += [
            f"## What changes against {results.baseline.name}\n",
            "Differences between runs of the same seed: their mean ± half of the width of Student's"
            f" 95% interval (number of seeds); {shown}, distances divided by √area.\n",
            _difference_table(results),
        ]
    return "\n".join([*sections, "## Cost\n", _cost_table(results)])


def main_table(results: Results, normalization: str, vertices: Vertices) -> str:
    """One row a method, and the published figures beside."""
    published = PUBLISHED.get(results.table, {})
    names = [method.name for method in results.methods]
    rows = []
    for name in [*names, *(name for name in published if name not in names)]:
        ours = spread(results.of(normalization, vertices, name)) if name in names else None
        figures = [f"{value:.2f}" for value in published.get(name, ())] or ["-", "-"]
        rows.append([name, *_cells(ours, "deviation"), *figures])
    return _table("method", rows, ["published exact, %", "published within 0.01, %"])


def _part_table(results: Results, normalization: str) -> str:
    scores = partial(results.of, normalization, results.shown)
    rows = [
        [f"{method.name}, {part}", *_cells(spread(scores(method.name, part)), "deviation")]
        for method in results.methods
        for part in results.parts
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
    for name, (factor, digits) in _SCALES.items():
        found = None if figures is None else figures[name]
        if found is None or found["mean"] is None:
            cells.append("-")
            continue
        text = f"{factor * found['mean']:{'+' if signed else ''}.{digits}f}"
        if found[width] is not None:
            text += f" ± {factor * found[width]:.{digits}f}"
        cells.append(f"{text} ({found['seeds']})")
    return cells


def _table(heading: str, rows: Sequence[Sequence[str]], more: Sequence[str] = ()) -> str:
    headings = [heading, *heading_cells(0.25), *more]
    lines = [headings, ["---", *["---:"] * (len(headings) - 1)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cost_table(results: Results) -> str:
    lines = ["| method | seconds an epoch | peak GiB | device |\n|---|---:|---:|---|\n"]
    for method in results.methods:
        about = method_dict(results, method)
        peak = "-" if about["peak_gib"] is None else f"{about['peak_gib']:.2f}"
        seconds, devices = f"{about['seconds_per_epoch']:.3f}", ", ".join(about["devices"])
        lines.append(f"| {method.name} | {seconds} | {peak} | {devices} |\n")
    return "".join(lines)


def _introduction(results: Results) -> list[str]:
    parts = results.parts.values()
    names = ", ".join(shapes.name for shapes in parts)
    train = sum(len(shapes.train) for shapes in parts)
    test = sum(len(shapes.test) for shapes in parts)
    config = results.trials[0].config
    settings = f" Settings: {', '.join(results.settings)}." if results.settings else ""
    return [
        f"# {names}: {train} shapes train, {test} test\n",
        "Each cell is a mean over seeds ± the standard deviation over them (number of seeds), here"
        f" {len(results.seeds)}. Distances are geodesic (fmm), on the reference. Published figures"
        " are the paper's; a dash means that there is none. Exact matches do not depend on what"
        " distances are divided by, the share within 0.01 does: both are given below.\n",
        f"Labels: {label_rule(results.table, results.parts)}\n",
        f"Training: Adam, learning rate {config.learning_rate:g} ({config.schedule}),"
        f" {config.epochs} epochs, shapes a step: {config.batch}, {config.precision}, loss on"
        f" {config.train_on} vertices.{settings} The weights are those after the last epoch.\n",
    ]
