"""The networks behind a table: which are trained already, and training of those that are not."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from finsler.data import Collection, PrepareConfig, Store
from finsler.errors import InputError
from finsler.experiments.tables import Method
from finsler.storage.json import parse_json
from finsler.storage.npz import read_npz

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from finsler.nn.training import About, TrainConfig

PREDICTIONS = "predictions.npz"

# Settings of a preparation that are not the method's own.
_PREPARE_SETTINGS = (
    "smoothing",
    "peak",
    "descriptor",
    "radius",
    "bins",
    "support",
    "support_apart",
)


@dataclass(frozen=True, eq=False)
class Trial:
    """One network: a method on a part of the table, with a seed."""

    method: Method
    part: str
    seed: int
    collection: Collection
    config: TrainConfig
    folder: Path

    @property
    def label(self) -> str:
        """For the user."""
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
        from finsler.nn.training import TrainConfig

        try:
            found = parse_json(str(read_npz(self.predictions, ("config",))["config"]))
            about: dict[str, Any] = found["config"]
            there = {"collection": about["store"], **about["prepare"]}
            missing = {"seconds_per_epoch", "peak_gib", "device"} - about.keys()
            learned = TrainConfig.of(about["train"])
            if missing:
                raise KeyError(min(missing))
        except (InputError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"{self.predictions}: this is not what `finsler reproduce` wrote"
                f" ({str(error)[:100]})"
            ) from error
        here = {"collection": self.collection.name, **dataclasses.asdict(self.method.prepare)}
        pairs = {name: (there.get(name), value) for name, value in here.items()}
        changed = learned.differences(self.config)
        pairs |= {name: (getattr(learned, name), getattr(self.config, name)) for name in changed}
        for name, (old, new) in pairs.items():
            if old != new:
                raise InputError(
                    f"{self.folder}: this run has {name} = {old}, not {new}; take another --out,"
                    " or delete that folder"
                )
        return dict(found)


def plan_trials(
    methods: Sequence[Method],
    parts: Mapping[str, Collection],
    seeds: Sequence[int],
    settings: Sequence[str],
    *,
    device: str,
    out: Path,
) -> list[Trial]:
    """All networks of a table, by method, part and seed."""
    from finsler.nn.training import TrainConfig

    found = []
    for method in methods:
        config = TrainConfig(device=device).override([*method.settings, *settings])
        for part, collection in parts.items():
            for seed in seeds:
                own = dataclasses.replace(config, seed=seed)
                folder = out / "runs" / method.folder / part / f"seed-{seed}"
                found.append(Trial(method, part, seed, collection, own, folder))
    return found


def with_settings(
    methods: Sequence[Method], settings: Sequence[str]
) -> tuple[tuple[Method, ...], list[str]]:
    """The methods with what `--set` says about preparing, and the settings of training."""
    training, preparing = [], {}
    for setting in settings:
        name, _, text = setting.partition("=")
        if name in ("seed", "device"):
            raise InputError(f"{setting}: use --{name}{'s' * (name == 'seed')}, not --set")
        if name in _PREPARE_SETTINGS:
            preparing[name] = _parsed(name, text)
        elif name in {field.name for field in dataclasses.fields(PrepareConfig)}:
            raise InputError(f"{setting}: {name} follows from the method; choose another method")
        else:
            training.append(setting)
    changed = (
        dataclasses.replace(m, prepare=dataclasses.replace(m.prepare, **preparing)) for m in methods
    )
    return tuple(changed), training


def _parsed(name: str, text: str) -> Any:
    kind = type(getattr(PrepareConfig(), name))
    if kind is bool:
        if text not in ("true", "false"):
            raise InputError(f"{name} is {text!r}; it must be true or false")
        return text == "true"
    try:
        return kind(text)
    except ValueError as error:
        raise InputError(f"{name} is {text!r}; it must be a number") from error


def store_folder(work: Path, trial: Trial) -> Path:
    """Where the shapes of a trial are prepared; one folder for each collection and preparation."""
    about = json.dumps(dataclasses.asdict(trial.method.prepare), sort_keys=True)
    name = re.sub(r"[^\w.-]+", "-", trial.collection.name)
    return work / "stores" / f"{name}-{hashlib.sha256(about.encode()).hexdigest()[:12]}"


def train_trial(
    trial: Trial,
    store: Store,
    *,
    on_epoch: Callable[[dict[str, Any]], None],
    notify: Callable[[str], None],
) -> About:
    """Train, or go on, and write the predictions of the test shapes."""
    from finsler.evaluation import save_predictions
    from finsler.nn.training import predict, train

    network, about = train(store, trial.folder, trial.config, on_epoch=on_epoch, notify=notify)
    found = predict(network, store, store.test, about=about)
    said = {
        "store": store.name,
        "data": about.data,
        "train": dataclasses.asdict(trial.config),
        "prepare": dataclasses.asdict(about.prepare),
        **costs(about.history),
        "device": next(network.parameters()).device.type,
    }
    save_predictions(trial.predictions, found, said)
    return about


def costs(history: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Median time of an epoch, and the peak of device memory where there is a device."""
    peaks = [metrics["peak_gib"] for metrics in history if "peak_gib" in metrics]
    return {
        "seconds_per_epoch": median(metrics["seconds"] for metrics in history),
        "peak_gib": max(peaks, default=None),
    }


def train_trials(trials: Sequence[Trial], work: Path, *, jobs: int | None) -> None:
    """Train what is not trained yet; shapes are prepared where a network needs them."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    hidden = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        for _, group in groupby(trials, key=lambda trial: store_folder(work, trial)):
            store = None
            for trial in group:
                if trial.predictions.exists():
                    trial.record()
                    _say(trial.label, "found, not trained again")
                    continue
                store = store or _prepared(trial, work, bar, jobs)
                task = bar.add_task(trial.label, total=trial.config.epochs)
                about = train_trial(
                    trial,
                    store,
                    on_epoch=partial(_advance, bar, task),
                    notify=partial(_say, trial.label),
                )
                bar.remove_task(task)
                _say(trial.label, _line(about.history))


def _prepared(trial: Trial, work: Path, bar: Progress, jobs: int | None) -> Store:
    from finsler.data import prepare

    shapes = trial.collection
    total = len({*shapes.names, shapes.reference})
    task = bar.add_task(f"preparing {shapes.name}, {trial.method.name}", total=total)
    done = prepare(
        shapes,
        store_folder(work, trial),
        trial.method.prepare,
        jobs=min(jobs or os.cpu_count() or 1, total),
        progress=lambda name, outcome: bar.advance(task),
    )
    bar.remove_task(task)
    return done.store


def _line(history: Sequence[Mapping[str, Any]]) -> str:
    last = history[-1]
    exact = next((last[key] for key in ("test_named", "test_every") if key in last), 0.0)
    seconds = costs(history)["seconds_per_epoch"]
    return f"{100 * exact:.2f}% exact after {last['epoch']} epochs of {seconds:.2f} s"


def _advance(bar: Progress, task: TaskID, metrics: Mapping[str, Any]) -> None:
    bar.update(task, completed=metrics["epoch"])


def _say(label: str, sentence: str) -> None:
    # While a bar is shown, rich prints this above it.
    print(f"{label}: {sentence}", file=sys.stderr, flush=True)
