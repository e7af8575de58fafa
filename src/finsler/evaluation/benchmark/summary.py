"""What pairs of a benchmark say together: means in both conventions, failures, and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from finsler.compute.batch import Row
from finsler.evaluation.benchmark.measuring import PairSample
from finsler.evaluation.curves import Score, score, student_interval
from finsler.evaluation.report import markdown_rows
from finsler.typing import FloatArray

# A pair has failed where its mean error is larger, in √area.
FAILED = 0.08
# Radii of the curves and the range of the AUC: what tables of learned maps use.
GRID: FloatArray = np.linspace(0.0, 0.1, 101)
COLUMNS = (
    *("variant", "shape_1", "shape_2", "outcome", "error_edges", "error_strict", "coverage"),
    *(
        "dirichlet",
        "bijectivity",
        "probability",
        "doubtful",
        "seconds",
        "attempts",
        "error",
        "warnings",
        "file",
    ),
)
CONVENTIONS = {
    "literature": "ordered pairs, each shape with itself too; along edges; every listed point",
    "strict": "no shape with itself; fast marching over faces; each pair of vertices once",
}


@dataclass(frozen=True)
class Figures:
    """Errors in one convention, in hundredths of √area.

    Attributes
    ----------
    pairs : int
        Measured pairs that count.
    mean, median, auc : float
        Over all points of all pairs; AUC over 0 to 0.1.
    half_width : float or None
        Of Student's 95% interval of the mean over pairs, which tells what a sample is worth.
    failed_share : float
        Share of the pairs whose mean error is above 8.
    mean_without_failed : float or None
        Mean over the others; None where all failed.
    curve : tuple of float
        Share of the points within 0, 0.001, …, 0.1.
    """

    pairs: int
    mean: float
    half_width: float | None
    median: float
    auc: float
    failed_share: float
    mean_without_failed: float | None
    curve: tuple[float, ...]


@dataclass(frozen=True)
class PairSummary:
    """What a benchmark found on one variant of a collection.

    Attributes
    ----------
    variant : str
    measured, asked, of : int
        Pairs that were measured, that were asked for, and that there are.
    literature, strict : Figures or None
        None where no pair was measured.
    coverage, dirichlet, bijectivity, seconds_pair, seconds_shape : float or None
        Means over pairs of two different shapes, the last over shapes; Dirichlet energies have
        outliers, so that theirs is the median.
    doubted_failed, doubted_right : float or None
        Shares of the failed pairs and of the others that the verdict calls doubtful; None where
        there is no such pair, or no verdict.
    """

    variant: str
    measured: int
    asked: int
    of: int
    literature: Figures | None
    strict: Figures | None
    coverage: float | None
    dirichlet: float | None
    bijectivity: float | None
    seconds_pair: float | None
    seconds_shape: float | None
    doubted_failed: float | None
    doubted_right: float | None

    def to_dict(self) -> dict[str, Any]:
        """All fields in types that JSON knows."""
        return asdict(self)


def summarize_pairs(
    variant: str, sample: PairSample, rows: Sequence[Row], shapes: Sequence[Row] = ()
) -> PairSummary:
    """The summary of rows of `measure_pair`, failed ones among them."""
    good = [row for row in rows if row["outcome"] != "failed"]
    pairs = [(row["shape_1"], row["shape_2"]) for row in good]
    apart = [row for row, (a, b) in zip(good, pairs, strict=True) if a != b]
    times = [row["seconds"] for row in shapes if row["outcome"] != "failed"]
    return PairSummary(
        variant=variant,
        measured=len(good),
        asked=len(sample.pairs),
        of=sample.all_pairs + sample.own_pairs,
        literature=_figures(good, "along_edges", sample.weights(pairs)),
        strict=_figures(apart, "fast_marching", np.ones(len(apart))),
        coverage=_mean(row["coverage"] for row in apart),
        dirichlet=_mean((row["dirichlet"] for row in apart), np.median),
        bijectivity=_mean(row["bijectivity"] for row in apart),
        seconds_pair=_mean(row["seconds"] for row in apart),
        seconds_shape=_mean(times),
        doubted_failed=_doubted(apart, failed=True),
        doubted_right=_doubted(apart, failed=False),
    )


def _doubted(rows: Sequence[Row], *, failed: bool) -> float | None:
    """Share of the rows, of failed pairs or of the others, that are called doubtful."""
    return _mean(
        row["doubtful"]
        for row in rows
        if (row["fast_marching"].mean() > FAILED) == failed and np.isfinite(row["doubtful"])
    )


def _figures(rows: Sequence[Row], kind: str, weights: FloatArray) -> Figures | None:
    """Figures of rows, each of which stands for so many pairs."""
    if not rows:
        return None
    means = np.array([row[kind].mean() for row in rows])
    scores: list[Score] = [score(row[kind], grid=GRID) for row in rows]
    counts = weights * [s.count for s in scores]
    failed = means > FAILED
    right = None
    if not failed.all():
        right = 100.0 * float(np.average(means[~failed], weights=weights[~failed]))
    width = student_interval(means).half_width
    return Figures(
        pairs=len(rows),
        mean=100.0 * float(np.average(means, weights=counts)),
        half_width=None if width is None else 100.0 * width,
        median=100.0 * _median([row[kind] for row in rows], weights),
        auc=float(np.average([s.auc for s in scores], weights=counts)),
        failed_share=float(np.average(failed, weights=weights)),
        mean_without_failed=right,
        curve=tuple(np.average([s.curve for s in scores], axis=0, weights=counts).tolist()),
    )


def _median(errors: Sequence[FloatArray], weights: FloatArray) -> float:
    """Of all points, each with the weight of its pair."""
    values = np.concatenate(errors)
    each = np.repeat(weights, [len(part) for part in errors])
    order = np.argsort(values)
    half = np.searchsorted(np.cumsum(each[order]), 0.5 * each.sum())
    return float(values[order][min(half, len(values) - 1)])


def _mean(values: Any, average: Any = np.mean) -> float | None:
    known = [value for value in values if np.isfinite(value)]
    return float(average(known)) if known else None


def summary_table(summaries: Sequence[PairSummary], label: str) -> str:
    """A Markdown table, a row for each convention and variant."""
    heads = ["shapes", "convention", "pairs", "mean × 100", "median × 100", "AUC, 0..0.1"]
    heads += ["failed, %", "mean × 100 without failed", "coverage, %", "Dirichlet", "bijectivity"]
    heads += ["s/pair", "s/shape", "failed that are doubted, %", "others doubted, %"]
    rows = []
    for summary in summaries:
        for name in CONVENTIONS:
            figures: Figures | None = getattr(summary, name)
            rows.append([summary.variant, name, *_cells(summary, figures, strict=name == "strict")])
    return f"{label}\n\n{markdown_rows(heads, rows)}"


def _cells(summary: PairSummary, figures: Figures | None, *, strict: bool) -> list[str]:
    if figures is None:
        return ["0", *["-"] * 12]
    spread = "" if figures.half_width is None else f" ± {figures.half_width:.2f}"
    own = [
        _cell(summary.coverage, 100.0, 1),
        _cell(summary.dirichlet, 1.0, 2),
        _cell(summary.bijectivity, 100.0, 2),
        _cell(summary.seconds_pair, 1.0, 1),
        _cell(summary.seconds_shape, 1.0, 1),
        _cell(summary.doubted_failed, 100.0, 0),
        _cell(summary.doubted_right, 100.0, 1),
    ]
    return [
        str(figures.pairs),
        f"{figures.mean:.2f}{spread if strict else ''}",
        f"{figures.median:.2f}",
        f"{figures.auc:.3f}",
        f"{100 * figures.failed_share:.1f}",
        _cell(figures.mean_without_failed, 1.0, 2),
        *(own if strict else [""] * 7),
    ]


def _cell(value: float | None, factor: float, digits: int) -> str:
    return "-" if value is None else f"{factor * value:.{digits}f}"


def results_dict(
    about: Mapping[str, Any],
    summaries: Sequence[PairSummary],
    published: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """All figures, ready for JSON."""
    return {
        **about,
        "unit": "hundredths of √area of the second shape",
        "conventions": CONVENTIONS,
        "failed_above": 100 * FAILED,
        "auc_range": [0.0, float(GRID[-1])],
        "grid": GRID.tolist(),
        "summaries": [summary.to_dict() for summary in summaries],
        "published": list(published),
    }
