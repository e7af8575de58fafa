"""Randers metrics on triangle meshes: a norm per face that may differ there and back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from finsler.errors import InputError
from finsler.frames.frames import FaceFrames
from finsler.mesh.arguments import checked, one_number, per_face, real_array
from finsler.mesh.measures import TangentBasis, face_basis
from finsler.mesh.summary import one_line
from finsler.mesh.trimesh import TriMesh, require_same_mesh
from finsler.typing import FloatArray


@one_line("mesh", "M", "omega", "margin")
@dataclass(frozen=True, eq=False)
class RandersMetric:
    """F(v) = ‖v‖_M + ⟨ω, v⟩ on the tangent plane of every face (paper Eq. 12).

    A distance that costs F: moving along ω costs more, moving against it less. It is a norm
    exactly where ‖ω‖_{M⁻¹} < 1.

    Parameters
    ----------
    mesh : TriMesh
    M : (m, 2, 2) or (m, 3, 3), or one for all faces
        Symmetric positive definite on each tangent plane.
    omega : (m, 2) or (m, 3), or one for all faces
        Tangent covector, identified with a vector through the Euclidean product.
    basis : TangentBasis, optional
        Orthonormal tangent basis in which the 2×2 form is written; by default that of
        [`face_basis`][finsler.mesh.measures.face_basis]. Three-dimensional input is projected.
    check : bool
        Whether to raise where ‖ω‖_{M⁻¹} ≥ 1; without, ask `is_valid` and `margin` oneself.

    Attributes
    ----------
    M, omega : (m, 2, 2), (m, 2)
        As stored: in `basis`.

    Raises
    ------
    InputError
        Wrong shape; M not symmetric positive definite; ‖ω‖_{M⁻¹} ≥ 1. The worst face is named.

    Examples
    --------
    >>> mesh = TriMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    >>> metric = RandersMetric(mesh, [np.eye(2)], [[0.5, 0.0]])
    >>> metric.norm([[1.0, 0.0]]).tolist(), metric.norm([[-1.0, 0.0]]).tolist()
    ([1.5], [0.5])
    """

    mesh: TriMesh
    M: FloatArray
    omega: FloatArray
    basis: TangentBasis = field(repr=False)

    @checked
    def __init__(
        self,
        mesh: TriMesh,
        M: ArrayLike,
        omega: ArrayLike,
        *,
        basis: TangentBasis | None = None,
        check: bool = True,
    ) -> None:
        basis = face_basis(mesh) if basis is None else basis
        set_field = object.__setattr__
        set_field(self, "mesh", mesh)
        set_field(self, "basis", basis)
        set_field(self, "M", _tangent_tensor(M, mesh, basis, "M"))
        set_field(self, "omega", _tangent_vector(omega, mesh, basis, "omega"))
        _require_positive(self.M)
        if check:
            require_below_one(self.drift_squared())

    @classmethod
    @checked
    def isotropic(cls, mesh: TriMesh) -> RandersMetric:
        """The surface's own metric: M = I, ω = 0."""
        m = mesh.n_faces
        return cls(mesh, np.broadcast_to(np.eye(2), (m, 2, 2)), np.zeros((m, 2)))

    @classmethod
    @checked
    def from_curvature(
        cls,
        mesh: TriMesh,
        frames: FaceFrames,
        *,
        alpha: float = 10.0,
        tau: float | FloatArray = 0.1,
        theta: float = 0.0,
        omega_axis: str = "max",
    ) -> RandersMetric:
        """The paper's metric: M = H_{αθ}⁻¹, ω = τ R_θ û_M (paper, section 5).

        H_{αθ} = R_θ diag(1/(1+α), 1) R_θᵀ in the frame (û_M, û_m). A constant τ makes ‖ω‖_{M⁻¹}
        constant, and the operator of this metric then is a multiple of the one at τ = 0; pass a
        field τ (m,), e.g. from [`finsler.metric.recipes`][], for one that is not.

        `omega_axis` is the axis along which ω lies before it is turned: "max" is the paper's
        text, ‖ω‖_{M⁻¹} = τ/√(1+α); "min" gives ‖ω‖_{M⁻¹} = τ, which is the size that ω has in
        the authors' released code.

        Raises
        ------
        InputError
            Frames of another mesh, α ≤ −1, τ of wrong shape, or ‖ω‖_{M⁻¹} ≥ 1 on a face.
        """
        require_same_mesh(frames.mesh, mesh, "frames")
        require_anisotropy(alpha)
        angle = one_number(theta, "theta")
        c, s = np.cos(angle), np.sin(angle)
        turn = np.array([[c, -s], [s, c]])
        axis = turn @ axis_vector(omega_axis)
        tensor = turn @ np.diag([1.0 + alpha, 1.0]) @ turn.T
        scale = face_field(tau, mesh, "tau")
        return cls(
            mesh,
            np.broadcast_to(tensor, (mesh.n_faces, 2, 2)),
            scale[:, None] * axis,
            basis=frames.basis,
        )

    @classmethod
    @checked
    def from_wind(
        cls, mesh: TriMesh, h: ArrayLike, wind: ArrayLike, *, basis: TangentBasis | None = None
    ) -> RandersMetric:
        """Zermelo navigation: travel time at unit speed in the metric h, carried by a wind W.

        ‖v/F − W‖_h = 1. With λ = 1 − h(W, W) > 0: M = (λh + hW(hW)ᵀ)/λ², ω = −hW/λ.
        Inverse of [`wind`][finsler.metric.randers.RandersMetric.wind].
        """
        basis = face_basis(mesh) if basis is None else basis
        h2 = _tangent_tensor(h, mesh, basis, "h")
        w2 = _tangent_vector(wind, mesh, basis, "wind")
        _require_positive(h2)
        lowered = _apply(h2, w2)
        speed = np.einsum("fi,fi->f", lowered, w2)
        if not (speed < 1.0).all():
            face = int(np.argmax(speed))
            raise InputError(
                f"the wind on face {face} has h(W, W) = {speed[face]:.6g};"
                " it must be below 1, slower than the traveller"
            )
        lam = 1.0 - speed
        outer = np.einsum("fi,fj->fij", lowered, lowered)
        tensor = (lam[:, None, None] * h2 + outer) / lam[:, None, None] ** 2
        return cls(mesh, tensor, -lowered / lam[:, None], basis=basis)

    def wind(self) -> tuple[FloatArray, FloatArray]:
        """Zermelo data (h, W) of this metric, (m, 2, 2) and (m, 2) in `basis`.

        h = λ(M − ωωᵀ), W = −M⁻¹ω/λ with λ = 1 − ⟨ω, M⁻¹ω⟩.
        """
        lam = self.margin()
        outer = np.einsum("fi,fj->fij", self.omega, self.omega)
        h = lam[:, None, None] * (self.M - outer)
        return h, -_apply(inverse_2x2(self.M), self.omega) / lam[:, None]

    @checked
    def norm(self, vectors: ArrayLike) -> FloatArray:
        """F(v) of one vector a face, (m, 2) in `basis` or (m, 3); returns (m,)."""
        v = _tangent_vector(vectors, self.mesh, self.basis, "vectors")
        riemannian = np.sqrt(np.einsum("fi,fij,fj->f", v, self.M, v))
        return np.asarray(riemannian + np.einsum("fi,fi->f", self.omega, v))

    def dual(self) -> RandersMetric:
        """The dual metric F*(p) = max{⟨p, v⟩ : F(v) ≤ 1} = ‖p‖_{M*} + ⟨ω*, p⟩ (paper Eq. 12 to 21).

        With λ = 1 − ⟨ω, M⁻¹ω⟩: M* = (λM⁻¹ + M⁻¹ω(M⁻¹ω)ᵀ)/λ², ω* = −M⁻¹ω/λ.
        """
        lam = self.margin()[:, None]
        inverse = inverse_2x2(self.M)
        raised = _apply(inverse, self.omega)
        outer = np.einsum("fi,fj->fij", raised, raised)
        tensor = (lam[..., None] * inverse + outer) / lam[..., None] ** 2
        return RandersMetric(self.mesh, tensor, -raised / lam, basis=self.basis)

    def reversed(self) -> RandersMetric:
        """The metric F(−v): the same paths travelled backwards."""
        return RandersMetric(self.mesh, self.M, -self.omega, basis=self.basis)

    def inverse_tensor(self) -> FloatArray:
        """M⁻¹ per face, (m, 2, 2) in `basis`."""
        return inverse_2x2(self.M)

    def drift_squared(self) -> FloatArray:
        """⟨ω, M⁻¹ω⟩ = ‖ω‖²_{M⁻¹} per face, (m,): 0 where F is symmetric, 1 where it degenerates."""
        return np.asarray(drift_squared(inverse_2x2(self.M), self.omega))

    def margin(self) -> FloatArray:
        """λ = 1 − ⟨ω, M⁻¹ω⟩ per face, (m,): how far the metric is from losing validity."""
        return 1.0 - self.drift_squared()

    @property
    def is_valid(self) -> bool:
        """Whether ‖ω‖_{M⁻¹} < 1 on every face, so that F is a norm."""
        return bool((self.margin() > 0.0).all())

    def diffusivity(self) -> FloatArray:
        """Finsler diffusivity D_F = M* − ω*ω*ᵀ as (m, 3, 3) tensors that act on gradients.

        It equals M⁻¹/λ: ω enters only by a scalar factor (docs/mathematics.md, section 3), and
        that is how it is computed.
        """
        tensor = inverse_2x2(self.M) / self.margin()[:, None, None]
        axes = np.stack([self.basis.first, self.basis.second], axis=1)
        return np.asarray(np.einsum("fai,fab,fbj->fij", axes, tensor, axes, optimize=True))


