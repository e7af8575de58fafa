"""`finsler benchmark`: measure a method on the pairs of a collection, as the literature does."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Literal

import typer

from finsler.cli import reports
from finsler.cli.batch import compute_rows
from finsler.cli.cluster_options import WorkerOptions, say, say_failed, say_notes
from finsler.cli.collection_options import CollectionName
from finsler.cli.match import (
    BasisSize,
    DescribingDevice,
    Model,
    Partial,
    Refine,
    require_network,
)
from finsler.cli.options import AsJson, Theta, camera_options, operator_options, with_options
from finsler.cli.results import Overwrite
from finsler.compute.batch import Row, require_own_folder, write_rows
from finsler.compute.cluster import Workers
from finsler.data import Collection, open_collection
from finsler.data.variants import VARIANTS, require_variant
from finsler.errors import InputError
from finsler.evaluation import write_results
from finsler.evaluation.benchmark import (
    COLUMNS,
    PLAIN,
    MapSource,
    PairSummary,
    Trial,
    choose_sample,
    describe_shape,
    measure_pair,
    pair_rows,
    published_for,
    results_dict,
    summarize_pairs,
    summary_table,
)
from finsler.matching.pairs import Matcher, split_model
from finsler.spec import OperatorSpec
from finsler.storage.files import is_local, lasting_location, location, shared_folder, write_bytes
from finsler.storage.npz import read_npz
from finsler.storage.outputs import marked_markdown
from finsler.storage.record import record
from finsler.view.upright import Viewpoint

_TABLE = "pairs.csv"
# Pairs that the page draws.
_WORST = 3

Out = Annotated[
    str,
    typer.Option(
        "--out", "-o", metavar="FOLDER", help="Folder for results and report; or s3://..."
    ),
]
PairCount = Annotated[
    str,
    typer.Option(metavar="all|N", help="All ordered pairs, or N pairs of two different shapes."),
]
Seed = Annotated[int, typer.Option(help="Seed of the sample of pairs and of the variants.")]
ShapeChoice = Annotated[
    Literal["test", "train", "all"], typer.Option(help="Which shapes to form pairs of.")
]
VariantChoice = Annotated[
    list[str] | None,
    typer.Option(
        help=f"Change the shapes first: {', '.join(VARIANTS)}; may be given several times, with"
        f" '{PLAIN}' for the shapes as they are."
    ),
]
MapFolder = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER",
        help="Measure the maps in this folder: A__B.npz with map_12, A__B.npy or A__B.txt,"
        " vertices counted from 0.",
    ),
]


@with_options(
    spec=partial(operator_options, alpha=1.0), viewpoint=camera_options, workers=WorkerOptions
)
def benchmark(
    collection: CollectionName,
    *,
    out: Out,
    pairs: PairCount = "all",
    seed: Seed = 0,
    shapes: ShapeChoice = "test",
    variant: VariantChoice = None,
    maps: MapFolder = None,
    model: Model = "box",
    refine: Refine = True,
    k: BasisSize = 200,
    partial_shape: Partial = False,
    spec: OperatorSpec,
    theta: Theta = 0.0,
    viewpoint: Viewpoint,
    device: DescribingDevice = "cpu",
    workers: WorkerOptions,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Measure a method on the pairs of a collection, as published tables do and more strictly.

    The method is `finsler match` with the model in the box by default, another model or a network
    with `--model`, or anybody's maps with `--maps`. Every shape is described once and every pair is
    measured once: results that are already in the folder are kept. A pair that fails does not stop
    the others, but the exit code is then 1. The folder gets results.json, table.md, pairs.csv,
    report.html with curves and the worst pairs, and a file for each pair with its map and errors.

    Example: `finsler benchmark faust_r:data/FAUST_r --pairs 30 --seed 1 -o faust --variant plain
    --variant rotated`
    """
    chosen_model = split_model(model)
    require_network(chosen_model, refine)
    lasting_location(out)
    kept = f"{shared_folder(out)}/described"
    angle = math.radians(theta)
    matcher = Matcher(
        k,
        partial_shape,
        refine=refine,
        operator=spec,
        theta=angle,
        cache=kept,
        device=device,
        **chosen_model,
    )
    source = _source(maps, matcher)
    opened = open_collection(collection)
    variants = list(dict.fromkeys(variant or [PLAIN]))
    trials = _trials(opened, shapes, pairs, seed, variants, out)
    names = [f"{t.variant}/{a}__{b}" for t in trials for a, b in t.sample.pairs]
    require_own_folder(out, _TABLE, COLUMNS, names, overwrite=overwrite)
    chosen = workers.of(len(trials[0].sample.pairs))
    rows: list[Row] = []
    summaries = []
    for trial in trials:
        described, table = _run(trial, source, chosen)
        rows += table
        summaries.append(summarize_pairs(trial.variant, trial.sample, table, described))
    about = {
        **json.loads(record({"collection": opened.name, **source.record()})),
        "collection": opened.name,
        "method": source.label,
        "shapes": shapes,
        "seed": seed,
        "complete": trials[0].sample.complete,
        "variants": {t.variant: _words(t.variant) for t in trials},
    }
    _write(out, about, trials, rows, summaries, viewpoint)
    _finish(out, about, rows, summaries, as_json=as_json)


