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
from finsler.cli.options import (
    Alpha,
    AsJson,
    Kind,
    Omega,
    OmegaField,
    OperatorChoice,
    OperatorKind,
    Peak,
    Smoothing,
    Tau,
    Theta,
    working,
)
from finsler.cli.results import FIGURE_ENDINGS, checked_target

if TYPE_CHECKING:
    from finsler.matching import Match
    from finsler.mesh import TriMesh
    from finsler.operator import Laplacian

# Confidence below which a vertex is counted as doubtful.
_DOUBTFUL = 0.5


def match(
    first: Annotated[
        Path, typer.Argument(metavar="A", help="Mesh whose vertices look for a partner.")
    ],
    second: Annotated[Path, typer.Argument(metavar="B", help="Mesh that they find it on.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write the map and its record: .npz."),
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
    kind: OperatorKind = Kind.lbo,
    alpha: Alpha = 1.0,
    tau: Tau = 0.1,
    theta: Theta = 0.0,
    omega: OmegaField = Omega.constant,
    peak: Peak = 0.9,
    smoothing: Smoothing = 10,
    as_json: AsJson = False,
) -> None:
    """Match two meshes: descriptors or a trained network, functional maps, ZoomOut.

    The meshes may differ in scale, position, pose and number of vertices. The result sends every
    vertex of A to a vertex of B (`map_12`), with the error that is to be expected and a confidence
    from 0 to 1 for each. `map_21` sends B to A. With `-o map.npz` the meshes are written next to it
    as well, as map_A.ply and map_B.ply, with colours that correspond.

    Example: `finsler match A.off B.off -o map.npz --figure map.png`, or with a network
    `finsler match A.off B.off -o map.npz --model runs/first/last.safetensors`
    """
    from finsler.errors import InputError
    from finsler.files import write_npz
    from finsler.matching import match as run
    from finsler.mesh import load_mesh

    checked_target(out, (".npz",))
    checked_target(figure, FIGURE_ENDINGS)
    checked_target(report, reports.ENDINGS)
    if colors is not None and colors.exists() and not colors.is_dir():
        raise InputError(f"{colors}: this is a file; give a folder for the coloured meshes")
    if model is None and not refine:
        raise InputError("--no-refine keeps what a network found: give one with --model")
    mesh_1, mesh_2 = load_mesh(first), load_mesh(second)
    choice = OperatorChoice(kind, alpha, tau, omega, peak, smoothing)

    def operator(mesh: TriMesh) -> Laplacian:
        from finsler.operator import laplacian

        return laplacian(mesh, choice.metric(mesh, theta).diffusivity())

    start = time.perf_counter()
    with _stages() as show:
        given = {} if model is None else _learned(model, mesh_1, mesh_2, keep=not refine, show=show)
        found = run(mesh_1, mesh_2, k=k, operator=operator, partial=partial, progress=show, **given)
    seconds = time.perf_counter() - start
    config: dict[str, Any] = {
        "mesh_1": first.name,
        "mesh_2": second.name,
        "direction": "map_12 sends each vertex of mesh_1 to a vertex of mesh_2",
        "k": k,
        "partial": partial,
        "model": None if model is None else model.name,
        "refine": refine,
        **choice.config(theta),
    }
    written = [] if out is None else [write_npz(out, _arrays(found), config)]
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


def _learned(
    model: Path, mesh_1: TriMesh, mesh_2: TriMesh, *, keep: bool, show: Callable[[str], None]
) -> dict[str, Any]:
    """What a network found, as arguments of `match`."""
    from finsler.cli.match_learned import learned_map

    show("network")
    learned = learned_map(model, mesh_1, mesh_2)
    return {"initial": learned.map_12, "trust": learned.trust, "keep": keep}


def _arrays(found: Match) -> dict[str, Any]:
    return {
        "map_12": found.map_12,
        "map_21": found.map_21,
        "expected": found.expected,
        "confidence": found.confidence,
        "cycle": found.cycle,
        "functional": found.functional,
        "eigenvalues_1": found.eigenvalues_1,
        "eigenvalues_2": found.eigenvalues_2,
    }


def _report(found: Match) -> dict[str, Any]:
    import numpy as np

    return {
        "vertices": [len(found.map_12), len(found.map_21)],
        "basis": list(found.functional.shape),
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
    from finsler.view.surfaces import box_shares

    values = box_shares(mesh_2) @ [0.6, 1.0, 0.3]
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
    if report["orientation"] < 0.5:
        print("note: most of it arrives turned over; left and right are probably exchanged")
    for path in report["files"]:
        print(f"Wrote {path}")
