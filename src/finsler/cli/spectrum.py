"""`finsler spectrum`: eigenvalues and eigenfunctions of an operator."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from finsler.analysis import Spectrum
from finsler.analysis import spectrum as eigenpairs
from finsler.cli.limits import MemoryLimit, SolverChoice, chosen_solver
from finsler.cli.options import (
    AsJson,
    Delaunay,
    MeshFile,
    Theta,
    about_weights,
    camera_options,
    laplacian_of,
    operator_options,
    operator_record,
    viewpoint_of,
    with_options,
)
from finsler.cli.results import FIGURE_ENDINGS, Overwrite, check_outputs, stdout_console
from finsler.cli.spinner import working
from finsler.mesh import load_mesh
from finsler.operator import Laplacian
from finsler.spec import OperatorSpec
from finsler.storage.npz import write_npz
from finsler.view.surfaces import figure_eigenfunctions
from finsler.view.upright import Viewpoint

Count = Annotated[int, typer.Option("-k", help="Number of eigenpairs, smallest first.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help="Write eigenpairs and mass to this .npz."),
]
Figure = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Draw the first eigenfunctions: .png, .svg or .pdf."),
]


@with_options(spec=operator_options, viewpoint=camera_options)
def spectrum(
    mesh: MeshFile,
    *,
    k: Count = 30,
    spec: OperatorSpec,
    theta: Theta = 0.0,
    delaunay: Delaunay = False,
    solver: SolverChoice = "auto",
    memory: MemoryLimit = None,
    out: Out = None,
    figure: Figure = None,
    viewpoint: Viewpoint,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Compute the smallest eigenvalues and eigenfunctions of a Laplacian.

    Eigenvalues have the unit 1/length². Eigenfunctions are orthonormal in the lumped mass.

    Example: `finsler spectrum cat.off -k 100 --operator flbo -o cat.npz --figure cat.png`
    """
    targets = [(out, (".npz",)), (figure, FIGURE_ENDINGS)]
    files = check_outputs(targets, [mesh], overwrite=overwrite)
    surface = load_mesh(mesh)
    chosen = chosen_solver("spectrum", surface.n_vertices, solver, k=k)
    config: dict[str, Any] = {"mesh": mesh.name, "k": k, "solver": chosen}
    config |= operator_record(spec, theta, delaunay=delaunay)
    laplacian, shares = laplacian_of(spec.metric(surface, math.radians(theta)), delaunay=delaunay)
    with working(f"{k} eigenpairs, {chosen} solver"):
        pairs = eigenpairs(laplacian, k, solver=chosen)
    if out is not None:
        arrays = {"eigenvalues": pairs.eigenvalues, "eigenvectors": pairs.eigenvectors}
        write_npz(out, {**arrays, "mass": laplacian.mass}, config)
    if figure is not None:
        figure_eigenfunctions(figure, surface, pairs, viewpoint=viewpoint_of(viewpoint, mesh))
    if as_json:
        report = {
            "eigenvalues": pairs.eigenvalues.tolist(),
            "largest_residual": float(pairs.residuals.max()),
            "area": float(laplacian.mass.sum()),
            **shares,
            "config": config,
        }
        print(json.dumps(report, indent=2))
        return
    _print(pairs, laplacian, [*(f"Wrote {path}" for path in files), about_weights(shares)])


def _print(pairs: Spectrum, laplacian: Laplacian, lines: list[str]) -> None:
    area = float(laplacian.mass.sum())
    table = Table(box=None, pad_edge=False)
    for heading in ("index", "eigenvalue", "times area"):
        table.add_column(heading, justify="right")
    values = pairs.eigenvalues
    shown = list(range(len(values))) if len(values) <= 20 else [*range(15), *range(-3, 0)]
    for i in shown:
        if i == -3:
            table.add_row("…", "…", "…")
        value = float(values[i])
        table.add_row(str(i % len(values)), f"{value:.8g}", f"{value * area:.6g}")
    stdout_console().print(table)
    for line in (f"largest relative residual {pairs.residuals.max():.1e}", *lines):
        print(line)
