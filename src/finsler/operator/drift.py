"""The linear Randers operator with drift, which keeps the asymmetry that the FLBO loses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from finsler.errors import InputError
from finsler.mesh.arguments import without_mesh
from finsler.mesh.measures import face_areas, hat_gradients
from finsler.mesh.summary import one_line
from finsler.mesh.topology import edges
from finsler.mesh.trimesh import TriMesh
from finsler.metric.randers import RandersMetric
from finsler.operator.laplacian import Laplacian, laplacian
from finsler.typing import FloatArray


@one_line()
@dataclass(frozen=True, eq=False)
class DriftOperator:
    """u ↦ u + 2ε ⟨ω*, ∇u⟩ − ε² div(D_F ∇u), discretised (Bonnans, Bonnet, Mirebeau 2022).

    Away from the source its solution behaves like exp(−d/ε), d the Randers distance from the
    source. The transpose belongs to −ω: it gives the distance *to* the source.

    Attributes
    ----------
    matrix : (n, n) CSR
        S + 2ε C + ε² W + ε B, not symmetric; C is skew, B a diagonal on the boundary.
    laplacian : Laplacian
        The FLBO (W, S) of the metric.
    epsilon : float
        In units of the metric's distance.
    """

    matrix: sparse.csr_array
    laplacian: Laplacian
    epsilon: float


@without_mesh
def drift_operator(metric: RandersMetric, *, epsilon: float | None = None) -> DriftOperator:
    """Assemble the drift operator of a Randers metric on its mesh.

    The drift enters in its skew form, C = (G − Gᵀ)/2 with G_ij = ∫ φ_i ⟨ω*, ∇φ_j⟩, so that turning
    ω round is transposing the matrix. The difference to G is the term ε div(ω*) u, which vanishes
    with ε beside u.

    On a boundary, no condition at all would mean that shortest paths run along it, and heat piles
    up where the wind blows outwards. For a path that leaves at a right angle the condition would be
    ε² n·D∇u − ε n·ω* u + ε ‖n‖_{M*} u = 0, n the outer normal; half of the last term is taken,
    B_ii = ½ ∮ φ_i ‖n‖_{M*}, which lowers the error of distances on a square by a third and more.

    A drift that is strong against diffusion across one edge makes the solution oscillate and turn
    negative. Upwinding or artificial diffusion would prevent that at any ε, but their error is of
    the order of ε² D itself when ε goes with the edge length, so that distances stop converging
    (measured: 5% and no better on a plane, whatever its resolution). Instead ε itself is kept
    large enough, see [`default_epsilon`][finsler.operator.drift.default_epsilon], and solvers
    check the sign of what they compute.
    """
    chosen = default_epsilon(metric) if epsilon is None else epsilon
    if not (np.isfinite(chosen) and chosen > 0.0):
        raise InputError(f"epsilon is {chosen}; it must be a positive number")
    mesh = metric.mesh
    flbo = laplacian(mesh, metric.diffusivity())
    wind = metric.basis.vectors(metric.dual().omega)
    matrix = (
        sparse.diags_array(flbo.mass)
        + 2.0 * chosen * skew_drift(mesh, wind)
        + chosen**2 * flbo.stiffness
        + chosen * sparse.diags_array(_boundary_term(metric))
    )
    return DriftOperator(sparse.csr_array(matrix), flbo, chosen)


@without_mesh
def default_epsilon(metric: RandersMetric) -> float:
    """ε = ½ h^{2/3} L^{1/3}, between the resolution and the size of the surface.

    h is the mean over faces of the longest side and L the square root of the area, both measured
    in M. The exponent balances the error of the operator, which grows with ε, against that of its
    discretisation, which grows with h/ε; at 20,000 vertices ε is about twice h. On the
    meshes we tried that kept the solution positive for ‖ω‖_{M⁻¹} up to 0.95 from 3,000 vertices on.
    """
    mesh = metric.mesh
    corners = mesh.vertices[mesh.faces]
    sides = [metric.basis.coordinates(corners[:, i] - corners[:, i - 1]) for i in range(3)]
    squared = [np.einsum("fi,fij,fj->f", side, metric.M, side) for side in sides]
    longest = float(np.sqrt(np.maximum.reduce(squared)).mean())
    area = float(face_areas(mesh) @ np.sqrt(np.linalg.det(metric.M)))
    return float(0.5 * longest ** (2.0 / 3.0) * area ** (1.0 / 6.0))


def skew_drift(mesh: TriMesh, vectors: FloatArray) -> sparse.csr_array:
    """C_ij = ½ ∫ (φ_i ⟨v, ∇φ_j⟩ − φ_j ⟨v, ∇φ_i⟩) for one vector v a face, (m, 3)."""
    slopes = np.einsum("fi,fci->fc", vectors, hat_gradients(mesh))
    slopes *= (face_areas(mesh) / 6.0)[:, None]
    rows = np.repeat(mesh.faces, 3, axis=1).ravel()
    columns = np.tile(mesh.faces, (1, 3)).ravel()
    values = (slopes[:, None, :] - slopes[:, :, None]).ravel()
    shape = (mesh.n_vertices, mesh.n_vertices)
    return sparse.csr_array((values, (rows, columns)), shape)


def _boundary_term(metric: RandersMetric) -> FloatArray:
    """½ ∮ φ_i ‖n‖_{M*} for each vertex, (n,), n the unit normal of the boundary in its face."""
    mesh = metric.mesh
    table = edges(mesh)
    halfedge = np.flatnonzero(table.counts[table.of_halfedge] == 1)
    face, side = halfedge // 3, halfedge % 3
    i, j = mesh.faces[face, side], mesh.faces[face, (side + 1) % 3]
    along = mesh.vertices[j] - mesh.vertices[i]
    # The edge turned by 90° in its face: length times outer normal.
    x = np.einsum("ei,ei->e", along, metric.basis.first[face])
    y = np.einsum("ei,ei->e", along, metric.basis.second[face])
    outward = np.stack([y, -x], axis=1)
    tensor = metric.dual().M[face]
    half = 0.25 * np.sqrt(np.einsum("ea,eab,eb->e", outward, tensor, outward))
    total = np.bincount(i, half, mesh.n_vertices) + np.bincount(j, half, mesh.n_vertices)
    return np.asarray(total, dtype=np.float64)
