"""`finsler distance`: how far it is there, and how far back."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from finsler.analysis.distance_fields import (
    DistanceField,
    distance_fields,
    named_paths,
    named_values,
    summary,
)
from finsler.cli.limits import MemoryLimit, SolverChoice, chosen_solver
from finsler.cli.options import (
    AsJson,
    FigureFile,
    FunctionFile,
    MeshFile,
    OmegaField,
    Peak,
    PictureCount,
    Smoothing,
    SourceVertices,
    camera_options,
    operator_record,
    viewpoint_of,
    wind_metric,
    with_options,
)
from finsler.cli.results import (
    ANIMATION_ENDINGS,
    FIGURE_ENDINGS,
    FUNCTION_ENDINGS,
    Overwrite,
    check_outputs,
    print_report,
    write_animation,
    write_functions,
)
from finsler.cli.spinner import working
from finsler.compute.memory import require
from finsler.errors import InputError
from finsler.mesh import TriMesh, load_mesh
from finsler.mesh.arguments import vertex_indices
from finsler.metric import RandersMetric
from finsler.spec import OperatorSpec
from finsler.view import Camera, save_figure
from finsler.view.distance_fields import field_camera, field_panels, front_rows
from finsler.view.upright import Viewpoint

# Options by the metric that they belong to.
_OPTIONS = {
    "wind": ("wind",),
    "curvature": ("alpha", "tau", "theta", "omega", "peak", "smoothing"),
}
_OWNERS = {name: kind for kind, names in _OPTIONS.items() for name in names}

Reverse = Annotated[
    bool, typer.Option("--reverse", help="Distances to the sources instead of from them.")
]
Both = Annotated[
    bool, typer.Option("--both", help="Both ways, and their difference: there less back.")
]
Metric = Annotated[
    Literal["wind", "curvature", "isotropic"] | None,
    typer.Option(
        help="wind: travel at unit speed, carried by --wind. curvature: a step along ω costs"
        " more, ω follows the direction of largest curvature. isotropic: the surface's own"
        " lengths. By default wind, or curvature where one of its options is given."
    ),
]
Wind = Annotated[
    tuple[float, float, float],
    typer.Option(
        metavar="X Y Z",
        help="One vector for the whole surface, of which the tangential part counts; it must"
        " be slower than the traveller, whose speed is 1.",
    ),
]
Alpha = Annotated[
    float,
    typer.Option(
        help="Anisotropy: steps along the direction of ω cost √(1 + alpha) times as much."
    ),
]
Tau = Annotated[
    float,
    typer.Option(
        help="Length of ω: a unit step costs tau more along it and tau less against it. Below"
        " √(1 + alpha)."
    ),
]
Theta = Annotated[float, typer.Option(help="Turn ω and the anisotropy by this angle, in degrees.")]
MethodChoice = Annotated[
    Literal["eikonal", "heat", "geodesic"],
    typer.Option(
        help="eikonal: accurate, for any metric; heat: smooth, a few per cent off; geodesic:"
        " the heat method for the surface's own lengths, without any metric option."
    ),
]
PathTo = Annotated[
    int | None,
    typer.Option(
        metavar="VERTEX", help="Trace a shortest path between this vertex and the sources."
    ),
]
Animation = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write an animated .gif of the advancing front; with --both, of both fronts.",
    ),
]


@with_options(viewpoint=camera_options)
def distance(
    context: typer.Context,
    mesh: MeshFile,
    *,
    source: SourceVertices = None,
    reverse: Reverse = False,
    both: Both = False,
    metric: Metric = None,
    wind: Wind = (0.5, 0.0, 0.0),
    alpha: Alpha = 0.0,
    tau: Tau = 0.5,
    theta: Theta = 0.0,
    omega: OmegaField = "constant",
    peak: Peak = 0.9,
    smoothing: Smoothing = 10,
    method: MethodChoice = "eikonal",
    solver: SolverChoice = "auto",
    memory: MemoryLimit = None,
    path_to: PathTo = None,
    out: FunctionFile = None,
    figure: FigureFile = None,
    animate: Animation = None,
    frames: PictureCount = 40,
    viewpoint: Viewpoint,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Measure distances in which there and back may differ, and trace shortest paths.

    The default metric is a wind of half the traveller's speed along the x axis: downwind is quick,
    upwind slow, and distance is the time of travel. With --metric curvature, ω needs a sign, but
    principal curvature only gives lines: neighbouring faces are made to agree where they can, so
    the sign is arbitrary and jumps across seams.

    Files hold `distance`, with --both also `distance_back` and `asymmetry`, their difference; .npz
    also the corners `path` and `path_back`. On a part without a source, the distance is infinite,
    drawn grey.

    Example: `finsler distance cat.off --wind 0 0.6 0 --both --path-to 400 --figure cat.png`
    """
    targets = [(out, FUNCTION_ENDINGS), (figure, FIGURE_ENDINGS), (animate, ANIMATION_ENDINGS)]
    files = check_outputs(targets, [mesh], overwrite=overwrite)
    if both and reverse:
        raise InputError("--both already includes the way of --reverse; leave one of them out")
    kind = _metric_kind(metric, method, {name for name in context.params if _given(context, name)})
    spec = OperatorSpec("flbo", alpha, tau, omega, peak, smoothing)
    surface = load_mesh(mesh)
    seen = viewpoint_of(viewpoint, mesh)
    sources = source or [seen.nearest(surface)]
    vertex_indices([*sources, *([] if path_to is None else [path_to])], surface.n_vertices)
    how = {"method": method, **_solver(method, surface.n_vertices, solver)}
    config = {"mesh": mesh.name, "sources": sources, **how, **_record(kind, wind, spec, theta)}
    config |= {} if path_to is None else {"path_to": path_to}
    with working("distance"):
        ways: Any = {"both": both, "reverse": reverse, "target": path_to, **how}
        fields = distance_fields(_metric(surface, kind, wind, spec, theta), sources, **ways)
    named, arrays = named_values(fields), {**named_paths(fields), "sources": sources}
    write_functions(out, surface, named, {**named, **arrays}, config)
    _draw(fields, figure, animate, frames, field_camera(fields, seen))
    report = {"sources": sources, **summary(fields, path_to), "files": files, "config": config}
    print_report(report, _lines(report, bool(source)), as_json=as_json)


