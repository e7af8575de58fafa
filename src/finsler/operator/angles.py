"""Operators at many angles on one sparsity pattern, from three assemblies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from finsler.compute.memory import require
from finsler.errors import InputError
from finsler.frames.frames import FaceFrames, principal_frames
from finsler.mesh.arguments import checked, one_number, real_array
from finsler.mesh.summary import one_line
from finsler.mesh.trimesh import TriMesh
from finsler.metric.randers import RandersMetric, distinct_rows
from finsler.operator.laplacian import Laplacian
from finsler.operator.stiffness import assemble
from finsler.typing import FloatArray


@one_line("theta", "values", "mass")
@dataclass(frozen=True, eq=False)
class AngleStack:
    """Stiffness matrices W_θ for several angles, sharing pattern and mass.

    Attributes
    ----------
    theta : (a,)
        Angles, counter-clockwise from û_M.
    indptr, indices : (n + 1,), (nnz,) int32
        The common pattern, compressed rows with sorted columns.
    values : (a, nnz)
        Stiffness values of each angle: positive semidefinite, rows summing to zero.
    mass : (n,)
        Lumped mass.
    diagonal : (n,)
        Where in a row of values the diagonal entries are.
    reference_diagonal : (a, n)
        Diagonals of the operators at ω = 0, for the "reference" rescaling.
    drift : (a, nnz), optional
        Skew part of each operator, of [`directed_stack`][finsler.directed_stack]: the operator is
        S⁻¹(W + C). Then `theta` of a row with drift is measured from the oriented field.
    """

    theta: FloatArray
    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    values: FloatArray
    mass: FloatArray
    diagonal: NDArray[np.int32]
    reference_diagonal: FloatArray
    drift: FloatArray | None = None

    @classmethod
    @checked
    def join(cls, stacks: Sequence[AngleStack]) -> AngleStack:
        """Several stacks of one mesh as one, e.g. some angles anisotropic and some directed.

        Raises
        ------
        InputError
            None, or stacks of different meshes.
        """
        if len(stacks) == 0:
            raise InputError("stacks is empty: there is no stack to join")
        first = stacks[0]
        for other in stacks[1:]:
            same = np.array_equal(first.indptr, other.indptr)
            same = same and np.array_equal(first.indices, other.indices)
            if not (same and _on_one_mesh(first.mass, other.mass)):
                raise InputError("the stacks belong to different meshes; make them from one")
        drift = None
        if any(stack.drift is not None for stack in stacks):
            rows = [np.zeros_like(s.values) if s.drift is None else s.drift for s in stacks]
            drift = np.concatenate(rows)
        return replace(
            first,
            theta=np.concatenate([stack.theta for stack in stacks]),
            values=np.concatenate([stack.values for stack in stacks]),
            reference_diagonal=np.concatenate([stack.reference_diagonal for stack in stacks]),
            drift=drift,
        )

    @classmethod
    @checked
    def single(
        cls, laplacian: Laplacian, *, theta: float = 0.0, reference: Laplacian | None = None
    ) -> AngleStack:
        """One operator as a stack, e.g. one on a triangulation of its own.

        `reference` is the operator at ω = 0, on the same triangulation; by default this one.
        """
        matrix = sparse.csr_array(laplacian.stiffness)
        matrix.sum_duplicates()
        rows = np.repeat(np.arange(len(laplacian.mass)), np.diff(matrix.indptr))
        plain = laplacian if reference is None else reference
        if not _on_one_mesh(laplacian.mass, plain.mass):
            raise InputError("the reference belongs to another mesh; make it from the same one")
        return cls(
            theta=np.array([one_number(theta, "theta")]),
            indptr=matrix.indptr.astype(np.int32),
            indices=matrix.indices.astype(np.int32),
            values=matrix.data[None],
            mass=laplacian.mass,
            diagonal=np.flatnonzero(matrix.indices == rows).astype(np.int32),
            reference_diagonal=plain.stiffness.diagonal()[None],
        )

    def __len__(self) -> int:
        return len(self.theta)

    def __getitem__(self, angle: int) -> Laplacian:
        """The operator at one angle, without drift; its stiffness shares memory with the stack."""
        n = len(self.mass)
        csr = (self.values[angle], self.indices, self.indptr)
        return Laplacian(sparse.csr_array(csr, shape=(n, n)), self.mass)

    @checked
    def drift_matrix(self, angle: int) -> sparse.csr_array:
        """C of one operator, skew: zero where it has no drift."""
        n = len(self.mass)
        values = np.zeros_like(self.values[angle]) if self.drift is None else self.drift[angle]
        return sparse.csr_array((values, self.indices, self.indptr), shape=(n, n))

    def __iter__(self) -> Iterator[Laplacian]:
        return (self[angle] for angle in range(len(self)))


def _on_one_mesh(mass: FloatArray, other: FloatArray) -> bool:
    """Whether masses agree; tangent bases of different kinds round areas differently."""
    return len(mass) == len(other) and np.allclose(mass, other, rtol=1e-9, atol=0.0)


@checked
def angle_stack(
    surface: TriMesh | RandersMetric,
    *,
    alpha: float = 10.0,
    tau: float | FloatArray = 0.1,
    angles: int | ArrayLike = 8,
    frames: FaceFrames | None = None,
    omega_axis: str = "max",
) -> AngleStack:
    """The FLBO at several angles: `angles` evenly spaced in [0, π), or the angles given.

    Of a mesh with the paper's metric, whose options are those of [`flbo`][finsler.flbo], or of any
    Randers metric: at the angle θ both M and ω are turned by θ around the normal. The diffusivity
    D = M⁻¹/λ is a I + S with S symmetric and of trace 0, and turning it by θ gives
    a I + cos 2θ S + sin 2θ JS, J the turn by 90°: three assemblies serve any number of angles.
    ω enters by the factor 1/λ(x), which no angle changes.

    Raises
    ------
    InputError
        As for `flbo`; options of the paper's metric together with another metric; or more
        memory is needed than is free.

    Examples
    --------
    >>> from finsler.mesh import primitives
    >>> stack = angle_stack(primitives.torus(12, 8), angles=4)
    >>> stack.values.shape[0], np.degrees(stack.theta).tolist()
    (4, [0.0, 45.0, 90.0, 135.0])
    """
    theta = angles_of(angles, "angles")
    if isinstance(surface, RandersMetric):
        if (alpha, frames, omega_axis) != (10.0, None, "max") or not np.array_equal(tau, 0.1):
            raise InputError(
                "alpha, tau, frames and omega_axis make the metric of a mesh, and a metric is given"
                " already; leave them out"
            )
        require("stack", surface.mesh.n_vertices, angles=len(theta))
        return _metric_stack(surface, theta)
    require("stack", surface.n_vertices, angles=len(theta))
    frames = principal_frames(surface) if frames is None else frames
    metric = RandersMetric.from_curvature(
        surface, frames, alpha=alpha, tau=tau, omega_axis=omega_axis
    )
    return _metric_stack(metric, theta)


def _metric_stack(metric: RandersMetric, theta: FloatArray) -> AngleStack:
    from finsler.operator._compiled import combine

    margin = metric.margin()
    weight, tensors = 1.0 / margin, turning_tensors(distinct_rows(metric.inverse_tensor()))
    coefficients = angle_coefficients(theta)
    parts = assemble(metric.mesh, metric.basis, tensors, weight)
    if np.ptp(weight) == 0.0:
        reference = parts.values[:, parts.diagonal] / weight[0]
    else:
        reference = assemble(metric.mesh, metric.basis, tensors).values[:, parts.diagonal]
    return AngleStack(
        theta=theta,
        indptr=parts.indptr,
        indices=parts.indices,
        values=combine(parts.values, coefficients),
        mass=parts.mass,
        diagonal=parts.diagonal,
        reference_diagonal=coefficients @ reference,
    )


def turning_tensors(tensor: FloatArray) -> FloatArray:
    """Of symmetric tensors a I + S, (m, 2, 2): a I, S and JS as D₁₁, D₁₂, D₂₂, (m, 3, 3)."""
    mean = 0.5 * (tensor[:, 0, 0] + tensor[:, 1, 1])
    half, mixed = 0.5 * (tensor[:, 0, 0] - tensor[:, 1, 1]), tensor[:, 0, 1]
    none = np.zeros_like(mean)
    rows = [mean, none, mean, half, mixed, -half, -mixed, half, mixed]
    return np.stack(rows, axis=1).reshape(-1, 3, 3)


def angle_coefficients(theta: FloatArray) -> FloatArray:
    """Factors (a, 3) at each angle of the part that no angle turns, of S and of JS."""
    return np.stack([np.ones_like(theta), np.cos(2.0 * theta), np.sin(2.0 * theta)], axis=1)


def angles_of(angles: int | ArrayLike, name: str = "angles") -> FloatArray:
    """So many angles evenly spaced in [0, π), or the angles given."""
    if isinstance(angles, int | np.integer):
        if angles < 1:
            raise InputError(f"{name} must be at least 1, not {angles}")
        return np.pi * np.arange(angles) / angles
    theta = np.atleast_1d(real_array(angles, name, finite=False))
    if theta.ndim != 1 or len(theta) == 0 or not np.isfinite(theta).all():
        raise InputError(f"{name} must be a count or a list of finite angles in radians")
    return theta
