"""`finsler train`: learn correspondences from a prepared store."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from finsler.cli.options import AsJson
from finsler.cli.results import Overwrite


class Device(StrEnum):
    """Where to compute."""

    auto = "auto"
    cpu = "cpu"
    cuda = "cuda"


class Objective(StrEnum):
    """What is learned."""

    labels = "labels"
    maps = "maps"


def _print_settings(wanted: bool) -> None:
    if wanted:
        # Needs torch, which --help does not.
        from finsler.nn.training.config import settings_table

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
    typer.Option(
        metavar="FILE",
        help="File of settings: .toml; those that it leaves out keep their defaults.",
    ),
]
ModelName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="chebyshev (the paper's), small, fieldconv, diffusionnet, or for maps directed; the"
        " same as --set model=NAME.",
    ),
]
ObjectiveName = Annotated[
    Objective | None,
    typer.Option(
        help="labels: name vertices of a reference; maps: features that match any two shapes,"
        " learned without labels. The same as --set objective=NAME.",
    ),
]
Supervised = Annotated[
    bool, typer.Option("--supervised", help="With --objective maps: use the ground truth as well.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="One setting, e.g. schedule=onecycle; may be given several times."
        " `finsler train --settings` lists them all.",
    ),
]
Epochs = Annotated[
    int | None,
    typer.Option(help="How many times the network sees every shape; the same as --set epochs=N."),
]
LearningRate = Annotated[
    float | None,
    typer.Option("--lr", help="Learning rate; the same as --set learning_rate=X."),
]
Seed = Annotated[
    int | None, typer.Option(help="Seed of all random numbers; the same as --set seed=N.")
]
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
    objective: ObjectiveName = None,
    supervised: Supervised = False,
    model: ModelName = None,
    epochs: Epochs = None,
    lr: LearningRate = None,
    settings: Settings = None,
    seed: Seed = None,
    device: DeviceSetting = None,
    restart: Restart = False,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    list_settings: ListSettings = False,
) -> None:
    """Train a network that names, for each vertex, the corresponding vertex of the reference.

    The folder gets `metrics.jsonl` (one line per epoch), curves for TensorBoard, `config.toml`,
    `last.safetensors`, `best.safetensors`, and at the end `report.html` (curves and settings, for
    any browser) and `predictions.npz`: the test shapes after the last epoch, for
    `finsler evaluate`. After an interruption, run the same command again: it continues after the
    last finished epoch. To use several devices, start it under `torchrun`.

    While it runs, `loss` is what training minimises (the mean negative log-probability of the
    right vertex), and the percentages are those of vertices of the test shapes that get exactly
    the right vertex of the reference: among those whose partner is known for certain, and among
    all.

    With `--objective maps` it learns, from pairs of shapes and without labels, features that match
    any two shapes: for `finsler match --model` and `finsler maps`. STORE may then be a folder of
    meshes or a collection as well; it is prepared into RUN/store.

    Example: `finsler train store --out runs/first --epochs 20 --set schedule=onecycle`, or
    `finsler train meshes --objective maps --out runs/maps`
    """
    # Needs torch, which --help does not.
    from finsler.cli.learning import chosen_config, train_network

    given = {
        "objective": objective and objective.value,
        "supervised": supervised or None,
        "model": model,
        "epochs": epochs,
        "learning_rate": lr,
        "seed": seed,
        "device": device and device.value,
    }
    chosen = chosen_config(config, settings or [], given)
    train_network(store, out, chosen, restart=restart, overwrite=overwrite, as_json=as_json)
