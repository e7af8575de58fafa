"""The Finsler energy ½ ∫ F*(∇u)² of a function, its gradient and its Hessian.

F* is the dual of a Randers metric (docs/mathematics.md, section 2). The gradient is the nonlinear
Laplace-Finsler operator, the Hessian an ordinary Laplacian that depends on u.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from finsler.errors import InputError
from finsler.mesh.arguments import vertex_functions, without_mesh
from finsler.mesh.measures import face_areas, hat_gradients, vertex_areas
from finsler.mesh.trimesh import TriMesh
from finsler.metric.randers import RandersMetric, require_below_one
from finsler.operator.laplacian import Laplacian
from finsler.operator.stiffness import assemble
from finsler.typing import FloatArray


@without_mesh
def finsler_energy(metric: RandersMetric, u: ArrayLike) -> float:
    """E(u) = ½ ∫ F*(∇u)² of a function (n,) that is linear on the faces.

    Examples
    --------
    >>> mesh = TriMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    >>> metric = RandersMetric(mesh, [np.eye(2)], [[0.5, 0.0]])
    >>> round(finsler_energy(metric, [0, 1, 0]), 6)  # falls against ω: 1/4 · (1/1.5)²
    0.111111
    >>> finsler_energy(metric, [1, 0, 1])  # falls along ω: 1/4 · (1/0.5)²
    1.0
    """
    return DualEnergy.of(metric).value(vertex_function(metric.mesh, u, "u"))


@without_mesh
def finsler_laplacian_apply(metric: RandersMetric, u: ArrayLike) -> FloatArray:
    """The nonlinear operator Δ_F u = −div(F*(∇u) ∇F*(∇u)) = S⁻¹ ∇E(u), (n,).

    Positive semidefinite in sign, as every Laplacian here: heat obeys ∂u/∂t = −Δ_F u. It is
    homogeneous for positive factors only: Δ_F(−u) under ω is −Δ_F(u) under −ω.
    """
    mesh = metric.mesh
    return DualEnergy.of(metric).gradient(vertex_function(mesh, u, "u")) / vertex_areas(mesh)


@without_mesh
def finsler_laplacian_at(metric: RandersMetric, u: ArrayLike) -> Laplacian:
    """The linear Laplacian that agrees with Δ_F to first order at u.

    Its diffusivity is the Hessian g*(p) of ½F*² at p = ∇u. As F*² is homogeneous of degree two,
    g*(p) p = F*(p) ∇F*(p), so the value agrees as well: `finsler_laplacian_at(…, u).apply(u)` is
    Δ_F u. On faces where ∇u = 0 the Hessian does not exist; there it is replaced by
    M* + ω*ω*ᵀ = (g*(p) + g*(−p))/2, the same for every p.
    """
    energy = DualEnergy.of(metric)
    mesh = metric.mesh
    return Laplacian(energy.hessian(vertex_function(mesh, u, "u")), vertex_areas(mesh))


@dataclass(frozen=True, eq=False)
class DualEnergy:
    """E(u) = Σ_faces area ½F*(∇u)² with its derivatives; gradients in coordinates of the basis."""

    mesh: TriMesh
    dual: RandersMetric
    areas: FloatArray
    hats: FloatArray

    @classmethod
    def of(cls, metric: RandersMetric) -> DualEnergy:
        """The energy of a valid metric on its mesh."""
        mesh = metric.mesh
        require_below_one(metric.drift_squared())
        hats, axes = hat_gradients(mesh), np.stack([metric.basis.first, metric.basis.second], 1)
        return cls(mesh, metric.dual(), face_areas(mesh), np.einsum("fci,fai->fca", hats, axes))

    def slopes(self, u: FloatArray) -> FloatArray:
        """∇u, (m, 2). Differences, so that a constant added to u costs no digits."""
        a, b, c = self.mesh.faces.T
        rise = np.stack([u[b] - u[a], u[c] - u[a]], axis=1)
        return np.asarray(np.einsum("fc,fca->fa", rise, self.hats[:, 1:]))

    def value(self, u: FloatArray) -> float:
        """E(u)."""
        return float(0.5 * self.areas @ self.dual.norm(self.slopes(u)) ** 2)

    def change(self, p: FloatArray, q: FloatArray) -> float:
        """E at slopes p + q minus E at p, without cancellation: ½(F₁ − F₀)(F₁ + F₀) per face.

        F₁ − F₀ = ⟨q, M*(2p + q)⟩/(‖p‖ + ‖p + q‖) + ⟨ω*, q⟩.
        """
        sizes = _size(self.dual, p) + _size(self.dual, p + q)
        rise = np.einsum("fa,fab,fb->f", q, self.dual.M, 2.0 * p + q)
        rise = np.divide(rise, sizes, out=np.zeros_like(rise), where=sizes > 0)
        drift = np.einsum("fa,fa->f", self.dual.omega, q)
        total = sizes + np.einsum("fa,fa->f", self.dual.omega, 2.0 * p + q)
        return float(0.5 * self.areas @ ((rise + drift) * total))

    def gradient(self, u: FloatArray) -> FloatArray:
        """∇E, (n,): Σ_faces area ⟨F* ∇F*, ∇φ_i⟩."""
        p = self.slopes(u)
        flux = self.dual.norm(p)[:, None] * (_direction(self.dual, p) + self.dual.omega)
        corners = np.einsum("f,fa,fca->fc", self.areas, flux, self.hats, optimize=True)
        faces = self.mesh.faces.ravel()
        total = np.bincount(faces, corners.ravel(), self.mesh.n_vertices)
        return np.asarray(total, dtype=np.float64)

    def hessian(self, u: FloatArray) -> sparse.csr_array:
        """Stiffness matrix of the diffusivity g*(∇u)."""
        g = _fundamental_tensor(self.dual, self.slopes(u))
        compact = np.stack([g[:, 0, 0], g[:, 0, 1], g[:, 1, 1]], axis=1)[:, None, :]
        made = assemble(self.mesh, self.dual.basis, np.ascontiguousarray(compact))
        n = self.mesh.n_vertices
        return sparse.csr_array((made.values[0], made.indices, made.indptr), shape=(n, n))


def _size(dual: RandersMetric, p: FloatArray) -> FloatArray:
    """‖p‖_{M*}, (m,)."""
    return np.asarray(np.sqrt(np.einsum("fa,fab,fb->f", p, dual.M, p)))


def _direction(dual: RandersMetric, p: FloatArray) -> FloatArray:
    """M*p / ‖p‖_{M*}, (m, 2); zero where p is."""
    size = _size(dual, p)[:, None]
    raised = np.einsum("fab,fb->fa", dual.M, p)
    return np.asarray(np.divide(raised, size, out=np.zeros_like(raised), where=size > 0))


def _fundamental_tensor(dual: RandersMetric, p: FloatArray) -> FloatArray:
    """Hessian g*(p) of ½F*² with F* = ‖p‖ + ⟨ω*, p⟩, (m, 2, 2); M* + ω*ω*ᵀ where p = 0.

    g* = (q + ω*)(q + ω*)ᵀ + (1 + s)(M* − qqᵀ), q = M*p/‖p‖, s = ⟨ω*, p⟩/‖p‖: a function of the
    direction of p alone. M* + ω*ω*ᵀ is the formula with q = 0, s = 0.
    """
    q = _direction(dual, p)
    slope, size = np.einsum("fa,fa->f", dual.omega, p), _size(dual, p)
    s = np.divide(slope, size, out=np.zeros_like(slope), where=size > 0)
    g = q + dual.omega
    outer_g, outer_q = np.einsum("fa,fb->fab", g, g), np.einsum("fa,fb->fab", q, q)
    return np.asarray(outer_g + (1.0 + s)[:, None, None] * (dual.M - outer_q))


def vertex_function(mesh: TriMesh, values: ArrayLike, name: str) -> FloatArray:
    """One checked function (n,)."""
    function = vertex_functions(values, mesh.n_vertices, name)
    if function.ndim != 1:
        raise InputError(f"{name} must be one function, ({mesh.n_vertices},), not {function.shape}")
    return function
