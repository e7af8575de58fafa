"""`finsler match`: which vertex of one mesh corresponds to which of another."""

from __future__ import annotations

import json
import math
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from finsler.cli import reports
from finsler.cli.batch import compute_rows, finish
from finsler.cli.cluster_options import WorkerOptions
from finsler.cli.match_outputs import MatchFiles, print_report, report_of, write_colors
from finsler.cli.options import (
    AsJson,
    Theta,
    camera_options,
    operator_options,
    with_options,
)
from finsler.cli.results import Overwrite
from finsler.cli.spinner import stages, working
from finsler.compute.batch import require_own_folder
from finsler.data.meshes import open_meshes
from finsler.errors import InputError
from finsler.matching import Match
from finsler.matching.landmarks import read_landmarks
from finsler.matching.pairs import (
    COLUMNS,
    Matcher,
    choose_pairs,
    match_arrays,
    match_to_file,
    pair_tasks,
    split_model,
)
from finsler.mesh import load_mesh
from finsler.spec import OperatorSpec
from finsler.storage.files import lasting_location, shared_folder
from finsler.storage.npz import write_npz
from finsler.view.matches import figure_match
from finsler.view.report import match_blocks
from finsler.view.upright import Viewpoint

_TABLE = "pairs.csv"
# Exit status of --strict for a doubtful match.
DOUBTFUL_STATUS = 3

FirstMesh = Annotated[
    str,
    typer.Argument(
        metavar="A",
        help="Mesh whose vertices are sent to B; with --pairs a folder of meshes or a"
        " collection, e.g. faust_r:PATH.",
    ),
]
SecondMesh = Annotated[
    Path | None, typer.Argument(metavar="B", help="Mesh on which the partners are.")
]
PairChoice = Annotated[
    str | None,
    typer.Option(
        metavar="all|FILE",
        help="Match many meshes of A: every two of them, or those that a file names, two on"
        " each line.",
    ),
]
Out = Annotated[
    str | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        help="Write the map and its record: .npz; with --pairs a folder, or s3://...",
    ),
]
ColorFolder = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Write both meshes as .ply here, B coloured by position and A by its partners.",
    ),
]
Figure = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Draw both from two sides, partners in one colour, with the verdict: .png, .svg or"
        " .pdf.",
    ),
]
Report = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write one page to turn both with the mouse: .html."),
]
BasisSize = Annotated[int, typer.Option("-k", help="Functions in the largest basis.")]
Partial = Annotated[
    bool, typer.Option("--partial", help="A is a part of B, in the same unit of length.")
]
Model = Annotated[
    str,
    typer.Option(
        metavar="box|none|FILE",
        help="box: the model that comes with the package; none: descriptors alone; FILE: another"
        " such model (.npz of `make model`), or a network of your own (.safetensors of `finsler"
        " train`), which then finds the first map.",
    ),
]
Refine = Annotated[
    bool, typer.Option(help="With a network: refine the map that it finds, or keep it.")
]
Landmarks = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Text with known pairs, a vertex of A and one of B on each line, counted from 0: a few"
        " of them set a doubtful match right.",
    ),
]
Alternatives = Annotated[
    int,
    typer.Option(
        min=0, max=4, help="Also offer so many of the next best different maps, in all outputs."
    ),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Exit with status 3 where the match is doubtful.")
]
Cache = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER",
        help="Keep bases and descriptors of the meshes here, to match them again without computing"
        " them; with --pairs the folder `described` in that of the results by default.",
    ),
]

DescribingDevice = Annotated[
    str,
    typer.Option(
        "--device",
        metavar="cpu|cuda",
        help="Where the basis, the histograms and the features of a mesh are computed; maps are"
        " refined on the processor.",
    ),
]


