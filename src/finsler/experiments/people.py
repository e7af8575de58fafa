"""A small experiment without data: networks learn to match synthetic people, and are scored."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from finsler.data import Collection, PrepareConfig, Store, synthetic_collection
from finsler.evaluation import (
    Distances,
    Evaluation,
    Predictions,
    choose_distances,
    evaluate,
    load_predictions,
)
from finsler.evaluation.report import markdown_rows
from finsler.experiments.methods import Method
from finsler.experiments.trials import Trial, train_trials
from finsler.matching.nearest import nearest_rows
from finsler.nn.training import TrainConfig

# Radii of the table, as shares of √area.
RADII = (0.0, 0.05, 0.1)
# Of SHOT, as a share of √area: five edges of a mesh as coarse as these.
_RADIUS = 0.2
_EXPLANATION = """\
# Correspondence of synthetic people

{train} people to learn from and {test} held out, of other bodies, in other poses and with other
meshes; {vertices} vertices each. The error of a vertex is the geodesic distance on the reference
between the predicted and the true vertex, divided by √area; counted are the vertices whose truth is
exact. "Nearest descriptor" compares SHOT and learns nothing. LBO and FLBO are one network with one
seed, and only the operator differs; at constant τ the rescaled FLBO is the rescaled ALBO. One run
of each says little about small differences.

"""


@dataclass(frozen=True)
class Lesson:
    """How much is learned from what, and with which network.

    Of people with so many `vertices`, `train` are learned from and `test` others are held out, in
    `poses` poses of each body.
    """

    vertices: int
    train: int
    test: int
    poses: int
    angles: int
    channels: int
    hidden: int
    epochs: int

    def collection(self) -> Collection:
        """The people, each made once and kept."""
        made = synthetic_collection(
            "humanoid",
            train=self.train,
            test=self.test,
            poses=self.poses,
            vertices=self.vertices,
        )
        return dataclasses.replace(made, load=functools.cache(made.load))

    def trials(self, shapes: Collection, out: Path) -> tuple[Trial, ...]:
        """One network with the LBO and one with the FLBO.

        The LBO is there as often as there are angles, so that both networks are the same.
        """
        flbo = PrepareConfig(angles=self.angles, radius=_RADIUS)
        lbo = dataclasses.replace(flbo, alpha=0.0, tau=0.0)
        config = self.training()
        return tuple(
            Trial(Method(name, prepare), "", 0, shapes, config, out / "runs" / folder, store)
            for name, prepare in (("LBO", lbo), ("FLBO", flbo))
            for folder in [name.lower()]
            for store in [out / "store" / folder]
        )

    def training(self) -> TrainConfig:
        """Few steps at a high rate; the network is kept after the last epoch only."""
        return TrainConfig(
            channels=self.channels,
            layers=4,
            order=8,
            hidden=self.hidden,
            dropout=0.3,
            label_smoothing=0.1,
            epochs=self.epochs,
            learning_rate=0.01,
            schedule="onecycle",
            evaluate_every=self.epochs,
            checkpoint_every=self.epochs,
            device="cpu",
        )


FULL = Lesson(vertices=800, train=40, test=4, poses=2, angles=4, channels=32, hidden=128, epochs=16)
QUICK = Lesson(vertices=500, train=12, test=1, poses=2, angles=2, channels=16, hidden=64, epochs=20)


@dataclass(frozen=True, eq=False)
class Learned:
    """What came of a lesson.

    Attributes
    ----------
    lesson : Lesson
    store : Store
        The people as the network with the FLBO sees them.
    runs : mapping of str to Predictions
        Of "chance", "nearest descriptor", "LBO" and "FLBO".
    distances : ReferenceDistances or DistancesOnDemand
    evaluation : Evaluation
    histories : mapping of str to list of dict
        The metrics of each epoch, of both networks.
    parameters : mapping of str to int
    """

    lesson: Lesson
    store: Store
    runs: dict[str, Predictions]
    distances: Distances
    evaluation: Evaluation
    histories: dict[str, list[dict[str, Any]]]
    parameters: dict[str, int]

    def shares(self) -> dict[str, dict[str, float]]:
        """By run: the share of the vertices within each of `RADII`, and 100 × the mean error."""
        shares_of = {}
        for name, run in self.evaluation.runs.items():
            assert run.named is not None
            at = np.searchsorted(run.named.grid, np.array(RADII) - 1e-9)
            shares = zip(map("within_{:g}".format, RADII), run.named.curve[at], strict=True)
            shares_of[name] = {
                **{key: float(share) for key, share in shares},
                "mean": run.named.mean,
            }
        return shares_of

    def summary(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        return {
            "lesson": dataclasses.asdict(self.lesson),
            "scores": self.shares(),
            "parameters": self.parameters,
            "seconds": {
                name: sum(float(epoch["seconds"]) for epoch in history)
                for name, history in self.histories.items()
            },
        }

    def table(self) -> str:
        """The shares as Markdown, with an explanation."""
        rows = []
        for name, row in self.shares().items():
            *shares, mean = row.values()
            rows.append([name, *[f"{100 * share:.1f}" for share in shares], f"{mean:.1f}"])
        within = [f"within {radius:g}, %" for radius in RADII[1:]]
        table = markdown_rows(["", "exact, %", *within, "mean × 100"], rows)
        return _EXPLANATION.format(**dataclasses.asdict(self.lesson)) + table


def learn_people(
    out: Path,
    lesson: Lesson,
    *,
    on_shape: Callable[[Trial, str], None] = lambda trial, name: None,
    on_epoch: Callable[[Trial, dict[str, Any]], None] = lambda trial, metrics: None,
) -> Learned:
    """Make people, prepare them, train on some and match the others.

    Writes `store/` and `runs/` to the folder; runs that lie there are trained anew.

    Parameters
    ----------
    out : Path
    lesson : Lesson
    on_shape, on_epoch : callable
        As for [`train_trials`][finsler.experiments.train_trials].
    """
    shapes = lesson.collection()
    trials = lesson.trials(shapes, out)
    histories: dict[str, list[dict[str, Any]]] = {trial.method.name: [] for trial in trials}

    def keep(trial: Trial, metrics: dict[str, Any]) -> None:
        histories[trial.method.name].append(metrics)
        on_epoch(trial, metrics)

    train_trials(trials, jobs=1, restart=True, on_shape=on_shape, on_epoch=keep)
    store = Store.open(trials[-1].store)
    runs = {"chance": _chance(shapes, lesson), "nearest descriptor": _nearest_descriptor(store)}
    runs |= {trial.method.name: load_predictions(trial.predictions, shapes) for trial in trials}
    distances = choose_distances(shapes[shapes.reference].mesh)
    parameters = {t.method.name: int(t.record()["config"]["parameters"]) for t in trials}
    scored = evaluate(runs, shapes, distances)
    return Learned(lesson, store, runs, distances, scored, histories, parameters)


def _chance(shapes: Collection, lesson: Lesson) -> Predictions:
    """Any vertex of the reference, with equal probability."""
    random, n = np.random.default_rng(0), lesson.vertices
    return Predictions({name: random.integers(n, size=n) for name in shapes.test}, {})


def _nearest_descriptor(store: Store) -> Predictions:
    """The vertex of the reference with the nearest SHOT descriptor: nothing is learned."""
    goal = store[store.reference].features
    return Predictions({name: nearest_rows(store[name].features, goal) for name in store.test}, {})
