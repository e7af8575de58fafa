"""Operators at many angles on one sparsity pattern, from three assemblies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from finsler.errors import InputError
from finsler.frames.frames import FaceFrames, principal_frames
from finsler.memory import require
from finsler.mesh.trimesh import FloatArray, TriMesh, require_same_mesh
from finsler.metric.randers import axis_vector, face_field, require_anisotropy, require_below_one
from finsler.operator.laplacian import Laplacian
from finsler.operator.stiffness import assemble


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
    """

    theta: FloatArray
    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    values: FloatArray
    mass: FloatArray
    diagonal: NDArray[np.int32]
    reference_diagonal: FloatArray

    @classmethod
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
        return cls(
            theta=np.array([theta]),
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
        """The operator at one angle; its stiffness shares memory with the stack."""
        n = len(self.mass)
        csr = (self.values[angle], self.indices, self.indptr)
        return Laplacian(sparse.csr_array(csr, shape=(n, n)), self.mass)

    def __iter__(self) -> Iterator[Laplacian]:
        return (self[angle] for angle in range(len(self)))


def angle_stack(
    mesh: TriMesh,
    *,
    alpha: float = 10.0,
    tau: float | FloatArray = 0.1,
    angles: int | ArrayLike = 8,
    frames: FaceFrames | None = None,
    omega_axis: str = "max",
) -> AngleStack:
    """The FLBO at several angles: `angles` evenly spaced in [0, π), or the angles given.

    With H_θ = a I + b (cos 2θ P + sin 2θ Q), P = diag(1, −1), Q the exchange of axes,
    a, b = (1/(1+α) ± 1)/2, and ω entering by the factor 1/λ(x) that no angle changes, three
    assemblies serve any number of angles. Arguments as for [`flbo`][finsler.flbo].

    Raises
    ------
    InputError
        As for `flbo`, or more memory is needed than is free.

    Examples
    --------
    >>> from finsler.mesh import primitives
    >>> stack = angle_stack(primitives.torus(12, 8), angles=4)
    >>> stack.values.shape[0], np.degrees(stack.theta).tolist()
    (4, [0.0, 45.0, 90.0, 135.0])
    """
    require_anisotropy(alpha)
    theta = angles_of(angles)
    if frames is not None:
        require_same_mesh(frames.mesh, mesh, "frames")
    require("stack", mesh.n_vertices, angles=len(theta))
    frames = principal_frames(mesh) if frames is None else frames
    slow = 1.0 / (1.0 + alpha)
    drift_squared = (axis_vector(omega_axis) ** 2 @ [slow, 1.0]) * face_field(tau, mesh, "tau") ** 2
    require_below_one(drift_squared)
    weight = 1.0 / (1.0 - drift_squared)

    identity, difference, exchange = (1.0, 0.0, 1.0), (1.0, 0.0, -1.0), (0.0, 1.0, 0.0)
    tensors = np.array([[identity, difference, exchange]])
    coefficients = angle_coefficients(theta, alpha)
    from finsler.operator._compiled import combine

    parts = assemble(mesh, frames.basis, tensors, weight)
    if np.ptp(weight) == 0.0:
        reference = parts.values[:, parts.diagonal] / weight[0]
    else:
        reference = assemble(mesh, frames.basis, tensors).values[:, parts.diagonal]
    return AngleStack(
        theta=theta,
        indptr=parts.indptr,
        indices=parts.indices,
        values=combine(parts.values, coefficients),
        mass=parts.mass,
        diagonal=parts.diagonal,
        reference_diagonal=coefficients @ reference,
    )


def angle_coefficients(theta: FloatArray, alpha: float) -> FloatArray:
    """Factors (a, 3) of W_I, W_P and W_Q at each angle."""
    slow = 1.0 / (1.0 + alpha)
    half = 0.5 * (slow - 1.0)
    mean = np.full_like(theta, 0.5 * (slow + 1.0))
    return np.stack([mean, half * np.cos(2.0 * theta), half * np.sin(2.0 * theta)], axis=1)


def angles_of(angles: int | ArrayLike) -> FloatArray:
    """So many angles evenly spaced in [0, π), or the angles given."""
    if isinstance(angles, int | np.integer):
        if angles < 1:
            raise InputError(f"angles must be at least 1, not {angles}")
        return np.pi * np.arange(angles) / angles
    theta = np.atleast_1d(np.asarray(angles, dtype=np.float64))
    if theta.ndim != 1 or len(theta) == 0 or not np.isfinite(theta).all():
        raise InputError("angles must be a count or a list of finite angles in radians")
    return theta
