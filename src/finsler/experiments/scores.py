"""The scores of all networks of a table, over seeds and parts, and beside a baseline."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from finsler.evaluation import (
    MEASURES,
    UNITS,
    RunScore,
    Score,
    Summary,
    Vertices,
    choose_distances,
    combine,
    evaluate,
    load_predictions,
    student_interval,
    summarize,
)
from finsler.experiments.methods import Method
from finsler.experiments.trials import Plan, Trial
from finsler.mesh.summary import one_line


@one_line("scores")
@dataclass(frozen=True, eq=False)
class Results:
    """The scores of a table; `scores` has them by unit of the errors and trial."""

    plan: Plan
    scores: dict[tuple[str, Trial], RunScore]

    @property
    def methods(self) -> tuple[Method, ...]:
        """The methods, each once."""
        return tuple(dict.fromkeys(trial.method for trial in self.plan.trials))

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of each method, ascending."""
        return tuple(sorted({trial.seed for trial in self.plan.trials}))

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
        self, unit: str, vertices: Vertices, method: str, part: str | None = None
    ) -> list[Score] | None:
        """A score for each seed, of one part or of the vertices of all; None without vertices."""
        pooled = []
        for seed in self.seeds:
            runs = [
                self.scores[unit, trial]
                for trial in self.plan.trials
                if (trial.method.name, trial.seed) == (method, seed) and part in (None, trial.part)
            ]
            scores = [score for run in runs if (score := getattr(run, vertices)) is not None]
            if not scores:
                return None
            pooled.append(combine(scores))
        return pooled

    def summary(self, unit: str, vertices: Vertices, method: str) -> Summary | None:
        """Means over the seeds with intervals, and the mean curve."""
        scores = self.of(unit, vertices, method)
        return None if scores is None else summarize(scores)


def score_trials(plan: Plan) -> Results:
    """Score the predictions of all trials in both units; the distances of a part serve all.

    Raises
    ------
    InputError
        Predictions are missing or damaged, or do not fit the collection.
    """
    scores: dict[tuple[str, Trial], RunScore] = {}
    for part, collection in plan.parts.items():
        shapes = dataclasses.replace(collection, load=functools.cache(collection.load))
        own = {trial.label: trial for trial in plan.trials if trial.part == part}
        runs = {label: load_predictions(trial.predictions, shapes) for label, trial in own.items()}
        distances = choose_distances(shapes[shapes.reference].mesh, cache=plan.work / "distances")
        for unit in UNITS:
            scored = evaluate(runs, shapes, distances, unit=unit)
            scores |= {(unit, trial): scored.runs[label] for label, trial in own.items()}
    return Results(plan, scores)


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
    differences = {}
    for name in MEASURES:
        pairs = zip(ours, base, strict=True)
        values = [getattr(a, name) - getattr(b, name) for a, b in pairs]
        known = _spread(values)
        half = student_interval(values).half_width if known["mean"] is not None else None
        differences[name] = {**known, "half_width": half}
    return differences
