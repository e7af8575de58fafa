"""`finsler info`: the health of a mesh file, and its repair."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from finsler.mesh import MeshHealth, Repair, TriMesh

# Share of negative weights from which on --delaunay is advised.
_MANY = 0.01


def info(
    mesh: Annotated[
        Path, typer.Argument(metavar="MESH", help="Mesh file: .off, .obj, .ply, .stl, .glb, .gltf.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    repair_to: Annotated[
        Path | None,
        typer.Option("--repair", metavar="OUT", help="Write the mended mesh to this file."),
    ] = None,
    merge_tolerance: Annotated[
        float,
        typer.Option(
            help="With --repair: merge vertices closer than this share of the bounding box"
            " diagonal; 0 merges equal positions only."
        ),
    ] = 0.0,
) -> None:
    """Report the size, topology and defects of a mesh, and mend it if asked.

    Every defect comes with what it does and what to do. With `--repair` the mended mesh is
    written to OUT and every change is counted.

    Example: `finsler info cat.off --repair cat_mended.ply`
    """
    from finsler.errors import InputError
    from finsler.mesh import health, load_mesh, repair, write_mesh

    if merge_tolerance and repair_to is None:
        raise InputError("--merge-tolerance changes nothing without --repair OUT; add it")
    surface = load_mesh(mesh)
    report = health(surface)
    mended: Repair | None = None
    if repair_to is not None:
        mended = repair(surface, merge_tolerance=merge_tolerance)
        write_mesh(repair_to, mended.mesh)
    after = None if mended is None else health(mended.mesh)
    negative = _negative_weights(surface, report)
    if as_json:
        answer: dict[str, Any] = {
            "path": str(mesh),
            **report.to_dict(),
            "negative_weights": negative,
        }
        if mended is not None and after is not None:
            answer["repair"] = {
                "path": str(repair_to),
                "changes": mended.changes,
                **after.to_dict(),
                "negative_weights": _negative_weights(mended.mesh, after),
            }
        print(json.dumps(answer, indent=2))
        return
    _print_report(mesh, report, negative, repair_to)
    if mended is not None and after is not None:
        _print_repair(repair_to, mended, after)


def _negative_weights(mesh: TriMesh, report: MeshHealth) -> float | None:
    """Share of the cotangent weights that are negative; None where there is no operator."""
    import warnings

    from finsler.mesh.health import MeshWarning
    from finsler.operator import lbo

    if not report.usable:
        return None
    with warnings.catch_warnings():
        # The report names the defects already.
        warnings.simplefilter("ignore", MeshWarning)
        return lbo(mesh).negative_share


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False, soft_wrap=True)


def _print_report(
    path: Path, report: MeshHealth, negative: float | None, repair_to: Path | None
) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    for name, value in _lines(report):
        table.add_row(name, value)
    console = _console()
    console.print(f"[bold]{escape(str(path))}[/bold]")
    if negative is not None:
        table.add_row("negative weights", f"{negative:.1%} of the cotangent weights")
    console.print(table)
    if negative is not None and negative >= _MANY:
        console.print("Heat may leave its bounds on obtuse faces: finsler heat --delaunay")
    if not report.problems:
        console.print("[green]No defects found.[/green]")
        return
    console.print(f"[yellow]Findings ({len(report.problems)})[/yellow]")
    for problem in report.problems:
        console.print(f"- {problem}")
    if repair_to is None:
        console.print("Mend with: finsler info MESH --repair OUT")


def _lines(report: MeshHealth) -> list[tuple[str, str]]:
    """Name and value of each line of the table."""
    size = " × ".join(f"{b - a:.4g}" for a, b in zip(report.lower, report.upper, strict=True))
    edge = (report.shortest_edge, report.median_edge, report.longest_edge)
    oriented = "consistently" if report.consistent else "inconsistently"
    direction = {True: ", outwards", False: ", partly or wholly inwards", None: ""}[report.outward]
    return [
        ("vertices", f"{report.n_vertices:,}"),
        ("edges", f"{report.n_edges:,}"),
        ("faces", f"{report.n_faces:,}"),
        ("components", str(report.components)),
        ("boundary loops", str(report.boundary_loops)),
        ("Euler number", str(report.euler_number)),
        ("genus", "undefined here" if report.genus is None else str(report.genus)),
        ("orientable", "yes" if report.orientable else "no"),
        ("oriented", oriented + direction),
        ("area", f"{report.area:.6g}"),
        ("bounding box", f"{size}, diagonal {report.diagonal:.4g}"),
        ("edge length", "{:.4g} shortest, {:.4g} median, {:.4g} longest".format(*edge)),
        ("smallest angle", f"{report.smallest_angle:.3g}°"),
        ("operators", "can be built" if report.usable else "cannot be built"),
    ]


def _print_repair(path: Path | None, mended: Repair, after: MeshHealth) -> None:
    from rich.markup import escape

    console = _console()
    console.print("[bold]Repair[/bold]" + ("" if mended.changed else ": nothing to change"))
    for name, count in mended.changes.items():
        if count:
            console.print(f"- {name.replace('_', ' ')}: {count}")
    console.print(
        f"Wrote {escape(str(path))}: {after.n_vertices:,} vertices, {after.n_faces:,} faces,"
        f" {len(after.problems)} findings left."
    )
    for problem in after.problems:
        console.print(f"- {problem}")
