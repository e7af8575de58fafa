"""The second part of `finsler demo`: learn correspondences of people that it makes itself."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finsler.cli.demo_pictures import draw_curves, draw_people, people_views
from finsler.cli.demo_report import learning_blocks
from finsler.cli.options import working

if TYPE_CHECKING:
    from finsler.data import Collection, PrepareConfig, Store
    from finsler.evaluation import Evaluation, Predictions
    from finsler.nn.training import TrainConfig
    from finsler.view.report import Html

# Radii of the table, as shares of √area.
_RADII = (0.0, 0.05, 0.1)

# Between two lines of progress, where there is no terminal for a bar.
_EPOCHS_A_LINE = 5
# Of SHOT, as a share of √area: five edges of a mesh as coarse as these.
_RADIUS = 0.2
_EXPLANATION = """\
# Correspondence of synthetic people

{train} people to learn from and {test} held out, of other bodies, in other poses and with other
meshes; {vertices} vertices each. The error of a vertex is the geodesic distance on the reference
between its predicted and its true place, divided by √area; counted are the vertices whose truth is
exact. "Nearest descriptor" compares SHOT and learns nothing. LBO and FLBO are one network with one
seed, and only the operator differs; at constant τ the rescaled FLBO is the rescaled ALBO. One run
of each says little about small differences.

