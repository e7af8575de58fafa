"""`finsler heat`: heat spreading over a surface, in numbers, pictures and animations."""

from __future__ import annotations

import functools
import json
import math
import warnings
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finsler.cli.limits import MemoryLimit, Solver, SolverChoice, chosen_solver
from finsler.cli.options import (
    Alpha,
    AsJson,
    Delaunay,
    FigureFile,
    FunctionFile,
    Kind,
    MeshFile,
    Omega,
    OmegaField,
    OperatorChoice,
    OperatorKind,
    Peak,
    PictureCount,
    Smoothing,
    SourceVertices,
    Tau,
    Theta,
    about_weights,
    working,
)
from finsler.cli.results import (
    ANIMATION_ENDINGS,
    FIGURE_ENDINGS,
    FUNCTION_ENDINGS,
    checked_target,
    nearest_vertex,
    scalar_name,
    write_animation,
    write_functions,
)

if TYPE_CHECKING:
    from finsler.analysis.spectrum import Spectrum
    from finsler.mesh import TriMesh
    from finsler.operator import Laplacian
    from finsler.typing import FloatArray

    Flow = Callable[[float], FloatArray]
    BasisFlow = Callable[[Spectrum, float], FloatArray]

_PAIRS = 300
_TIMES = (0.0025, 0.01, 0.04)
# Share of the first wave left out above which the missing ones are seen.
_CUT = 0.02


class Method(StrEnum):
    """How time is stepped."""

    implicit = "implicit"
    spectral = "spectral"


def heat(
    mesh: MeshFile,
    source: SourceVertices = None,
    time: Annotated[
        list[float] | None,
        typer.Option(
            "--time",
            "-t",
            help="Time as a share of the surface's area, may be repeated; by default 0.0025, 0.01"
            " and 0.04.",
        ),
    ] = None,
    kind: OperatorKind = Kind.lbo,
    alpha: Alpha = 10.0,
    tau: Tau = 0.1,
    theta: Theta = 0.0,
    omega: OmegaField = Omega.constant,
    peak: Peak = 0.9,
    smoothing: Smoothing = 10,
    delaunay: Delaunay = False,
    method: Annotated[
        Method | None,
        typer.Option(
            help="implicit: Euler steps, for any time; spectral: exact in time, but -k eigenpairs"
            " only. By default implicit, or spectral with --finsler-source."
        ),
    ] = None,
    steps: Annotated[int, typer.Option(help="Implicit steps for each time.")] = 16,
    k: Annotated[
        int | None,
        typer.Option(
            "-k", help=f"Number of eigenpairs; by default {_PAIRS}, or all of a smaller mesh."
        ),
    ] = None,
    amount: Annotated[
        float, typer.Option(help="Heat given to the sources: the mean of u over the surface.")
    ] = 1.0,
    finsler_source: Annotated[
        bool,
        typer.Option(
            "--finsler-source",
            help="Solve the paper's simplified Finsler heat equation: adds the source div(ω*)."
            " Needs --operator flbo.",
        ),
    ] = False,
    solver: SolverChoice = Solver.auto,
    memory: MemoryLimit = None,
    out: FunctionFile = None,
    figure: FigureFile = None,
    animate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write an animated .gif from the smallest to the largest --time (from a hundredth"
            " of it where only one is given), evenly spaced in the logarithm.",
        ),
    ] = None,
    frames: PictureCount = 40,
    as_json: AsJson = False,
) -> None:
    """Put heat on vertices and let it spread.

    The surface is measured with its own area as the unit: times are shares of it, and the heat u
    has mean 1 (or --amount), which is where it ends on a connected surface. Units of the file do
    not matter. Each picture has its own range of colours, from 0 to the hottest point, or around 0
    where it is cold somewhere.

    Example: `finsler heat cat.off --source 120 -t 0.001 -t 0.01 --operator albo --animate cat.gif`
    """
    from finsler.analysis.arguments import vertex_indices
    from finsler.analysis.heat import diffuse, finsler_flow
    from finsler.errors import InputError
    from finsler.mesh import load_mesh
    from finsler.view.surfaces import camera_facing, figure_heat, heat_panels, in_rows

    checked_target(out, FUNCTION_ENDINGS)
    checked_target(figure, FIGURE_ENDINGS)
    checked_target(animate, ANIMATION_ENDINGS)
    times = _checked_times(time or _TIMES)
    series = [] if animate is None else _series(times, frames)
    if not math.isfinite(amount):
        raise InputError(f"--amount is {amount}; it must be finite")
    if finsler_source and (kind is not Kind.flbo or method is Method.implicit):
        raise InputError(
            "--finsler-source needs --operator flbo, whose ω makes the source, and no"
            " --method implicit"
        )
    spectral = method is Method.spectral or finsler_source
    surface = load_mesh(mesh)
    sources = source or [nearest_vertex(surface)]
    vertex_indices(sources, surface.n_vertices)
    pairs = min(_PAIRS, surface.n_vertices) if k is None else k
    task = "spectrum" if spectral else "diffusion"
    taken = chosen_solver(task, surface.n_vertices, solver, k=pairs)
    choice = OperatorChoice(kind, alpha, tau, omega, peak, smoothing, delaunay)
    config: dict[str, Any] = {
        "mesh": mesh.name,
        "sources": sources,
        "times": times,
        "amount": amount,
        "finsler_source": finsler_source,
        **choice.config(theta),
        "method": "spectral" if spectral else "implicit",
        **({"k": pairs} if spectral else {"steps": steps}),
        "solver": taken,
    }
    unit = _unit_area(surface)
    metric = choice.metric(unit, theta)
    operator, shares = choice.laplacian(metric)
    start = _start(operator.mass, sources, amount)
    if finsler_source:
        flow = _spectral_flow(
            operator, pairs, taken, lambda basis, t: finsler_flow(basis, metric, start, t)
        )
    elif spectral:
        flow = _spectral_flow(operator, pairs, taken, lambda basis, t: diffuse(basis, start, t))
    else:
        flow = functools.partial(diffuse, operator, start, steps=steps, solver=taken)
    with working(f"heat, {taken} solver"):
        found = [flow(t) for t in times]

    if out is not None:
        functions = {scalar_name("heat", t): u for t, u in zip(times, found, strict=True)}
        arrays = {"heat": found, "times": times, "sources": sources}
        write_functions(out, surface, functions, arrays, config)
    if figure is not None:
        with working("figure"):
            figure_heat(figure, surface, found, times, sources[0])
    if animate is not None:
        panels = heat_panels(surface, [flow(t) for t in series], [""] * len(series), None)
        camera = camera_facing(surface, sources[0])
        labels = [f"t = {t:.2g} area" for t in series]
        write_animation(animate, in_rows(panels, 1), labels, camera=camera)
    report = {
        "sources": sources,
        "times": times,
        "smallest": [float(u.min()) for u in found],
        "largest": [float(u.max()) for u in found],
        **shares,
        "files": [str(path) for path in (out, figure, animate) if path is not None],
        "config": config,
    }
    if as_json:
        print(json.dumps(report, indent=2))
    else:
        _print(report, "" if source else " (nearest the viewer; --source chooses)")