def _draw(
    fields: list[DistanceField],
    figure: Path | None,
    animate: Path | None,
    pictures: int,
    camera: Camera,
) -> None:
    if figure is not None:
        save_figure(figure, [field_panels(fields)], camera=camera)
    if animate is not None:
        rows, radii = front_rows(fields, pictures)
        labels = [f"d < {radius:.3g}" for radius in radii]
        write_animation(animate, rows, labels, camera=camera)


def _given(context: typer.Context, name: str) -> bool:
    origin = context.get_parameter_source(name)
    return origin is not None and origin.name == "COMMANDLINE"


def _metric_kind(asked: str | None, method: str, given: set[str]) -> str:
    """The metric asked for, or the one that the given options belong to."""
    used = [name for name in _OWNERS if name in given]
    if method == "geodesic":
        if asked in ("wind", "curvature") or used or {"reverse", "both"} & given:
            raise InputError(
                "--method geodesic takes the surface's own lengths, the same there and back; leave"
                " out --reverse, --both and the options of a metric, or take --method eikonal"
            )
        return "isotropic"
    kind = asked or (_OWNERS[used[-1]] if used else "wind")
    for name in used:
        if _OWNERS[name] != kind:
            raise InputError(
                f"--{name} belongs to --metric {_OWNERS[name]}, but the metric is {kind}; leave one"
                " of them out"
            )
    return kind


def _solver(method: str, n: int, solver: str) -> dict[str, str]:
    """The solver of the heat method; the others have none."""
    if method == "heat":
        return {"solver": chosen_solver("heat", n, solver)}
    if solver != "auto":
        raise InputError(f"--solver serves --method heat; --method {method} has no choice of it")
    require(method, n)
    return {}


def _metric(
    mesh: TriMesh,
    kind: str,
    wind: tuple[float, float, float],
    spec: OperatorSpec,
    degrees: float,
) -> RandersMetric:
    if kind == "isotropic":
        return RandersMetric.isotropic(mesh)
    if kind == "curvature":
        return spec.metric(mesh, math.radians(degrees))
    return wind_metric(mesh, wind)


def _record(
    kind: str, wind: tuple[float, float, float], spec: OperatorSpec, degrees: float
) -> dict[str, Any]:
    """The options of the metric that matter, for the record in a result."""
    record: dict[str, Any] = {"metric": kind}
    if kind == "wind":
        record["wind"] = list(wind)
    if kind == "curvature":
        options = operator_record(spec, degrees)
        record |= {name: value for name, value in options.items() if name != "operator"}
    return record


def _lines(report: Mapping[str, Any], chosen: bool) -> Iterator[str]:
    config = report["config"]
    metric = config["metric"]
    if metric == "wind":
        metric = "wind " + " ".join(f"{x:g}" for x in config["wind"])
    remark = "" if chosen else " (nearest the viewer; --source chooses)"
    yield f"source vertex {', '.join(map(str, report['sources']))}{remark}; {metric}"
    for key, words in (
        ("largest_from", "from the source: up to"),
        ("largest_to", "to the source: up to"),
        ("largest_difference", "difference: as large as"),
    ):
        if key in report:
            yield f"{words} {report[key]['value']:.5g}, at vertex {report[key]['vertex']}"
    for path in report.get("paths", []):
        yield f"path from {path['from']} to {path['to']}: length {path['length']:.5g}"
    if report["unreached"]:
        yield (
            f"{report['unreached']:,} of {report['vertices']:,} vertices lie on parts without a"
            " source; their distance is infinite"
        )
