"""`finsler spectrum`: eigenvalues and eigenfunctions of an operator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finsler.cli.limits import MemoryLimit, Solver, SolverChoice, chosen_solver
from finsler.cli.options import (
    Alpha,
    AsJson,
    Delaunay,
    Kind,
    MeshFile,
    Omega,
    OmegaField,
    OperatorChoice,
    OperatorKind,
    Peak,
    Smoothing,
    Tau,
    Theta,
    about_weights,
    working,
)
from finsler.cli.results import FIGURE_ENDINGS, checked_target

if TYPE_CHECKING:
    from finsler.analysis import Spectrum
    from finsler.operator import Laplacian


def spectrum(
    mesh: MeshFile,
    k: Annotated[int, typer.Option("-k", help="Number of eigenpairs, smallest first.")] = 30,
    kind: OperatorKind = Kind.lbo,
    alpha: Alpha = 10.0,
    tau: Tau = 0.1,
    theta: Theta = 0.0,
    omega: OmegaField = Omega.constant,
    peak: Peak = 0.9,
    smoothing: Smoothing = 10,
    delaunay: Delaunay = False,
    solver: SolverChoice = Solver.auto,
    memory: MemoryLimit = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write eigenpairs and mass to this .npz."),
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the first eigenfunctions: .png, .svg or .pdf."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compute the smallest eigenvalues and eigenfunctions of a Laplacian.

    Eigenvalues have the unit 1/length². Eigenfunctions are orthonormal in the lumped mass.

    Example: `finsler spectrum cat.off -k 100 --operator flbo -o cat.npz --figure cat.png`
    """
    from finsler.analysis import spectrum as compute
    from finsler.mesh import load_mesh
    from finsler.storage.npz import write_npz
    from finsler.view.surfaces import figure_eigenfunctions

    checked_target(out, (".npz",))
    checked_target(figure, FIGURE_ENDINGS)
    surface = load_mesh(mesh)
    taken = chosen_solver("spectrum", surface.n_vertices, solver, k=k)
    choice = OperatorChoice(kind, alpha, tau, omega, peak, smoothing, delaunay)
    config: dict[str, Any] = {"mesh": mesh.name, "k": k, "solver": taken, **choice.config(theta)}
    laplacian, shares = choice.laplacian(choice.metric(surface, theta))
    with working(f"{k} eigenpairs, {taken} solver"):
        found = compute(laplacian, k, solver=taken)
    if out is not None:
        arrays = {
            "eigenvalues": found.eigenvalues,
            "eigenvectors": found.eigenvectors,
            "mass": laplacian.mass,
        }
        write_npz(out, arrays, config)
    if figure is not None:
        with working("figure"):
            figure_eigenfunctions(figure, surface, found)
    if as_json:
        report = {
            "eigenvalues": found.eigenvalues.tolist(),
            "largest_residual": float(found.residuals.max()),
            "area": float(laplacian.mass.sum()),
            **shares,
            "config": config,
        }
        print(json.dumps(report, indent=2))
        return
    _print(found, laplacian, [str(path) for path in (out, figure) if path is not None])
    print(about_weights(shares))


def _print(found: Spectrum, laplacian: Laplacian, written: list[str]) -> None:
    from rich.console import Console
    from rich.table import Table

    area = float(laplacian.mass.sum())
    table = Table(box=None, pad_edge=False)
    for heading in ("index", "eigenvalue", "times area"):
        table.add_column(heading, justify="right")
    values = found.eigenvalues
    shown = list(range(len(values))) if len(values) <= 20 else [*range(15), *range(-3, 0)]
    for i in shown:
        if i == -3:
            table.add_row("…", "…", "…")
        value = float(values[i])
        table.add_row(str(i % len(values)), f"{value:.8g}", f"{value * area:.6g}")
    console = Console(highlight=False)
    console.print(table)
    console.print(f"largest relative residual {found.residuals.max():.1e}")
    for path in written:
        console.print(f"Wrote {path}", soft_wrap=True)
