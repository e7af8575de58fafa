"""`finsler operator`: the matrices of a mesh, to a file."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from finsler.cli.options import (
    AsJson,
    Delaunay,
    MeshFile,
    laplacian_of,
    operator_record,
    stack_options,
    with_options,
)
from finsler.cli.results import Overwrite, check_outputs
from finsler.cli.spinner import working
from finsler.errors import InputError
from finsler.frames import FaceFrames
from finsler.mesh import TriMesh, load_mesh
from finsler.operator import AngleStack, chebyshev_operators, save_operators
from finsler.operator.export import operator_files
from finsler.spec import OperatorSpec
from finsler.storage.npz import write_npz

_ENDINGS = (".npz", ".mat", ".mtx")

Out = Annotated[
    Path, typer.Option("--out", "-o", metavar="FILE", help="Where to write: .npz, .mat or .mtx.")
]
Angles = Annotated[
    int, typer.Option(help="Number of angles, evenly spaced over a half turn, from 0.")
]
OneAngle = Annotated[float | None, typer.Option(help="One angle, in degrees, instead of --angles.")]
Rescaling = Annotated[
    Literal["none", "acscnn", "reference", "plain"],
    typer.Option(
        help="Write operators rescaled to [-1, 1] instead: acscnn, reference or plain (npz)."
    ),
]


@with_options(spec=stack_options)
def operator(
    mesh: MeshFile,
    *,
    out: Out,
    spec: OperatorSpec,
    angles: Angles = 8,
    theta: OneAngle = None,
    chebyshev: Rescaling = "none",
    delaunay: Delaunay = False,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Write the operators of a mesh at several angles: by default Finsler-Laplace-Beltrami.

    Stiffness matrices are symmetric and positive semidefinite (the opposite of libigl's sign), the
    mass is lumped, and the operator is mass⁻¹ stiffness. `--tau 0` gives the anisotropic Laplacian,
    `--alpha 0 --tau 0 --angles 1` the cotangent Laplacian.

    Strong anisotropy makes some weights negative; their share is reported. `--delaunay` removes
    them, for one angle at a time (`--theta`), as each angle then needs triangles of its own.

    Directed operators have a drift as well, a skew matrix that is added to the stiffness.

    Example: `finsler operator cat.off --alpha 10 --tau 0.1 --angles 8 -o cat.npz`
    """
    if chebyshev != "none" and out.suffix.lower() != ".npz":
        raise InputError(f"{out}: rescaled operators are written as .npz only")
    if delaunay and theta is None:
        raise InputError(
            "--delaunay gives each angle triangles of its own, so that several share no pattern;"
            " choose one with --theta"
        )
    count = angles if theta is None else 1
    spec = dataclasses.replace(spec, angles=count)
    targets = [(path, _ENDINGS) for path in operator_files(out, count)]
    check_outputs(targets, [mesh], overwrite=overwrite)
    surface = load_mesh(mesh)
    config = {"mesh": mesh.name, **operator_record(spec, theta, delaunay=delaunay)}
    config |= {"angles": count, "chebyshev": chebyshev}
    with working("operators"):
        frames = spec.frames(surface)
        wanted = angles if theta is None else math.radians(theta)
        stack, before = _stack(surface, frames, spec, wanted, delaunay)
    report = {
        "files": [str(path) for path in _write(out, stack, chebyshev, config)],
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
    mesh: TriMesh, frames: FaceFrames, spec: OperatorSpec, angles: int | float, delaunay: bool
) -> tuple[AngleStack, dict[str, float]]:
    """The operators, and with `--delaunay` the share of negative weights before."""
    if not delaunay:
        wanted = angles if isinstance(angles, int) else [angles]
        return spec.stack(mesh, wanted, frames=frames), {}
    theta = float(angles)
    albo = OperatorSpec("albo", spec.alpha, smoothing=spec.smoothing)
    flipped, shares = laplacian_of(spec.metric(mesh, theta, frames=frames), delaunay=True)
    reference, _ = laplacian_of(albo.metric(mesh, theta, frames=frames), delaunay=True)
    before = {"negative_weights_before": shares["negative_weights_before"]}
    return AngleStack.single(flipped, theta=theta, reference=reference), before


def _write(out: Path, stack: AngleStack, rescaling: str, config: dict[str, Any]) -> list[Path]:
    if rescaling == "none":
        return save_operators(out, stack, config)
    rescaled = chebyshev_operators(stack, normalization=rescaling)
    names = ("theta", "indptr", "indices", "values", "lambda_max")
    arrays = {name: getattr(rescaled, name) for name in names}
    return [write_npz(out, {**arrays, "mass": stack.mass}, config)]


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
