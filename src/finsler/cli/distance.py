"""`finsler distance`: how far it is there, and how far back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finsler.cli.distance_pictures import camera_of, distance_panels, write_front
from finsler.cli.limits import MemoryLimit, Solver, SolverChoice, chosen_solver
from finsler.cli.options import (
    AsJson,
    FigureFile,
    FunctionFile,
    Kind,
    MeshFile,
    Metric,
    MetricChoice,
    Omega,
    OperatorChoice,
    Peak,
    PictureCount,
    Smoothing,
    SourceVertices,
    working,
)
from finsler.cli.results import (
    ANIMATION_ENDINGS,
    FIGURE_ENDINGS,
    FUNCTION_ENDINGS,
    checked_target,
    nearest_vertex,
    write_functions,
)
from finsler.cli.trips import Method, Trip, corners, functions_of, summary, traced

if TYPE_CHECKING:
    from finsler.metric import RandersMetric

_OPTIONS = {
    Metric.wind: ("wind",),
    Metric.curvature: ("alpha", "tau", "theta", "omega", "peak", "smoothing"),
}


def distance(
    context: typer.Context,
    mesh: MeshFile,
    source: SourceVertices = None,
    reverse: Annotated[
        bool, typer.Option("--reverse", help="The way to the sources instead of from them.")
    ] = False,
    both: Annotated[
        bool, typer.Option("--both", help="Both ways, and the first less the second.")
    ] = False,
    metric: Annotated[
        Metric | None,
        typer.Option(
            help="wind: travel at unit speed, carried by --wind. curvature: a step along ω costs"
            " more, ω follows the direction of largest curvature. isotropic: the surface's own"
            " lengths. By default wind, or curvature where one of its options is given."
        ),
    ] = None,
    wind: Annotated[
        tuple[float, float, float],
        typer.Option(
            metavar="X Y Z",
            help="One vector for the whole surface, which feels its tangential part; slower than"
            " the traveller, whose speed is 1.",
        ),
    ] = (0.5, 0.0, 0.0),
    alpha: Annotated[
        float,
        typer.Option(help="Anisotropy: steps along the direction of ω cost √(1 + alpha) times."),
    ] = 0.0,
    tau: Annotated[
        float,
        typer.Option(
            help="Length of ω: a unit step costs tau more along it and tau less against it. Below"
            " √(1 + alpha)."
        ),
    ] = 0.5,
    theta: Annotated[
        float, typer.Option(help="Turn ω and the anisotropy by this angle, in degrees.")
    ] = 0.0,
    omega: Annotated[
        Omega,
        typer.Option(
            help="constant: ω has length tau everywhere; curved, flat: its strength follows"
            " curvature up to --peak, and tau is not used."
        ),
    ] = Omega.constant,
    peak: Peak = 0.9,
    smoothing: Smoothing = 10,
    method: Annotated[
        Method,
        typer.Option(
            help="eikonal: accurate, for any metric; heat: smooth, a few per cent off; geodesic:"
            " the heat method for the surface's own lengths, without any metric option."
        ),
    ] = Method.eikonal,
    solver: SolverChoice = Solver.auto,
    memory: MemoryLimit = None,
    path_to: Annotated[
        int | None,
        typer.Option(metavar="VERTEX", help="Trace a shortest path between here and the sources."),
    ] = None,
    out: FunctionFile = None,
    figure: FigureFile = None,
    animate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write an animated .gif of the front; with --both, of two."
        ),
    ] = None,
    frames: PictureCount = 40,
    as_json: AsJson = False,
) -> None:
    """Measure distances in which there and back may differ, and trace shortest paths.

    The default metric is a wind of half the traveller's speed along the x axis: downwind is quick,
    upwind slow, and distance is the time of travel. With --metric curvature, ω needs a sign, but
    principal curvature gives lines only: neighbouring faces are made to agree where they can, so
    that the sign is arbitrary and jumps across seams.

    Files hold the scalar `distance`, with --both also `distance_back` and `asymmetry` = distance -
    distance_back; .npz also the corners `path` and `path_back`. On parts without a source the
    distance is infinite (asymmetry: NaN), and pictures are grey.

    Example: `finsler distance cat.off --wind 0 0.6 0 --both --path-to 400 --figure cat.png`
    """
    from finsler.analysis.arguments import vertex_indices
    from finsler.compute.memory import require
    from finsler.errors import InputError
    from finsler.mesh import load_mesh
    from finsler.view import save_figure

    checked_target(out, FUNCTION_ENDINGS)
    checked_target(figure, FIGURE_ENDINGS)
    checked_target(animate, ANIMATION_ENDINGS)
    if both and reverse:
        raise InputError("--both already includes the way of --reverse; leave one of them out")
    if solver is not Solver.auto and method is not Method.heat:
        raise InputError(f"--solver serves --method heat; --method {method} has no choice of it")
    given = {name for name in context.params if _is_given(context, name)}
    kind = _metric_kind(metric, method, given)
    surface = load_mesh(mesh)
    sources = source or [nearest_vertex(surface)]
    vertex_indices([*sources, *([] if path_to is None else [path_to])], surface.n_vertices)
    if method is Method.heat:
        taken = chosen_solver("heat", surface.n_vertices, solver)
    else:
        require(method.value, surface.n_vertices)
    curvature = OperatorChoice(Kind.flbo, alpha, tau, omega, peak, smoothing)
    choice = MetricChoice(kind, wind, curvature, theta)
    config = {
        "mesh": mesh.name,
        "sources": sources,
        "method": method.value,
        **({"solver": taken} if method is Method.heat else {}),
        **choice.config(),
        **({} if path_to is None else {"path_to": path_to}),
    }
    ways = [False, True] if both else [reverse]
    lengths = choice.metric(surface)
    if method is Method.heat:
        trips = _by_heat(lengths, sources, ways, taken, path_to)
    else:
        trips = traced(lengths, sources, ways, method, path_to)

    if out is not None:
        functions = functions_of(trips)
        arrays = {**functions, **corners(trips), "sources": sources}
        write_functions(out, surface, functions, arrays, config)
    camera = camera_of(surface, trips, sources[0])
    if figure is not None:
        with working("figure"):
            save_figure(figure, [distance_panels(surface, trips, sources)], camera=camera)
    if animate is not None:
        write_front(animate, surface, trips, camera, pictures=frames)
    report = {
        "sources": sources,
        **summary(surface, trips, sources, path_to),
        "files": [str(path) for path in (out, figure, animate) if path is not None],
        "config": config,
    }
    if as_json:
        print(json.dumps(report, indent=2))
    else:
        _print(report, "" if source else " (nearest the viewer; --source chooses)")


def _by_heat(
    metric: RandersMetric,
    sources: list[int],
    ways: list[bool],
    solver: str,
    target: int | None,
) -> list[Trip]:
    """As `traced`, by one solver for all ways."""
    from finsler.analysis import RandersHeat, geodesic_path

    trips = []
    with working(f"distance, {solver} solver"):
        heat = RandersHeat(metric, solver=solver)
        for way in ways:
            found = heat.distance(sources, reverse=way)
            path = (
                None
                if target is None
                else geodesic_path(metric, found, sources, target, reverse=way)
            )
            trips.append(Trip(found, way, path))
    return trips


def _is_given(context: typer.Context, name: str) -> bool:
    origin = context.get_parameter_source(name)
    return origin is not None and origin.name == "COMMANDLINE"


def _metric_kind(asked: Metric | None, method: Method, given: set[str]) -> Metric:
    """The metric asked for, or the one that the given options belong to."""
    from finsler.errors import InputError

    owners = {name: kind for kind, names in _OPTIONS.items() for name in names}
    used = [name for name in owners if name in given]
    if method is Method.geodesic:
        if asked in (Metric.wind, Metric.curvature) or used or {"reverse", "both"} & given:
            raise InputError(
                "--method geodesic takes the surface's own lengths, the same there and back; leave"
                " out --reverse, --both and the options of a metric, or take --method eikonal"
            )
        return Metric.isotropic
    kind = asked or (owners[used[-1]] if used else Metric.wind)
    for name in used:
        if owners[name] is not kind:
            raise InputError(
                f"--{name} belongs to --metric {owners[name]}, but the metric is {kind}; leave one"
                " of them out"
            )
    return kind


def _print(report: dict[str, Any], remark: str) -> None:
    config = report["config"]
    metric = config["metric"]
    if metric == "wind":
        metric = "wind " + " ".join(f"{x:g}" for x in config["wind"])
    print(f"source vertex {', '.join(map(str, report['sources']))}{remark}; {metric}")
    for key, words in (
        ("largest_from", "from the source: up to"),
        ("largest_to", "to the source: up to"),
        ("largest_difference", "difference: as large as"),
    ):
        if key in report:
            print(f"{words} {report[key]['value']:.5g}, at vertex {report[key]['vertex']}")
    for path in report.get("paths", []):
        print(f"path from {path['from']} to {path['to']}: length {path['length']:.5g}")
    if report["unreached"]:
        print(
            f"{report['unreached']:,} of {report['vertices']:,} vertices lie on parts without a"
            " source; their distance is infinite"
        )
    for path in report["files"]:
        print(f"Wrote {path}")
