"""`finsler train`: learn correspondences from a prepared store."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from finsler.cli import reports
from finsler.cli.cluster_options import progress_bar
from finsler.cli.options import AsJson
from finsler.cli.results import Overwrite
from finsler.data import Store
from finsler.errors import InputError
from finsler.experiments.trials import is_first_process, train_and_predict
from finsler.nn.training import About, Checkpoint, TrainConfig
from finsler.nn.training.config import settings_table
from finsler.nn.training.log import METRICS
from finsler.nn.training.loop import BEST, CONFIG, LAST, PREDICTIONS, best_score
from finsler.nn.training.plan import epoch_batches, split
from finsler.storage.files import local_path
from finsler.view.report import training_blocks


class Device(StrEnum):
    """Where to compute."""

    auto = "auto"
    cpu = "cpu"
    cuda = "cuda"


def _print_settings(wanted: bool) -> None:
    if wanted:
        for name, default, allowed, meaning in settings_table():
            print(f"{name} = {default}: {meaning}" + (f" ({allowed})" if allowed else ""))
        raise typer.Exit


StoreFolder = Annotated[
    str, typer.Argument(metavar="STORE", help="Folder (or s3://...) written by `finsler prepare`.")
]
RunFolder = Annotated[
    Path, typer.Option("--out", "-o", metavar="RUN", help="Folder of the run; made if missing.")
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Settings: .toml; those that it leaves out have defaults."),
]
ModelName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="chebyshev (the paper's), small, fieldconv or diffusionnet; the same as --set"
        " model=NAME.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="One setting, e.g. epochs=20, schedule=onecycle; may be repeated."
        " `finsler train --settings` lists them all.",
    ),
]
Seed = Annotated[int | None, typer.Option(help="Of all random numbers; the same as --set seed=N.")]
DeviceChoice = Annotated[
    Device, typer.Option(help="auto: cuda where there is one, else the processor.")
]
DeviceSetting = Annotated[
    Device | None, typer.Option(help="auto: cuda where there is one, else the processor.")
]
Restart = Annotated[
    bool, typer.Option("--restart", help="Delete the run in that folder and start anew.")
]
ListSettings = Annotated[
    bool,
    typer.Option(
        "--settings",
        callback=_print_settings,
        is_eager=True,
        help="List every setting with its default, range and meaning, and stop.",
    ),
]


def train(
    store: StoreFolder,
    out: RunFolder,
    config: ConfigFile = None,
    model: ModelName = None,
    settings: Settings = None,
    seed: Seed = None,
    device: DeviceSetting = None,
    restart: Restart = False,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    list_settings: ListSettings = False,
) -> None:
    """Train a network that names, for each vertex, the corresponding vertex of the reference.

    The folder gets `metrics.jsonl` (one line an epoch), curves for TensorBoard, `config.toml`,
    `last.safetensors`, `best.safetensors`, and at the end `report.html` (curves and settings, for
    any browser) and `predictions.npz`: the test shapes after the last epoch, for
    `finsler evaluate`. After an interruption run the same command again: it
    goes on after the last finished epoch. With several devices start it under `torchrun`.

    Example: `finsler train store --out runs/first --set epochs=20 --set schedule=onecycle`
    """
    local_path(out)
    chosen = _config(config, settings or [], model, seed, device)
    opened = Store.open(store)
    if not overwrite:
        _check_folder(out)
    if not restart:
        _check_best(out)
    report = _run(opened, out, chosen, restart)
    if is_first_process():
        if as_json:
            print(json.dumps(report, indent=2))
        else:
            _print(report)


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


def _config(
    path: Path | None,
    settings: list[str],
    model: str | None,
    seed: int | None,
    device: Device | None,
) -> TrainConfig:
    chosen = TrainConfig() if path is None else TrainConfig.load(local_path(path))
    more = [] if model is None else [f"model={model}"]
    more += [] if seed is None else [f"seed={seed}"]
    more += [] if device is None else [f"device={device.value}"]
    return chosen.override([*settings, *more])


def _run(store: Store, out: Path, config: TrainConfig, restart: bool) -> dict[str, Any]:
    """Train, predict the test shapes, write the report, and sum up."""
    leads = is_first_process()
    with progress_bar(shown=leads) as bar:
        task = bar.add_task("training", total=config.epochs)
        steps = _steps(store, config)

        def show(metrics: dict[str, Any]) -> None:
            bar.update(task, completed=metrics["epoch"], description=_line(metrics))

        def say(sentence: str) -> None:
            if leads:
                print("note:", sentence, file=sys.stderr)

        about = train_and_predict(
            store,
            out,
            config,
            restart=restart,
            on_step=lambda: bar.advance(task, 1 / steps),
            on_epoch=show,
            notify=say,
        )
    if leads:
        _write_report(out, store, about)
    return {
        "run": str(out),
        "store": store.name,
        "epochs": about.epoch,
        "last": about.history[-1],
        "predictions": str(out / PREDICTIONS) if store.test and leads else None,
        "report": str(out / reports.NAME),
        "best": _best(about.history, config),
    }


def _write_report(out: Path, store: Store, about: About) -> None:
    data = {
        "collection": store.name,
        "shapes to learn from": len(store.train),
        "test shapes": len(store.test),
        "reference": store.reference,
        "vertices of the reference": about.classes,
        "channels": about.in_channels,
        "angles": about.angles,
    }
    config = {
        "train": dataclasses.asdict(about.config),
        "prepare": dataclasses.asdict(about.prepare),
    }
    title = f"Training on {store.name}"
    reports.write(out / reports.NAME, title, training_blocks(about.history, data), config)


def _steps(store: Store, config: TrainConfig) -> float:
    """Steps of an epoch, for the bar; each epoch's end sets it right."""
    batches = epoch_batches(split(store.train, config)[0], config, 1)
    return len(batches) / int(os.environ.get("WORLD_SIZE", "1"))


def _best(history: tuple[dict[str, Any], ...], config: TrainConfig) -> dict[str, Any] | None:
    """The epoch of best.safetensors, and what it was chosen on."""
    score = best_score(history, config)
    if score < 0:
        return None
    epoch = next(m["epoch"] for m in history if best_score([m], config) == score)
    on = "validation" if config.validation else "test"
    return {"epoch": epoch, "share": score, "chosen_on": f"the {on} shapes"}


def _line(metrics: dict[str, Any]) -> str:
    text = f"loss {metrics['loss']:.4f}"
    for key in ("test_named", "test_every"):
        if key in metrics:
            text += f", {key.replace('_', ' ')} {100 * metrics[key]:.2f}%"
    return text


def _print(report: dict[str, Any]) -> None:
    last, best = report["last"], report["best"]
    print(f"{report['run']}: {report['epochs']} epochs on {report['store']}; {_line(last)}")
    if best is not None:
        print(
            f"best.safetensors is epoch {best['epoch']}, {100 * best['share']:.2f}%, chosen on"
            f" {best['chosen_on']}; the figures above are those of the last epoch"
        )
    if report["predictions"] is not None:
        print(f"Wrote {report['predictions']}")
    print(f"Wrote {report['report']}")
