"""`finsler operator`: the matrices of a mesh, to a file."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finsler.cli.options import (
    Alpha,
    AsJson,
    Delaunay,
    Kind,
    MeshFile,
    Omega,
    OmegaField,
    OperatorChoice,
    Peak,
    Smoothing,
    Tau,
    frames_of,
    working,
)
from finsler.cli.results import checked_target

if TYPE_CHECKING:
    from finsler.frames import FaceFrames
    from finsler.mesh import TriMesh
    from finsler.operator import AngleStack


class Rescaling(StrEnum):
    """Rescalings to [−1, 1]."""

    none = "none"
    acscnn = "acscnn"
    reference = "reference"
    plain = "plain"


def operator(
    mesh: MeshFile,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FILE", help="Where to write: .npz, .mat or .mtx."),
    ],
    alpha: Alpha = 10.0,
    tau: Tau = 0.1,
    angles: Annotated[int, typer.Option(help="Number of angles, evenly spaced in [0, π).")] = 8,
    theta: Annotated[
        float | None, typer.Option(help="One angle, in degrees, instead of --angles.")
    ] = None,
    omega: OmegaField = Omega.constant,
    peak: Peak = 0.9,
    smoothing: Smoothing = 10,
    chebyshev: Annotated[
        Rescaling,
        typer.Option(
            help="Write operators rescaled to [-1, 1] instead: acscnn, reference or plain (npz)."
        ),
    ] = Rescaling.none,
    delaunay: Delaunay = False,
    as_json: AsJson = False,
) -> None:
    """Write the Finsler-Laplace-Beltrami operators of a mesh at several angles.

    Stiffness matrices are symmetric and positive semidefinite (libigl's sign, times -1), the mass
    is lumped, the operator is mass⁻¹ stiffness. `--tau 0` gives the anisotropic Laplacian,
    `--alpha 0 --tau 0 --angles 1` the cotangent Laplacian.

    Strong anisotropy makes weights negative, whose share is reported. `--delaunay` removes them,
    for one angle at a time (`--theta`): each angle then has triangles, and a pattern, of its own.

    Example: `finsler operator cat.off --alpha 10 --tau 0.1 --angles 8 -o cat.npz`
    """
    from finsler.errors import InputError
    from finsler.mesh import load_mesh
    from finsler.operator import chebyshev_operators, save_operators
    from finsler.storage.npz import write_npz

    if chebyshev is not Rescaling.none and out.suffix.lower() != ".npz":
        raise InputError(f"{out}: rescaled operators are written as .npz only")
    if delaunay and theta is None:
        raise InputError(
            "--delaunay gives each angle triangles of its own, so that several share no pattern;"
            " choose one with --theta"
        )
    checked_target(out, (".npz", ".mat", ".mtx"))
    surface = load_mesh(mesh)
    choice = OperatorChoice(Kind.flbo, alpha, tau, omega, peak, smoothing, delaunay)
    count = angles if theta is None else 1
    config = {
        "mesh": mesh.name,
        **choice.config(theta),
        "angles": count,
        "chebyshev": chebyshev.value,
    }
    frames = frames_of(surface, smoothing)
    with working(f"operators at {count} angles"):
        stack, before = _stack(surface, frames, choice, angles, theta)
        if chebyshev is Rescaling.none:
            files = save_operators(out, stack, config)
        else:
            rescaled = chebyshev_operators(stack, normalization=chebyshev.value)
            names = ("theta", "indptr", "indices", "values", "lambda_max")
            arrays = {name: getattr(rescaled, name) for name in names}
            files = [write_npz(out, {**arrays, "mass": stack.mass}, config)]
    report = {
        "files": [str(path) for path in files],
        "vertices": surface.n_vertices,
        "nonzeros": len(stack.indices),
        "theta": stack.theta.tolist(),
        "low_confidence_share": float((frames.confidence < 0.1).mean()),
        "negative_weights": [operator.negative_share for operator in stack],
        **before,
        "config": config,
    }
    if as_json:
        print(json.dumps(report, indent=2))
    else:
        _print(report)


def _stack(
    mesh: TriMesh,
    frames: FaceFrames,
    choice: OperatorChoice,
    angles: int,
    degrees: float | None,
) -> tuple[AngleStack, dict[str, float]]:
    """The operators, and with `--delaunay` the share of negative weights before."""
    import numpy as np

    from finsler.metric import RandersMetric
    from finsler.operator import AngleStack, angle_stack

    tau, theta = choice.tau_field(mesh), float(np.radians(degrees or 0.0))
    if not choice.delaunay:
        wanted = angles if degrees is None else [theta]
        return angle_stack(mesh, alpha=choice.alpha, tau=tau, angles=wanted, frames=frames), {}

    def metric(tau: Any) -> RandersMetric:
        return RandersMetric.from_curvature(mesh, frames, alpha=choice.alpha, tau=tau, theta=theta)

    found, shares = choice.laplacian(metric(tau))
    reference, _ = choice.laplacian(metric(0.0))
    before = {"negative_weights_before": shares["negative_weights_before"]}
    return AngleStack.single(found, theta=theta, reference=reference), before


def _print(report: dict[str, Any]) -> None:
    files, count = report["files"], len(report["theta"])
    written = files[0] if len(files) == 1 else f"{len(files)} files {files[0]} …"
    print(
        f"Wrote {written}: {count} {'operator' if count == 1 else 'operators'} on"
        f" {report['vertices']:,} vertices, {report['nonzeros']:,} nonzeros each."
    )
    filled = report["low_confidence_share"]
    if filled > 0.0:
        print(
            f"Directions of {100 * filled:.1f}% of the faces were filled in"
            " from around (no clear principal direction)."
        )
    low, high = min(report["negative_weights"]), max(report["negative_weights"])
    shares = f"{low:.1%}" if count == 1 else f"{low:.1%} to {high:.1%}"
    before = report.get("negative_weights_before")
    remark = "" if before is None else f", {before:.1%} before --delaunay"
    print(f"{shares} of the weights are negative{remark}.")
