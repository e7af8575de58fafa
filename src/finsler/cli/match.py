"""`finsler match`: which vertex of one mesh corresponds to which of another."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finsler.cli import reports
from finsler.cli.cluster_options import (
    Bundle,
    Jobs,
    Retries,
    Scheduler,
    WorkerMemory,
    refuse_workers,
    workers,
)
from finsler.cli.match_pairs import MatchChoice, arrays_of, match_pairs
from finsler.cli.options import (
    Alpha,
    AsJson,
    OmegaField,
    OperatorKind,
    Peak,
    Smoothing,
    Tau,
    Theta,
    working,
)
from finsler.cli.results import FIGURE_ENDINGS, Overwrite, check_outputs
from finsler.operator import OperatorSpec
from finsler.storage.outputs import require_outputs

if TYPE_CHECKING:
    from finsler.compute.cluster import Workers
    from finsler.matching import Match
    from finsler.mesh import TriMesh

# Confidence below which a vertex is counted as doubtful.
_DOUBTFUL = 0.5


def match(
    first: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="Mesh whose vertices look for a partner; with --pairs a folder of meshes or a"
            " collection, e.g. faust_r:PATH.",
        ),
    ],
    second: Annotated[
        Path | None, typer.Argument(metavar="B", help="Mesh that they find it on.")
    ] = None,
    pairs: Annotated[
        str | None,
        typer.Option(
            metavar="all|FILE",
            help="Match many meshes of A: every two of them, or those that a file names, two on"
            " each line.",
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write the map and its record: .npz; with --pairs a folder, or s3://...",
        ),
    ] = None,
    colors: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write both meshes as .ply here, B coloured by position and A by its partners.",
        ),
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw both side by side: .png, .svg or .pdf."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write one page to turn both with the mouse: .html."),
    ] = None,
    k: Annotated[int, typer.Option("-k", help="Functions in the largest basis.")] = 200,
    partial: Annotated[
        bool,
        typer.Option("--partial", help="A is a part of B, in the same unit of length."),
    ] = False,
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="CHECKPOINT",
            help="A trained network (.safetensors of `finsler train`) finds the first map.",
        ),
    ] = None,
    refine: Annotated[
        bool, typer.Option(help="With --model: refine what the network found, or keep it.")
    ] = True,
    kind: OperatorKind = "lbo",
    alpha: Alpha = 1.0,
    tau: Tau = 0.1,
    theta: Theta = 0.0,
    omega: OmegaField = "constant",
    peak: Peak = 0.9,
    smoothing: Smoothing = 10,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    retries: Retries = 2,
    worker_memory: WorkerMemory = None,
    bundle: Bundle = 1,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Match meshes: descriptors or a trained network, functional maps, ZoomOut.

    The meshes may differ in scale, position, pose and number of vertices. The result sends every
    vertex of A to a vertex of B (`map_12`), with the error that is to be expected and a confidence
    from 0 to 1 for each. `map_21` sends B to A. With `-o map.npz` the meshes are written next to it
    as well, as map_A.ply and map_B.ply, with colours that correspond.

    A map that tears the surface, changes distances along it or turns it over is announced as
    "probably wrong", with the reasons.

    With `--pairs` every pair gets a file A__B.npz, and pairs.csv lists them all with seconds,
    confidence, verdict and errors. What is there already is not computed again; a pair that fails
    stops none of the others, and the exit code is 1.

    Example: `finsler match A.off B.off -o map.npz --figure map.png`, with a network
    `finsler match A.off B.off -o map.npz --model runs/first/last.safetensors`, or many
    `finsler match faust_r:data/FAUST_r --pairs all -o maps`
    """
    from finsler.errors import InputError

    if model is None and not refine:
        raise InputError("--no-refine keeps what a network found: give one with --model")
    network = None if model is None else str(model.absolute())
    operator = OperatorSpec(kind, alpha, tau, omega, peak, smoothing)
    choice = MatchChoice(k, partial, network, refine, operator, theta)
    if pairs is None:
        if second is None:
            raise InputError("give a second mesh B, or match many with --pairs")
        refuse_workers(scheduler, jobs, worker_memory)
        target = None if out is None else Path(out)
        if colors is not None and colors.exists() and not colors.is_dir():
            raise InputError(f"{colors}: this is a file; give a folder for the coloured meshes")
        plys = _ply_files(target, colors, (Path(first), second))
        targets = [(target, (".npz",)), (figure, FIGURE_ENDINGS), (report, reports.ENDINGS)]
        inputs = [Path(first), second, *([] if model is None else [model])]
        check_outputs(targets, inputs, overwrite=overwrite)
        require_outputs(plys, inputs, overwrite=overwrite)
        _match_two((Path(first), second), target, choice, colors, figure, report, as_json)
        return
    if second is not None or out is None:
        raise InputError("--pairs takes one folder or collection, and a folder with --out")
    for name, given in {"--colors": colors, "--figure": figure, "--report": report}.items():
        if given is not None:
            raise InputError(f"{name} is for one pair; leave it out with --pairs")

    def crew(tasks: int) -> Workers:
        return workers(scheduler, jobs, retries, worker_memory, bundle, tasks=tasks)

    match_pairs(first, pairs, out, choice, crew, overwrite=overwrite, as_json=as_json)


