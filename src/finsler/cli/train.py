"""`finsler train`: learn correspondences from a prepared store."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finsler.cli import reports
from finsler.cli.options import AsJson

if TYPE_CHECKING:
    from finsler.data import Store
    from finsler.nn.training import TrainConfig
    from finsler.nn.training.checkpoint import About


class Device(StrEnum):
    """Where to compute."""

    auto = "auto"
    cpu = "cpu"
    cuda = "cuda"


def _print_settings(wanted: bool) -> None:
    if wanted:
        from finsler.nn.training.config import settings_table

        for name, default, allowed, meaning in settings_table():
            print(f"{name} = {default}: {meaning}" + (f" ({allowed})" if allowed else ""))
        raise typer.Exit


def train(
    store: Annotated[
        str,
        typer.Argument(metavar="STORE", help="Folder (or s3://...) written by `finsler prepare`."),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="RUN", help="Folder of the run; made if missing.")
    ],
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Settings: .toml; those not named have defaults."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="chebyshev (the paper's), small, or fieldconv; the same as --set model=NAME.",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="One setting, e.g. epochs=20, schedule=onecycle; may be repeated."
            " `finsler train --settings` lists them all.",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Of all random numbers; the same as --set seed=N.")
    ] = None,
    device: Annotated[
        Device | None, typer.Option(help="auto: cuda where there is one, else the processor.")
    ] = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="Forget the run in that folder and begin anew.")
    ] = False,
    as_json: AsJson = False,
    list_settings: Annotated[
        bool,
        typer.Option(
            "--settings",
            callback=_print_settings,
            is_eager=True,
            help="List every setting with its default, range and meaning, and stop.",
        ),
    ] = False,
) -> None:
    """Train a network that names, for each vertex, the corresponding vertex of the reference.

    The folder gets `metrics.jsonl` (one line an epoch), curves for TensorBoard, `config.toml`,
    `last.safetensors`, `best.safetensors`, and at the end `report.html` (curves and settings, for
    any browser) and `predictions.npz`: the test shapes after the last epoch, for
    `finsler evaluate`. After an interruption run the same command again: it
    goes on after the last finished epoch. With several devices start it under `torchrun`.

    Example: `finsler train store --out runs/first --set epochs=20 --set schedule=onecycle`
    """
    from finsler.data import Store
    from finsler.storage.files import local_path

    local_path(out)
    chosen = _config(config, settings or [], model, seed, device)
    opened = Store.open(store)
    if not restart:
        _check_best(out)
    report = _run(opened, out, chosen, restart)
    if _leads() and as_json:
        print(json.dumps(report, indent=2))
    elif _leads():
        _print(report)


def _check_best(out: Path) -> None:
    """See that the best network of a run is whole: going on, or finding it finished, reads others.

    Raises
    ------
    InputError
        It is damaged.
    """
    from finsler.errors import InputError
    from finsler.nn.training import Checkpoint
    from finsler.nn.training.loop import BEST

    if (out / BEST).exists():
        try:
            Checkpoint.read(out / BEST)
        except InputError as error:
            raise InputError(f"{error}; or forget that run with --restart") from error


def _leads() -> bool:
    """Whether this is the only process, or the first of several."""
    return os.environ.get("RANK", "0") == "0"


def _config(
    path: Path | None,
    settings: list[str],
    model: str | None,
    seed: int | None,
    device: Device | None,
) -> TrainConfig:
    from finsler.nn.training import TrainConfig
    from finsler.storage.files import local_path

    chosen = TrainConfig() if path is None else TrainConfig.load(local_path(path))
    more = [] if model is None else [f"model={model}"]
    more += [] if seed is None else [f"seed={seed}"]
    more += [] if device is None else [f"device={device.value}"]
    return chosen.override([*settings, *more])


def _run(store: Store, out: Path, config: TrainConfig, restart: bool) -> dict[str, Any]:
    """Train, predict the test shapes, and say what was found."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    from finsler.evaluation import save_predictions
    from finsler.nn.training import predict
    from finsler.nn.training import train as run
    from finsler.nn.training.loop import PREDICTIONS

    console = Console(stderr=True)
    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not (_leads() and console.is_terminal)
    ) as bar:
        task = bar.add_task("training", total=config.epochs)
        steps = _steps(store, config)

        def show(metrics: dict[str, Any]) -> None:
            bar.update(task, completed=metrics["epoch"], description=_line(metrics))

        def say(sentence: str) -> None:
            if _leads():
                print("note:", sentence, file=sys.stderr)

        network, about = run(
            store,
            out,
            config,
            restart=restart,
            on_step=lambda: bar.advance(task, 1 / steps),
            on_epoch=show,
            notify=say,
        )
    report: dict[str, Any] = {
        "run": str(out),
        "store": store.name,
        "epochs": about.epoch,
        "last": about.history[-1],
        "predictions": None,
        "report": str(out / reports.NAME),
    }
    if _leads():
        _write_report(out, store, about)
    if store.test and _leads():
        found = predict(network, store, store.test, about=about)
        about_run = {"store": store.name, "train": dataclasses.asdict(config)}
        path = save_predictions(
            out / PREDICTIONS, found, {**about_run, "prepare": dataclasses.asdict(about.prepare)}
        )
        report["predictions"] = str(path)
    return report | {"best": _best(about.history, config)}


def _write_report(out: Path, store: Store, about: About) -> None:
    from finsler.view.report import training_blocks

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
    from finsler.nn.training.plan import epoch_batches, split

    batches = epoch_batches(split(store.train, config)[0], config, 1)
    return len(batches) / int(os.environ.get("WORLD_SIZE", "1"))


def _best(history: tuple[dict[str, Any], ...], config: TrainConfig) -> dict[str, Any] | None:
    """The epoch of best.safetensors, and what it was chosen on."""
    from finsler.nn.training.loop import best_score

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
