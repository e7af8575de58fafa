"""Score the predictions of one or several runs on a collection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import ArrayLike

from finsler.data.collection import Collection, Shape
from finsler.errors import InputError
from finsler.evaluation.curves import Score, Summary, combine, score, summarize
from finsler.evaluation.distances import Distances
from finsler.evaluation.error import geodesic_errors
from finsler.evaluation.predictions import Predictions
from finsler.mesh.summary import one_line

# The vertices that a score is about, and how they are called in a text.
Vertices = Literal["named", "every"]
VERTICES: dict[Vertices, str] = {"named": "vertices with ground truth", "every": "all vertices"}


@dataclass(frozen=True, eq=False)
class ShapeScore:
    """The errors on one shape.

    Attributes
    ----------
    name : str
    named : Score or None
        On the vertices whose label is ground truth, `Shape.named`; None where there are none.
    every : Score
        On all vertices, also those whose label was filled in by the collection's rule.
    """

    name: str
    named: Score | None
    every: Score


@one_line("shapes", "named", "every")
@dataclass(frozen=True, eq=False)
class RunScore:
    """The errors of one run: of each shape, and of all vertices together."""

    shapes: tuple[ShapeScore, ...]
    named: Score | None
    every: Score
    record: Mapping[str, Any]


@one_line("collection", "runs", "missing", "unit", "method")
@dataclass(frozen=True, eq=False)
class Evaluation:
    """Runs on one collection, and what is needed to understand their figures.

    Attributes
    ----------
    collection : str
    runs : mapping of str to RunScore
        By label; all on the same shapes.
    missing : tuple of str
        Test shapes without predictions.
    unit : {"sqrt_area", "diameter"}
        What errors are divided by.
    method : str
        Of the distances.
    area, diameter : float
        Of the reference, in units of its mesh; the diameter None where it was not needed.
    level : float
        Of the confidence intervals.
    """

    collection: str
    runs: Mapping[str, RunScore]
    missing: tuple[str, ...]
    unit: str
    method: str
    area: float
    diameter: float | None
    level: float

    @property
    def shapes(self) -> tuple[str, ...]:
        """Names of the shapes that were scored."""
        return tuple(shape.name for shape in next(iter(self.runs.values())).shapes)

    def summary(self, vertices: Vertices, shape: str | None = None) -> Summary | None:
        """Means over the runs with intervals, of one shape or of all vertices together.

        None where no vertex has ground truth.
        """
        scores = []
        for run in self.runs.values():
            of = run if shape is None else run.shapes[self.shapes.index(shape)]
            part: Score | None = getattr(of, vertices)
            if part is None:
                return None
            scores.append(part)
        return summarize(scores, level=self.level)


def score_shape(
    shape: Shape,
    predicted: ArrayLike,
    distances: Distances,
    *,
    unit: str = "sqrt_area",
) -> ShapeScore:
    """Score the predictions for one shape; see `geodesic_errors`."""
    try:
        errors = geodesic_errors(predicted, shape.labels, distances, unit=unit)
    except InputError as error:
        raise InputError(f"shape {shape.name!r}: {error}") from error
    named = score(errors, shape.named) if shape.named.any() else None
    return ShapeScore(shape.name, named, score(errors))


def evaluate(
    runs: Mapping[str, Predictions],
    collection: Collection,
    distances: Distances,
    *,
    unit: str = "sqrt_area",
    level: float = 0.95,
    progress: Callable[[str], None] = lambda name: None,
) -> Evaluation:
    """Score runs, e.g. the seeds of one experiment, on the shapes that they predict.

    Parameters
    ----------
    runs : mapping of str to Predictions
        By label; all must cover the same shapes.
    collection : Collection
    distances : ReferenceDistances or DistancesOnDemand
        On its reference.
    unit : {"sqrt_area", "diameter"}
        What errors are divided by.
    level : float
        Of the confidence intervals.
    progress : callable
        Called with the name of each shape that is done, for each run.

    Raises
    ------
    InputError
        No run, runs on different shapes, or predictions that do not fit.
    """
    if len(runs) == 0:
        raise InputError("there is no run to evaluate; give at least one file of predictions")
    (first, example), *others = runs.items()
    for label, run in others:
        if set(run.names) != set(example.names):
            differ = sorted(set(run.names) ^ set(example.names))
            raise InputError(
                f"{first} and {label} differ in the shapes that they predict, e.g. {differ[0]!r};"
                " runs are only comparable on the same shapes"
            )
    shapes: dict[str, list[ShapeScore]] = {label: [] for label in runs}
    for name in example.names:
        shape = collection[name]
        for label, run in runs.items():
            shapes[label].append(score_shape(shape, run.vertices[name], distances, unit=unit))
            progress(name)
    return Evaluation(
        collection=collection.name,
        runs={label: _run_score(shapes[label], run.record) for label, run in runs.items()},
        missing=tuple(name for name in collection.test if name not in example.vertices),
        unit=unit,
        method=distances.method,
        area=distances.area,
        diameter=distances.diameter if unit == "diameter" else None,
        level=level,
    )


def _run_score(shapes: list[ShapeScore], record: Mapping[str, Any]) -> RunScore:
    named = [shape.named for shape in shapes if shape.named is not None]
    every = combine([shape.every for shape in shapes])
    return RunScore(tuple(shapes), combine(named) if named else None, every, record)
