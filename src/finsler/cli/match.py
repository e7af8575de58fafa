"""`finsler match`: which vertex of one mesh corresponds to which of another."""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from finsler.cli import reports
from finsler.cli.batch import compute_rows, finish
from finsler.cli.cluster_options import WorkerOptions
from finsler.cli.options import (
    AsJson,
    Theta,
    camera_options,
    operator_options,
    with_options,
)
from finsler.cli.results import FIGURE_ENDINGS, Overwrite, check_outputs
from finsler.cli.spinner import stages, working
from finsler.compute.batch import require_own_folder
from finsler.data.meshes import open_meshes
from finsler.errors import InputError
from finsler.matching import Match
from finsler.matching.pairs import (
    COLUMNS,
    Matcher,
    choose_pairs,
    match_arrays,
    match_to_file,
    pair_tasks,
)
from finsler.mesh import TriMesh, load_mesh, write_mesh
from finsler.spec import OperatorSpec
from finsler.storage.files import lasting_location, shared_folder
from finsler.storage.npz import write_npz
from finsler.storage.outputs import require_outputs
from finsler.view.matches import figure_match
from finsler.view.report import match_blocks
from finsler.view.surfaces import position_colors
from finsler.view.upright import Viewpoint

_TABLE = "pairs.csv"
# Confidence below which a vertex is counted as doubtful.
_DOUBTFUL = 0.5

FirstMesh = Annotated[
    str,
    typer.Argument(
        metavar="A",
        help="Mesh whose vertices look for a partner; with --pairs a folder of meshes or a"
        " collection, e.g. faust_r:PATH.",
    ),
]
SecondMesh = Annotated[Path | None, typer.Argument(metavar="B", help="Mesh that they find it on.")]
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
    Path | None,
    typer.Option(
        metavar="CHECKPOINT",
        help="A trained network (.safetensors of `finsler train`) finds the first map.",
    ),
]
Refine = Annotated[
    bool, typer.Option(help="With --model: refine the map of the network, or keep it.")
]
Cache = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER",
        help="Keep bases and descriptors of the meshes here, to match them again without computing"
        " them; with --pairs the folder `described` in that of the results by default.",
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
    model: Model = None,
    refine: Refine = True,
    spec: OperatorSpec,
    theta: Theta = 0.0,
    cache: Cache = None,
    workers: WorkerOptions,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Match meshes: descriptors or a trained network, functional maps, ZoomOut.

    The meshes may differ in scale, position, pose and number of vertices. The result sends every
    vertex of A to a vertex of B (`map_12`), with an expected error and a confidence from 0 to 1
    for each, and B to A (`map_21`). With `-o map.npz` the meshes are written next to it as well, as
    map_A.ply and map_B.ply, with colours that correspond. A map that tears the surface, changes
    distances along it or turns it over is announced as "probably wrong", with the reasons.

    With `--pairs` every pair gets a file A__B.npz, and pairs.csv lists all. What is there already
    is not computed again; a pair that fails stops none of the others, and the exit code is 1. Each
    mesh is described once, and its description kept (`--cache`).

    Example: `finsler match A.off B.off -o map.npz --model runs/first/last.safetensors`, or many
    `finsler match faust_r:data/FAUST_r --pairs all -o maps`
    """
    if model is None and not refine:
        raise InputError("--no-refine keeps the map of a network: give one with --model")
    network = None if model is None else str(model.absolute())
    matcher = Matcher(k, partial_shape, network, refine, spec, math.radians(theta), cache)
    if pairs is None:
        if second is None:
            raise InputError("give a second mesh B, or match many with --pairs")
        workers.refuse()
        target = None if out is None else Path(out)
        files = _Files(Path(first), second, target, colors, figure, report, viewpoint)
        files.check(model, overwrite=overwrite)
        _match_two(files, matcher, as_json)
        return
    if second is not None or out is None:
        raise InputError("--pairs takes one folder or collection, and a folder with --out")
    _refuse({"--colors": colors, "--figure": figure, "--report": report})
    _match_pairs(first, pairs, out, matcher, workers, overwrite=overwrite, as_json=as_json)


def _refuse(outputs: dict[str, Path | None]) -> None:
    """Raise where an output is asked for that many pairs do not have."""
    for name, given in outputs.items():
        if given is not None:
            raise InputError(f"{name} is for one pair; leave it out with --pairs")


@dataclass(frozen=True)
class _Files:
    """The two meshes, the files that are asked for, and where pictures are seen from."""

    first: Path
    second: Path
    out: Path | None
    colors: Path | None
    figure: Path | None
    report: Path | None
    viewpoint: Viewpoint

    @property
    def colored(self) -> list[Path]:
        """Where the coloured meshes go: into a folder of their own, next to the map, or nowhere."""
        meshes = zip("AB", (self.first, self.second), strict=True)
        if self.colors is not None:
            return [self.colors / f"{name}_{path.stem}.ply" for name, path in meshes]
        if self.out is None:
            return []
        return [self.out.with_name(f"{self.out.stem}_{name}.ply") for name in "AB"]

    def check(self, model: Path | None, *, overwrite: bool) -> None:
        """Raise before the work where a file cannot be written, or is the user's."""
        if self.colors is not None and self.colors.exists() and not self.colors.is_dir():
            raise InputError(
                f"{self.colors}: this is a file; give a folder for the coloured meshes"
            )
        named = [
            (self.out, (".npz",)),
            (self.figure, FIGURE_ENDINGS),
            (self.report, reports.ENDINGS),
        ]
        inputs = [path for path in (self.first, self.second, model) if path is not None]
        check_outputs(named, inputs, overwrite=overwrite)
        require_outputs(self.colored, inputs, overwrite=overwrite)


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
    if matcher.model is None:
        matcher = replace(matcher, cache=shared_folder(matcher.cache or f"{out}/described"))
    chosen_workers = workers.of(len(chosen))
    tasks = pair_tasks(meshes, chosen, shared_folder(out), matcher)
    rows = compute_rows(match_to_file, tasks, chosen_workers, title="matching", total=len(chosen))
    table = [
        {"name": name, "mesh_1": a, "mesh_2": b, "file": f"{name}.npz", **rows[name]}
        for name, (a, b) in chosen.items()
    ]
    finish(out, _TABLE, COLUMNS, table, as_json=as_json)


