"""What `finsler train` and `finsler reproduce` do. Needs torch, which their options do not."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.progress import Progress, TaskID

from finsler.cli import reports
from finsler.cli.cluster_options import progress_bar, say
from finsler.data import Store, open_collection, prepare
from finsler.data.meshes import unlabelled_collection
from finsler.errors import InputError
from finsler.experiments import (
    Plan,
    Results,
    Trial,
    main_table,
    score_trials,
    table_dict,
    table_markdown,
    train_trials,
    write_table,
)
from finsler.experiments.trials import is_first_process, train_and_predict
from finsler.nn.training import About, Checkpoint, TrainConfig
from finsler.nn.training.log import METRICS
from finsler.nn.training.loop import BEST, CONFIG, LAST, PREDICTIONS, best_score
from finsler.nn.training.map_inputs import prepared_for_maps
from finsler.nn.training.maps import best_maps, epoch_groups
from finsler.nn.training.plan import epoch_batches, split
from finsler.storage.files import exists, local_path, location
from finsler.storage.outputs import require_outputs
from finsler.view import plot_error_curves
from finsler.view import report as page


def chosen_config(
    path: Path | None, settings: Sequence[str], given: Mapping[str, object]
) -> TrainConfig:
    """The settings of a file, then those of `--set`, then those that have options of their own."""
    chosen = TrainConfig() if path is None else TrainConfig.load(local_path(path))
    named = [f"{name}={value}" for name, value in given.items() if value is not None]
    return chosen.override([*settings, *named])


def train_network(
    store: str, out: Path, config: TrainConfig, *, restart: bool, overwrite: bool, as_json: bool
) -> None:
    """Train, or go on, with a bar; write the report, and print a summary."""
    local_path(out)
    opened = _opened(store, out, config)
    if not overwrite:
        _check_folder(out)
    if not restart:
        _check_best(out)
    report = _train(opened, out, config, restart)
    if not is_first_process():
        return
    if as_json:
        print(json.dumps(report, indent=2))
    else:
        _print_training(report)


def _opened(where: str, out: Path, config: TrainConfig) -> Store:
    """The store; to learn maps, meshes that are no store yet become one below the run's folder."""
    if config.objective == "labels" or exists(location(where) / "store.json"):
        return Store.open(where)
    if os.environ.get("WORLD_SIZE", "1") != "1":
        raise InputError(f"{where}: this is no store; run finsler prepare before torchrun")
    shapes = unlabelled_collection(where) or open_collection(where)
    prepared = prepared_for_maps(config)
    total = len({*shapes.names, shapes.reference})
    with progress_bar() as bar:
        task = bar.add_task(f"preparing {shapes.name}", total=total)
        return prepare(
            shapes,
            out / "store",
            prepared,
            jobs=min(os.cpu_count() or 1, total),
            progress=lambda name, outcome: bar.advance(task),
            notify=lambda name, sentence: say(f"{name}: {sentence}"),
        ).store


def make_table(
    plan: Plan, out: Path, *, jobs: int | None, stop: bool, overwrite: bool, as_json: bool
) -> None:
    """Train what is not trained yet, and unless told to stop there, score and write the table."""
    files = [out / f"{plan.table}.{ending}" for ending in ("json", "md", "png", "html")]
    require_outputs(files, overwrite=overwrite)
    with progress_bar() as bar:
        show = _Bars(bar)
        train_trials(
            plan.trials, jobs=jobs, on_shape=show.shape, on_epoch=show.epoch, notify=show.sentence
        )
    if stop:
        _print_table({"runs": [str(trial.folder) for trial in plan.trials]}, as_json)
        return
    results = score_trials(plan)
    write_table(results, out)
    _draw(files[2], results)
    _write_page(files[3], results)
    about = table_dict(results)
    short = {key: about[key] for key in about if key not in ("runs", "grid", "curves")}
    text = main_table(results, "sqrt_area", results.shown)
    _print_table({**short, "files": [str(path) for path in files]}, as_json, text)


def _check_folder(out: Path) -> None:
    """Raise where the folder is no run, but holds files that a run would replace."""
    names = (CONFIG, BEST, METRICS, PREDICTIONS, reports.NAME)
    files = [out / name for name in names if (out / name).exists()]
    if not files or (out / LAST).exists():
        return
    try:
        TrainConfig.load(out / CONFIG)
    except InputError as error:
        raise InputError(
            f"{files[0]}: this file exists and belongs to no run; add --overwrite to replace it, or"
            " give another folder"
        ) from error


def _check_best(out: Path) -> None:
    """See that the best network of a run is whole: going on, or finding it finished, reads others.

    Raises
    ------
    InputError
        It is damaged.
    """
    if (out / BEST).exists():
        try:
            Checkpoint.read(out / BEST)
        except InputError as error:
            raise InputError(f"{error}; or forget that run with --restart") from error


def _train(store: Store, out: Path, config: TrainConfig, restart: bool) -> dict[str, Any]:
    """Train, predict the test shapes, write the report, and sum up."""
    leads = is_first_process()
    with progress_bar(shown=leads) as bar:
        task = bar.add_task("training", total=config.epochs)
        steps = _steps(store, config)

        def show(metrics: dict[str, Any]) -> None:
            bar.update(task, completed=metrics["epoch"], description=_line(metrics))

        about = train_and_predict(
            store,
            out,
            config,
            restart=restart,
            on_step=lambda: bar.advance(task, 1 / steps),
            on_epoch=show,
            notify=say if leads else lambda sentence: None,
        )
    if leads:
        _write_training_report(out, store, about)
    return {
        "run": str(out),
        "store": store.name,
        "epochs": about.epoch,
        "last": about.history[-1],
        "predictions": str(out / PREDICTIONS) if (out / PREDICTIONS).exists() and leads else None,
        "report": str(out / reports.NAME),
        "best": _best(about.history, config),
    }


