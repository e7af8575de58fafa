"""The scores of all networks of a table, and what is written of them to JSON."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from finsler.data import Collection
from finsler.evaluation import (
    RunScore,
    Score,
    Summary,
    choose_distances,
    combine,
    evaluate,
    load_predictions,
    student_interval,
    summarize,
)
from finsler.evaluation.curves import DEFAULT_GRID, MEASURES, RADIUS
from finsler.evaluation.protocol import Vertices
from finsler.experiments.tables import PUBLISHED, Method, label_rule
from finsler.experiments.trials import Trial
from finsler.storage.record import record

NORMALIZATIONS = {"sqrt_area": "√area", "diameter": "the geodesic diameter"}
VERTICES: dict[Vertices, str] = {"named": "vertices with ground truth", "every": "all vertices"}


@dataclass(frozen=True, eq=False)
class Results:
    """A table's networks with their scores, which are kept by normalization and network."""

    table: str
    parts: Mapping[str, Collection]
    trials: tuple[Trial, ...]
    settings: tuple[str, ...]
    scores: Mapping[tuple[str, Trial], RunScore]

    @property
    def methods(self) -> tuple[Method, ...]:
        """The methods, each once."""
        return tuple(dict.fromkeys(trial.method for trial in self.trials))

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of each method, ascending."""
        return tuple(sorted({trial.seed for trial in self.trials}))

    @property
    def baseline(self) -> Method:
        """What the others are compared with: albo, or the first method."""
        return next((m for m in self.methods if m.name == "albo"), self.methods[0])

    @property
    def shown(self) -> Vertices:
        """The vertices that stand first: those with ground truth where there are any."""
        some = self.of("sqrt_area", "named", self.methods[0].name)
        return "every" if some is None else "named"

    def of(
        self, normalization: str, vertices: Vertices, method: str, part: str | None = None
    ) -> list[Score] | None:
        """A score for each seed, of one part or of the vertices of all; None without vertices."""
        pooled = []
        for seed in self.seeds:
            runs = [
                self.scores[normalization, trial]
                for trial in self.trials
                if (trial.method.name, trial.seed) == (method, seed) and part in (None, trial.part)
            ]
            found = [score for run in runs if (score := getattr(run, vertices)) is not None]
            if not found:
                return None
            pooled.append(combine(found))
        return pooled

    def summary(self, normalization: str, vertices: Vertices, method: str) -> Summary | None:
        """Over the seeds, with the mean curve."""
        scores = self.of(normalization, vertices, method)
        return None if scores is None else summarize(scores)


def score_trials(
    table: str,
    trials: Sequence[Trial],
    parts: Mapping[str, Collection],
    work: Path,
    *,
    settings: Sequence[str],
) -> Results:
    """Score all predictions under both normalizations; the distances of a part serve all."""
    scores: dict[tuple[str, Trial], RunScore] = {}
    for part, collection in parts.items():
        shapes = dataclasses.replace(collection, load=functools.cache(collection.load))
        own = {trial.label: trial for trial in trials if trial.part == part}
        runs = {label: load_predictions(trial.predictions, shapes) for label, trial in own.items()}
        measured = choose_distances(shapes[shapes.reference].mesh, cache=work / "distances")
        for normalization in NORMALIZATIONS:
            found = evaluate(runs, shapes, measured, normalization=normalization)
            scores |= {(normalization, trial): found.runs[label] for label, trial in own.items()}
    return Results(table, parts, tuple(trials), tuple(settings), scores)


def spread(scores: Sequence[Score] | None) -> dict[str, Any] | None:
    """Of each measure: mean, standard deviation (ddof = 1) and the value of each seed."""
    if scores is None:
        return None
    return {name: _spread([getattr(score, name) for score in scores]) for name in MEASURES}


def _spread(values: Sequence[float]) -> dict[str, Any]:
    finite = bool(np.isfinite(values).all())
    several = finite and len(values) > 1
    return {
        "mean": float(np.mean(values)) if finite else None,
        "deviation": float(np.std(values, ddof=1)) if several else None,
        "seeds": len(values),
        "values": [float(v) if np.isfinite(v) else None for v in values],
    }


def paired(ours: Sequence[Score] | None, base: Sequence[Score] | None) -> dict[str, Any] | None:
    """Of each measure: ours minus the baseline's, seed by seed, with Student's 95% interval."""
    if ours is None or base is None:
        return None
    found = {}
    for name in MEASURES:
        pairs = zip(ours, base, strict=True)
        values = [getattr(a, name) - getattr(b, name) for a, b in pairs]
        known = _spread(values)
        half = student_interval(values).half_width if known["mean"] is not None else None
        found[name] = {**known, "half_width": half}
    return found


def everything(results: Results) -> dict[str, Any]:
    """What is written to TABLE.json: figures, configuration, and what each run says of itself."""
    names = [method.name for method in results.methods]
    config = {
        "table": results.table,
        "methods": names,
        "seeds": list(results.seeds),
        "settings": list(results.settings),
    }
    published = PUBLISHED.get(results.table, {})
    return {
        **json.loads(record(config)),
        "labels": label_rule(results.table, results.parts),
        "distances": "fmm",
        "radius": RADIUS,
        "parts": {
            part: {"name": shapes.name, "train": list(shapes.train), "test": list(shapes.test)}
            for part, shapes in results.parts.items()
        },
        "methods": {method.name: method_dict(results, method) for method in results.methods},
        "published": {
            name: {"exact": round(exact / 100, 4), "within": round(within / 100, 4)}
            for name, (exact, within) in published.items()
        },
        "baseline": results.baseline.name,
        "runs": [
            {"method": trial.method.name, "part": trial.part, "seed": trial.seed, **trial.record()}
            for trial in results.trials
        ],
        "grid": DEFAULT_GRID.tolist(),
        "curves": {name: _curves(results, name) for name in names},
    }


def method_dict(results: Results, method: Method) -> dict[str, Any]:
    """Cost and figures of a method, by normalization and vertices."""
    runs = [trial.record()["config"] for trial in results.trials if trial.method == method]
    peaks = [run["peak_gib"] for run in runs if run["peak_gib"] is not None]
    return {
        "note": method.note,
        "prepare": dataclasses.asdict(method.prepare),
        "seconds_per_epoch": mean(run["seconds_per_epoch"] for run in runs),
        "peak_gib": max(peaks, default=None),
        "devices": sorted({run["device"] for run in runs}),
        **{
            normalization: {v: _figures(results, method.name, normalization, v) for v in VERTICES}
            for normalization in NORMALIZATIONS
        },
    }


def _figures(
    results: Results, method: str, normalization: str, vertices: Vertices
) -> dict[str, Any]:
    ours = results.of(normalization, vertices, method)
    return {
        "all": spread(ours),
        "minus_baseline": paired(ours, results.of(normalization, vertices, results.baseline.name)),
        "parts": {
            part: spread(results.of(normalization, vertices, method, part))
            for part in results.parts
            if part
        },
    }


def _curves(results: Results, method: str) -> dict[str, Any]:
    """Mean curves over the seeds, by normalization and vertices."""
    return {
        normalization: {
            vertices: None
            if (found := results.summary(normalization, vertices, method)) is None
            else found.curve.tolist()
            for vertices in VERTICES
        }
        for normalization in NORMALIZATIONS
    }
