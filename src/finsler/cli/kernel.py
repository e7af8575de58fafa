"""`finsler kernel`: what an anisotropic convolution looks at around a vertex."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import numpy as np
import typer

from finsler.analysis.angle_kernels import KernelFilter, angle_kernels
from finsler.cli.limits import MemoryLimit, SolverChoice, chosen_solver
from finsler.cli.options import (
    AsJson,
    FigureFile,
    FunctionFile,
    MeshFile,
    camera_options,
    operator_record,
    stack_options,
    viewpoint_of,
    with_options,
)
from finsler.cli.results import (
    FIGURE_ENDINGS,
    FUNCTION_ENDINGS,
    Overwrite,
    check_outputs,
    print_report,
    scalar_name,
    write_functions,
)
from finsler.cli.spinner import working
from finsler.compute.memory import require
from finsler.errors import InputError
from finsler.mesh import load_mesh
from finsler.mesh.arguments import vertex_indices
from finsler.spec import OperatorSpec
from finsler.typing import FloatArray
from finsler.view.surfaces import figure_kernels
from finsler.view.upright import Viewpoint

_PAIRS = 300

Vertex = Annotated[
    int | None,
    typer.Option(help="Where the kernel sits; by default the vertex nearest the viewer."),
]
Filter = Annotated[
    str,
    typer.Option(
        metavar="NAME:NUMBER",
        help="chebyshev:ORDER, the polynomial T_ORDER of the operator; or heat:TIME, with the time"
        " as a share of the surface's area.",
    ),
]
Angles = Annotated[
    list[float] | None,
    typer.Option(
        help="Angle in degrees; may be given several times. By default 0 and 67.5; for"
        " directed operators 0, 90, 180 and 270, from forwards."
    ),
]
Eigenpairs = Annotated[
    int | None,
    typer.Option(
        "-k",
        help=f"Sum over this many eigenpairs; by default {_PAIRS} for heat, and all of them,"
        " through the operator itself, for chebyshev and for directed operators.",
    ),
]


@with_options(spec=stack_options, viewpoint=camera_options)
def kernel(
    mesh: MeshFile,
    *,
    vertex: Vertex = None,
    filter: Filter = "chebyshev:5",
    theta: Angles = None,
    spec: OperatorSpec,
    k: Eigenpairs = None,
    solver: SolverChoice = "auto",
    memory: MemoryLimit = None,
    out: FunctionFile = None,
    figure: FigureFile = None,
    viewpoint: Viewpoint,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Compute the convolution kernel of a filter at a vertex, for several angles.

    The kernel is g(y) = Σ ĝ(λ) φ(x) φ(y): integrating a function against it filters that function
    at x. A Chebyshev polynomial spans the range of eigenvalues, and its kernel ends after ORDER
    rings of vertices; with -k it spans the first k eigenvalues only, and the kernel becomes wider.
    Values have the unit 1/area.

    The kernels of directed operators are one-sided, and are computed without eigenpairs.

    Example: `finsler kernel cat.off --vertex 120 --theta 0 --theta 67.5 --figure kernel.png`, or
    `finsler kernel cat.off --operator directed --filter heat:0.01 --figure directed.png`
    """
    targets = [(out, FUNCTION_ENDINGS), (figure, FIGURE_ENDINGS)]
    files = check_outputs(targets, [mesh], overwrite=overwrite)
    chosen, degrees = KernelFilter.parse(filter), _angles(theta, spec.kind)
    surface = load_mesh(mesh)
    seen = viewpoint_of(viewpoint, mesh)
    n, centre = surface.n_vertices, seen.nearest(surface) if vertex is None else vertex
    vertex_indices(centre, n)
    if k is None and chosen.name == "heat" and not spec.is_directed:
        k = min(_PAIRS, n)
    config: dict[str, Any] = {"mesh": mesh.name, "vertex": centre, "filter": filter, "k": k}
    config |= operator_record(spec)
    if k is not None:
        config["solver"] = chosen_solver("spectrum", n, solver, k=k)
    elif solver != "auto":
        raise InputError("--solver serves eigenpairs, and this filter takes none; give -k too")
    require("operator", n)
    with working("kernels"):
        stack = spec.stack(surface, np.radians(degrees))
        kernels = angle_kernels(stack, chosen, centre, k=k, solver=config.get("solver", "auto"))
    named = {scalar_name("theta", d): g for d, g in zip(degrees, kernels, strict=True)}
    arrays = {"kernels": kernels, "theta_degrees": degrees, "vertex": centre}
    write_functions(out, surface, named, arrays, config)
    if figure is not None:
        angles = () if spec.kind == "lbo" else degrees
        figure_kernels(figure, surface, kernels, centre, angles, viewpoint=seen)
    numbers = _numbers(kernels, centre)
    report = {"vertex": centre, "theta_degrees": degrees, **numbers, "files": files}
    report |= {"config": config}
    print_report(report, _lines(report, vertex is not None), as_json=as_json)


def _angles(theta: list[float] | None, kind: str) -> list[float]:
    """The angles asked for, or the usual ones."""
    if kind == "lbo" and theta:
        raise InputError("--theta has no effect on the lbo, which is isotropic; leave it out")
    if kind == "mixed":
        raise InputError("--operator mixed names several kinds; draw albo and directed one by one")
    usual = {"lbo": [0.0], "directed": [0.0, 90.0, 180.0, 270.0]}.get(kind, [0.0, 67.5])
    degrees = theta or usual
    if len(set(degrees)) < len(degrees):
        raise InputError(f"--theta is given twice with one value: {degrees}")
    return degrees


def _numbers(kernels: list[FloatArray], centre: int) -> dict[str, list[float]]:
    return {
        "at_vertex": [float(values[centre]) for values in kernels],
        "smallest": [float(values.min()) for values in kernels],
        "largest": [float(values.max()) for values in kernels],
    }


def _lines(report: Mapping[str, Any], chosen: bool) -> Iterator[str]:
    config = report["config"]
    pairs = "" if config["k"] is None else f", {config['k']} eigenpairs"
    remark = "" if chosen else " (nearest the viewer; --vertex chooses)"
    yield f"kernel {config['filter']} at vertex {report['vertex']}{remark}{pairs}"
    columns = ("theta_degrees", "at_vertex", "smallest", "largest")
    for angle, here, low, high in zip(*(report[name] for name in columns), strict=True):
        where = "" if config["operator"] == "lbo" else f"theta {angle:g}°: "
        yield f"{where}{here:.4g} at the vertex, {low:.4g} to {high:.4g} in all"
