"""What the pages of training, evaluating and matching show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from finsler.evaluation import Evaluation, Score, markdown_report, student_interval
from finsler.evaluation.protocol import Vertices
from finsler.matching import Match
from finsler.mesh.trimesh import TriMesh
from finsler.view.matches import LARGE_ERROR, headline, match_stances, worst_vertex
from finsler.view.panel import Panel
from finsler.view.report.blocks import (
    Html,
    facts,
    folded,
    joined,
    markdown,
    paragraph,
    section,
    table,
)
from finsler.view.report.charts import Curve, line_chart
from finsler.view.report.scene import View, scene
from finsler.view.surfaces import position_colors, side_and_height
from finsler.view.upright import Viewpoint

_VERTICES: dict[Vertices, str] = {"named": "vertices with ground truth", "every": "all vertices"}
_SIZES = {"sqrt_area": "√area", "diameter": "diameter"}
_SHARES = {
    "test_named": "test shapes, vertices with ground truth",
    "test_every": "test shapes, all vertices",
    "validation_named": "validation shapes, vertices with ground truth",
    "validation_every": "validation shapes, all vertices",
}
# Confidence below which a vertex is counted as doubtful.
_DOUBTFUL = 0.5
_BANDS = 16
_USUAL = Viewpoint()


def training_blocks(history: Sequence[Mapping[str, Any]], data: Mapping[str, Any]) -> list[Html]:
    """Learning curves, the last epoch, the data, and all epochs in a table.

    Parameters
    ----------
    history : sequence of mapping
        The metrics of each epoch: `epoch`, `loss`, `learning_rate`, `seconds`, and where they were
        measured, shares of exact matches such as `test_named`.
    data : mapping
        What was learned from, in words and numbers.
    """
    last = history[-1]
    shown = {"epochs": last["epoch"], "loss": f"{last['loss']:.4g}"}
    exact = {words: f"{100 * last[key]:.2f}%" for key, words in _SHARES.items() if key in last}
    shown |= {f"exact, {words}": share for words, share in exact.items()}
    shown["seconds an epoch"] = f"{np.mean([epoch['seconds'] for epoch in history]):.3g}"
    return [
        section("Result after the last epoch", facts(shown)),
        section("Learning curves", learning_charts({"loss": history})),
        section("Data", facts(data)),
        section("Epochs", folded("All epochs", _epoch_table(history))),
    ]


def learning_charts(histories: Mapping[str, Sequence[Mapping[str, Any]]]) -> Html:
    """The loss of each run, and the shares of exact matches that were measured on the way.

    `histories` are the metrics of the epochs of a run, by its label.
    """
    losses = [_metric(label, history, "loss") for label, history in histories.items()]
    charts = [line_chart(losses, x_label="epoch", y_label="loss")]
    one = len(histories) == 1
    shares = [
        _metric(words if one else f"{label}, {words}", history, key, 100.0)
        for label, history in histories.items()
        for key, words in _SHARES.items()
    ]
    if any(len(curve.x) > 1 for curve in shares):
        charts.append(line_chart(shares, x_label="epoch", y_label="exact matches, %"))
    return Html(f'<div class="charts">{joined(charts)}</div>')


def _metric(
    label: str, history: Sequence[Mapping[str, Any]], key: str, factor: float = 1.0
) -> Curve:
    points = [(epoch["epoch"], factor * epoch[key]) for epoch in history if key in epoch]
    return Curve(label, *np.reshape(points, (-1, 2)).T)


def _epoch_table(history: Sequence[Mapping[str, Any]]) -> Html:
    names = list(dict.fromkeys(name for epoch in history for name in epoch))
    rows = [[f"{e[name]:.5g}" if name in e else "-" for name in names] for e in history]
    return table([name.replace("_", " ") for name in names], rows)


def evaluation_blocks(evaluation: Evaluation) -> list[Html]:
    """Figures, error curves with intervals over the runs, and the figures of each shape."""
    curves = [
        interval_curve(words, scores)
        for vertices, words in _VERTICES.items()
        if (scores := _scores(evaluation, vertices))
    ]
    size = _SIZES[evaluation.unit]
    return [
        section("Error curves", error_chart(curves, size)),
        markdown(markdown_report(evaluation)),
    ]


def _scores(evaluation: Evaluation, vertices: Vertices) -> list[Score]:
    scores: list[Score | None] = [getattr(run, vertices) for run in evaluation.runs.values()]
    return [score for score in scores if score is not None]


def interval_curve(label: str, scores: Sequence[Score]) -> Curve:
    """Mean of the error curves of runs, with Student's 95% interval at each radius."""
    grid = scores[0].grid
    if len(scores) == 1:
        return Curve(label, grid, 100 * scores[0].curve)
    intervals = [student_interval(shares) for shares in np.transpose([s.curve for s in scores])]
    mean = np.array([interval.mean for interval in intervals])
    half = np.array([interval.half_width for interval in intervals])
    low, high = np.maximum(mean - half, 0.0), np.minimum(mean + half, 1.0)
    return Curve(f"{label}, 95% interval", grid, 100 * mean, 100 * low, 100 * high)