def _write_training_report(out: Path, store: Store, about: About) -> None:
    maps = about.config.objective == "maps"
    data = {
        "collection": store.name,
        "shapes to learn from": len(store.train),
        "test shapes": len(store.test),
        "reference": store.reference,
        ("features a vertex" if maps else "vertices of the reference"): about.classes,
        "channels": about.in_channels,
        "angles": about.angles,
    }
    config = {
        "train": about.config.record(),
        "prepare": dataclasses.asdict(about.prepare),
    }
    title = f"Training on {store.name}"
    reports.write(out / reports.NAME, title, page.training_blocks(about.history, data), config)


def _steps(store: Store, config: TrainConfig) -> float:
    """Steps of an epoch, for the bar; each epoch's end sets it right."""
    group = epoch_groups if config.objective == "maps" else epoch_batches
    batches = group(split(store.train, config)[0], config, 1)
    return len(batches) / int(os.environ.get("WORLD_SIZE", "1"))


def _best(history: tuple[dict[str, Any], ...], config: TrainConfig) -> dict[str, Any] | None:
    """The epoch of best.safetensors, and what it was chosen on."""
    if config.objective == "maps":
        return best_maps(history, config)
    score = best_score(history, config)
    if score < 0:
        return None
    epoch = next(m["epoch"] for m in history if best_score([m], config) == score)
    on = "validation" if config.validation else "test"
    return {"epoch": epoch, "share": score, "chosen_on": f"the {on} shapes"}


def _line(metrics: dict[str, Any]) -> str:
    text = f"loss {metrics['loss']:.4f}"
    shares = {"test_named": "with known partner", "test_every": "of all vertices"}
    exact = [
        f"{100 * metrics[key]:.2f}% {words}" for key, words in shares.items() if key in metrics
    ]
    text += f", exact on test shapes: {', '.join(exact)}" if exact else ""
    for key in ("validation_energy", "validation_error"):
        if key in metrics:
            text += f", {key.replace('_', ' ')} {metrics[key]:.4f}"
    return text


def _print_training(report: dict[str, Any]) -> None:
    last, best = report["last"], report["best"]
    print(f"{report['run']}: {report['epochs']} epochs on {report['store']}; {_line(last)}")
    if best is not None and "share" in best:
        print(
            f"best.safetensors is epoch {best['epoch']}, {100 * best['share']:.2f}%, chosen on"
            f" {best['chosen_on']}; the figures above are those of the last epoch"
        )
    if best is not None and "share" not in best:
        print(f"best.safetensors is epoch {best['epoch']}, of least {best['chosen_on']}")
    if report["predictions"] is not None:
        print(f"Wrote {report['predictions']}")
    print(f"Wrote {report['report']}")


class _Bars:
    """Bars of preparing and training, one at a time, and sentences above them."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._tasks: dict[str, TaskID] = {}

    def _task(self, title: str, total: int) -> TaskID:
        if title not in self._tasks:
            for old in self._tasks.values():
                self._bar.update(old, visible=False)
            self._tasks[title] = self._bar.add_task(title, total=total)
        return self._tasks[title]

    def shape(self, trial: Trial, name: str) -> None:
        """One more shape is prepared."""
        shapes = trial.collection
        copies = trial.method.prepare.copies * len(shapes.train)
        total = copies + len({*shapes.names, shapes.reference})
        self._bar.advance(self._task(f"preparing {shapes.name}, {trial.method.name}", total))

    def epoch(self, trial: Trial, metrics: Mapping[str, Any]) -> None:
        """One more epoch is done."""
        self._bar.update(self._task(trial.label, trial.config.epochs), completed=metrics["epoch"])

    def sentence(self, trial: Trial, sentence: str) -> None:
        """While a bar is shown, rich prints this above it."""
        print(f"{trial.label}: {sentence}", file=sys.stderr, flush=True)


def _write_page(path: Path, results: Results) -> Path:
    scores = {m.name: results.of("sqrt_area", results.shown, m.name) for m in results.methods}
    curves = [page.interval_curve(name, of) for name, of in scores.items() if of]
    plan = results.plan
    names = ", ".join(shapes.name for shapes in plan.parts.values())
    config = {
        "table": plan.table,
        "methods": [method.name for method in results.methods],
        "seeds": results.seeds,
        "settings": plan.settings,
    }
    blocks = [
        page.section("Error curves", page.error_chart(curves)),
        page.markdown(table_markdown(results)),
    ]
    return reports.write(path, f"{plan.table}: {names}", blocks, config)


def _print_table(about: Mapping[str, Any], as_json: bool, text: str = "") -> None:
    if as_json:
        print(json.dumps(about, indent=2, allow_nan=False))
        return
    print(text, end="")
    for path in about.get("files", about.get("runs", ())):
        print(f"Wrote {path}")


def _draw(path: Path, results: Results) -> Path:
    summaries = {
        m.name: results.summary("sqrt_area", results.shown, m.name) for m in results.methods
    }
    curves = {name: (of.grid, of.curve) for name, of in summaries.items() if of}
    return plot_error_curves(path, curves)
