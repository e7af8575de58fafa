"""Trials: networks to be trained, each once, and training of those that are not trained yet."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any

from finsler.data import Collection, PrepareConfig, Store, prepare
from finsler.errors import InputError
from finsler.evaluation import save_predictions
from finsler.experiments.methods import Method, apply_settings, parse_methods, recipe_settings
from finsler.experiments.tables import open_parts
from finsler.mesh.summary import one_line
from finsler.nn.training import About, TrainConfig, predict, train
from finsler.nn.training.loop import PREDICTIONS
from finsler.storage.hashing import content_key
from finsler.storage.json import parse_json
from finsler.storage.npz import read_npz


@dataclass(frozen=True, eq=False)
class Trial:
    """One network: a method on a part of a table, with a seed.

    Attributes
    ----------
    method : Method
    part : str
        Name of the part of the table, "" where there is one.
    seed : int
    collection : Collection
    config : TrainConfig
    folder : Path
        Of the run, with checkpoints and at the end `predictions.npz`.
    store : Path
        Where the shapes are prepared; trials with the same preparation share it.
    """

    method: Method
    part: str
    seed: int
    collection: Collection
    config: TrainConfig
    folder: Path
    store: Path

    @property
    def label(self) -> str:
        """Method, part and seed, for messages."""
        return ", ".join(filter(None, (self.method.name, self.part, f"seed {self.seed}")))

    @property
    def predictions(self) -> Path:
        """The file that a finished run leaves."""
        return self.folder / PREDICTIONS

    def record(self) -> dict[str, Any]:
        """What the file of a finished run says of the run.

        Raises
        ------
        InputError
            The file is damaged, or of another configuration.
        """
        try:
            written = parse_json(str(read_npz(self.predictions, ("config",))["config"]))
            about: dict[str, Any] = written["config"]
            there = {"collection": about["store"], **about["prepare"]}
            missing = {"seconds_per_epoch", "peak_gib", "device"} - about.keys()
            trained = TrainConfig.of(about["train"])
            if missing:
                raise KeyError(min(missing))
        except (InputError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"{self.predictions}: this is not what `finsler reproduce` wrote"
                f" ({str(error)[:100]})"
            ) from error
        here = {"collection": self.collection.name, **dataclasses.asdict(self.method.prepare)}
        pairs = {name: (there.get(name), value) for name, value in here.items()}
        changed = trained.differences(self.config)
        pairs |= {name: (getattr(trained, name), getattr(self.config, name)) for name in changed}
        for name, (old, new) in pairs.items():
            if old != new:
                raise InputError(
                    f"{self.folder}: this run has {name} = {old}, not {new}; take another --out,"
                    " or delete that folder"
                )
        return dict(written)


@one_line("table", "parts", "trials")
@dataclass(frozen=True, eq=False)
class Plan:
    """All trials of a table; `work` is the folder of prepared shapes and distances."""

    table: str
    parts: Mapping[str, Collection]
    trials: tuple[Trial, ...]
    settings: tuple[str, ...]
    work: Path


def plan_table(
    table: str,
    collection: str,
    out: str | os.PathLike[str],
    *,
    methods: str = "lbo,albo,flbo:0.1",
    seeds: int = 5,
    recipe: str = "paper",
    settings: Sequence[str] = (),
    work: str | os.PathLike[str] | None = None,
    device: str = "auto",
) -> Plan:
    """Plan a table: which networks there are, by method, part and seed, and where they are kept.

    Parameters
    ----------
    table : {"faust", "scape", "cuts", "holes", "custom"}
    collection : str
        See `open_parts`.
    out : path
        Folder of the runs, `out/runs/METHOD/PART/seed-N`.
    methods : str
        Names with commas, see `parse_method`.
    seeds : int
        Networks for each method: seeds 0, 1, ...
    recipe : {"paper", "regularised"}
        How all networks are trained, unless a method or the settings say otherwise.
    settings : sequence of str
        KEY=VALUE of training, or of what all methods share in preparing.
    work : path, optional
        Folder of prepared shapes and distances; by default `out/work`.
    device : {"auto", "cpu", "cuda"}

    Raises
    ------
    InputError
        An unknown table, method or setting, or a collection that does not fit.
    """
    shared, usual = apply_settings(parse_methods(methods), recipe_settings(recipe))
    chosen, training = apply_settings(shared, settings)
    parts = open_parts(table, collection)
    base = Path(out)
    kept = base / "work" if work is None else Path(work)
    trials = []
    for method in chosen:
        config = TrainConfig(device=device).override([*usual, *method.settings, *training])
        for part, shapes in parts.items():
            store = _store_folder(kept, shapes, method.prepare)
            for seed in range(seeds):
                own = dataclasses.replace(config, seed=seed)
                folder = base / "runs" / method.folder / part / f"seed-{seed}"
                trials.append(Trial(method, part, seed, shapes, own, folder, store))
    named = [*recipe_settings(recipe), *settings]
    last = {setting.partition("=")[0]: setting for setting in named}
    return Plan(table, parts, tuple(trials), tuple(last.values()), kept)


def _store_folder(work: Path, shapes: Collection, config: PrepareConfig) -> Path:
    """One folder for each collection and preparation."""
    name = re.sub(r"[^\w.-]+", "-", shapes.name)
    return work / "stores" / f"{name}-{content_key(config.settings())[:12]}"


def train_trials(
    trials: Sequence[Trial],
    *,
    jobs: int | None = None,
    restart: bool = False,
    on_shape: Callable[[Trial, str], None] = lambda trial, name: None,
    on_epoch: Callable[[Trial, dict[str, Any]], None] = lambda trial, metrics: None,
    notify: Callable[[Trial, str], None] = lambda trial, sentence: None,
) -> None:
    """Train what is not trained yet; shapes are prepared where a network needs them.

    Parameters
    ----------
    trials : sequence of Trial
    jobs : int, optional
        Processes that prepare; by default one for each core.
    restart : bool
        Train all of them anew, and replace stores of another preparation.
    on_shape, on_epoch, notify : callable
        Called with a trial and: the name of a shape that is prepared, the metrics of an epoch, a
        sentence for the user.

    Raises
    ------
    InputError
        A finished run is of another configuration than its trial, or a shape cannot be used.
    """
    for _, group in groupby(trials, key=lambda trial: trial.store):
        store = None
        for trial in group:
            if trial.predictions.exists() and not restart:
                trial.record()
                notify(trial, "kept, not trained again")
                continue
            store = store or _prepared(trial, jobs, restart, on_shape)
            about = train_and_predict(
                store,
                trial.folder,
                trial.config,
                restart=restart,
                on_epoch=partial(on_epoch, trial),
                notify=partial(notify, trial),
            )
            notify(trial, _closing_line(about.history))


def _prepared(
    trial: Trial, jobs: int | None, overwrite: bool, on_shape: Callable[[Trial, str], None]
) -> Store:
    shapes = trial.collection
    total = len({*shapes.names, shapes.reference})
    return prepare(
        shapes,
        trial.store,
        trial.method.prepare,
        jobs=min(jobs or os.cpu_count() or 1, total),
        overwrite=overwrite,
        progress=lambda name, outcome: on_shape(trial, name),
    ).store


def train_and_predict(
    store: Store,
    folder: str | os.PathLike[str],
    config: TrainConfig,
    *,
    restart: bool = False,
    on_step: Callable[[], None] = lambda: None,
    on_epoch: Callable[[dict[str, Any]], None] = lambda metrics: None,
    notify: Callable[[str], None] = lambda sentence: None,
) -> About:
    """Train a network, or go on, and write what it predicts for the test shapes of the store.

    Arguments are those of [`train`][finsler.nn.training.train]. The first process writes
    `predictions.npz` to the folder of the run, with its configuration and costs.
    """
    network, about = train(
        store, folder, config, restart=restart, on_step=on_step, on_epoch=on_epoch, notify=notify
    )
    # A network that learned maps names no vertices of a reference.
    if store.test and config.objective == "labels" and is_first_process():
        weights = list(network.parameters())
        record = {
            "store": store.name,
            "data": about.data,
            "train": config.record(),
            "prepare": dataclasses.asdict(about.prepare),
            **_costs(about.history),
            "parameters": sum(tensor.numel() for tensor in weights),
            "device": weights[0].device.type,
        }
        vertices = predict(network, store, store.test, about=about)
        save_predictions(Path(folder) / PREDICTIONS, vertices, record)
    return about


def is_first_process() -> bool:
    """Whether this is the only process of a training, or the first of several (`torchrun`)."""
    return os.environ.get("RANK", "0") == "0"


def _costs(history: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Median time of an epoch, and the peak of device memory where there is a device."""
    peaks = [metrics["peak_gib"] for metrics in history if "peak_gib" in metrics]
    return {
        "seconds_per_epoch": median(metrics["seconds"] for metrics in history),
        "peak_gib": max(peaks, default=None),
    }


def _closing_line(history: Sequence[Mapping[str, Any]]) -> str:
    last = history[-1]
    exact = next((last[key] for key in ("test_named", "test_every") if key in last), 0.0)
    seconds = _costs(history)["seconds_per_epoch"]
    return f"{100 * exact:.2f}% exact after {last['epoch']} epochs of {seconds:.2f} s"