def _checked_times(times: Sequence[float]) -> list[float]:
    """Ascending."""
    from finsler.errors import InputError

    for t in times:
        if not 0.0 <= t < math.inf:
            raise InputError(f"--time is {t}; it must be finite and 0 or more")
    if len(set(times)) < len(times):
        raise InputError(f"--time is given twice with one value: {list(times)}")
    return sorted(times)


def _series(times: list[float], frames: int) -> list[float]:
    """Times of an animation, even in the logarithm."""
    import numpy as np

    from finsler.errors import InputError

    if times[-1] == 0.0:
        raise InputError("--animate needs a --time above 0")
    first = times[0] if 0.0 < times[0] < times[-1] else times[-1] / 100
    return [float(t) for t in np.geomspace(first, times[-1], frames)]


def _unit_area(mesh: TriMesh) -> TriMesh:
    import numpy as np

    from finsler.mesh import TriMesh
    from finsler.mesh.measures import require_usable_faces, surface_area

    require_usable_faces(mesh)
    return TriMesh(mesh.vertices / np.sqrt(surface_area(mesh)), mesh.faces)


def _start(mass: FloatArray, sources: list[int], amount: float) -> FloatArray:
    """Heat shared evenly by the sources; on a surface of area 1 its mean is `amount`."""
    import numpy as np

    u = np.zeros_like(mass)
    np.add.at(u, sources, amount / (len(sources) * mass[sources]))
    return u


def _spectral_flow(operator: Laplacian, pairs: int, solver: str, flow: BasisFlow) -> Flow:
    """`flow` on a basis of the operator, with a note where the basis is too small."""
    import numpy as np

    from finsler.analysis.spectrum import spectrum

    with working(f"{pairs} eigenpairs, {solver} solver"):
        basis = spectrum(operator, pairs, solver=solver)

    def at(t: float) -> FloatArray:
        left = float(np.exp(-t * basis.eigenvalues[-1]))
        if left > _CUT and pairs < len(operator.mass):
            warnings.warn(
                f"at times as short as {t:.2g} the {pairs} eigenpairs miss waves of which"
                f" {left:.0%} is left, and the heat ripples; raise -k or take --method implicit",
                stacklevel=2,
            )
        return flow(basis, t)

    return at


def _print(report: dict[str, Any], remark: str) -> None:
    print(f"heat from vertex {', '.join(map(str, report['sources']))}{remark}")
    for t, low, high in zip(report["times"], report["smallest"], report["largest"], strict=True):
        mean = report["config"]["amount"]
        print(f"time {t:g} of the area: {low:.4g} to {high:.4g}, mean {mean:g}")
    print(about_weights(report))
    for path in report["files"]:
        print(f"Wrote {path}")