@with_options(
    spec=partial(operator_options, alpha=1.0), workers=WorkerOptions, viewpoint=camera_options
)
def match(
    first: FirstMesh,
    *,
    second: SecondMesh = None,
    pairs: PairChoice = None,
    out: Out = None,
    colors: ColorFolder = None,
    figure: Figure = None,
    report: Report = None,
    viewpoint: Viewpoint,
    k: BasisSize = 200,
    partial_shape: Partial = False,
    model: Model = "box",
    refine: Refine = True,
    landmarks: Landmarks = None,
    alternatives: Alternatives = 0,
    strict: Strict = False,
    spec: OperatorSpec,
    theta: Theta = 0.0,
    cache: Cache = None,
    device: DescribingDevice = "cpu",
    workers: WorkerOptions,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Find which vertex of one mesh corresponds to which of another, without training.

    The meshes may differ in scale, position, pose and number of vertices. The result sends every
    vertex of A to a vertex of B (`map_12`), with an expected error and a confidence from 0 to 1
    for each, and B to A (`map_21`). With `-o map.npz` the meshes are written next to it as well, as
    map_A.ply and map_B.ply, with colours that correspond. The verdict says how probable it is that
    the map is right as a whole, and why it is doubtful: look at `--alternatives` then, or give a
    few `--landmarks`.

    With `--pairs` every pair gets a file A__B.npz, and pairs.csv lists all. What is there already
    is not computed again; a pair that fails stops none of the others, and the exit code is 1. Each
    mesh is described once, and its description kept (`--cache`).

    Example: `finsler match A.off B.off -o map.npz --report map.html --alternatives 2`, or many
    `finsler match faust_r:data/FAUST_r --pairs all -o maps`
    """
    chosen = split_model(model)
    require_network(chosen, refine)
    angle = math.radians(theta)
    matcher = Matcher(
        k,
        partial_shape,
        refine=refine,
        operator=spec,
        theta=angle,
        cache=cache,
        device=device,
        **chosen,
    )
    if pairs is None:
        if second is None:
            raise InputError("give a second mesh B, or match many with --pairs")
        workers.refuse()
        target = None if out is None else Path(out)
        files = MatchFiles(Path(first), second, target, colors, figure, report, viewpoint)
        own = [Path(model)] if model not in ("box", "none") else []
        files.check([*own, *([] if landmarks is None else [landmarks])], overwrite=overwrite)
        steered = {"alternatives": alternatives}
        known = {} if landmarks is None else {"landmarks": read_landmarks(landmarks)}
        result = _match_two(files, matcher, {**steered, **known}, as_json)
        if strict and result.verdict.doubtful:
            raise typer.Exit(DOUBTFUL_STATUS)
        return
    if second is not None or out is None:
        raise InputError("--pairs takes one folder or collection, and a folder with --out")
    asked = {"--colors": colors, "--figure": figure, "--report": report, "--landmarks": landmarks}
    _refuse({**asked, "--alternatives": alternatives or None, "--strict": strict or None})
    _match_pairs(first, pairs, out, matcher, workers, overwrite=overwrite, as_json=as_json)


def require_network(model: dict[str, Any], refine: bool) -> None:
    """Raise where a map is to be kept that no network makes."""
    if model["network"] is None and not refine:
        raise InputError("--no-refine keeps the map of a network: give one with --model")


def _refuse(outputs: dict[str, Any]) -> None:
    """Raise where an output is asked for that many pairs do not have."""
    for name, given in outputs.items():
        if given is not None:
            raise InputError(f"{name} is for one pair; leave it out with --pairs")


def _match_pairs(
    where: str,
    pairs: str,
    out: str,
    matcher: Matcher,
    workers: WorkerOptions,
    *,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Match pairs of meshes, each into a file of its own; what is there is not computed again."""
    matcher.check()
    lasting_location(out)
    meshes = open_meshes([where])
    chosen = choose_pairs(pairs, meshes.names)
    require_own_folder(out, _TABLE, COLUMNS, chosen, overwrite=overwrite)
    if matcher.network is None:
        matcher = replace(matcher, cache=shared_folder(matcher.cache or f"{out}/described"))
    chosen_workers = workers.of(len(chosen))
    tasks = pair_tasks(meshes, chosen, shared_folder(out), matcher)
    rows = compute_rows(match_to_file, tasks, chosen_workers, title="matching", total=len(chosen))
    table = [
        {"name": name, "mesh_1": a, "mesh_2": b, "file": f"{name}.npz", **rows[name]}
        for name, (a, b) in chosen.items()
    ]
    finish(out, _TABLE, COLUMNS, table, as_json=as_json)


def _match_two(
    files: MatchFiles, matcher: Matcher, options: dict[str, Any], as_json: bool
) -> Match:
    """Match one pair; write, draw and print what is asked for."""
    mesh_1, mesh_2 = load_mesh(files.first), load_mesh(files.second)
    start = time.perf_counter()
    with stages("matching") as show:
        result = matcher.match(mesh_1, mesh_2, **options, progress=show)
    seconds = time.perf_counter() - start
    names = (files.first.name, files.second.name)
    config = {"mesh_1": names[0], "mesh_2": names[1], **matcher.record()}
    written = [] if files.out is None else [write_npz(files.out, match_arrays(result), config)]
    written += write_colors(files.colored, (mesh_1, mesh_2), result)
    if files.figure is not None:
        with working("figure"):
            figure_match(
                files.figure, mesh_1, mesh_2, result, names=names, viewpoint=files.viewpoint
            )
        written.append(files.figure)
    if files.report is not None:
        blocks = match_blocks(
            mesh_1, mesh_2, result, names=names, seconds=seconds, viewpoint=files.viewpoint
        )
        written.append(reports.write(files.report, " → ".join(names), blocks, config))
    about = {**report_of(result), "files": [str(path) for path in written], "config": config}
    if as_json:
        print(json.dumps(about, indent=2))
    else:
        print_report(about)
    return result
