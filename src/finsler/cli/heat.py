"""`finsler heat`: heat spreading over a surface, in numbers, pictures and animations."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer

from finsler.analysis.point_heat import heat_flow, point_heat, unit_area
from finsler.cli.limits import MemoryLimit, SolverChoice, chosen_solver
from finsler.cli.options import (
    AsJson,
    Delaunay,
    FigureFile,
    FunctionFile,
    MeshFile,
    PictureCount,
    SourceVertices,
    Theta,
    about_weights,
    camera_options,
    laplacian_of,
    operator_options,
    operator_record,
    viewpoint_of,
    with_options,
)
from finsler.cli.results import (
    ANIMATION_ENDINGS,
    FIGURE_ENDINGS,
    FUNCTION_ENDINGS,
    Overwrite,
    check_outputs,
    print_report,
    scalar_name,
    write_animation,
    write_functions,
)
from finsler.cli.spinner import working
from finsler.errors import InputError
from finsler.mesh import TriMesh, load_mesh
from finsler.mesh.arguments import vertex_indices
from finsler.metric import RandersMetric
from finsler.operator import Laplacian
from finsler.spec import OperatorSpec
from finsler.typing import FloatArray
from finsler.view import Camera
from finsler.view.surfaces import figure_heat, heat_panels
from finsler.view.upright import Viewpoint

Flow = Callable[[float], FloatArray]

_PAIRS = 300
_TIMES = (0.0025, 0.01, 0.04)

Times = Annotated[
    list[float] | None,
    typer.Option(
        "--time",
        "-t",
        help="Time as a share of the surface's area; may be given several times. By default"
        " 0.0025, 0.01 and 0.04.",
    ),
]
MethodChoice = Annotated[
    Literal["implicit", "spectral"] | None,
    typer.Option(
        help="implicit: Euler steps, for any time; spectral: exact in time, but with -k"
        " eigenpairs only. By default implicit, or spectral with --finsler-source."
    ),
]
Steps = Annotated[int, typer.Option(help="Implicit steps for each time.")]
Eigenpairs = Annotated[
    int | None,
    typer.Option("-k", help=f"Number of eigenpairs; by default {_PAIRS}, or all of a small mesh."),
]
Amount = Annotated[
    float, typer.Option(help="Heat given to the sources: the mean of u over the surface.")
]
FinslerSource = Annotated[
    bool,
    typer.Option(
        "--finsler-source",
        help="Solve the paper's simplified Finsler heat equation: adds the source div(ω*)."
        " Needs --operator flbo.",
    ),
]
Animation = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write an animated .gif from the smallest to the largest --time (from a"
        " hundredth of it if only one is given), in equal steps of the logarithm.",
    ),
]


@with_options(spec=operator_options, viewpoint=camera_options)
def heat(
    mesh: MeshFile,
    *,
    source: SourceVertices = None,
    time: Times = None,
    spec: OperatorSpec,
    theta: Theta = 0.0,
    delaunay: Delaunay = False,
    method: MethodChoice = None,
    steps: Steps = 16,
    k: Eigenpairs = None,
    amount: Amount = 1.0,
    finsler_source: FinslerSource = False,
    solver: SolverChoice = "auto",
    memory: MemoryLimit = None,
    out: FunctionFile = None,
    figure: FigureFile = None,
    animate: Animation = None,
    frames: PictureCount = 40,
    viewpoint: Viewpoint,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Put heat on vertices and let it spread.

    The surface is measured with its own area as the unit: times are shares of it, and the heat u
    has mean 1 (or --amount), which is where it ends on a connected surface. Units of the file do
    not matter. Each picture has its own range of colours, from 0 to the hottest point, or symmetric
    about 0 if u is negative somewhere; an animation has one range, that of its last picture.

    Example: `finsler heat cat.off --source 120 -t 0.001 -t 0.01 --operator albo --animate cat.gif`
    """
    targets = [(out, FUNCTION_ENDINGS), (figure, FIGURE_ENDINGS), (animate, ANIMATION_ENDINGS)]
    files = check_outputs(targets, [mesh], overwrite=overwrite)
    times = _sorted(time or _TIMES)
    series = [] if animate is None else _series(times, frames)
    surface = load_mesh(mesh)
    seen = viewpoint_of(viewpoint, mesh)
    sources = source or [seen.nearest(surface)]
    vertex_indices(sources, surface.n_vertices)
    config = {"mesh": mesh.name, "sources": sources, "times": times, "amount": amount}
    config |= {"finsler_source": finsler_source, **operator_record(spec, theta, delaunay=delaunay)}
    config |= _method(config, surface.n_vertices, method, steps, k, solver)
    metric = spec.metric(unit_area(surface), math.radians(theta))
    operator, shares = laplacian_of(metric, delaunay=delaunay)
    with working(f"heat, {config['solver']} solver"):
        flow = _flow(config, metric, operator)
        heats = [flow(t) for t in times]
    _write(surface, heats, config, out)
    if figure is not None:
        figure_heat(figure, surface, heats, times, sources[0], viewpoint=seen)
    if animate is not None:
        _animate(animate, surface, flow, series, seen.facing(surface, sources[0]))
    report = {"sources": sources, "times": times, **_numbers(heats, operator.mass), **shares}
    report |= {"files": files, "config": config}
    print_report(report, _lines(report, bool(source)), as_json=as_json)


