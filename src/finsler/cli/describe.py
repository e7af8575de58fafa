"""`finsler describe`: numbers at each vertex that tell what the surface is like there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finsler.cli.cluster_options import (
    Bundle,
    Jobs,
    Retries,
    Scheduler,
    WorkerMemory,
    refuse_workers,
    workers,
)
from finsler.cli.description import SPECTRAL, Description, Descriptor, describe_many
from finsler.cli.options import (
    Alpha,
    AsJson,
    Kind,
    OmegaField,
    OperatorKind,
    Peak,
    Smoothing,
    Tau,
)
from finsler.cli.results import Overwrite, check_outputs
from finsler.operator import OperatorSpec

if TYPE_CHECKING:
    from finsler.compute.cluster import Workers
    from finsler.typing import FloatArray, IntArray

_SHARE = 0.09
_BINS = 10
_PAIRS = 100
# Far above what is of use, and low enough that nothing runs for hours.
_MOST = {"--bins": 1000, "--angles": 1024, "--count": 100_000, "-k": 1_000_000}


def describe(
    meshes: Annotated[
        list[str],
        typer.Argument(
            metavar="MESH...",
            help="Mesh file: .off, .obj, .ply, .stl, .glb, .gltf; or several, a folder of them, or"
            " a collection such as faust_r:PATH, with a folder as --out.",
        ),
    ],
    descriptor: Annotated[
        Descriptor,
        typer.Option(
            help="shot: histograms of normals around each vertex; hks, wks: heat and wave kernel"
            " signatures; xyz: positions; normals: vertex normals.",
        ),
    ] = Descriptor.shot,
    radius: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help=f"shot: radius as a share of the square root of the area. [default: {_SHARE}]",
        ),
    ] = None,
    bins: Annotated[
        int | None,
        typer.Option(help=f"shot: 32 (bins + 1) values a vertex. [default: {_BINS}]"),
    ] = None,
    as_released: Annotated[
        bool,
        typer.Option(
            "--as-released",
            help="shot: with the peculiarities of the C++ code in circulation, to compare with"
            " descriptors made by it.",
        ),
    ] = False,
    angles: Annotated[
        int | None,
        typer.Option(
            help="hks, wks with --operator albo or flbo: this many angles, spread over a half"
            " turn, side by side. [default: 1]"
        ),
    ] = None,
    count: Annotated[
        int | None,
        typer.Option(help="hks, wks: values for each angle. [default: 16 and 100]"),
    ] = None,
    k: Annotated[
        int | None, typer.Option("-k", help=f"hks, wks: number of eigenpairs. [default: {_PAIRS}]")
    ] = None,
    kind: OperatorKind = "lbo",
    alpha: Alpha = 10.0,
    tau: Tau = 0.1,
    omega: OmegaField = "constant",
    peak: Peak = 0.9,
    smoothing: Smoothing = 10,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write the descriptors to this .npz; of many meshes to this folder, or s3://...",
        ),
    ] = None,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    retries: Retries = 2,
    worker_memory: WorkerMemory = None,
    bundle: Bundle = 1,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Describe each vertex of a mesh, or of many, by a row of numbers.

    SHOT sees the surface within a ball and does not change when the shape is moved; signatures see
    all of it and do not change when it bends without stretching, except through their operator. A
    vertex with fewer than five neighbours in the ball gets a row of zeros.

    Of many meshes each gets a file, and meshes.csv lists them all with seconds, errors and defects.
    What is there already is not computed again; a mesh that fails stops none of the others, and the
    exit code is 1.

    Example: `finsler describe cat.off --descriptor shot --radius 0.09 -o cat_shot.npz`, or many
    `finsler describe scans/*.ply -o described`
    """
    from finsler.errors import InputError

    _check_options(
        descriptor,
        only_shot={"--radius": radius, "--bins": bins, "--as-released": as_released or None},
        only_spectral={"--angles": angles, "--count": count, "-k": k},
    )
    _check_angles(descriptor, kind, angles)
    description = Description(
        descriptor=descriptor,
        share=_SHARE if radius is None else radius,
        bins=bins or _BINS,
        as_released=as_released,
        angles=angles or 1,
        count=count,
        k=k or _PAIRS,
        operator=OperatorSpec(kind, alpha, tau, omega, peak, smoothing),
    )
    description.check()
    if len(meshes) == 1 and _is_file(meshes[0]):
        refuse_workers(scheduler, jobs, worker_memory)
        target = None if out is None else Path(out)
        check_outputs([(target, (".npz",))], meshes, overwrite=overwrite)
        _describe_one(Path(meshes[0]), target, description, as_json)
        return
    if out is None:
        raise InputError("the descriptors of many meshes are written to a folder: give --out")

    def crew(tasks: int) -> Workers:
        return workers(scheduler, jobs, retries, worker_memory, bundle, tasks=tasks)

    describe_many(meshes, out, description, crew, overwrite=overwrite, as_json=as_json)


