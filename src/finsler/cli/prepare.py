"""`finsler prepare`: operators, descriptors and labels of a collection, for training."""

from __future__ import annotations

import dataclasses
import json
import sys
from typing import Annotated, Literal, NoReturn

import typer

from finsler import data
from finsler.cli.cluster_options import WorkerOptions, progress_bar, say_failed, say_notes
from finsler.cli.collection_options import CollectionName
from finsler.cli.options import AsJson, stack_options, with_options
from finsler.cli.results import Overwrite
from finsler.compute.cluster import Workers
from finsler.data import Collection, PreparationError, PrepareConfig, Prepared, open_collection
from finsler.spec import OperatorSpec
from finsler.storage.files import lasting_location

StoreFolder = Annotated[
    str,
    typer.Option(
        "--out",
        "-o",
        metavar="STORE",
        help="Folder to write to, made if missing; or s3://BUCKET/FOLDER, or anything else"
        " that fsspec reaches.",
    ),
]
Angles = Annotated[
    int,
    typer.Option(help="Number of operators: angles over a half turn, directions over a whole one."),
]
Rescaling = Annotated[
    Literal["acscnn", "reference", "plain"],
    typer.Option(help="Rescaling of the operators to [-1, 1]."),
]
Descriptor = Annotated[
    Literal["shot", "shot_released", "shot_two", "xyz", "none"],
    typer.Option(
        help="Features at the vertices; shot_two: SHOT in the two balls that the model in the"
        " package reads."
    ),
]
Radius = Annotated[float, typer.Option(help="Radius of SHOT as a share of √area.")]
Bins = Annotated[int, typer.Option(help="Bins of SHOT.")]
Eigenpairs = Annotated[int, typer.Option(help="Eigenpairs to keep as well; 0 for none.")]
Support = Annotated[
    float,
    typer.Option(
        help="Radius of the supports that field convolutions need, as a share of √area"
        " (published: 0.0425); 0 for none."
    ),
]
SupportApart = Annotated[
    bool,
    typer.Option(
        "--support-apart", help="Accept supports in several pieces where the mesh is in one."
    ),
]
Copies = Annotated[
    int,
    typer.Option(
        help="Deformed copies of each training shape, prepared with it: more to learn from.",
        min=0,
    ),
]
SkipFailed = Annotated[
    bool,
    typer.Option(
        "--skip-failed", help="Finish the store without the shapes that cannot be prepared."
    ),
]
Shared = Annotated[
    bool,
    typer.Option(
        "--shared",
        help="Every worker finds COLLECTION under this name and reads the shapes itself; by"
        " default they are read here and sent.",
    ),
]


@with_options(spec=stack_options, workers=WorkerOptions)
def prepare(
    collection: CollectionName,
    *,
    out: StoreFolder,
    spec: OperatorSpec,
    angles: Angles = 8,
    normalization: Rescaling = "acscnn",
    descriptor: Descriptor = "shot",
    radius: Radius = 0.09,
    bins: Bins = 10,
    eigenpairs: Eigenpairs = 0,
    support: Support = 0.0,
    support_apart: SupportApart = False,
    copies: Copies = 0,
    skip_failed: SkipFailed = False,
    shared: Shared = False,
    workers: WorkerOptions,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Compute operators, descriptors and labels for every shape of a collection.

    Entries that are already in the store are kept, and damaged ones are computed again: after an
    interruption, run the same command again. The store can be read with numpy alone. A shape that
    cannot be prepared does not stop the others: all such shapes are listed at the end, the exit
    code is 1, and the list of the store is written only with `--skip-failed`; that of an earlier
    run stays. Shapes that are prepared in spite of a defect of their mesh are listed with it.

    Example: `finsler prepare faust_r:data/FAUST_r --out store`, or on many machines
    `finsler prepare faust_r:/shared/FAUST_r --shared --out s3://bucket/store --scheduler
    tls://head:8786`
    """
    config = PrepareConfig(
        **dataclasses.asdict(spec) | {"angles": angles, "normalization": normalization},
        descriptor=descriptor,
        radius=radius,
        bins=bins,
        eigenpairs=eigenpairs,
        support=support,
        support_apart=support_apart,
        copies=copies,
    )
    lasting_location(out)
    shapes = open_collection(collection)
    total = copies * len(shapes.train) + len({*shapes.names, shapes.reference})
    asked = workers.of(total)
    source = collection if shared else None
    _run(shapes, out, config, asked, source, skip_failed, overwrite, as_json)


def _run(
    shapes: Collection,
    out: str,
    config: PrepareConfig,
    asked: Workers,
    source: str | None,
    skip_failed: bool,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Prepare with a bar, and print a summary; exit code 1 if a shape failed."""
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
            total = config.copies * len(shapes.train) + len({*shapes.names, shapes.reference})
            task = bar.add_task(f"preparing {shapes.name}", total=total)
            done = data.prepare(
                shapes,
                out,
                config,
                workers=asked,
                source=source,
                skip_failed=skip_failed,
                overwrite=overwrite,
                progress=lambda name, outcome: bar.advance(task),
                notify=lambda name, sentence: notes.setdefault(name, []).append(sentence),
            )
    except PreparationError as error:
        say_notes(notes)
        _fail(report, error, as_json)
    say_notes(notes)
    counts = {"computed": done.computed, "kept": done.kept, "repaired": done.repaired}
    if as_json:
        print(json.dumps({**report, **counts, "failed": done.failed}, indent=2))
    else:
        _print(out, shapes, done)
    if done.failed:
        say_failed(done.failed)
        raise typer.Exit(1)


def _print(out: str, shapes: Collection, done: Prepared) -> None:
    print(
        f"Wrote {out}: {shapes.name}, {len(done.store.train)} shapes for training and"
        f" {len(done.store.test)} for testing; {done.computed} computed, {done.kept} kept,"
        f" {done.repaired} repaired."
    )


def _fail(report: dict[str, object], error: PreparationError, as_json: bool) -> NoReturn:
    """Name the shapes that failed; the list of the store is not written."""
    if as_json:
        print(json.dumps({**report, "failed": error.failed}, indent=2))
    say_failed(error.failed)
    print(f"error: {error}", file=sys.stderr)
    raise typer.Exit(1)
