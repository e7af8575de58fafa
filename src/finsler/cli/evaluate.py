"""`finsler evaluate`: how good predicted correspondences are."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from finsler import evaluation
from finsler.cli import reports
from finsler.cli.cluster_options import WorkerOptions, progress_bar, say_failed
from finsler.cli.collection_options import COLLECTION_HELP
from finsler.cli.options import AsJson, with_options
from finsler.cli.results import FIGURE_ENDINGS, Overwrite, check_outputs
from finsler.compute.cluster import Workers, opened
from finsler.data import Collection, Store, open_collection
from finsler.errors import InputError
from finsler.evaluation import UNITS, VERTICES, Evaluation, Predictions
from finsler.evaluation.distances import block_length
from finsler.evaluation.report import heading_cells, row_cells
from finsler.storage.files import local_path, write_bytes
from finsler.storage.outputs import marked_markdown
from finsler.view import plot_error_curves
from finsler.view.report import evaluation_blocks

# Ending of a trained network's file.
_NETWORK = ".safetensors"


class Unit(StrEnum):
    """What distances are divided by."""

    sqrt_area = "sqrt_area"
    diameter = "diameter"


class DistanceMethod(StrEnum):
    """How geodesic distances are computed."""

    fmm = "fmm"
    heat = "heat"
    exact = "exact"


PredictionFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="PREDICTIONS",
        help="Files of predictions (.npz) or trained networks (.safetensors, with --store), one"
        " for each run; several are taken as the seeds of one experiment.",
    ),
]
CollectionOption = Annotated[str, typer.Option(metavar="COLLECTION", help=COLLECTION_HELP)]
StoreFolder = Annotated[
    str | None,
    typer.Option(
        metavar="STORE",
        help="For trained networks: the folder (or s3://...) of `finsler prepare`, whose test"
        " shapes they predict.",
    ),
]
UnitChoice = Annotated[
    Unit, typer.Option(help="Divide distances by √area of the reference, or by its diameter.")
]
# The name that --unit had before.
OldUnit = Annotated[Unit | None, typer.Option("--normalization", hidden=True)]
Distances = Annotated[
    DistanceMethod,
    typer.Option(
        help="fmm: fast marching; heat: twice as fast, but one edge comes out an eighth too"
        " short, so that the share within 0.01 is too high; exact: exact on the"
        " polyhedron, and 50 times slower."
    ),
]
CacheFolder = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Keep the distances of the reference in this folder."),
]
MatrixMemory = Annotated[
    float,
    typer.Option(
        metavar="GIB",
        help="Memory for the matrix of distances; if it needs more, rows are computed when"
        " they are needed, and not kept.",
    ),
]
JsonFile = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write all results: .json.")
]
TableFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write tables in Markdown: .md.")
]
CurveFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Draw the cumulative curves: .png, .svg or .pdf."),
]
ReportFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write tables and curves as one page: .html.")
]
Together = Annotated[
    bool,
    typer.Option(
        "--together",
        help="Score what the trained networks predict together, as one run: their scores are"
        " added, which is better than any of them.",
    ),
]
SkipFailed = Annotated[
    bool, typer.Option("--skip-failed", help="Score without the test shapes that cannot be read.")
]


@with_options(workers=WorkerOptions)
def evaluate(
    predictions: PredictionFiles,
    *,
    collection: CollectionOption,
    store: StoreFolder = None,
    unit: UnitChoice = Unit.sqrt_area,
    normalization: OldUnit = None,
    distances: Distances = DistanceMethod.fmm,
    cache: CacheFolder = None,
    matrix_memory: MatrixMemory = 4.0,
    out: JsonFile = None,
    table: TableFile = None,
    figure: CurveFile = None,
    report: ReportFile = None,
    together: Together = False,
    skip_failed: SkipFailed = False,
    workers: WorkerOptions,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Score predicted correspondences by the Princeton protocol.

    The error of a vertex is the geodesic distance on the reference shape between the predicted and
    the true vertex. The answer gives the share of exact matches, the share within 0.01, the mean
    times 100, and the area under the cumulative curve over 0..0.25, for the vertices with ground
    truth and for all. With several files, it also gives half the width of Student's 95% interval
    over the runs. Distances take most of the time: they are spread over the processes of `--jobs`
    or the workers of `--scheduler`. With `--skip-failed`, shapes that cannot be read are listed at
    the end, and the exit code is 1.

    Example: `finsler evaluate seed1.npz seed2.npz --collection faust_r:FAUST_r --table results.md`,
    or `finsler evaluate runs/first/last.safetensors --store store --collection faust_r:FAUST_r`
    """
    unit = unit if normalization is None else normalization
    _check(predictions, cache, store, matrix_memory, together)
    targets = [(out, (".json",)), (table, (".md",)), (figure, FIGURE_ENDINGS)]
    check_outputs([*targets, (report, reports.ENDINGS)], predictions, overwrite=overwrite)
    # Shapes are needed to check the predictions and to score each run: read them once.
    shapes = open_collection(collection)
    shapes = dataclasses.replace(shapes, load=functools.cache(shapes.load))
    failed = evaluation.unreadable_shapes(shapes) if skip_failed else {}
    runs = _read_runs(predictions, store, shapes, failed, together)
    size = shapes[shapes.reference].mesh.n_vertices
    asked = workers.of(-(-size // block_length(size)))
    scored = _score(runs, shapes, unit, distances, cache, matrix_memory, asked)
    config: dict[str, Any] = {"predictions": list(runs), "collection": shapes.name}
    config |= {"unit": unit.value, "distances": distances.value}
    results = evaluation.results_dict(scored, config)
    files = _write(scored, results, config, out, table, figure, report)
    if as_json:
        short = {**_short(results), "failed": failed, "files": files}
        print(json.dumps(short, indent=2, allow_nan=False))
    else:
        _print(scored, files)
    if failed:
        say_failed(failed)
        raise typer.Exit(1)


def _check(
    paths: list[Path], cache: Path | None, store: str | None, memory: float, together: bool
) -> None:
    if not 0.0 < memory < math.inf:
        raise InputError(f"--matrix-memory is {memory} GiB; it must be a positive number")
    for path in filter(None, (*paths, cache)):
        local_path(path)
    if len({path.resolve() for path in paths}) < len(paths):
        raise InputError("a file of predictions is given twice; each run counts once")
    networks = [path for path in paths if path.suffix == _NETWORK]
    if networks and store is None:
        raise InputError(
            f"{networks[0]}: this is a trained network; give the prepared shapes with --store"
        )
    if together and (len(networks) < len(paths) or len(networks) < 2):
        raise InputError("--together is for two or more trained networks (.safetensors)")
    if store is not None and not networks:
        raise InputError(f"--store is for trained networks ({_NETWORK}), and none is given")


def _read_runs(
    paths: list[Path],
    store: str | None,
    shapes: Collection,
    skip: dict[str, str],
    together: bool,
) -> dict[str, Predictions]:
    """Predictions by file name, or where two are the same, by path."""
    if together and store is not None:
        from finsler.evaluation.network import predict_network

        return {"together": predict_network(paths, Store.open(store), skip=skip)}
    names = [path.name for path in paths]
    labels = names if len(set(names)) == len(names) else [str(path) for path in paths]
    runs = {}
    for label, path in zip(labels, paths, strict=True):
        if store is not None and path.suffix == _NETWORK:
            # Needs torch, which files of predictions do not.
            from finsler.evaluation.network import predict_network

            runs[label] = predict_network(path, Store.open(store), skip=skip)
        else:
            runs[label] = evaluation.load_predictions(path, shapes, skip=skip)
    return runs


def _score(
    runs: dict[str, Predictions],
    shapes: Collection,
    unit: Unit,
    distances: DistanceMethod,
    cache: Path | None,
    memory: float,
    asked: Workers,
) -> Evaluation:
    reference = shapes[shapes.reference].mesh
    with opened(asked) as pool, progress_bar() as bar:
        rows = bar.add_task("distances on the reference", total=reference.n_vertices)
        measured = evaluation.choose_distances(
            reference,
            method=distances.value,
            cache=cache,
            memory=memory,
            progress=lambda done, of: bar.update(rows, completed=done),
            pool=pool,
        )
        bar.remove_task(rows)
        total = sum(len(predicted.names) for predicted in runs.values())
        task = bar.add_task("scoring", total=total)
        return evaluation.evaluate(
            runs, shapes, measured, unit=unit.value, progress=lambda name: bar.advance(task)
        )


def _write(
    scored: Evaluation,
    results: dict[str, Any],
    config: dict[str, Any],
    out: Path | None,
    table: Path | None,
    figure: Path | None,
    report: Path | None,
) -> list[str]:
    """Write what is asked for; the files."""
    if figure is not None:
        _draw(figure, scored)
    if table is not None:
        write_bytes(table, marked_markdown(evaluation.markdown_report(scored)).encode())
    if report is not None:
        title = f"Evaluation on {scored.collection}"
        reports.write(report, title, evaluation_blocks(scored), config)
    if out is not None:
        evaluation.write_results(out, results)
    return [str(path) for path in (figure, table, report, out) if path is not None]


def _draw(path: Path, scored: Evaluation) -> None:
    summaries = {words: scored.summary(vertices) for vertices, words in VERTICES.items()}
    curves = {words: (mean.grid, mean.curve) for words, mean in summaries.items() if mean}
    size = r"$\sqrt{\mathrm{area}}$" if scored.unit == "sqrt_area" else "diameter"
    plot_error_curves(path, curves, x_label=rf"geodesic error $r$ / {size}")


def _short(results: dict[str, Any]) -> dict[str, Any]:
    """The results without curves and runs."""
    keys = ("collection", "unit", "distances", "radius", "interval", "missing", "config")
    summary = {
        vertices: figures and {name: figures[name] for name in figures if name != "curve"}
        for vertices, figures in results["summary"].items()
    }
    return {key: results[key] for key in keys} | {
        "auc_range": [0.0, results["grid"][-1]],
        "summary": summary,
        "shapes": results["shapes"],
    }


def _print(scored: Evaluation, files: list[str]) -> None:
    console = Console(highlight=False, soft_wrap=True)
    console.print(
        f"{scored.collection}: {len(scored.shapes)} shapes, runs: {len(scored.runs)};"
        f" {scored.method} distances divided by {UNITS[scored.unit]} of the reference",
        markup=False,
    )
    if scored.missing:
        console.print(
            f"not scored, as there are no predictions: {len(scored.missing)} of the test shapes"
        )
    every = scored.summary("every")
    assert every is not None
    view = Table(box=None, pad_edge=False)
    view.add_column("vertices")
    for heading in heading_cells(float(every.grid[-1])):
        view.add_column(heading, justify="right")
    view.add_row("with ground truth", *row_cells(scored.summary("named")))
    view.add_row("all", *row_cells(every))
    console.print(view)
    if len(scored.runs) > 1:
        console.print(f"± half of the width of Student's {100 * scored.level:g}% interval")
    for path in files:
        console.print(f"Wrote {path}", markup=False)
