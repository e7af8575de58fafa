"""`finsler match`: which vertex of one mesh corresponds to which of another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finsler.cli.options import (
    Alpha,
    AsJson,
    Kind,
    Omega,
    OmegaField,
    OperatorChoice,
    OperatorKind,
    Peak,
    Smoothing,
    Tau,
    Theta,
    working,
)
from finsler.cli.results import FIGURE_ENDINGS, checked_target

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from finsler.matching import Match
    from finsler.mesh import TriMesh
    from finsler.mesh.trimesh import FloatArray
    from finsler.operator import Laplacian

# Confidence below which a vertex is counted as doubtful.
_DOUBTFUL = 0.5


def match(
    first: Annotated[
        Path, typer.Argument(metavar="A", help="Mesh whose vertices look for a partner.")
    ],
    second: Annotated[Path, typer.Argument(metavar="B", help="Mesh that they find it on.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write the map and its record: .npz."),
    ] = None,
    colors: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write both meshes as .ply here, B coloured by position and A by its partners.",
        ),
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw both side by side: .png, .svg or .pdf."),
    ] = None,
    k: Annotated[int, typer.Option("-k", help="Functions in the largest basis.")] = 200,
    partial: Annotated[
        bool,
        typer.Option("--partial", help="A is a part of B, in the same unit of length."),
    ] = False,
    both: Annotated[
        bool,
        typer.Option(
            "--both", help="Refine the map from B to A for itself too; round trips tell more then."
        ),
    ] = False,
    kind: OperatorKind = Kind.lbo,
    alpha: Alpha = 1.0,
    tau: Tau = 0.1,
    theta: Theta = 0.0,
    omega: OmegaField = Omega.constant,
    peak: Peak = 0.9,
    smoothing: Smoothing = 10,
    as_json: AsJson = False,
) -> None:
    """Match two meshes without training: descriptors, functional maps, ZoomOut.

    The meshes may differ in scale, position, pose and number of vertices. The result sends every
    vertex of A to a vertex of B (`map_12`), with a confidence from 0 to 1 for each: how well it
    returns from B, and whether its neighbours stay near it. `map_21` sends B to A.

    Example: `finsler match A.off B.off -o map.npz --figure map.png`
    """
    from finsler.errors import InputError
    from finsler.files import write_npz
    from finsler.matching import match as run
    from finsler.mesh import load_mesh

    checked_target(out, (".npz",))
    checked_target(figure, FIGURE_ENDINGS)
    if colors is not None and colors.exists() and not colors.is_dir():
        raise InputError(f"{colors}: this is a file; give a folder for the coloured meshes")
    if partial and both:
        raise InputError("--both has no effect with --partial: B is not a part of A; leave it out")
    mesh_1, mesh_2 = load_mesh(first), load_mesh(second)
    choice = OperatorChoice(kind, alpha, tau, omega, peak, smoothing)

    def operator(mesh: TriMesh) -> Laplacian:
        from finsler.operator import laplacian

        return laplacian(mesh, choice.metric(mesh, theta).diffusivity())

    with working("matching"):
        found = run(mesh_1, mesh_2, k=k, operator=operator, partial=partial, both=both)
    config: dict[str, Any] = {
        "mesh_1": first.name,
        "mesh_2": second.name,
        "direction": "map_12 sends each vertex of mesh_1 to a vertex of mesh_2",
        "k": k,
        "partial": partial,
        "both": both,
        **choice.config(theta),
    }
    written = [] if out is None else [write_npz(out, _arrays(found), config)]
    if colors is not None:
        written += _write_colors(colors, (first, second), (mesh_1, mesh_2), found)
    if figure is not None:
        with working("figure"):
            _draw(figure, mesh_1, mesh_2, found)
        written.append(figure)
    report = {**_report(found), "files": [str(path) for path in written], "config": config}
    if as_json:
        print(json.dumps(report, indent=2))
    else:
        _print(report)


def _arrays(found: Match) -> dict[str, Any]:
    return {
        "map_12": found.map_12,
        "map_21": found.map_21,
        "confidence": found.confidence,
        "cycle": found.cycle,
        "functional": found.functional,
        "eigenvalues_1": found.eigenvalues_1,
        "eigenvalues_2": found.eigenvalues_2,
    }


def _report(found: Match) -> dict[str, Any]:
    import numpy as np

    return {
        "vertices": [len(found.map_12), len(found.map_21)],
        "basis": list(found.functional.shape),
        "orientation": found.orientation,
        "confidence": {
            "mean": float(found.confidence.mean()),
            "doubtful_share": float((found.confidence < _DOUBTFUL).mean()),
        },
        "cycle": {
            "mean": float(found.cycle.mean()),
            "largest": float(found.cycle.max()),
        },
        "covered_share": float(len(np.unique(found.map_12)) / len(found.map_21)),
    }


def _box_shares(mesh: TriMesh) -> FloatArray:
    """Position (n, 3) in the bounding box, each coordinate from 0 to 1."""
    import numpy as np

    size = np.ptp(mesh.vertices, axis=0)
    shifted = mesh.vertices - mesh.vertices.min(axis=0)
    return np.asarray(shifted / np.where(size > 0, size, 1.0))


def _position_colors(mesh: TriMesh) -> NDArray[np.uint8]:
    """Red, green and blue along the three axes of the bounding box."""
    import numpy as np

    return np.asarray(np.round(30 + 225 * _box_shares(mesh)), dtype=np.uint8)


def _write_colors(
    folder: Path, paths: tuple[Path, Path], meshes: tuple[TriMesh, TriMesh], found: Match
) -> list[Path]:
    """A with the colours of its partners and its confidence, and B, as .ply."""
    from finsler.mesh import write_mesh

    folder.mkdir(parents=True, exist_ok=True)
    colors = _position_colors(meshes[1])
    targets = [folder / f"{name}_{path.stem}.ply" for name, path in zip("AB", paths, strict=True)]
    carried, trust = colors[found.map_12], found.confidence
    write_mesh(targets[0], meshes[0], colors=carried, scalars={"confidence": trust})
    write_mesh(targets[1], meshes[1], colors=colors)
    return targets


def _draw(path: Path, mesh_1: TriMesh, mesh_2: TriMesh, found: Match) -> None:
    """A function on B that tells sides and heights apart, its pull-back to A, the confidence."""
    import numpy as np

    from finsler.view import Panel, save_figure

    values = _box_shares(mesh_2) @ [0.6, 1.0, 0.3]
    clim = (float(values.min()), float(values.max()) + 1e-12)
    carried = np.asarray(values[found.map_12])
    row = [
        Panel(mesh_2, scalars=values, title="B", cmap="turbo", clim=clim, bands=16),
        Panel(mesh_1, scalars=carried, title="carried to A", cmap="turbo", clim=clim, bands=16),
        Panel(mesh_1, scalars=found.confidence, title="confidence", clim=(0.0, 1.0)),
    ]
    save_figure(path, [row], panel_size=(2.4, 2.4), share_range=False)


def _print(report: dict[str, Any]) -> None:
    n_1, n_2 = report["vertices"]
    k_1, k_2 = report["basis"]
    print(f"{n_1:,} vertices of A sent to B, which has {n_2:,}; functional map {k_1} × {k_2}")
    trust, cycle = report["confidence"], report["cycle"]
    print(
        f"confidence {trust['mean']:.3f} in the mean, below {_DOUBTFUL} at"
        f" {100 * trust['doubtful_share']:.1f}% of the vertices"
    )
    print(f"round trips of {cycle['mean']:.4f} √area in the mean, {cycle['largest']:.4f} at most")
    print(f"{100 * report['orientation']:.0f}% of the surface arrives right side up")
    if report["orientation"] < 0.5:
        print("note: most of it arrives turned over; left and right are probably exchanged")
    for path in report["files"]:
        print(f"Wrote {path}")
