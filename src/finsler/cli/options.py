"""Options that several commands share, and what they are turned into."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer

from finsler.cli.spinner import working
from finsler.mesh import TriMesh
from finsler.metric import RandersMetric
from finsler.operator import Laplacian, delaunay_laplacian, laplacian
from finsler.spec import OperatorSpec
from finsler.view.upright import Viewpoint

Kind = Literal["lbo", "albo", "flbo"]
Omega = Literal["constant", "curved", "flat"]

MeshFile = Annotated[
    Path, typer.Argument(metavar="MESH", help="Mesh file: .off, .obj, .ply, .stl, .glb, .gltf.")
]
Alpha = Annotated[
    float,
    typer.Option(
        help="Anisotropy: heat spreads 1 + alpha times more slowly along the direction of largest"
        " curvature; 0 for none."
    ),
]
Tau = Annotated[
    float,
    typer.Option(
        help="flbo: length of ω, the part of the metric by which there and back differ."
        " Where it is constant, it only multiplies the operator by a number: see"
        " --omega."
    ),
]
OmegaField = Annotated[
    Omega,
    typer.Option(
        "--omega",
        help="constant: ω has length tau everywhere; curved or flat: ω is strong on curved"
        " or on flat parts, at most --peak, and tau is ignored.",
    ),
]
Peak = Annotated[
    float, typer.Option(help="With --omega curved or flat: the largest strength of ω, below 1.")
]
Smoothing = Annotated[
    int,
    typer.Option(
        help="Rounds in which curvature is averaged over neighbours; more make smoother directions."
    ),
]
OperatorKind = Annotated[
    Kind,
    typer.Option("--operator", help="lbo: isotropic Laplacian; albo: anisotropic; flbo: Finsler."),
]
AnyKind = Annotated[
    Literal["lbo", "albo", "flbo", "directed", "mixed"],
    typer.Option(
        "--operator",
        help="Isotropic, anisotropic or Finsler Laplacian; directed: diffusion with a drift, which"
        " tells forwards from backwards; mixed: half anisotropic, half directed.",
    ),
]
Field = Annotated[
    Literal["gps", "hks"],
    typer.Option(
        help="Directed operators: the scalar whose gradient points forwards. gps rises"
        " towards the ends of limbs, hks towards places where heat lingers."
    ),
]
Peclet = Annotated[
    float,
    typer.Option(
        help="Directed operators: strength of the drift relative to diffusion, from 0 to 1."
    ),
]
FieldAlpha = Annotated[
    float, typer.Option(help="Directed operators: anisotropy along the drift, above -1.")
]
FigureFile = Annotated[
    Path | None,
    typer.Option("--figure", metavar="FILE", help="Draw the result: .png, .svg or .pdf."),
]
FunctionFile = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", metavar="FILE", help="Write the values at the vertices: .ply, .vtk or .npz."
    ),
]
SourceVertices = Annotated[
    list[int] | None,
    typer.Option(
        "--source",
        "-s",
        help="Vertex to start from; may be given several times. By default the one nearest"
        " the viewer.",
    ),
]
Theta = Annotated[
    float,
    typer.Option(
        help="Angle in degrees by which the anisotropy is turned from the direction of largest"
        " curvature, counter-clockwise."
    ),
]
Delaunay = Annotated[
    bool,
    typer.Option(
        "--delaunay",
        help="Build the operator on another triangulation of the same vertices, one that is"
        " Delaunay in the lengths of the operator: then no weight is negative, and heat"
        " stays within its bounds.",
    ),
]
UpAxis = Annotated[
    Literal["x", "y", "z", "-x", "-y", "-z"] | None,
    typer.Option(
        "--up", help="In pictures: the axis of the file that points up; guessed by default."
    ),
]
ViewFrom = Annotated[
    str | None,
    typer.Option(
        "--view",
        metavar="SIDE|AROUND,ABOVE",
        help="In pictures: the side to look from, front (the broad side), back, left, right,"
        " top or bottom, or two angles in degrees such as 40,10.",
    ),
]
PictureCount = Annotated[int, typer.Option(help="Pictures in the animation.", min=2)]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print the answer as one JSON object, for programs.")
]


def with_options(**groups: Callable[..., Any]) -> Callable[..., Callable[..., None]]:
    """Let a command take groups of options that several commands share.

    The parameter of the command that has the name of a group gets what the group returns; on the
    command line, the parameters of the group stand in its stead.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        options = {name: _parameters(group) for name, group in groups.items()}

        @functools.wraps(command)
        def run(**given: Any) -> None:
            for name, group in groups.items():
                given[name] = group(**{each.name: given.pop(each.name) for each in options[name]})
            command(**given)

        own = chain.from_iterable(options.get(p.name, [p]) for p in _parameters(command))
        run.__signature__ = inspect.Signature(list(own))  # type: ignore[attr-defined]
        return run

    return decorate


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    return [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]


