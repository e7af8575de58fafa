"""`finsler prepare`: operators, descriptors and labels of a collection, for training."""

from __future__ import annotations

import json
import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from finsler.cli.options import Alpha, AsJson, Omega, OmegaField, Peak, Smoothing, Tau


class Normalization(StrEnum):
    """Rescalings of the operators."""

    acscnn = "acscnn"
    reference = "reference"
    plain = "plain"


class Descriptor(StrEnum):
    """Features at the vertices."""

    shot = "shot"
    shot_released = "shot_released"
    xyz = "xyz"
    none = "none"


def prepare(
    collection: Annotated[
        str,
        typer.Argument(
            metavar="COLLECTION",
            help="A folder, or a kind and a folder: faust_r:PATH, scape_r:PATH, tosca_r:PATH:cat,"
            " shrec16:PATH:cuts:cat, pack:FILE, synthetic:humanoid.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="STORE", help="Folder to write; made if missing.")
    ],
    alpha: Alpha = 10.0,
    tau: Tau = 0.1,
    angles: Annotated[int, typer.Option(help="Number of angles, evenly spaced in [0, π).")] = 8,
    omega: OmegaField = Omega.constant,
    peak: Peak = 0.9,
    smoothing: Smoothing = 10,
    normalization: Annotated[
        Normalization, typer.Option(help="Rescaling of the operators to [-1, 1].")
    ] = Normalization.acscnn,
    descriptor: Annotated[Descriptor, typer.Option(help="Features.")] = Descriptor.shot,
    radius: Annotated[float, typer.Option(help="Radius of SHOT as a share of √area.")] = 0.09,
    bins: Annotated[int, typer.Option(help="Bins of SHOT.")] = 10,
    eigenpairs: Annotated[int, typer.Option(help="Eigenpairs to keep as well; 0 for none.")] = 0,
    support: Annotated[
        float,
        typer.Option(
            help="Radius of the supports that field convolutions need, as a share of √area"
            " (published: 0.0425); 0 for none."
        ),
    ] = 0.0,
    support_apart: Annotated[
        bool,
        typer.Option(
            "--support-apart", help="Take supports that fall apart where the mesh does not."
        ),
    ] = False,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", help="Processes; by default one a core.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compute operators, descriptors and labels for every shape of a collection.

    What is in the store already is kept, and damaged entries are computed anew: after an
    interruption run the same command again. The store can be read with numpy alone.

    Example: `finsler prepare faust_r:data/FAUST_r --out store`
    """
    from rich.console import Console
    from rich.progress import Progress

    from finsler.data import PrepareConfig, open_collection
    from finsler.data import prepare as run

    config = PrepareConfig(
        alpha=alpha,
        tau=tau,
        angles=angles,
        smoothing=smoothing,
        normalization=normalization.value,
        omega=omega.value,
        peak=peak,
        descriptor=descriptor.value,
        radius=radius,
        bins=bins,
        eigenpairs=eigenpairs,
        support=support,
        support_apart=support_apart,
    )
    shapes = open_collection(collection)
    total = len({*shapes.names, shapes.reference})
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"preparing {shapes.name}", total=total)
        done = run(
            shapes,
            out,
            config,
            jobs=min(jobs or os.cpu_count() or 1, total),
            progress=lambda name, outcome: bar.advance(task),
        )
    report = {
        "store": str(out),
        "collection": shapes.name,
        "train": len(shapes.train),
        "test": len(shapes.test),
        "computed": done.computed,
        "found": done.found,
        "mended": done.mended,
    }
    if as_json:
        print(json.dumps(report, indent=2))
        return
    print(
        f"Wrote {out}: {shapes.name}, {len(shapes.train)} shapes for training and"
        f" {len(shapes.test)} for testing; {done.computed} computed, {done.found} found,"
        f" {done.mended} mended."
    )