def axis_vector(omega_axis: str) -> FloatArray:
    """Unit coordinates in (û_M, û_m) of the axis that ω lies along."""
    if omega_axis not in ("max", "min"):
        raise InputError(f'omega_axis must be "max" or "min", not {omega_axis!r}')
    return np.array([1.0, 0.0]) if omega_axis == "max" else np.array([0.0, 1.0])


def require_anisotropy(alpha: float, name: str = "alpha") -> None:
    """Raise unless α is a finite number above −1, so that H_α is positive definite."""
    try:
        usable = one_number(alpha, name) > -1.0
    except InputError as error:
        raise InputError(f"{name} must be one finite number above -1: {error}") from error
    if not usable:
        raise InputError(f"{name} is {alpha}; it must be a finite number above -1 (0 is isotropic)")


def drift_squared(inverse: Any, omega: Any) -> Any:
    """⟨ω, M⁻¹ω⟩ from M⁻¹ (..., 2, 2) and ω (..., 2), as arrays or as torch tensors."""
    x, y = omega[..., 0], omega[..., 1]
    mixed = inverse[..., 0, 1] + inverse[..., 1, 0]
    return inverse[..., 0, 0] * x * x + mixed * x * y + inverse[..., 1, 1] * y * y


def require_below_one(drift_squared: FloatArray) -> None:
    """Raise unless ⟨ω, M⁻¹ω⟩ < 1 on every face; the worst one is named."""
    if not (drift_squared < 1.0).all():
        face = int(np.argmax(drift_squared))
        raise InputError(
            f"face {face} has ⟨ω, M⁻¹ω⟩ = {drift_squared[face]:.6g}; it must be below 1;"
            " lower tau or omega"
        )


