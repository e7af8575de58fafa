"""`finsler evaluate`: how good predicted correspondences are."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from collections.abc import Container
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finsler.cli import reports
from finsler.cli.cluster_options import (
    Jobs,
    Retries,
    Scheduler,
    WorkerMemory,
    progress_bar,
    say_failed,
    workers,
)
from finsler.cli.options import AsJson
from finsler.cli.results import FIGURE_ENDINGS, checked_target

if TYPE_CHECKING:
    from finsler.data import Collection
    from finsler.evaluation import Evaluation, Predictions

# Ending of a trained network's file.
_NETWORK = ".safetensors"


class Normalization(StrEnum):
    """What distances are divided by."""

    sqrt_area = "sqrt_area"
    diameter = "diameter"


class Distances(StrEnum):
    """How geodesic distances are computed."""

    fmm = "fmm"
    heat = "heat"
    exact = "exact"


def evaluate(
    predictions: Annotated[
        list[Path],
        typer.Argument(
            metavar="PREDICTIONS",
            help="Files of predictions (.npz) or trained networks (.safetensors, with --store), one"
            " for each run; several are taken as the seeds of one experiment.",
        ),
    ],
    collection: Annotated[
        str,
        typer.Option(
            metavar="COLLECTION",
            help="A folder, or a kind and a folder: faust_r:PATH, scape_r:PATH, ...; as for"
            " `finsler prepare`.",
        ),
    ],
    store: Annotated[
        str | None,
        typer.Option(
            metavar="STORE",
            help="For trained networks: the folder (or s3://...) of `finsler prepare`, whose test"
            " shapes they predict.",
        ),
    ] = None,
    normalization: Annotated[
        Normalization,
        typer.Option(help="Divide distances by √area of the reference, or by its diameter."),
    ] = Normalization.sqrt_area,
    distances: Annotated[
        Distances,
        typer.Option(
            help="fmm: fast marching; heat: twice as fast, but one edge comes out an eighth too"
            " short, so that the share within 0.01 is too high; exact: on the polyhedron, 50 times"
            " as slow."
        ),
    ] = Distances.fmm,
    cache: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Keep the distances of the reference here."),
    ] = None,
    matrix_memory: Annotated[
        float,
        typer.Option(
            metavar="GIB",
            help="For the matrix of distances; above it rows are computed and not kept.",
        ),
    ] = 4.0,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write everything found: .json."),
    ] = None,
    table: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write tables in Markdown: .md.")
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the cumulative curves: .png, .svg or .pdf."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write tables and curves as one page: .html."),
    ] = None,
    skip_failed: Annotated[
        bool,
        typer.Option("--skip-failed", help="Score without the test shapes that cannot be read."),
    ] = False,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    retries: Retries = 2,
    worker_memory: WorkerMemory = None,
    as_json: AsJson = False,
) -> None:
    """Score predicted correspondences by the Princeton protocol.

    For each vertex: the geodesic distance on the reference shape between the predicted and the true
    vertex. Given are the share of exact matches, the share within 0.01, the mean times 100, and the
    area under the cumulative curve over 0..0.25; on the vertices whose truth is given, and on all.
    With several files also half of the width of Student's 95% interval over the runs. Distances are
    what takes time: they are spread over the processes of `--jobs` or the workers of `--scheduler`.
    With `--skip-failed` shapes that cannot be read are named at the end, and the exit code is 1.

    Example: `finsler evaluate seed1.npz seed2.npz --collection faust_r:FAUST_r --table results.md`,
    or `finsler evaluate runs/first/last.safetensors --store store --collection faust_r:FAUST_r`
    """
    from finsler.compute.cluster import opened
    from finsler.data import open_collection
    from finsler.errors import InputError
    from finsler.evaluation import choose_distances, markdown_report, results_dict, write_results
    from finsler.evaluation import evaluate as run
    from finsler.evaluation.distances import block_length
    from finsler.storage.files import local_path, write_bytes

    if not 0.0 < matrix_memory < math.inf:
        raise InputError(f"--matrix-memory is {matrix_memory} GiB; it must be a positive number")
    for path in filter(None, (*predictions, cache)):
        local_path(path)
    checked_target(out, (".json",))
    checked_target(table, (".md",))
    checked_target(figure, FIGURE_ENDINGS)
    checked_target(report, reports.ENDINGS)
    if len({path.resolve() for path in predictions}) < len(predictions):
        raise InputError("a file of predictions is given twice; each run counts once")
    _check_store(predictions, store)
    shapes = open_collection(collection)
    # Shapes are needed to check the predictions and to score each run: read them once.
    shapes = dataclasses.replace(shapes, load=functools.cache(shapes.load))
    failed = _unreadable(shapes) if skip_failed else {}
    runs: dict[str, Predictions] = {
        label: _predictions(path, store, shapes, failed)
        for label, path in zip(_labels(predictions), predictions, strict=True)
    }
    reference = shapes[shapes.reference].mesh
    blocks = -(-reference.n_vertices // block_length(reference.n_vertices))
    total = sum(len(predicted.names) for predicted in runs.values())
    asked = workers(scheduler, jobs, retries, worker_memory, tasks=blocks)
    with opened(asked) as pool, progress_bar() as bar:
        rows = bar.add_task("distances on the reference", total=reference.n_vertices)
        measured = choose_distances(
            reference,
            method=distances.value,
            cache=cache,
            memory=matrix_memory,
            progress=lambda done, of: bar.update(rows, completed=done),
            pool=pool,
        )
        bar.remove_task(rows)
        task = bar.add_task("scoring", total=total)
        found = run(
            runs,
            shapes,
            measured,
            normalization=normalization.value,
            progress=lambda name: bar.advance(task),
        )
    config = {
        "predictions": list(runs),
        "collection": shapes.name,
        "normalization": normalization.value,
        "distances": distances.value,
    }
    if figure is not None:
        _draw(figure, found)
    if table is not None:
        write_bytes(table, markdown_report(found).encode())
    if report is not None:
        from finsler.view.report import evaluation_blocks

        reports.write(report, f"Evaluation on {shapes.name}", evaluation_blocks(found), config)
    results = results_dict(found, config)
    if out is not None:
        write_results(out, results)
    files = [str(path) for path in (figure, table, report, out) if path is not None]
    if as_json:
        short = {**_short(results), "failed": failed, "files": files}
        print(json.dumps(short, indent=2, allow_nan=False))
    else:
        _print(found, files)
    if failed:
        say_failed(failed)
        raise typer.Exit(1)


def _unreadable(shapes: Collection) -> dict[str, str]:
    """The test shapes that cannot be read, each with the sentence that says why."""
    from finsler.errors import InputError

    failed = {}
    for name in shapes.test:
        try:
            shapes[name]
        except InputError as error:
            failed[name] = str(error)
    return failed


def _check_store(paths: list[Path], store: str | None) -> None:
    from finsler.errors import InputError

    networks = [path for path in paths if path.suffix == _NETWORK]
    if networks and store is None:
        raise InputError(
            f"{networks[0]}: this is a trained network; give the prepared shapes with --store"
        )
    if store is not None and not networks:
        raise InputError(f"--store is for trained networks ({_NETWORK}), and none is given")


def _predictions(
    path: Path, store: str | None, shapes: Collection, skip: Container[str]
) -> Predictions:
    """Read from a file, or predicted by a trained network for the test shapes of a store."""
    from finsler.evaluation import Predictions, load_predictions

    if store is None or path.suffix != _NETWORK:
        return load_predictions(path, shapes, skip=skip)
    from finsler.data import Store
    from finsler.nn.training import load_model, predict
    from finsler.storage.record import record

    prepared = Store.open(store)
    network, about = load_model(path)
    config = {"store": prepared.name, "epoch": about.epoch}
    config |= {
        "train": dataclasses.asdict(about.config),
        "prepare": dataclasses.asdict(about.prepare),
    }
    wanted = tuple(name for name in prepared.test if name not in skip)
    found = predict(network, prepared, wanted, about=about)
    return Predictions(
        {name: vertices.astype("int64") for name, vertices in found.items()},
        json.loads(record(config)),
    )


def _labels(paths: list[Path]) -> list[str]:
    """The file names, or where two are the same, the paths."""
    names = [path.name for path in paths]
    return names if len(set(names)) == len(names) else [str(path) for path in paths]


def _draw(path: Path, found: Evaluation) -> None:
    from finsler.view import plot_error_curves

    curves = {}
    for label, summary in (
        ("vertices with ground truth", found.summary("named")),
        ("all vertices", found.summary("every")),
    ):
        if summary is not None:
            curves[label] = summary.grid, summary.curve
    size = r"$\sqrt{\mathrm{area}}$" if found.normalization == "sqrt_area" else "diameter"
    plot_error_curves(path, curves, x_label=rf"geodesic error $r$ / {size}")


def _short(results: dict[str, Any]) -> dict[str, Any]:
    """The results without curves and runs."""
    keys = ("collection", "normalization", "distances", "radius", "interval", "missing", "config")
    summary = {
        vertices: figures and {name: figures[name] for name in figures if name != "curve"}
        for vertices, figures in results["summary"].items()
    }
    end = results["grid"][-1]
    return {key: results[key] for key in keys} | {
        "auc_range": [0.0, end],
        "summary": summary,
        "shapes": results["shapes"],
    }


def _print(found: Evaluation, files: list[str]) -> None:
    from rich.console import Console
    from rich.table import Table

    from finsler.evaluation.report import heading_cells, row_cells

    console = Console(highlight=False, soft_wrap=True)
    size = {"sqrt_area": "√area", "diameter": "the diameter"}[found.normalization]
    console.print(
        f"{found.collection}: {len(found.shapes)} shapes, runs: {len(found.runs)}; {found.method}"
        f" distances divided by {size} of the reference",
        markup=False,
    )
    if found.missing:
        console.print(
            f"not scored, as there are no predictions: {len(found.missing)} of the test shapes"
        )
    every = found.summary("every")
    assert every is not None
    view = Table(box=None, pad_edge=False)
    view.add_column("vertices")
    for heading in heading_cells(float(every.grid[-1])):
        view.add_column(heading, justify="right")
    view.add_row("with ground truth", *row_cells(found.summary("named")))
    view.add_row("all", *row_cells(every))
    console.print(view)
    if len(found.runs) > 1:
        console.print(f"± half of the width of Student's {100 * found.level:g}% interval")
    for path in files:
        console.print(f"Wrote {path}", markup=False)
