"""Which operators to compute: one record for commands, stores, viewer and training."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from finsler.analysis.gps import gps
from finsler.analysis.spectrum import spectrum
from finsler.errors import InputError
from finsler.frames.frames import FaceFrames, principal_frames
from finsler.frames.oriented import OrientedField, oriented_field
from finsler.mesh.arguments import checked, require_field_types, require_one_of, require_whole
from finsler.mesh.trimesh import TriMesh
from finsler.metric.randers import RandersMetric, require_anisotropy
from finsler.metric.recipes import curvature_strength, tau_of_strength
from finsler.operator.angles import AngleStack, angle_stack
from finsler.operator.directed import directed_stack, require_peclet
from finsler.operator.laplacian import Laplacian, laplacian, lbo
from finsler.operator.rescale import NORMALIZATIONS, ChebyshevOperators, chebyshev_operators
from finsler.storage.schema import from_record
from finsler.typing import FloatArray

__all__ = ["OperatorSpec"]

KINDS = ("lbo", "albo", "flbo", "directed", "mixed")
FIELDS = ("gps", "hks")
OMEGAS = ("constant", "curved", "flat")
# Far above what is of use, and low enough that nothing runs for hours.
MOST_SMOOTHING = 1000
MOST_ANGLES = 1024
# Eigenpairs behind the scalar of a field, and the time of its heat as a share of the area.
_FIELD_PAIRS, _FIELD_TIME = 60, 0.1


@dataclass(frozen=True)
class OperatorSpec:
    """Which operators to compute: it makes the metric, the stack and the record of a result.

    Attributes
    ----------
    kind : {"lbo", "albo", "flbo", "directed", "mixed"}
        Isotropic, anisotropic or Finsler Laplacian; operators with a drift; or half of the
        operators anisotropic and half directed.
    alpha : float
        Anisotropy in the principal frame, above −1; not used by the LBO and directed operators.
    tau : float
        Length of ω where it is constant; only for the FLBO.
    omega : {"constant", "curved", "flat"}
        With "curved" or "flat" the strength ‖ω‖_{M⁻¹} follows curvature up to `peak`, and `tau` is
        not used ([`curvature_strength`][finsler.curvature_strength]).
    peak : float
        Largest strength of ω, below 1.
    smoothing : int
        Rounds of one-ring averaging of the curvature tensors, of the frames and of ω's strength.
    angles : int
        Number of operators: angles evenly spaced in [0, π), directions in [0, 2π).
    normalization : {"acscnn", "reference", "plain"}
        Rescaling to [−1, 1] of [`chebyshev_operators`][finsler.chebyshev_operators].
    field : {"gps", "hks"}
        Scalar whose gradient directs a drift: [`gps`][finsler.gps], or the logarithm of the heat
        kernel signature at the time 0.1 area.
    peclet, field_alpha : float
        Drift, and anisotropy in the frame of the field, of
        [`directed_stack`][finsler.directed_stack].

    Raises
    ------
    InputError
        A value out of its range.

    Examples
    --------
    >>> from finsler.mesh import primitives
    >>> OperatorSpec("albo", alpha=3.0, angles=4).stack(primitives.torus(12, 8)).theta.round(2)
    array([0.  , 0.79, 1.57, 2.36])
    """

    kind: str = "flbo"
    alpha: float = 10.0
    tau: float = 0.1
    omega: str = "constant"
    peak: float = 0.9
    smoothing: int = 10
    angles: int = 8
    normalization: str = "acscnn"
    field: str = "gps"
    peclet: float = 0.3
    field_alpha: float = 0.0

    def __post_init__(self) -> None:
        require_field_types(self)
        require_one_of(self.kind, KINDS, "kind")
        require_one_of(self.omega, OMEGAS, "omega")
        require_one_of(self.normalization, NORMALIZATIONS, "normalization")
        require_anisotropy(self.alpha)
        if not np.isfinite(self.tau):
            raise InputError(f"tau is {self.tau}; it must be a finite number")
        if not 0.0 <= self.peak < 1.0:
            raise InputError(f"peak is {self.peak}; it must lie in [0, 1)")
        require_whole(self.smoothing, 0, MOST_SMOOTHING, "smoothing")
        require_whole(self.angles, 1, MOST_ANGLES, "angles")
        require_one_of(self.field, FIELDS, "field")
        require_peclet(self.peclet)
        require_anisotropy(self.field_alpha, "field_alpha")
        if self.kind == "mixed" and self.angles % 2:
            raise InputError(f"angles is {self.angles}; a mixed stack needs an even number")

    @classmethod
    @checked
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """The spec of a record, its own or one with all fields; what is not named has defaults.

        Raises
        ------
        InputError
            An unknown field, or a value of another type or out of its range.
        """
        return from_record(cls, record, "operators")

    def record(self) -> dict[str, Any]:
        """The fields that have an effect, for the record in a result and for keys of a store."""
        unused: set[str] = set()
        if self.kind in ("lbo", "directed"):
            unused |= {"alpha", "smoothing"}
        if not self.is_directed:
            unused |= {"field", "peclet", "field_alpha"}
        if self.kind != "flbo":
            unused |= {"tau", "omega", "peak"}
        unused.add("peak" if self.omega == "constant" else "tau")
        fields = dataclasses.asdict(self)
        return {name: value for name, value in fields.items() if name not in unused}

    @property
    def is_directed(self) -> bool:
        """Whether some of the operators have a drift."""
        return self.kind in ("directed", "mixed")

    @checked
    def oriented_field(self, mesh: TriMesh) -> OrientedField:
        """The field that a drift is measured from."""
        pairs = spectrum(lbo(mesh), min(_FIELD_PAIRS, mesh.n_vertices))
        if self.field == "gps":
            return oriented_field(mesh, gps(pairs))
        time = _FIELD_TIME * float(pairs.mass.sum())
        signature = pairs.eigenvectors**2 @ np.exp(-time * np.maximum(pairs.eigenvalues, 0.0))
        return oriented_field(mesh, np.log(signature))

    @checked
    def frames(self, mesh: TriMesh) -> FaceFrames:
        """The principal frames that the anisotropy is measured in."""
        return principal_frames(mesh, smoothing=self.smoothing)

    @checked
    def tau_field(self, mesh: TriMesh) -> float | FloatArray:
        """The τ of the metric: a number, or one number a face where ω's strength varies."""
        if self.kind != "flbo":
            return 0.0
        if self.omega == "constant":
            return self.tau
        strength = curvature_strength(
            mesh, peak=self.peak, where=self.omega, smoothing=self.smoothing
        )
        return tau_of_strength(mesh, strength, alpha=self.alpha)

    @checked
    def metric(
        self, mesh: TriMesh, theta: float = 0.0, *, frames: FaceFrames | None = None
    ) -> RandersMetric:
        """The metric at an angle in radians; `frames` where they are known already.

        Raises
        ------
        InputError
            Directed operators have no single metric: their ω depends on the size of a face.
        """
        if self.is_directed:
            raise InputError(
                f"{self.kind} operators are not self-adjoint: they have a stack and kernels, but"
                " no spectrum, heat flow or distance of their own; use lbo, albo or flbo"
            )
        if self.kind == "lbo":
            return RandersMetric.isotropic(mesh)
        frames = self.frames(mesh) if frames is None else frames
        tau = self.tau_field(mesh)
        return RandersMetric.from_curvature(mesh, frames, alpha=self.alpha, tau=tau, theta=theta)

    @checked
    def laplacian(
        self, mesh: TriMesh, theta: float = 0.0, *, frames: FaceFrames | None = None
    ) -> Laplacian:
        """The operator at an angle in radians."""
        return laplacian(mesh, self.metric(mesh, theta, frames=frames).diffusivity())

    @checked
    def stack(
        self,
        mesh: TriMesh,
        angles: int | ArrayLike | None = None,
        *,
        frames: FaceFrames | None = None,
    ) -> AngleStack:
        """The operators at the angles of the spec, or at others in radians."""
        wanted = self.angles if angles is None else angles
        if self.kind == "mixed":
            half = wanted if isinstance(wanted, int) else self.angles
            albo = dataclasses.replace(self, kind="albo", angles=half // 2)
            directed = dataclasses.replace(self, kind="directed", angles=half // 2)
            return AngleStack.join([albo.stack(mesh, frames=frames), directed.stack(mesh)])
        if self.kind == "directed":
            options = {"peclet": self.peclet, "alpha": self.field_alpha}
            return directed_stack(self.oriented_field(mesh), directions=wanted, **options)
        return angle_stack(self.metric(mesh, frames=frames), angles=wanted)

    @checked
    def chebyshev(self, mesh: TriMesh, angles: int | ArrayLike | None = None) -> ChebyshevOperators:
        """The operators of `stack`, rescaled to [−1, 1] for Chebyshev filters."""
        return chebyshev_operators(self.stack(mesh, angles), normalization=self.normalization)
