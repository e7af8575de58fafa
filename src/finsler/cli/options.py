"""Options that several commands share, and what they build."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from finsler.frames import FaceFrames
    from finsler.mesh import TriMesh
    from finsler.metric import RandersMetric
    from finsler.operator import AngleStack, Laplacian


class Omega(StrEnum):
    """How the strength of ω is spread over the surface."""

    constant = "constant"
    curved = "curved"
    flat = "flat"


class Kind(StrEnum):
    """Which Laplacian."""

    lbo = "lbo"
    albo = "albo"
    flbo = "flbo"


class Metric(StrEnum):
    """What lengths are measured with."""

    wind = "wind"
    curvature = "curvature"
    isotropic = "isotropic"


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
OperatorKind = Annotated[
    Kind, typer.Option("--operator", help="Isotropic, anisotropic or Finsler Laplacian.")
]
FigureFile = Annotated[
    Path | None, typer.Option("--figure", metavar="FILE", help="Draw it: .png, .svg or .pdf.")
]
FunctionFile = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", metavar="FILE", help="Write the functions found: .ply, .vtk or .npz."
    ),
]
SourceVertices = Annotated[
    list[int] | None,
    typer.Option(
        "--source",
        "-s",
        help="Vertex to start from, may be repeated; by default the one nearest the viewer.",
    ),
]
Theta = Annotated[float, typer.Option(help="Angle of the anisotropy, in degrees.")]
Delaunay = Annotated[
    bool,
    typer.Option(
        "--delaunay",
        help="On other triangles between the same vertices, Delaunay in the operator's own lengths:"
        " removes negative weights, so that heat stays within its bounds.",
    ),
]
PictureCount = Annotated[int, typer.Option(help="Pictures in the animation.", min=2)]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


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


@dataclass(frozen=True)
class OperatorChoice:
    """The operator that `--operator` and its options ask for."""

    kind: Kind
    alpha: float
    tau: float
    omega: Omega
    peak: float
    smoothing: int
    delaunay: bool = False

    def config(self, degrees: float | None = None) -> dict[str, Any]:
        """The options that matter, for the record in a result; with the angle, where it is one."""
        config: dict[str, Any] = {"operator": self.kind.value}
        if self.kind is not Kind.lbo:
            config |= {} if degrees is None else {"theta_degrees": degrees}
            config |= {"alpha": self.alpha, "smoothing": self.smoothing}
        if self.kind is Kind.flbo:
            constant = self.omega is Omega.constant
            strength = {"tau": self.tau} if constant else {"peak": self.peak}
            config |= {"omega": self.omega.value, **strength}
        return config | ({"delaunay": True} if self.delaunay else {})

    def metric(self, mesh: TriMesh, degrees: float) -> RandersMetric:
        """The metric at one angle; the operator is that of its diffusivity."""
        import numpy as np

        from finsler.metric import RandersMetric

        if self.kind is Kind.lbo:
            return RandersMetric.isotropic(mesh)
        theta = float(np.radians(degrees))
        frames, tau = frames_of(mesh, self.smoothing), self.tau_field(mesh)
        return RandersMetric.from_curvature(mesh, frames, alpha=self.alpha, tau=tau, theta=theta)

    def laplacian(self, metric: RandersMetric) -> tuple[Laplacian, dict[str, float]]:
        """The operator of a metric, and the share of its weights that are negative, for a report.

        With `--delaunay` also the share on the mesh's own triangles.
        """
        from finsler.operator import delaunay_laplacian, laplacian

        if not self.delaunay:
            plain = laplacian(metric.mesh, metric.diffusivity())
            return plain, {"negative_weights": plain.negative_share}
        with working("Delaunay triangulation"):
            found = delaunay_laplacian(metric.mesh, metric.diffusivity())
        shares = {"negative_weights_before": found.negative_before}
        return found.laplacian, shares | {"negative_weights": found.negative_after}

    def stack(self, mesh: TriMesh, degrees: Sequence[float]) -> AngleStack:
        """The operators at several angles."""
        import numpy as np

        from finsler.frames import FaceFrames
        from finsler.mesh.measures import face_basis
        from finsler.operator import angle_stack

        if self.kind is Kind.lbo:
            any_frames = FaceFrames.from_directions(mesh, face_basis(mesh).first)
            return angle_stack(
                mesh, alpha=0.0, tau=0.0, angles=[0.0] * len(degrees), frames=any_frames
            )
        frames, tau = frames_of(mesh, self.smoothing), self.tau_field(mesh)
        angles = np.radians(degrees)
        return angle_stack(mesh, alpha=self.alpha, tau=tau, angles=angles, frames=frames)

    def tau_field(self, mesh: TriMesh) -> Any:
        """The τ that `--omega`, `--tau` and `--peak` ask for: a number, or one number a face."""
        from finsler.metric import curvature_strength, tau_of_strength

        if self.kind is not Kind.flbo:
            return 0.0
        if self.omega is Omega.constant:
            return self.tau
        strength = curvature_strength(mesh, peak=self.peak, where=self.omega.value)
        return tau_of_strength(mesh, strength, alpha=self.alpha)


def about_weights(shares: dict[str, float]) -> str:
    """What `OperatorChoice.laplacian` says about negative weights, as a sentence."""
    share = f"{shares['negative_weights']:.1%} of the weights are negative"
    if "negative_weights_before" in shares:
        return f"{share}, {shares['negative_weights_before']:.1%} before --delaunay"
    return f"{share}; --delaunay removes them" if shares["negative_weights"] else share


def wind_metric(mesh: TriMesh, wind: tuple[float, float, float]) -> RandersMetric:
    """Time of travel at unit speed in a wind, which blows with its part along the surface."""
    import numpy as np

    from finsler.metric import RandersMetric

    m = mesh.n_faces
    calm = np.broadcast_to(np.eye(2), (m, 2, 2))
    return RandersMetric.from_wind(mesh, calm, np.broadcast_to(wind, (m, 3)))


@dataclass(frozen=True)
class MetricChoice:
    """The metric that `--metric` and its options ask for."""

    kind: Metric
    wind: tuple[float, float, float]
    curvature: OperatorChoice
    degrees: float

    def config(self) -> dict[str, Any]:
        """The options that matter, for the record in a result."""
        config: dict[str, Any] = {"metric": self.kind.value}
        if self.kind is Metric.wind:
            config["wind"] = list(self.wind)
        if self.kind is Metric.curvature:
            options = self.curvature.config(self.degrees)
            config |= {name: value for name, value in options.items() if name != "operator"}
        return config

    def metric(self, mesh: TriMesh) -> RandersMetric:
        """The metric on this mesh."""
        from finsler.metric import RandersMetric

        if self.kind is Metric.isotropic:
            return RandersMetric.isotropic(mesh)
        if self.kind is Metric.curvature:
            return self.curvature.metric(mesh, self.degrees)
        return wind_metric(mesh, self.wind)