def operator_options(
    kind: OperatorKind = "lbo",
    alpha: Alpha = 10.0,
    tau: Tau = 0.1,
    omega: OmegaField = "constant",
    peak: Peak = 0.9,
    smoothing: Smoothing = 10,
) -> OperatorSpec:
    """Options of commands that need a self-adjoint operator."""
    return OperatorSpec(kind, alpha, tau, omega, peak, smoothing)


def stack_options(
    kind: AnyKind = "flbo",
    alpha: Alpha = 10.0,
    tau: Tau = 0.1,
    omega: OmegaField = "constant",
    peak: Peak = 0.9,
    smoothing: Smoothing = 10,
    field: Field = "gps",
    peclet: Peclet = 0.3,
    field_alpha: FieldAlpha = 0.0,
) -> OperatorSpec:
    """Options of commands that take any operators, directed ones too."""
    drift: dict[str, Any] = {"field": field, "peclet": peclet, "field_alpha": field_alpha}
    return OperatorSpec(kind, alpha, tau, omega, peak, smoothing, **drift)


def camera_options(up: UpAxis = None, view: ViewFrom = None) -> Viewpoint:
    """Options of commands that draw shapes."""
    return Viewpoint(up, view)


def viewpoint_of(chosen: Viewpoint, mesh: Path) -> Viewpoint:
    """With the up axis that a file's format fixes, unless one is chosen: glTF says y."""
    fixed = chosen.up is None and mesh.suffix.lower() in (".gltf", ".glb")
    return Viewpoint("y", chosen.view) if fixed else chosen


def wind_metric(mesh: TriMesh, wind: tuple[float, float, float]) -> RandersMetric:
    """Time of travel at unit speed in a wind, which blows with its part along the surface."""
    m = mesh.n_faces
    calm = np.broadcast_to(np.eye(2), (m, 2, 2))
    return RandersMetric.from_wind(mesh, calm, np.broadcast_to(wind, (m, 3)))


def operator_record(
    spec: OperatorSpec, degrees: float | None = None, *, delaunay: bool = False
) -> dict[str, Any]:
    """The options that matter, for the record in a result; with the angle, where it is one."""
    fields = spec.record()
    record: dict[str, Any] = {"operator": fields["kind"]}
    names = ("alpha", "smoothing", "omega", "tau", "peak", "field", "peclet", "field_alpha")
    if spec.kind != "lbo" and degrees is not None:
        record["theta_degrees"] = degrees
    record |= {name: fields[name] for name in names if name in fields}
    return record | ({"delaunay": True} if delaunay else {})


def laplacian_of(metric: RandersMetric, *, delaunay: bool) -> tuple[Laplacian, dict[str, float]]:
    """The operator of a metric, and the share of its weights that are negative, for a report.

    With `--delaunay` also the share on the mesh's own triangles.
    """
    if not delaunay:
        plain = laplacian(metric.mesh, metric.diffusivity())
        return plain, {"negative_weights": plain.negative_share}
    with working("Delaunay triangulation"):
        flipped = delaunay_laplacian(metric.mesh, metric.diffusivity())
    shares = {"negative_weights_before": flipped.negative_before}
    return flipped.laplacian, shares | {"negative_weights": flipped.negative_after}


def about_weights(shares: Mapping[str, Any]) -> str:
    """What `laplacian_of` says about negative weights, as a sentence."""
    share = f"{shares['negative_weights']:.1%} of the weights are negative"
    if "negative_weights_before" in shares:
        return f"{share}, {shares['negative_weights_before']:.1%} before --delaunay"
    return f"{share}; --delaunay removes them" if shares["negative_weights"] else share
