"""`finsler describe`: numbers at each vertex that tell what the surface is like there."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer

from finsler.cli.batch import compute_rows, finish
from finsler.cli.cluster_options import WorkerOptions
from finsler.cli.options import AsJson, operator_options, with_options
from finsler.cli.results import Overwrite, check_outputs
from finsler.cli.spinner import stages
from finsler.compute.batch import require_own_folder
from finsler.data.meshes import Meshes, open_meshes
from finsler.descriptors.description import SPECTRAL, Described, Description, describe_to_file
from finsler.descriptors.hks import MOST_VALUES
from finsler.descriptors.shot import MOST_BINS
from finsler.errors import InputError
from finsler.mesh import load_mesh
from finsler.spec import MOST_ANGLES, OperatorSpec
from finsler.storage.files import lasting_location, shared_folder
from finsler.storage.npz import write_npz

_DEFAULTS = Description()
_MOST = {"bins": MOST_BINS, "angles": MOST_ANGLES, "count": MOST_VALUES, "k": 1_000_000}
_TABLE = "meshes.csv"
_COLUMNS = (
    *("mesh", "outcome", "seconds", "vertices", "values"),
    *("attempts", "error", "warnings", "file"),
)

MeshesOrCollection = Annotated[
    list[str],
    typer.Argument(
        metavar="MESH...",
        help="Mesh file: .off, .obj, .ply, .stl, .glb, .gltf; or several, a folder of them, or"
        " a collection such as faust_r:PATH, with a folder as --out.",
    ),
]
DescriptorName = Annotated[
    Literal["shot", "hks", "wks", "xyz", "normals"],
    typer.Option(
        help="shot: histograms of normals around each vertex; hks, wks: heat and wave kernel"
        " signatures; xyz: positions; normals: vertex normals.",
    ),
]
Radius = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="shot: radius as a share of the square root of the area."
        f" [default: {_DEFAULTS.radius}]",
    ),
]
Bins = Annotated[
    int | None,
    typer.Option(help=f"shot: 32 (bins + 1) values for each vertex. [default: {_DEFAULTS.bins}]"),
]
AsReleased = Annotated[
    bool,
    typer.Option(
        "--as-released",
        help="shot: with the peculiarities of the C++ code in circulation, to compare with"
        " its descriptors.",
    ),
]
Angles = Annotated[
    int | None,
    typer.Option(
        help="hks, wks with --operator albo or flbo: this many angles, spread over a half"
        " turn, side by side. [default: 1]"
    ),
]
Count = Annotated[
    int | None, typer.Option(help="hks, wks: values for each angle. [default: 16 and 100]")
]
Pairs = Annotated[
    int | None,
    typer.Option("-k", help=f"hks, wks: number of eigenpairs. [default: {_DEFAULTS.k}]"),
]
Out = Annotated[
    str | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        help="Write the descriptors to this .npz file; for many meshes, to this folder, or"
        " s3://...",
    ),
]


@with_options(spec=operator_options, workers=WorkerOptions)
def describe(
    meshes: MeshesOrCollection,
    *,
    descriptor: DescriptorName = "shot",
    radius: Radius = None,
    bins: Bins = None,
    as_released: AsReleased = False,
    angles: Angles = None,
    count: Count = None,
    k: Pairs = None,
    spec: OperatorSpec,
    out: Out = None,
    workers: WorkerOptions,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Describe each vertex of a mesh, or of many, by a row of numbers.

    SHOT looks at the surface within a ball, and does not change when the shape is moved. Signatures
    look at all of the surface, and do not change when it bends without stretching, except through
    their operator. A vertex with fewer than five neighbours in the ball gets a row of zeros.

    Given many meshes, it writes a file for each, and meshes.csv lists them all with seconds, errors
    and defects. Files that exist are not computed again; a mesh that fails does not stop the
    others, but the exit code is then 1.

    Example: `finsler describe cat.off --descriptor shot --radius 0.09 -o cat_shot.npz`, or many
    `finsler describe scans/*.ply -o described`
    """
    only_shot = {"radius": radius, "bins": bins, "as_released": as_released or None}
    only_spectral = {"angles": angles, "count": count, "k": k}
    _check_options(descriptor, spec.kind, only_shot, only_spectral)
    spec = dataclasses.replace(spec, angles=angles or 1)
    given = {**only_shot, "count": count, "k": k}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    description = Description(descriptor, operator=spec, **options)
    description.check()
    if len(meshes) == 1 and _is_file(meshes[0]):
        workers.refuse()
        path, target = Path(meshes[0]), None if out is None else Path(out)
        check_outputs([(target, (".npz",))], [path], overwrite=overwrite)
        _describe_one(path, target, description, as_json)
        return
    if out is None:
        raise InputError("the descriptors of many meshes are written to a folder: give --out")
    lasting_location(out)
    opened = open_meshes(meshes)
    require_own_folder(out, _TABLE, _COLUMNS, opened.names, overwrite=overwrite)
    _describe_many(opened, out, description, workers, as_json)


