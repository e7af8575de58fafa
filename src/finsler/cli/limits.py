"""Options of commands that may need much memory: which solver, and how much there is."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from finsler.compute.memory import choose, estimate, limited, require

Solver = Literal["auto", "direct", "iterative"]


def _state(context: typer.Context, gib: float | None) -> float | None:
    if gib is not None:
        context.with_resource(limited(gib))
    return gib


SolverChoice = Annotated[
    Solver,
    typer.Option(
        "--solver",
        help="direct: factorise the matrix; iterative: slower, with less memory; auto:"
        " direct if that is predicted to fit into memory.",
    ),
]
MemoryLimit = Annotated[
    float | None,
    typer.Option(
        "--memory",
        metavar="GIB",
        callback=_state,
        help="Memory in GiB that may be used; by default all that is free. Work predicted to"
        " need more is refused before it starts.",
    ),
]


def chosen_solver(task: str, vertices: int, solver: str, *, k: int = 50) -> str:
    """The solver to take, with a line on stderr where it is not the usual one."""
    require("operator", vertices)
    chosen = choose(task, vertices, solver, k=k)
    if solver == "auto" and chosen == "iterative":
        direct = estimate(task, vertices, k=k).gib
        typer.echo(f"iterative solver: a direct one would need about {direct:.3g} GiB", err=True)
    return chosen