def _sorted(times: Sequence[float]) -> list[float]:
    """Ascending, and checked."""
    for t in times:
        if not 0.0 <= t < math.inf:
            raise InputError(f"--time is {t}; it must be finite and 0 or more")
    if len(set(times)) < len(times):
        raise InputError(f"--time is given twice with one value: {list(times)}")
    return sorted(times)


def _series(times: list[float], frames: int) -> list[float]:
    """Times of an animation, even in the logarithm."""
    if times[-1] == 0.0:
        raise InputError("--animate needs a --time above 0")
    first = times[0] if 0.0 < times[0] < times[-1] else times[-1] / 100
    return [float(t) for t in np.geomspace(first, times[-1], frames)]


def _method(
    config: Mapping[str, Any], n: int, method: str | None, steps: int, k: int | None, solver: str
) -> dict[str, Any]:
    """How the heat is computed, for the record."""
    if not math.isfinite(config["amount"]):
        raise InputError(f"--amount is {config['amount']}; it must be finite")
    drifts = config["finsler_source"]
    if drifts and (config["operator"] != "flbo" or method == "implicit"):
        raise InputError(
            "--finsler-source needs --operator flbo, whose ω makes the source, and no"
            " --method implicit"
        )
    if method == "spectral" or drifts:
        pairs = min(_PAIRS, n) if k is None else k
        chosen = chosen_solver("spectrum", n, solver, k=pairs)
        return {"method": "spectral", "k": pairs, "solver": chosen}
    chosen = chosen_solver("diffusion", n, solver)
    return {"method": "implicit", "steps": steps, "solver": chosen}


def _flow(config: Mapping[str, Any], metric: RandersMetric, operator: Laplacian) -> Flow:
    start = point_heat(operator.mass, config["sources"], config["amount"])
    drift = metric if config["finsler_source"] else None
    given = {name: config[name] for name in ("k", "steps", "solver") if name in config}
    return heat_flow(operator, start, drift=drift, **given)


def _write(
    mesh: TriMesh,
    heats: list[FloatArray],
    config: Mapping[str, Any],
    out: Path | None,
) -> None:
    times, sources = config["times"], config["sources"]
    functions = {scalar_name("heat", t): u for t, u in zip(times, heats, strict=True)}
    arrays = {"heat": heats, "times": times, "sources": sources}
    write_functions(out, mesh, functions, arrays, config)


def _animate(path: Path, mesh: TriMesh, flow: Flow, times: list[float], camera: Camera) -> None:
    """One range of colours for all pictures, that of the last, in which the heat has spread."""
    panels = heat_panels(mesh, [flow(t) for t in times], [""] * len(times), None)
    rows = [[replace(panel, clim=panels[-1].clim)] for panel in panels]
    write_animation(path, rows, [f"t = {t:.2g} area" for t in times], camera=camera)


def _numbers(heats: list[FloatArray], mass: FloatArray) -> dict[str, list[float]]:
    return {
        "smallest": [float(u.min()) for u in heats],
        "largest": [float(u.max()) for u in heats],
        "mean": [float(mass @ u / mass.sum()) for u in heats],
    }


def _lines(report: Mapping[str, Any], chosen: bool) -> Iterator[str]:
    remark = "" if chosen else " (nearest the viewer; --source chooses)"
    yield f"heat from vertex {', '.join(map(str, report['sources']))}{remark}"
    columns = ("times", "smallest", "largest", "mean")
    for t, low, high, mean in zip(*(report[name] for name in columns), strict=True):
        yield f"time {t:g} of the area: {low:.4g} to {high:.4g}, mean {mean:.6g}"
    yield about_weights(report)