def face_field(value: float | FloatArray, mesh: TriMesh, name: str) -> FloatArray:
    """A scalar or (m,) field as a checked (m,) field."""
    values = real_array(value, name)
    if values.ndim > 1 or (values.ndim == 1 and len(values) != mesh.n_faces):
        raise InputError(
            f"{name} must be a number or one number a face ({mesh.n_faces}), not {values.shape}"
        )
    return np.broadcast_to(values, (mesh.n_faces,))


def _tangent_tensor(value: ArrayLike, mesh: TriMesh, basis: TangentBasis, name: str) -> FloatArray:
    m = mesh.n_faces
    tensor = per_face(value, m, ((2, 2), (3, 3)), name)
    if tensor.shape[1] == 2:
        tensor = distinct_rows(tensor)
    skew = np.abs(tensor - np.swapaxes(tensor, 1, 2)).max(axis=(1, 2))
    size = np.abs(tensor).max(axis=(1, 2))
    if not (skew <= 1e-9 * size).all():
        raise InputError(f"{name} of face {int(np.argmax(skew - 1e-9 * size))} is not symmetric")
    if tensor[0].size == 9:
        axes = np.stack([basis.first, basis.second], axis=1)
        tensor = np.einsum("fai,fij,fbj->fab", axes, tensor, axes, optimize=True)
    return np.broadcast_to(0.5 * (tensor + np.swapaxes(tensor, 1, 2)), (m, 2, 2))


def _tangent_vector(value: ArrayLike, mesh: TriMesh, basis: TangentBasis, name: str) -> FloatArray:
    vector = per_face(value, mesh.n_faces, ((2,), (3,)), name)
    return basis.coordinates(vector) if vector[0].size == 3 else vector


def distinct_rows(array: FloatArray) -> FloatArray:
    """The array, or its first row alone where it is one row broadcast to all faces."""
    return array[:1] if array.strides[0] == 0 else array


def inverse_2x2(tensor: FloatArray) -> FloatArray:
    """Inverse of symmetric 2×2 tensors in closed form, far cheaper than a LAPACK call for each."""
    rows = distinct_rows(tensor)
    a, b, d = rows[:, 0, 0], rows[:, 0, 1], rows[:, 1, 1]
    adjugate = np.stack([d, -b, -b, a], axis=1).reshape(-1, 2, 2)
    return np.broadcast_to(adjugate / (a * d - b * b)[:, None, None], tensor.shape)


def _apply(tensor: FloatArray, vector: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("fij,fj->fi", tensor, vector))


def _require_positive(tensor: FloatArray) -> None:
    tensor = distinct_rows(tensor)
    trace = np.trace(tensor, axis1=1, axis2=2)
    determinant = tensor[:, 0, 0] * tensor[:, 1, 1] - tensor[:, 0, 1] ** 2
    bad = ~((trace > 0) & (determinant > 1e-14 * trace**2))
    if bad.any():
        face = int(np.argmax(bad))
        raise InputError(
            f"M of face {face} has eigenvalues {np.linalg.eigvalsh(tensor[face]).tolist()};"
            f" both must be positive ({int(bad.sum())} such faces)"
        )
