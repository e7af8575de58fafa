"""Options that several commands share, and the progress line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from finsler.frames import FaceFrames
    from finsler.mesh import TriMesh
    from finsler.mesh.trimesh import FloatArray


class Omega(StrEnum):
    """How the strength of ω is spread over the surface."""

    constant = "constant"
    curved = "curved"
    flat = "flat"


MeshFile = Annotated[
    Path, typer.Argument(metavar="MESH", help="Mesh file: .off, .obj, .ply, .stl, .glb, .gltf.")
]
Alpha = Annotated[
    float, typer.Option(help="Anisotropy: diffusion along one axis is slowed by 1 + alpha.")
]
Tau = Annotated[
    float,
    typer.Option(
        help="Length of ω. A constant one multiplies the operator by a constant: see --omega."
    ),
]
OmegaField = Annotated[
    Omega,
    typer.Option(
        "--omega",
        help="constant: ω has length tau everywhere; curved, flat: its strength follows curvature"
        " up to --peak, and tau is not used.",
    ),
]
Peak = Annotated[
    float, typer.Option(help="With --omega curved or flat: the largest strength of ω, below 1.")
]
Smoothing = Annotated[
    int, typer.Option(help="Rounds of one-ring averaging of the curvature tensors.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def tau_field(mesh: TriMesh, omega: Omega, tau: float, alpha: float, peak: float) -> Any:
    """The τ that `--omega`, `--tau` and `--peak` ask for: a number, or one number a face."""
    from finsler.metric import curvature_strength, tau_of_strength

    if omega is Omega.constant:
        return tau
    strength: FloatArray = curvature_strength(mesh, peak=peak, where=omega.value)
    return tau_of_strength(mesh, strength, alpha=alpha)


@contextmanager
def working(on: str) -> Iterator[None]:
    """A spinner on stderr while the block runs; nothing where stderr is not a terminal."""
    from rich.console import Console

    with Console(stderr=True).status(on):
        yield


def frames_of(mesh: TriMesh, smoothing: int) -> FaceFrames:
    """Principal frames with a progress line."""
    from finsler.frames import principal_frames

    with working("principal curvature directions"):
        return principal_frames(mesh, smoothing=smoothing)