def error_chart(curves: Sequence[Curve], size: str = "√area") -> Html:
    """Per cent of the vertices within a radius, against the radius as a share of `size`."""
    return line_chart(
        curves,
        x_label=f"geodesic error r / {size}",
        y_label="vertices with error ≤ r, %",
        y_range=(0.0, 100.0),
    )


def match_blocks(
    mesh_1: TriMesh,
    mesh_2: TriMesh,
    result: Match,
    *,
    names: tuple[str, str] = ("A", "B"),
    seconds: float | None = None,
    viewpoint: Viewpoint = _USUAL,
) -> list[Html]:
    """The verdict, both meshes with the colours of the second carried to the first, and figures."""
    views = match_views(mesh_1, mesh_2, result, names, viewpoint.up)
    trust = result.confidence
    numbers = {
        "vertices": f"{len(result.map_12):,} sent to {len(result.map_21):,}",
        "functional map": " × ".join(map(str, result.functional.shape)),
        "mean confidence": f"{trust.mean():.3f}",
        f"confidence below {_DOUBTFUL}": f"{100 * (trust < _DOUBTFUL).mean():.1f}% of the vertices",
        "mean round trip / √area": f"{result.cycle.mean():.4f}",
        "longest round trip / √area": f"{result.cycle.max():.4f}",
        "arrives right side up": f"{100 * result.orientation:.1f}% of the surface",
        "seconds": None if seconds is None else f"{seconds:.1f}",
    }
    caption = (
        f"Each vertex of {names[0]} has the colour of its partner on {names[1]};"
        f" pointing at a vertex marks its partner. The pink dot marks where the match is worst."
    )
    share = np.linspace(0.0, 1.0, 201)
    curve = Curve("vertices", np.quantile(trust, share), 100 * share)
    return [
        section("Verdict", *(paragraph(f"{line}.") for line in headline(result))),
        *_alternatives(result),
        section("Correspondence", scene(views, view=viewpoint.view, caption=caption)),
        section("Figures", facts(numbers)),
        section(
            "Confidence",
            line_chart(
                [curve], x_label="confidence c", y_label="vertices below c, %", y_range=(0.0, 100.0)
            ),
        ),
    ]


def _alternatives(result: Match) -> list[Html]:
    """What is said of other maps, which the picture below shows at a click."""
    if not result.alternatives:
        return []
    sentences = (
        f"{_alternative(number)}: {other.verdict.sentence}."
        for number, other in enumerate(result.alternatives, start=1)
    )
    hint = "Choose one in the list above the picture to see it in place of the best map."
    return [section("Alternatives", *(paragraph(line) for line in (*sentences, hint)))]


def _alternative(number: int) -> str:
    return f"Alternative {number}"


def match_views(
    mesh_1: TriMesh,
    mesh_2: TriMesh,
    result: Match,
    names: tuple[str, str],
    up: str | None = None,
) -> list[View]:
    """The source in the colours of its partners, and the target, by position and level lines."""
    colors, values = position_colors(mesh_2), side_and_height(mesh_2)
    worst = worst_vertex(mesh_1, result)
    lines: dict[str, Any] = {
        "clim": (float(values.min()), float(values.max()) + 1e-12),
        "bands": _BANDS,
    }
    top = max(LARGE_ERROR, float(result.expected.max()))
    here: dict[str, dict[str, Any]] = {
        "position on the target": {"colors": colors[result.map_12]},
        "level lines": {"scalars": values[result.map_12], **lines},
        "expected error / √area": {"scalars": result.expected, "cmap": "OrRd", "clim": (0.0, top)},
        **{
            _alternative(number): {"colors": colors[other.map_12]}
            for number, other in enumerate(result.alternatives, start=1)
        },
        "confidence": {"scalars": result.confidence, "clim": (0.0, 1.0)},
        "round trip / √area": {"scalars": result.cycle, "cmap": "OrRd"},
    }
    partner = int(result.map_12[worst])
    there = {
        "position on the target": Panel(mesh_2, colors=colors, marker=partner),
        "level lines": Panel(mesh_2, values, **lines, marker=partner),
        **{
            _alternative(number): Panel(mesh_2, colors=colors)
            for number in range(1, len(result.alternatives) + 1)
        },
    }
    first, second = match_stances(mesh_1, mesh_2, result, up)
    source = {name: Panel(mesh_1, **field, marker=worst) for name, field in here.items()}
    return [
        View(names[0], source, result.map_12, 1, first),
        View(names[1], there, result.map_21, 0, second),
    ]
