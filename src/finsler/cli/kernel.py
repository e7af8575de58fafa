"""`finsler kernel`: what an anisotropic convolution looks at around a vertex."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finsler.cli.limits import MemoryLimit, Solver, SolverChoice, chosen_solver
from finsler.cli.options import (
    Alpha,
    AsJson,
    FigureFile,
    FunctionFile,
    Kind,
    MeshFile,
    Omega,
    OmegaField,
    OperatorChoice,
    OperatorKind,
    Peak,
    Smoothing,
    Tau,
    working,
)
from finsler.cli.results import (
    FIGURE_ENDINGS,
    FUNCTION_ENDINGS,
    checked_target,
    nearest_vertex,
    scalar_name,
    write_functions,
)

if TYPE_CHECKING:
    from finsler.operator import AngleStack
    from finsler.typing import FloatArray

_PAIRS = 300


def kernel(
    mesh: MeshFile,
    vertex: Annotated[
        int | None,
        typer.Option(help="Where the kernel sits; by default the vertex nearest the viewer."),
    ] = None,
    filter: Annotated[
        str,
        typer.Option(
            metavar="NAME:NUMBER",
            help="chebyshev:ORDER, the polynomial T_ORDER of the operator; or heat:TIME, with the"
            " time as a share of the surface's area.",
        ),
    ] = "chebyshev:5",
    theta: Annotated[
        list[float] | None,
        typer.Option(help="Angle in degrees, may be repeated; by default 0 and 67.5."),
    ] = None,
    kind: OperatorKind = Kind.flbo,
    alpha: Alpha = 10.0,
    tau: Tau = 0.1,
    omega: OmegaField = Omega.constant,
    peak: Peak = 0.9,
    smoothing: Smoothing = 10,
    k: Annotated[
        int | None,
        typer.Option(
            "-k",
            help=f"Sum over this many eigenpairs; by default {_PAIRS} for heat, and all of them,"
            " through the operator itself, for chebyshev.",
        ),
    ] = None,
    solver: SolverChoice = Solver.auto,
    memory: MemoryLimit = None,
    out: FunctionFile = None,
    figure: FigureFile = None,
    as_json: AsJson = False,
) -> None:
    """Compute the convolution kernel of a filter at a vertex, for several angles.

    The kernel is g(y) = Σ ĝ(λ) φ(x) φ(y): integrating a function against it filters that function
    at x. A Chebyshev polynomial spans the range of eigenvalues, and its kernel ends after ORDER
    rings of vertices; with -k it spans the first k eigenvalues only, and the kernel becomes wider.
    Values have the unit 1/area.

    Example: `finsler kernel cat.off --vertex 120 --theta 0 --theta 67.5 --figure kernel.png`
    """
    from finsler.analysis.arguments import vertex_indices
    from finsler.compute.memory import require
    from finsler.errors import InputError
    from finsler.mesh import load_mesh
    from finsler.view.surfaces import figure_kernels

    checked_target(out, FUNCTION_ENDINGS)
    checked_target(figure, FIGURE_ENDINGS)
    name, number = _parsed(filter)
    if kind is Kind.lbo and theta:
        raise InputError("--theta has no effect on the lbo, which is isotropic; leave it out")
    degrees = theta or ([0.0] if kind is Kind.lbo else [0.0, 67.5])
    if len(set(degrees)) < len(degrees):
        raise InputError(f"--theta is given twice with one value: {degrees}")
    surface = load_mesh(mesh)
    centre = nearest_vertex(surface) if vertex is None else vertex
    vertex_indices(centre, surface.n_vertices)
    if k is None and name == "heat":
        k = min(_PAIRS, surface.n_vertices)
    if k is None and solver is not Solver.auto:
        raise InputError("--solver serves eigenpairs, and this filter takes none; give -k too")
    taken = None
    if k is None:
        require("operator", surface.n_vertices)
    else:
        taken = chosen_solver("spectrum", surface.n_vertices, solver, k=k)
    choice = OperatorChoice(kind, alpha, tau, omega, peak, smoothing)
    config = {"mesh": mesh.name, "vertex": centre, "filter": filter, "k": k, **choice.config()}
    config |= {} if taken is None else {"solver": taken}
    stack = choice.stack(surface, degrees)
    if k is None or taken is None:
        kernels = _polynomial_kernels(stack, int(number), centre)
    else:
        kernels = _spectral_kernels(stack, name, number, centre, k, taken)

    if out is not None:
        functions = {scalar_name("theta", d): g for d, g in zip(degrees, kernels, strict=True)}
        arrays = {"kernels": kernels, "theta_degrees": degrees, "vertex": centre}
        write_functions(out, surface, functions, arrays, config)
    if figure is not None:
        with working("figure"):
            figure_kernels(figure, surface, kernels, centre, () if kind is Kind.lbo else degrees)
    report = {
        "vertex": centre,
        "theta_degrees": degrees,
        "at_vertex": [float(values[centre]) for values in kernels],
        "smallest": [float(values.min()) for values in kernels],
        "largest": [float(values.max()) for values in kernels],
        "files": [str(path) for path in (out, figure) if path is not None],
        "config": config,
    }
    if as_json:
        print(json.dumps(report, indent=2))
        return
    _print(report, " (nearest the viewer; --vertex chooses)" if vertex is None else "")


def _parsed(text: str) -> tuple[str, float]:
    """Name and number of a filter."""
    import math

    from finsler.errors import InputError

    name, _, number = text.partition(":")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if 0 <= value < math.inf and (name == "heat" or (name == "chebyshev" and value.is_integer())):
        return name, value
    raise InputError(
        f"--filter is {text!r}; it must be chebyshev:ORDER with a whole number, or heat:TIME with a"
        " number that is 0 or more"
    )


def _polynomial_kernels(stack: AngleStack, order: int, centre: int) -> list[FloatArray]:
    """T_order(L̂) applied to a unit of heat at the vertex, without eigenpairs."""
    import numpy as np

    from finsler.analysis.kernels import chebyshev_filter
    from finsler.operator import chebyshev_operators

    with working("polynomials"):
        operators = chebyshev_operators(stack, normalization="plain")
        spike = np.zeros(len(stack.mass))
        spike[centre] = 1.0 / stack.mass[centre]
        coefficients = np.eye(order + 1)[order]
        every = range(len(operators))
        return [chebyshev_filter(operators[angle], spike, coefficients) for angle in every]


def _spectral_kernels(
    stack: AngleStack, name: str, number: float, centre: int, pairs: int, solver: str
) -> list[FloatArray]:
    from finsler.analysis.heat import heat_kernel
    from finsler.analysis.kernels import chebyshev_polynomial, convolution_kernel
    from finsler.analysis.spectrum import spectrum

    kernels = []
    for laplacian in stack:
        with working(f"{pairs} eigenpairs, {solver} solver"):
            basis = spectrum(laplacian, pairs, solver=solver)
        if name == "heat":
            kernels.append(heat_kernel(basis, number * float(stack.mass.sum()), centre))
        else:
            polynomial = chebyshev_polynomial(int(number), float(basis.eigenvalues[-1]))
            kernels.append(convolution_kernel(basis, polynomial, centre))
    return kernels


def _print(report: dict[str, Any], remark: str) -> None:
    config = report["config"]
    pairs = "" if config["k"] is None else f", {config['k']} eigenpairs"
    print(f"kernel {config['filter']} at vertex {report['vertex']}{remark}{pairs}")
    columns = ("theta_degrees", "at_vertex", "smallest", "largest")
    for angle, here, low, high in zip(*(report[name] for name in columns), strict=True):
        where = "" if config["operator"] == "lbo" else f"theta {angle:g}°: "
        print(f"{where}{here:.4g} at the vertex, {low:.4g} to {high:.4g} in all")
    for path in report["files"]:
        print(f"Wrote {path}")
