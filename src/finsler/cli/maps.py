"""`finsler maps`: match all shapes of a store with a trained network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from finsler.cli.cluster_options import WorkerOptions
from finsler.cli.options import AsJson, with_options
from finsler.cli.train import Device, DeviceChoice, StoreFolder

Checkpoint = Annotated[
    Path,
    typer.Argument(metavar="CHECKPOINT", help="A .safetensors of `finsler train`."),
]
Split = Annotated[
    Literal["test", "train", "all"], typer.Option(help="Which shapes of the store are matched.")
]
Tune = Annotated[
    int,
    typer.Option(min=0, help="Steps that adapt the network to each pair before it is matched."),
]
ReadOut = Annotated[
    Literal["auto", "features", "spectral", "zoomed", "joint"],
    typer.Option(help="Which maps are written; auto: for each pair, the one of least energy."),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FOLDER", help="Write every map here, as A__B.npz."),
]


@with_options(workers=WorkerOptions)
def maps(
    checkpoint: Checkpoint,
    store: StoreFolder,
    *,
    out: Out = None,
    split: Split = "test",
    tune: Tune = 0,
    read_out: ReadOut = "auto",
    device: DeviceChoice = Device.auto,
    workers: WorkerOptions,
    as_json: AsJson = False,
) -> None:
    """Match every two shapes of a store, both ways, and measure the maps where the truth is known.

    The network describes each shape once; maps are read from its features in several ways, without
    the refinement of `finsler match`. Errors are mean distances along edges to the true vertex, in
    hundredths of √area, at up to 1,000 vertices of each pair; a pair above 8 counts as failed.

    A network that learned labels matches vertices at which the same class lies; its maps are
    written, and `finsler benchmark COLLECTION --maps FOLDER` measures them.

    Example: `finsler maps runs/maps/last.safetensors store --out maps`
    """
    # Needs torch, which --help does not.
    from finsler.cli.map_pairs import match_store

    report = match_store(
        checkpoint,
        store,
        out=out,
        split=split,
        tune=tune,
        chosen=read_out,
        device=device.value,
        workers=workers,
    )
    if as_json:
        print(json.dumps(report, indent=2))
        return
    print(f"{report['pairs']} pairs matched in {report['seconds']:.1f} s")
    for name, row in report["read_outs"].items():
        text = f"{name:9s} energy {row['energy']:.4f}"
        if "error" in row:
            text += f", mean error {row['error']:.2f}, failed {row['failed']}"
        print(text + (f", chosen {row['chosen']} times" if "chosen" in row else ""))
    if out is not None:
        print(f"Wrote {out}")