def _is_file(text: str) -> bool:
    """Whether this is one mesh: a file that is there, or neither folder nor collection."""
    path = Path(text)
    return path.is_file() or (":" not in text and not path.is_dir())


def _check_options(
    descriptor: str, kind: str, only_shot: dict[str, Any], only_spectral: dict[str, Any]
) -> None:
    """Raise where an option is given that would change nothing, or a number that cannot be."""
    idle = ({} if descriptor == "shot" else only_shot) | (
        {} if descriptor in SPECTRAL else only_spectral
    )
    for name, value in idle.items():
        if value is not None:
            raise InputError(f"{_option(name)} has no effect on {descriptor}; leave it out")
    radius = only_shot["radius"]
    if radius is not None and not 0.0 < radius < math.inf:
        raise InputError(f"--radius is {radius}; it must be positive and finite")
    for name, value in {**only_shot, **only_spectral}.items():
        if name in _MOST and value is not None and not 1 <= value <= _MOST[name]:
            most = f"{_MOST[name]:,}"
            raise InputError(f"{_option(name)} is {value}; it must lie between 1 and {most}")
    if descriptor not in SPECTRAL and kind != "lbo":
        raise InputError(f"--operator has no effect on {descriptor}; leave it out")
    if kind == "lbo" and only_spectral["angles"] is not None:
        raise InputError(
            "--angles has no effect on the lbo, which is isotropic; add --operator albo or flbo"
        )


def _option(name: str) -> str:
    return "-k" if name == "k" else f"--{name.replace('_', '-')}"


def _describe_many(
    meshes: Meshes,
    out: str,
    description: Description,
    workers: WorkerOptions,
    as_json: bool,
) -> None:
    """Describe meshes, each into a file of its own; what is there is not computed again."""
    count = len(meshes.names)
    chosen = workers.of(count)
    tasks = _tasks(meshes, shared_folder(out), description)
    rows = compute_rows(describe_to_file, tasks, chosen, title="describing", total=count)
    table = [
        {"name": name, "mesh": name, "file": f"{name}.npz", **rows[name]} for name in meshes.names
    ]
    finish(out, _TABLE, _COLUMNS, table, as_json=as_json)


def _tasks(
    meshes: Meshes, folder: str, description: Description
) -> Iterator[tuple[str, tuple[Any, ...] | Exception]]:
    for name in meshes.names:
        try:
            yield name, (f"{folder}/{name}.npz", name, meshes.load(name), description)
        except (InputError, OSError) as error:
            yield name, error


def _describe_one(path: Path, out: Path | None, description: Description, as_json: bool) -> None:
    """Describe one mesh; write and print what is asked for."""
    with stages("describing") as show:
        described = description.describe(load_mesh(path), progress=show)
    config = {"mesh": path.name, **description.record()}
    if out is not None:
        write_npz(out, described.arrays(), config)
    norms = described.norms()
    report = {
        "descriptor": description.descriptor,
        "shape": list(described.values.shape),
        "norms": {
            "smallest": float(norms.min()),
            "median": float(np.median(norms)),
            "largest": float(norms.max()),
        },
        **_neighbor_report(described),
        "files": [] if out is None else [str(out)],
        "config": config,
    }
    if as_json:
        print(json.dumps(report, indent=2))
    else:
        _print(report)


def _neighbor_report(described: Described) -> dict[str, Any]:
    """Of SHOT: the radius, how many neighbours vertices have, and how many have too few."""
    neighbors = described.neighbors
    if neighbors is None:
        return {}
    counts = {
        "smallest": int(neighbors.min()),
        "median": float(np.median(neighbors)),
        "largest": int(neighbors.max()),
        "rows_of_zeros": int((~described.values.any(axis=1)).sum()),
    }
    return {"radius": described.radius, "neighbors": counts}


def _print(report: dict[str, Any]) -> None:
    n, columns = report["shape"]
    print(f"{report['descriptor']}: {n:,} vertices, {columns} values each")
    if "neighbors" in report:
        counts = report["neighbors"]
        print(
            f"radius {report['radius']:.4g}: {counts['smallest']} to {counts['largest']}"
            f" neighbours, median {counts['median']:g}"
        )
        if counts["rows_of_zeros"]:
            print(
                f"{counts['rows_of_zeros']} vertices have too few neighbours and a row of zeros;"
                " a larger --radius reaches more"
            )
    norms = report["norms"]
    print(f"norms {norms['smallest']:.4g} to {norms['largest']:.4g}, median {norms['median']:.4g}")
    for path in report["files"]:
        print(f"Wrote {path}")
