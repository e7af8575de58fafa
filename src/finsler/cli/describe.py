"""`finsler describe`: numbers at each vertex that tell what the surface is like there."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finsler.cli.options import (
    Alpha,
    AsJson,
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
from finsler.cli.results import checked_target

if TYPE_CHECKING:
    from finsler.mesh import TriMesh
    from finsler.mesh.trimesh import FloatArray, IntArray

_SHARE = 0.09
_BINS = 10
_PAIRS = 100


class Descriptor(StrEnum):
    """Which descriptor."""

    shot = "shot"
    hks = "hks"
    wks = "wks"
    xyz = "xyz"
    normals = "normals"


_SPECTRAL = (Descriptor.hks, Descriptor.wks)


def describe(
    mesh: MeshFile,
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
    kind: OperatorKind = Kind.lbo,
    alpha: Alpha = 10.0,
    tau: Tau = 0.1,
    omega: OmegaField = Omega.constant,
    peak: Peak = 0.9,
    smoothing: Smoothing = 10,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write the descriptors to this .npz."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Describe each vertex of a mesh by a row of numbers.

    SHOT sees the surface within a ball and does not change when the shape is moved; signatures see
    all of it and do not change when it bends without stretching, except through their operator. A
    vertex with fewer than five neighbours in the ball gets a row of zeros.

    Example: `finsler describe cat.off --descriptor shot --radius 0.09 -o cat_shot.npz`
    """
    from finsler.files import write_npz
    from finsler.mesh import load_mesh

    checked_target(out, (".npz",))
    _check_options(
        descriptor,
        only_shot={"--radius": radius, "--bins": bins, "--as-released": as_released or None},
        only_spectral={"--angles": angles, "--count": count, "-k": k},
    )
    choice = OperatorChoice(kind, alpha, tau, omega, peak, smoothing)
    _check_angles(descriptor, kind, angles)
    surface = load_mesh(mesh)
    config: dict[str, Any] = {"mesh": mesh.name, "descriptor": descriptor.value}
    report: dict[str, Any] = {}
    arrays: dict[str, Any] = {}
    if descriptor is Descriptor.shot:
        share = _SHARE if radius is None else radius
        config |= {"radius": share, "bins": bins or _BINS, "as_released": as_released}
        length = _radius(surface, share)
        values, neighbors = _shot(surface, length, bins or _BINS, as_released)
        arrays["neighbors"] = neighbors
        report = {"radius": length, "neighbors": _neighbor_statistics(neighbors, values)}
    elif descriptor in _SPECTRAL:
        config |= {"k": k or _PAIRS, "angles": angles or 1, "count": count, **choice.config()}
        values = _signature(surface, descriptor, choice, angles or 1, count, k or _PAIRS)
    else:
        values = _plain(surface, descriptor)
    if out is not None:
        write_npz(out, {"descriptors": values, **arrays}, config)
    report = {
        "descriptor": descriptor.value,
        "shape": list(values.shape),
        "norms": _norm_statistics(values),
        **report,
        "files": [str(path) for path in (out,) if path is not None],
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
        {} if descriptor in _SPECTRAL else only_spectral
    )
    for name, value in idle.items():
        if value is not None:
            raise InputError(f"{name} has no effect on {descriptor.value}; leave it out")
    for name, value in {**only_shot, **only_spectral}.items():
        if name in ("--bins", "--angles", "--count", "-k") and value is not None and value < 1:
            raise InputError(f"{name} is {value}; it must be at least 1")


def _check_angles(descriptor: Descriptor, kind: Kind, angles: int | None) -> None:
    from finsler.errors import InputError

    if descriptor not in _SPECTRAL and kind is not Kind.lbo:
        raise InputError(f"--operator has no effect on {descriptor.value}; leave it out")
    if kind is Kind.lbo and angles is not None:
        raise InputError(
            "--angles has no effect on the lbo, which is isotropic; add --operator albo or flbo"
        )


def _radius(mesh: TriMesh, share: float) -> float:
    """The radius in the unit of the mesh."""
    from finsler.descriptors import shot_radius
    from finsler.errors import InputError

    if not 0.0 < share < float("inf"):
        raise InputError(f"--radius is {share}; it must be positive and finite")
    radius = shot_radius(mesh, share)
    if radius == 0.0:
        raise InputError("the mesh has no area, so there is no radius; mend it: finsler info")
    return radius


def _shot(
    mesh: TriMesh, radius: float, bins: int, as_released: bool
) -> tuple[FloatArray, IntArray]:
    """Descriptors, and the number of neighbours of each vertex."""
    from finsler.descriptors import shot, shot_frames

    with working("SHOT"):
        frames = shot_frames(mesh, radius=radius, as_released=as_released)
        values = shot(mesh, radius=radius, bins=bins, frames=frames, as_released=as_released)
    return values, frames.neighbors


def _signature(
    mesh: TriMesh,
    descriptor: Descriptor,
    choice: OperatorChoice,
    angles: int,
    count: int | None,
    pairs: int,
) -> FloatArray:
    """Heat or wave kernel signatures of one operator for each angle."""
    from finsler.analysis import spectrum
    from finsler.descriptors import hks, wks

    spectra = []
    degrees = [180.0 * angle / angles for angle in range(angles)]
    for number, laplacian in enumerate(choice.stack(mesh, degrees), start=1):
        with working(f"{pairs} eigenpairs, angle {number} of {angles}"):
            spectra.append(spectrum(laplacian, pairs))
    signature = hks if descriptor is Descriptor.hks else wks
    return signature(spectra) if count is None else signature(spectra, count=count)


def _plain(mesh: TriMesh, descriptor: Descriptor) -> FloatArray:
    from finsler.mesh.measures import vertex_normals

    return mesh.vertices if descriptor is Descriptor.xyz else vertex_normals(mesh)


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