def _is_file(text: str) -> bool:
    """Whether this is one mesh: a file that is there, or neither folder nor collection."""
    path = Path(text)
    return path.is_file() or (":" not in text and not path.is_dir())


def _describe_one(path: Path, out: Path | None, description: Description, as_json: bool) -> None:
    """Describe one mesh; write and print what is asked for."""
    from finsler.mesh import load_mesh
    from finsler.storage.npz import write_npz

    described = description.of(load_mesh(path))
    values = described.values
    config = {"mesh": path.name, **description.config()}
    if out is not None:
        write_npz(out, described.arrays(), config)
    more: dict[str, Any] = {}
    if described.neighbors is not None:
        neighbors = _neighbor_statistics(described.neighbors, values)
        more = {"radius": described.radius, "neighbors": neighbors}
    report = {
        "descriptor": description.descriptor.value,
        "shape": list(values.shape),
        "norms": _norm_statistics(values),
        **more,
        "files": [] if out is None else [str(out)],
        "config": config,
    }
    if as_json:
        print(json.dumps(report, indent=2))
        return
    _print(report)


def _check_options(
    descriptor: Descriptor, only_shot: dict[str, Any], only_spectral: dict[str, Any]
) -> None:
    """Raise where an option is given that would change nothing, or a number that cannot be."""
    from finsler.errors import InputError

    idle = ({} if descriptor is Descriptor.shot else only_shot) | (
        {} if descriptor in SPECTRAL else only_spectral
    )
    for name, value in idle.items():
        if value is not None:
            raise InputError(f"{name} has no effect on {descriptor.value}; leave it out")
    for name, value in {**only_shot, **only_spectral}.items():
        if name in _MOST and value is not None and not 1 <= value <= _MOST[name]:
            raise InputError(f"{name} is {value}; it must lie between 1 and {_MOST[name]:,}")


def _check_angles(descriptor: Descriptor, kind: Kind, angles: int | None) -> None:
    from finsler.errors import InputError

    if descriptor not in SPECTRAL and kind != "lbo":
        raise InputError(f"--operator has no effect on {descriptor.value}; leave it out")
    if kind == "lbo" and angles is not None:
        raise InputError(
            "--angles has no effect on the lbo, which is isotropic; add --operator albo or flbo"
        )


def _norm_statistics(values: FloatArray) -> dict[str, float]:
    import numpy as np

    norms = np.linalg.norm(values, axis=1)
    return {
        "smallest": float(norms.min()),
        "median": float(np.median(norms)),
        "largest": float(norms.max()),
    }


def _neighbor_statistics(neighbors: IntArray, values: FloatArray) -> dict[str, Any]:
    import numpy as np

    return {
        "smallest": int(neighbors.min()),
        "median": float(np.median(neighbors)),
        "largest": int(neighbors.max()),
        "rows_of_zeros": int((~values.any(axis=1)).sum()),
    }


def _print(report: dict[str, Any]) -> None:
    n, columns = report["shape"]
    print(f"{report['descriptor']}: {n:,} vertices, {columns} values each")
    if "neighbors" in report:
        found = report["neighbors"]
        print(
            f"radius {report['radius']:.4g}: {found['smallest']} to {found['largest']} neighbours,"
            f" median {found['median']:g}"
        )
        if found["rows_of_zeros"]:
            print(
                f"{found['rows_of_zeros']} vertices have too few neighbours and a row of zeros;"
                " a larger --radius reaches more"
            )
    norms = report["norms"]
    print(f"norms {norms['smallest']:.4g} to {norms['largest']:.4g}, median {norms['median']:.4g}")
    for path in report["files"]:
        print(f"Wrote {path}")