def _match_two(
    paths: tuple[Path, Path],
    out: Path | None,
    choice: MatchChoice,
    colors: Path | None,
    figure: Path | None,
    report: Path | None,
    as_json: bool,
) -> None:
    """Match one pair; write, draw and print what is asked for."""
    from finsler.mesh import load_mesh
    from finsler.storage.npz import write_npz

    first, second = paths
    mesh_1, mesh_2 = load_mesh(first), load_mesh(second)
    start = time.perf_counter()
    with _stages() as show:
        found = choice.matched(mesh_1, mesh_2, show)
    seconds = time.perf_counter() - start
    config: dict[str, Any] = {
        "mesh_1": first.name,
        "mesh_2": second.name,
        **choice.config(),
    }
    written = [] if out is None else [write_npz(out, arrays_of(found), config)]
    written += _write_colors(_ply_files(out, colors, (first, second)), (mesh_1, mesh_2), found)
    if figure is not None:
        with working("figure"):
            _draw(figure, mesh_1, mesh_2, found)
        written.append(figure)
    if report is not None:
        from finsler.view.report import match_blocks

        names = (first.name, second.name)
        blocks = match_blocks(mesh_1, mesh_2, found, names=names, seconds=seconds)
        written.append(reports.write(report, " → ".join(names), blocks, config))
    about = {**_report(found), "files": [str(path) for path in written], "config": config}
    if as_json:
        print(json.dumps(about, indent=2))
    else:
        _print(about)


@contextmanager
def _stages() -> Iterator[Callable[[str], None]]:
    """Shows the name of a stage on a spinner; nothing where stderr is not a terminal."""
    from rich.console import Console

    with Console(stderr=True).status("matching") as status:
        yield lambda stage: status.update(f"matching: {stage}")


def _report(found: Match) -> dict[str, Any]:
    import numpy as np

    return {
        "vertices": [len(found.map_12), len(found.map_21)],
        "basis": list(found.functional.shape),
        "verdict": {
            "probably_wrong": found.verdict.probably_wrong,
            "sentence": found.verdict.sentence,
            "distance_change": found.verdict.distance_change,
            "torn_share": found.verdict.torn_share,
        },
        "orientation": found.orientation,
        "expected_error": float(found.expected.mean()),
        "confidence": {
            "mean": float(found.confidence.mean()),
            "doubtful_share": float((found.confidence < _DOUBTFUL).mean()),
        },
        "cycle": {
            "mean": float(found.cycle.mean()),
            "largest": float(found.cycle.max()),
        },
        "covered_share": float(len(np.unique(found.map_12)) / len(found.map_21)),
    }


def _ply_files(out: Path | None, folder: Path | None, meshes: tuple[Path, Path]) -> list[Path]:
    """Where the coloured meshes go: into a folder of their own, next to the map, or nowhere."""
    if folder is not None:
        return [folder / f"{name}_{path.stem}.ply" for name, path in zip("AB", meshes, strict=True)]
    return [] if out is None else [out.with_name(f"{out.stem}_{name}.ply") for name in "AB"]


def _write_colors(targets: list[Path], meshes: tuple[TriMesh, TriMesh], found: Match) -> list[Path]:
    """A with the colours of its partners and its confidence, and B, as .ply."""
    import numpy as np

    from finsler.mesh import write_mesh
    from finsler.view.surfaces import position_colors

    if targets:
        targets[0].parent.mkdir(parents=True, exist_ok=True)
        colors = np.round(255 * position_colors(meshes[1])).astype(np.uint8)
        carried, trust = colors[found.map_12], found.confidence
        write_mesh(targets[0], meshes[0], colors=carried, scalars={"confidence": trust})
        write_mesh(targets[1], meshes[1], colors=colors)
    return targets


def _draw(path: Path, mesh_1: TriMesh, mesh_2: TriMesh, found: Match) -> None:
    """A function on B that tells sides and heights apart, its pull-back to A, the confidence."""
    import numpy as np

    from finsler.view import Panel, save_figure
    from finsler.view.surfaces import side_and_height

    values = side_and_height(mesh_2)
    clim = (float(values.min()), float(values.max()) + 1e-12)
    carried = np.asarray(values[found.map_12])
    row = [
        Panel(mesh_2, scalars=values, title="B", cmap="viridis", clim=clim, bands=16),
        Panel(mesh_1, scalars=carried, title="carried to A", cmap="viridis", clim=clim, bands=16),
        Panel(mesh_1, scalars=found.confidence, title="confidence", clim=(0.0, 1.0)),
    ]
    save_figure(path, [row], panel_size=(2.4, 2.4), share_range=False)


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
