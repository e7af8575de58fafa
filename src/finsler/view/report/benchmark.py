"""The page of a benchmark: tables, error curves, and the worst pairs to be turned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from finsler.errors import InputError
from finsler.evaluation.benchmark import (
    CONVENTIONS,
    GRID,
    PairSummary,
    summary_table,
)
from finsler.mesh.trimesh import TriMesh
from finsler.typing import IntArray
from finsler.view.panel import Panel
from finsler.view.report.blocks import Html, folded, markdown, paragraph, section, table
from finsler.view.report.charts import Curve
from finsler.view.report.pages import error_chart
from finsler.view.report.scene import View, scene
from finsler.view.surfaces import position_colors
from finsler.view.upright import Viewpoint


@dataclass(frozen=True, eq=False)
class DrawnPair:
    """A pair with its map, to be shown; `names` are those of the shapes."""

    title: str
    names: tuple[str, str]
    mesh_1: TriMesh
    mesh_2: TriMesh
    map_12: IntArray


def benchmark_blocks(
    label: str,
    summaries: Sequence[PairSummary],
    rows: Sequence[Mapping[str, Any]],
    published: Sequence[Mapping[str, Any]],
    worst: Sequence[DrawnPair],
    viewpoint: Viewpoint,
) -> list[Html]:
    """Figures, published ones beside them, curves, the worst pairs, and all pairs in a table."""
    curves = [
        Curve(f"{summary.variant}, {name}", GRID, 100 * np.asarray(figures.curve))
        for summary in summaries
        for name in CONVENTIONS
        if (figures := getattr(summary, name)) is not None
    ]
    words = [paragraph(f"{name}: {text}.") for name, text in CONVENTIONS.items()]
    blocks = [section("Figures", markdown(summary_table(summaries, label)), *words)]
    if published:
        cells = [
            [r["method"], r["kind"], f"{r['mean']:g}", r["note"], r["source"]] for r in published
        ]
        heads = ["method", "kind", "mean × 100, literature", "note", "source"]
        blocks.append(section("Published on this set", table(heads, cells)))
    if curves:
        blocks.append(section("Error curves", error_chart(curves)))
    if worst:
        blocks.append(section("The worst pairs", *_scenes(worst, viewpoint)))
    return [*blocks, section("Pairs", folded("All pairs", _pair_table(rows)))]


def _scenes(pairs: Sequence[DrawnPair], viewpoint: Viewpoint) -> list[Html]:
    """The first shape in the colours of its partners, and the second, coloured by position.

    Each stands upright by itself: the worst maps are no help there.
    """
    blocks = []
    for pair in pairs:
        try:
            colors = position_colors(pair.mesh_2)
            carried = Panel(pair.mesh_1, colors=colors[pair.map_12])
            target = Panel(pair.mesh_2, colors=colors)
            first, second = (viewpoint.stance(mesh) for mesh in (pair.mesh_1, pair.mesh_2))
            views = [
                View(pair.names[0], {"position": carried}, pair.map_12, 1, first),
                View(pair.names[1], {"position": target}, stance=second),
            ]
            blocks.append(scene(views, view=viewpoint.view, caption=pair.title))
        except InputError as error:
            return [*blocks, paragraph(f"Pictures are left out: {error}.")]
    return blocks


def _pair_table(rows: Sequence[Mapping[str, Any]]) -> Html:
    heads = [
        "pair",
        "variant",
        "along edges × 100",
        "strict × 100",
        "coverage, %",
        "seconds",
        "note",
    ]
    return table(heads, [_pair_cells(row) for row in rows])


def _pair_cells(row: Mapping[str, Any]) -> list[str]:
    pair = f"{row['shape_1']} → {row['shape_2']}"
    if row["outcome"] == "failed":
        return [pair, row["variant"], "-", "-", "-", "-", row["error"]]
    return [
        *(pair, row["variant"]),
        f"{100 * row['error_edges']:.2f}",
        f"{100 * row['error_strict']:.2f}",
        f"{100 * row['coverage']:.1f}",
        f"{row['seconds']:.1f}",
        "; ".join(row.get("warnings") or ()),
    ]
