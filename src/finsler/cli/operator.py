"""`finsler operator`: the matrices of a mesh, to a file."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from finsler.cli.options import (
    Alpha,
    AsJson,
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
    omega: OmegaField = Omega.constant,
    peak: Peak = 0.9,
    smoothing: Smoothing = 10,
    chebyshev: Annotated[
        Rescaling,
        typer.Option(
            help="Write operators rescaled to [-1, 1] instead: acscnn, reference or plain (npz)."
        ),
    ] = Rescaling.none,
    as_json: AsJson = False,
) -> None:
    """Write the Finsler-Laplace-Beltrami operators of a mesh at several angles.

    Stiffness matrices are symmetric and positive semidefinite (libigl's sign, times -1), the mass
    is lumped, the operator is mass⁻¹ stiffness. `--tau 0` gives the anisotropic Laplacian,
    `--alpha 0 --tau 0 --angles 1` the cotangent Laplacian.

    Example: `finsler operator cat.off --alpha 10 --tau 0.1 --angles 8 -o cat.npz`
    """
    from finsler.errors import InputError
    from finsler.files import write_npz
    from finsler.mesh import load_mesh
    from finsler.operator import angle_stack, chebyshev_operators, save_operators

    if chebyshev is not Rescaling.none and out.suffix.lower() != ".npz":
        raise InputError(f"{out}: rescaled operators are written as .npz only")
    checked_target(out, (".npz", ".mat", ".mtx"))
    surface = load_mesh(mesh)
    choice = OperatorChoice(Kind.flbo, alpha, tau, omega, peak, smoothing)
    config = {
        "mesh": mesh.name,
        **choice.config(),
        "angles": angles,
        "chebyshev": chebyshev.value,
    }
    frames = frames_of(surface, smoothing)
    with working(f"operators at {angles} angles"):
        field = choice.tau_field(surface)
        stack = angle_stack(surface, alpha=alpha, tau=field, angles=angles, frames=frames)
        if chebyshev is Rescaling.none:
            files = save_operators(out, stack, config)
        else:
            rescaled = chebyshev_operators(stack, normalization=chebyshev.value)
            names = ("theta", "indptr", "indices", "values", "lambda_max")
            arrays = {name: getattr(rescaled, name) for name in names}
            files = [write_npz(out, {**arrays, "mass": stack.mass}, config)]
    filled = float((frames.confidence < 0.1).mean())
    report = {
        "files": [str(path) for path in files],
        "vertices": surface.n_vertices,
        "nonzeros": len(stack.indices),
        "theta": stack.theta.tolist(),
        "low_confidence_share": filled,
        "config": config,
    }
    if as_json:
        print(json.dumps(report, indent=2))
        return
    written = files[0] if len(files) == 1 else f"{len(files)} files {files[0]} …"
    print(
        f"Wrote {written}: {angles} operators on {surface.n_vertices:,} vertices,"
        f" {len(stack.indices):,} nonzeros each."
    )
    if filled > 0.0:
        print(
            f"Directions of {100 * filled:.1f}% of the faces were filled in"
            " from around (no clear principal direction)."
        )
