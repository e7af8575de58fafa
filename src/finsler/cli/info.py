"""`finsler info`: the health of a mesh file, and its repair."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from finsler.cli.options import AsJson, MeshFile
from finsler.cli.results import Overwrite, stdout_console
from finsler.errors import InputError
from finsler.mesh import MeshHealth, Repair, TriMesh, health, load_mesh, repair, write_mesh
from finsler.mesh.health import MeshWarning
from finsler.operator import lbo
from finsler.storage.outputs import require_outputs

# Share of negative weights from which on --delaunay is advised.
_MANY = 0.01


RepairTo = Annotated[
    Path | None,
    typer.Option("--repair", metavar="OUT", help="Write the repaired mesh to this file."),
]
MergeTolerance = Annotated[
    float,
    typer.Option(
        help="With --repair: merge vertices closer than this share of the bounding box"
        " diagonal; 0 merges equal positions only."
    ),
]


def info(
    mesh: MeshFile,
    as_json: AsJson = False,
    repair_to: RepairTo = None,
    merge_tolerance: MergeTolerance = 0.0,
    overwrite: Overwrite = False,
) -> None:
    """Report the size, topology and defects of a mesh, and repair it if asked.

    Every defect is listed with what it does to results and how to remove it. With `--repair` the
    repaired mesh is written to OUT, and every change is counted.

    Example: `finsler info cat.off --repair cat_repaired.ply`
    """
    if merge_tolerance and repair_to is None:
        raise InputError("--merge-tolerance changes nothing without --repair OUT; add it")
    if repair_to is not None:
        require_outputs([repair_to], [mesh], overwrite=overwrite)
    surface = load_mesh(mesh)
    report = health(surface)
    repaired: Repair | None = None
    if repair_to is not None:
        repaired = repair(surface, merge_tolerance=merge_tolerance)
        write_mesh(repair_to, repaired.mesh)
    if as_json:
        answer = _answer(mesh, surface, report)
        if repaired is not None:
            after = _answer(repair_to, repaired.mesh, health(repaired.mesh))
            answer["repair"] = {**after, "changes": repaired.changes}
        print(json.dumps(answer, indent=2))
        return
    _print_report(mesh, report, _negative_weights(surface, report))
    if report.problems and repaired is None:
        print("Repair with: finsler info MESH --repair OUT")
    if repaired is not None:
        _print_repair(repair_to, repaired, health(repaired.mesh))


def _answer(path: Path | None, mesh: TriMesh, report: MeshHealth) -> dict[str, Any]:
    about = {"path": str(path), **report.to_dict()}
    return about | {"negative_weights": _negative_weights(mesh, report)}


def _negative_weights(mesh: TriMesh, report: MeshHealth) -> float | None:
    """Share of the cotangent weights that are negative; None where there is no operator."""
    if not report.usable:
        return None
    with warnings.catch_warnings():
        # The report names the defects already.
        warnings.simplefilter("ignore", MeshWarning)
        return lbo(mesh).negative_share


def _print_report(path: Path, report: MeshHealth, negative: float | None) -> None:
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    for name, value in _lines(report):
        table.add_row(name, value)
    console = stdout_console()
    console.print(str(path), style="bold")
    if negative is not None:
        table.add_row("negative weights", f"{negative:.1%} of the cotangent weights")
    console.print(table)
    if negative is not None and negative >= _MANY:
        print("Heat may leave its bounds on obtuse faces: finsler heat --delaunay")
    if not report.problems:
        console.print("No defects found.", style="green")
        return
    console.print(f"Findings ({len(report.problems)})", style="yellow")
    for problem in report.problems:
        print(f"- {problem}")


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


def _print_repair(path: Path | None, repaired: Repair, after: MeshHealth) -> None:
    print("Repair" + ("" if repaired.changed else ": nothing to change"))
    for name, count in repaired.changes.items():
        if count:
            print(f"- {name.replace('_', ' ')}: {count}")
    print(
        f"Wrote {path}: {after.n_vertices:,} vertices, {after.n_faces:,} faces,"
        f" {len(after.problems)} findings left."
    )
    for problem in after.problems:
        print(f"- {problem}")
