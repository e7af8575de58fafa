"""`finsler prepare`: operators, descriptors and labels of a collection, for training."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from finsler.cli.cluster_options import (
    Bundle,
    Jobs,
    Retries,
    Scheduler,
    WorkerMemory,
    progress_bar,
    say_failed,
    say_notes,
    workers,
)
from finsler.cli.options import Alpha, AsJson, OmegaField, Peak, Smoothing, Tau
from finsler.cli.results import Overwrite

if TYPE_CHECKING:
    from finsler.data.store import PreparationError


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
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="STORE",
            help="Folder to write, made if missing; or s3://BUCKET/FOLDER and what else fsspec"
            " reaches.",
        ),
    ],
    alpha: Alpha = 10.0,
    tau: Tau = 0.1,
    angles: Annotated[int, typer.Option(help="Number of angles, evenly spaced in [0, π).")] = 8,
    omega: OmegaField = "constant",
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
    skip_failed: Annotated[
        bool,
        typer.Option(
            "--skip-failed", help="Finish the store without the shapes that cannot be prepared."
        ),
    ] = False,
    shared: Annotated[
        bool,
        typer.Option(
            "--shared",
            help="Every worker finds COLLECTION under this name and reads it itself; by default"
            " shapes are read here and sent.",
        ),
    ] = False,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    retries: Retries = 2,
    worker_memory: WorkerMemory = None,
    bundle: Bundle = 1,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Compute operators, descriptors and labels for every shape of a collection.

    What is in the store already is kept, and damaged entries are computed anew: after an
    interruption run the same command again. The store can be read with numpy alone. A shape that
    cannot be prepared stops none of the others: at the end all of them are named, the exit code is
    1, and the list of the store is written only with `--skip-failed`; one of an earlier run stays.
    Shapes whose mesh has a defect and that are computed all the same are named with it.

    Example: `finsler prepare faust_r:data/FAUST_r --out store`, or on many machines
    `finsler prepare faust_r:/shared/FAUST_r --shared --out s3://bucket/store --scheduler
    tcp://head:8786`
    """
    from finsler.data import PrepareConfig, open_collection
    from finsler.data import prepare as run
    from finsler.data.store import PreparationError
    from finsler.storage.files import lasting_location

    config = PrepareConfig(
        alpha=alpha,
        tau=tau,
        angles=angles,
        smoothing=smoothing,
        normalization=normalization.value,
        omega=omega,
        peak=peak,
        descriptor=descriptor.value,
        radius=radius,
        bins=bins,
        eigenpairs=eigenpairs,
        support=support,
        support_apart=support_apart,
    )
    lasting_location(out)
    shapes = open_collection(collection)
    total = len({*shapes.names, shapes.reference})
    crew = workers(scheduler, jobs, retries, worker_memory, bundle, tasks=total)
    notes: dict[str, list[str]] = {}
    report: dict[str, object] = {
        "store": out,
        "collection": shapes.name,
        "train": len(shapes.train),
        "test": len(shapes.test),
        "warnings": notes,
    }
    try:
        with progress_bar() as bar:
            task = bar.add_task(f"preparing {shapes.name}", total=total)
            done = run(
                shapes,
                out,
                config,
                workers=crew,
                source=collection if shared else None,
                skip_failed=skip_failed,
                overwrite=overwrite,
                progress=lambda name, outcome: bar.advance(task),
                notify=lambda name, sentence: notes.setdefault(name, []).append(sentence),
            )
    except PreparationError as error:
        say_notes(notes)
        _fail(report, error, as_json)
    say_notes(notes)
    report |= {"computed": done.computed, "found": done.found, "repaired": done.repaired}
    if as_json:
        print(json.dumps({**report, "failed": done.failed}, indent=2))
    else:
        print(
            f"Wrote {out}: {shapes.name}, {len(done.store.train)} shapes for training and"
            f" {len(done.store.test)} for testing; {done.computed} computed, {done.found} found,"
            f" {done.repaired} repaired."
        )
    if done.failed:
        say_failed(done.failed)
        raise typer.Exit(1)


def _fail(report: dict[str, object], error: PreparationError, as_json: bool) -> NoReturn:
    """Name the shapes that failed; the list of the store is not written."""
    if as_json:
        print(json.dumps({**report, "failed": error.failed}, indent=2))
    say_failed(error.failed)
    print(f"error: {error}", file=sys.stderr)
    raise typer.Exit(1)