"""


@dataclass(frozen=True)
class Lesson:
    """How much is learned from what, and with which network.

    `train` people are learned from and `test` others are held out, in `poses` poses of each body.
    """

    vertices: int
    train: int
    test: int
    poses: int
    angles: int
    channels: int
    hidden: int
    epochs: int


FULL = Lesson(vertices=800, train=40, test=4, poses=2, angles=4, channels=32, hidden=128, epochs=16)
QUICK = Lesson(vertices=500, train=12, test=1, poses=2, angles=2, channels=16, hidden=64, epochs=20)


def learn(out: Path, lesson: Lesson) -> tuple[dict[str, Any], list[Html]]:
    """Make people, prepare them, train on some and match the others; what was found, and its page.

    Writes `store/`, `runs/`, `table.md`, `curves.png` and `correspondence.png` to the folder.
    """
    from finsler.evaluation import evaluate, reference_distances
    from finsler.storage.files import write_bytes

    shapes = _people(lesson)
    stores = {name: _prepared(out, name, shapes, lesson) for name in ("LBO", "FLBO")}
    runs = {"chance": _chance(shapes, lesson), "nearest descriptor": _nearest(stores["LBO"])}
    trained = {name: _trained(out, name, store, lesson) for name, store in stores.items()}
    runs |= {name: run.predictions for name, run in trained.items()}
    distances = reference_distances(shapes[shapes.reference].mesh)
    found = evaluate(runs, shapes, distances)
    shares = {name: _shares(found, name) for name in runs}
    for name, row in shares.items():
        print(f"{'':11}{name:18} {100 * row['within_0.05']:3.0f}% within 0.05 of the truth")
    table = _table(lesson, shares)
    write_bytes(out / "table.md", table.encode())
    views = people_views(stores["FLBO"], runs["FLBO"], distances)
    with working("figures"):
        draw_curves(out / "curves.png", found)
        draw_people(out / "correspondence.png", views)
    histories = {name: run.history for name, run in trained.items()}
    summary = {
        "lesson": dataclasses.asdict(lesson),
        "scores": shares,
        "parameters": {name: run.parameters for name, run in trained.items()},
        "seconds": {name: run.seconds for name, run in trained.items()},
    }
    return summary, learning_blocks(table, found, histories, views)


def _people(lesson: Lesson) -> Collection:
    """The collection, with every shape made once and kept."""
    from rich.console import Console
    from rich.progress import track

    from finsler.data import synthetic_collection

    made = synthetic_collection(
        "humanoid",
        train=lesson.train,
        test=lesson.test,
        poses=lesson.poses,
        vertices=lesson.vertices,
    )
    kept = dataclasses.replace(made, load=functools.cache(made.load))
    console, names = Console(stderr=True), (*kept.names, kept.reference)
    for name in track(
        names, "people", console=console, transient=True, disable=not console.is_terminal
    ):
        kept.load(name)
    print(
        f"people     {lesson.train} to learn from, {lesson.test} held out, of other bodies in other"
        f" poses; {lesson.vertices} vertices"
    )
    return kept


def _prepared(out: Path, name: str, shapes: Collection, lesson: Lesson) -> Store:
    from finsler.data import prepare

    with working(f"operators and descriptors, {name}"):
        return prepare(shapes, out / "store" / name.lower(), _operators(name, lesson)).store


def _operators(name: str, lesson: Lesson) -> PrepareConfig:
    """The LBO as often as there are angles, so that both networks are the same."""
    from finsler.data import PrepareConfig

    finsler = PrepareConfig(angles=lesson.angles, radius=_RADIUS)
    return finsler if name == "FLBO" else dataclasses.replace(finsler, alpha=0.0, tau=0.0)


def _training(lesson: Lesson) -> TrainConfig:
    """Few steps at a high rate; the network is kept after the last epoch alone."""
    from finsler.nn.training import TrainConfig

    return TrainConfig(
        channels=lesson.channels,
        layers=4,
        order=8,
        hidden=lesson.hidden,
        dropout=0.3,
        label_smoothing=0.1,
        epochs=lesson.epochs,
        learning_rate=0.01,
        schedule="onecycle",
        evaluate_every=lesson.epochs,
        checkpoint_every=lesson.epochs,
        device="cpu",
    )


def _chance(shapes: Collection, lesson: Lesson) -> Predictions:
    """Any vertex of the reference, with equal probability."""
    import numpy as np

    from finsler.evaluation import Predictions

    random = np.random.default_rng(0)
    n = lesson.vertices
    return Predictions({name: random.integers(n, size=n) for name in shapes.test}, {})


def _nearest(store: Store) -> Predictions:
    """The vertex of the reference with the nearest SHOT descriptor: nothing is learned."""
    from finsler.evaluation import Predictions
    from finsler.matching.nearest import nearest_rows

    goal = store[store.reference].features
    return Predictions({name: nearest_rows(store[name].features, goal) for name in store.test}, {})


@dataclass(frozen=True, eq=False)
class _Trained:
    predictions: Predictions
    parameters: int
    history: tuple[dict[str, Any], ...]

    @property
    def seconds(self) -> float:
        """Of training."""
        return sum(float(epoch["seconds"]) for epoch in self.history)


def _trained(out: Path, name: str, store: Store, lesson: Lesson) -> _Trained:
    """Train on the training shapes of a store, and match its test shapes."""
    import numpy as np

    from finsler.evaluation import Predictions
    from finsler.nn.training import predict, train

    folder, config = out / "runs" / name.lower(), _training(lesson)
    with _progress(name, config.epochs) as show:
        network, about = train(store, folder, config, restart=True, on_epoch=show)
    found = predict(network, store, store.test, about=about)
    return _Trained(
        Predictions({shape: matched.astype(np.int64) for shape, matched in found.items()}, {}),
        sum(weights.numel() for weights in network.parameters()),
        about.history,
    )


@contextmanager
def _progress(name: str, epochs: int) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Shows the metrics of an epoch: as a bar on a terminal, else as a line now and then."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    console = Console(stderr=True)
    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    terminal = console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=not terminal) as bar:
        task = bar.add_task(f"training {name}", total=epochs)

        def show(metrics: dict[str, Any]) -> None:
            epoch, text = metrics["epoch"], f"training {name}: loss {metrics['loss']:.2f}"
            bar.update(task, completed=epoch, description=text)
            if not terminal and (epoch % _EPOCHS_A_LINE == 0 or epoch == epochs):
                print(f"{'':11}{text}, epoch {epoch} of {epochs}", flush=True)

        yield show


def _shares(found: Evaluation, name: str) -> dict[str, float]:
    """Share of the vertices within each radius, and the mean error times 100."""
    import numpy as np

    scored = found.runs[name].named
    assert scored is not None
    at = np.searchsorted(scored.grid, np.array(_RADII) - 1e-9)
    shares = dict(zip(map("within_{:g}".format, _RADII), scored.curve[at].tolist(), strict=True))
    return {**shares, "mean": scored.mean}


def _table(lesson: Lesson, rows: dict[str, dict[str, float]]) -> str:
    headings = ["", "exact, %", *[f"within {radius:g}, %" for radius in _RADII[1:]], "mean × 100"]
    lines = [headings, ["---", *["---:"] * (len(headings) - 1)]]
    for name, row in rows.items():
        *shares, mean = row.values()
        lines.append([name, *[f"{100 * share:.1f}" for share in shares], f"{mean:.1f}"])
    return _EXPLANATION.format(**dataclasses.asdict(lesson)) + "".join(
        f"| {' | '.join(line)} |\n" for line in lines
    )
