"""The Laplacians: isotropic, anisotropic, Finsler, and that of any diffusivity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from finsler.compute.memory import require
from finsler.errors import InputError
from finsler.frames.frames import FaceFrames, principal_frames
from finsler.mesh.arguments import checked, per_face, vertex_functions
from finsler.mesh.measures import face_basis
from finsler.mesh.summary import one_line
from finsler.mesh.trimesh import TriMesh
from finsler.metric.randers import RandersMetric
from finsler.operator.stiffness import Assembly, assemble
from finsler.typing import FloatArray


@one_line()
@dataclass(frozen=True, eq=False)
class Laplacian:
    """A positive semidefinite Laplacian as a pair of matrices; the operator is S⁻¹W = −div(D∇·).

    It unpacks, `W, S = lbo(mesh)`, into two sparse (n, n) matrices, as `eigsh` and other solvers
    take them.

    Attributes
    ----------
    stiffness : (n, n) CSR
        W: symmetric, positive semidefinite, rows summing to zero. Diagonal entries are positive,
        the opposite sign of many cotangent codes (libigl's `cotmatrix` is −W).
    mass : (n,)
        Diagonal of S, the lumped mass.
    """

    stiffness: sparse.csr_array
    mass: FloatArray

    def __iter__(self) -> Iterator[sparse.csr_array]:
        """W, the stiffness, then S, the mass as a diagonal matrix."""
        yield self.stiffness
        yield sparse.csr_array(sparse.diags_array(self.mass))

    @property
    def negative_share(self) -> float:
        """Share of the pairs of neighbours whose weight −W_ij is negative, rounding left aside.

        Where it is 0, an implicit step of heat stays between the bounds of its start. Obtuse
        angles make it positive, and anisotropy much more so; see
        [`delaunay_laplacian`][finsler.delaunay_laplacian].
        """
        upper = sparse.coo_array(sparse.triu(self.stiffness, k=1))
        i, j = upper.coords
        diagonal = self.stiffness.diagonal()
        wrong = upper.data > 1e-9 * np.sqrt(diagonal[i] * diagonal[j])
        return float(wrong.mean()) if len(wrong) else 0.0

    @checked
    def apply(self, function: FloatArray) -> FloatArray:
        """S⁻¹W f of a function (n,) or functions (n, c) on the vertices."""
        product = self.stiffness @ vertex_functions(function, len(self.mass), "function")
        return np.asarray((product.T / self.mass).T)


@checked
def lbo(mesh: TriMesh) -> Laplacian:
    """The Laplace-Beltrami operator: cotangent stiffness, lumped mass.

    Examples
    --------
    >>> mesh = TriMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    >>> lbo(mesh).stiffness.toarray().tolist()
    [[1.0, -0.5, -0.5], [-0.5, 0.5, 0.0], [-0.5, 0.0, 0.5]]
    """
    require("lbo", mesh.n_vertices)
    identity = np.array([[[1.0, 0.0, 1.0]]])
    return _as_laplacian(assemble(mesh, face_basis(mesh), identity))


@checked
def albo(
    mesh: TriMesh, *, alpha: float = 10.0, theta: float = 0.0, frames: FaceFrames | None = None
) -> Laplacian:
    """The anisotropic Laplacian of ACSCNN: D = R_θ diag(1/(1+α), 1) R_θᵀ in (û_M, û_m).

    Diffusion along R_θ û_M is slowed by 1 + α. `frames`, of this mesh,
    default to those of principal curvature.
    """
    return flbo(mesh, alpha=alpha, tau=0.0, theta=theta, frames=frames)


@checked
def flbo(
    mesh: TriMesh,
    *,
    alpha: float = 10.0,
    tau: float | FloatArray = 0.1,
    theta: float = 0.0,
    frames: FaceFrames | None = None,
    omega_axis: str = "max",
) -> Laplacian:
    """The Finsler-Laplace-Beltrami operator of the paper's metric.

    D_F = M* − ω*ω*ᵀ with the metric of `RandersMetric.from_curvature`. For a constant τ this is
    the ALBO divided by 1 − c τ², c = 1/(1+α) (`omega_axis="max"`, the paper's text) or c = 1
    ("min", the size in the authors' code); it differs in more than scale only where τ is a field
    (m,) that varies.

    The paper's edge weights apply the tensor to edges, which are gradients turned by 90°; here it
    acts on gradients. See docs/mathematics.md, section 4.
    """
    require("operator", mesh.n_vertices)
    frames = principal_frames(mesh) if frames is None else frames
    metric = RandersMetric.from_curvature(
        mesh, frames, alpha=alpha, tau=tau, theta=theta, omega_axis=omega_axis
    )
    return _of_tensor(mesh, metric.diffusivity())


@checked
def laplacian(mesh: TriMesh, diffusivity: ArrayLike) -> Laplacian:
    """The operator −div(D∇·) of any diffusivity D, (m, 3, 3) per face, acting on gradients.

    One (3, 3) tensor stands for all faces. Parts of D normal to the face have no effect.

    Raises
    ------
    InputError
        Wrong shape, a tensor that is not finite, symmetric and positive definite on its face, or
        more memory is needed than is free.
    """
    tensor = per_face(diffusivity, mesh.n_faces, ((3, 3),), "diffusivity", finite=False)
    require("operator", mesh.n_vertices)
    return _of_tensor(mesh, tensor)


def _of_tensor(mesh: TriMesh, tensor: FloatArray) -> Laplacian:
    basis = face_basis(mesh)
    axes = np.stack([basis.first, basis.second], axis=1)
    local = np.einsum("fai,fij,fbj->fab", axes, tensor, axes, optimize=True)
    d11, d12, d21, d22 = local.reshape(-1, 4).T
    size = np.abs(local).max(axis=(1, 2))
    bad = ~((np.abs(d12 - d21) <= 1e-9 * size) & (d11 > 0) & (d11 * d22 - d12 * d21 > 0))
    if bad.any():
        raise InputError(
            f"the diffusivity of face {int(np.argmax(bad))} is not finite, symmetric and positive"
            f" definite in the face's plane ({int(bad.sum())} such faces)"
        )
    compact = np.stack([d11, 0.5 * (d12 + d21), d22], axis=1)[:, None, :]
    return _as_laplacian(assemble(mesh, basis, np.ascontiguousarray(compact)))


def _as_laplacian(assembly: Assembly) -> Laplacian:
    n = len(assembly.mass)
    csr = (assembly.values[0], assembly.indices, assembly.indptr)
    return Laplacian(sparse.csr_array(csr, shape=(n, n)), assembly.mass)