def _source(maps: str | None, matcher: Matcher) -> MapSource:
    """Where the maps come from; raises for options that exclude each other."""
    if maps is not None and matcher.network is not None:
        raise InputError("--maps measures maps that are there, --model computes them; give one")
    if maps is None:
        matcher.check()
    elif not location(maps).is_dir():
        raise InputError(f"{maps}: there is no such folder; give one that holds maps")
    return MapSource(matcher, maps)


def _trials(
    collection: Collection, shapes: str, pairs: str, seed: int, variants: Sequence[str], out: str
) -> list[Trial]:
    if pairs != "all" and not (pairs.isdecimal() and pairs.isascii()):
        raise InputError(f"--pairs is {pairs!r}; it must be all, or a number from 1")
    for name in variants:
        if name != PLAIN:
            require_variant(name)
    names = collection.names if shapes == "all" else getattr(collection, shapes)
    count = None if pairs == "all" else int(pairs)
    sample = choose_sample(collection, tuple(dict.fromkeys(names)), count, seed=seed)
    for name in variants:
        shared_folder(f"{out}/{name}/shapes")
    base = shared_folder(out)
    return [Trial(collection, sample, f"{base}/{name}", name, seed) for name in variants]


def _words(variant: str) -> str:
    return "as they are" if variant == PLAIN else require_variant(variant).words


def _run(trial: Trial, source: MapSource, workers: Workers) -> tuple[list[Row], list[Row]]:
    """Rows of the shapes and of the pairs of a trial."""
    described: list[Row] = []
    tasks = list(trial.shape_tasks(source))
    if tasks:
        title = f"shapes, {trial.variant}"
        done = compute_rows(describe_shape, tasks, workers, title=title, total=len(tasks))
        described = list(done.values())
    title, total = f"pairs, {trial.variant}", len(trial.sample.pairs)
    pairs = trial.pair_tasks(source)
    rows = compute_rows(measure_pair, pairs, workers, title=title, total=total)
    return described, pair_rows(trial, rows)


def _write(
    out: str,
    about: dict[str, Any],
    trials: Sequence[Trial],
    rows: Sequence[Row],
    summaries: Sequence[PairSummary],
    viewpoint: Viewpoint,
) -> None:
    """results.json, table.md, pairs.csv and report.html."""
    published = published_for(about["collection"])
    base = location(out)
    write_results(base / "results.json", results_dict(about, summaries, published))
    write_bytes(base / "table.md", marked_markdown(_markdown(about, summaries)).encode())
    write_rows(base / _TABLE, COLUMNS, rows)
    if not is_local(base):
        say("the report with pictures is written to folders of this machine only")
        return
    from finsler.view.report.benchmark import benchmark_blocks

    worst = _worst(out, {trial.variant: trial for trial in trials}, rows)
    title = _title(about, summaries)
    blocks = benchmark_blocks(title, summaries, rows, published, worst, viewpoint)
    reports.write(
        base / reports.NAME, f"{about['method']} on {about['collection']}", blocks, about["config"]
    )


def _title(about: dict[str, Any], summaries: Sequence[PairSummary]) -> str:
    first = summaries[0]
    some = "all" if about["complete"] else f"a sample of seed {about['seed']},"
    return (
        f"{about['method']} on {about['collection']}, {about['shapes']} shapes: {some}"
        f" {first.asked} of {first.of} pairs. Errors are divided by √area of the second shape; a"
        " pair has failed where its mean error is above 8 × 10⁻²."
    )


def _markdown(about: dict[str, Any], summaries: Sequence[PairSummary]) -> str:
    return summary_table(summaries, _title(about, summaries))


def _worst(out: str, trials: dict[str, Trial], rows: Sequence[Row]) -> list[Any]:
    """The pairs with the largest strict errors, with their maps."""
    from finsler.view.report.benchmark import DrawnPair

    measured = [row for row in rows if row["outcome"] != "failed"]
    pairs = []
    for row in sorted(measured, key=lambda row: -row["error_strict"])[:_WORST]:
        trial = trials[row["variant"]]
        title = (
            f"{row['shape_1']} to {row['shape_2']}, {row['variant']}: mean error × 100"
            f" {100 * row['error_strict']:.1f} (strict)"
        )
        names = (row["shape_1"], row["shape_2"])
        first, second = trial.shape(names[0], False), trial.shape(names[1], True)
        map_12 = read_npz(f"{out}/{row['file']}", ("map_12",))["map_12"]
        pairs.append(DrawnPair(title, names, first.mesh, second.mesh, map_12))
    return pairs


def _finish(
    out: str,
    about: dict[str, Any],
    rows: Sequence[Row],
    summaries: Sequence[PairSummary],
    *,
    as_json: bool,
) -> None:
    """Print the figures, and exit with code 1 where a pair failed."""
    failed = {f"{r['variant']} {r['name']}": r["error"] for r in rows if r["outcome"] == "failed"}
    notes = {f"{r['variant']} {r['name']}": r["warnings"] for r in rows if r.get("warnings")}
    if as_json:
        shown = results_dict(about, summaries, published_for(about["collection"]))
        print(json.dumps({**shown, "folder": out, "failed": failed}, indent=2))
    else:
        print(_markdown(about, summaries))
        for row in published_for(about["collection"]):
            note = f", {row['note']}" if row["note"] else ""
            print(
                f"published: {row['mean']:g} {row['method']} ({row['kind']}{note}; {row['source']})"
            )
        print(f"Wrote {out}: results.json, table.md, {_TABLE}, {reports.NAME}")
    say_notes(notes)
    if failed:
        say_failed(failed)
        raise typer.Exit(1)