def _match_two(files: _Files, matcher: Matcher, as_json: bool) -> None:
    """Match one pair; write, draw and print what is asked for."""
    mesh_1, mesh_2 = load_mesh(files.first), load_mesh(files.second)
    start = time.perf_counter()
    with stages("matching") as show:
        result = matcher.match(mesh_1, mesh_2, progress=show)
    seconds = time.perf_counter() - start
    names = (files.first.name, files.second.name)
    config = {"mesh_1": names[0], "mesh_2": names[1], **matcher.record()}
    written = [] if files.out is None else [write_npz(files.out, match_arrays(result), config)]
    written += _write_colors(files.colored, (mesh_1, mesh_2), result)
    if files.figure is not None:
        with working("figure"):
            figure_match(
                files.figure, mesh_1, mesh_2, result, names=names, viewpoint=files.viewpoint
            )
        written.append(files.figure)
    if files.report is not None:
        blocks = match_blocks(mesh_1, mesh_2, result, names=names, seconds=seconds)
        written.append(reports.write(files.report, " → ".join(names), blocks, config))
    about = {**_report(result), "files": [str(path) for path in written], "config": config}
    if as_json:
        print(json.dumps(about, indent=2))
    else:
        _print(about)


def _report(result: Match) -> dict[str, Any]:
    return {
        "vertices": [len(result.map_12), len(result.map_21)],
        "basis": list(result.functional.shape),
        "verdict": {
            "probably_wrong": result.verdict.probably_wrong,
            "sentence": result.verdict.sentence,
            "distance_change": result.verdict.distance_change,
            "torn_share": result.verdict.torn_share,
        },
        "orientation": result.orientation,
        "expected_error": float(result.expected.mean()),
        "confidence": {
            "mean": float(result.confidence.mean()),
            "doubtful_share": float((result.confidence < _DOUBTFUL).mean()),
        },
        "cycle": {
            "mean": float(result.cycle.mean()),
            "largest": float(result.cycle.max()),
        },
        "covered_share": float(len(np.unique(result.map_12)) / len(result.map_21)),
    }


def _write_colors(
    targets: list[Path], meshes: tuple[TriMesh, TriMesh], result: Match
) -> list[Path]:
    """A with the colours of its partners and its confidence, and B, as .ply."""
    if targets:
        targets[0].parent.mkdir(parents=True, exist_ok=True)
        colors = np.round(255 * position_colors(meshes[1])).astype(np.uint8)
        carried, trust = colors[result.map_12], result.confidence
        write_mesh(targets[0], meshes[0], colors=carried, scalars={"confidence": trust})
        write_mesh(targets[1], meshes[1], colors=colors)
    return targets


def _print(report: dict[str, Any]) -> None:
    n_1, n_2 = report["vertices"]
    k_1, k_2 = report["basis"]
    print(f"{n_1:,} vertices of A sent to B, which has {n_2:,}; functional map {k_1} × {k_2}")
    trust, cycle = report["confidence"], report["cycle"]
    print(
        f"expected error {report['expected_error']:.3f} √area in the mean; confidence"
        f" {trust['mean']:.3f}, below {_DOUBTFUL} at {100 * trust['doubtful_share']:.1f}% of the"
        " vertices"
    )
    print(f"round trips of {cycle['mean']:.4f} √area in the mean, {cycle['largest']:.4f} at most")
    print(f"{100 * report['orientation']:.0f}% of the surface arrives right side up")
    print(report["verdict"]["sentence"])
    for path in report["files"]:
        print(f"Wrote {path}")
