"""A surface that resists bending: the shape of one surface on its way to another."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from finsler.mesh.measures import vertex_normals
from finsler.mesh.trimesh import TriMesh
from finsler.operator import lbo
from finsler.solvers import factorise
from finsler.solvers.factor import Solve
from finsler.typing import FloatArray, IntArray

# Resistance to bending, in units of the area: lengths below its root are smoothed.
STIFFNESS = 0.0015
# Rounds between rotations and positions, and of averaging rotations over neighbours.
_ROUNDS, _AVERAGES = 2, 30
_LEAST_WEIGHT = 1e-3
# Steps of Newton's method for rotations, and the lack of orthogonality from which others are taken.
_NEWTON, _UNSURE = 10, 1e-9


@dataclass(frozen=True, eq=False)
class ElasticSurface:
    """A mesh that resists bending: Σ_i m_i |x_i − y_i|² + μ/2 Σ_ij w_ij |x_i − x_j − R_i e_ij|².

    The positions x of least energy for given targets y, rotations R_i and edges e_ij = p_i − p_j
    at rest solve (μL + M) x = μ Σ_j w_ij (R_i + R_j) e_ij / 2 + M y (Sorkine, Alexa 2007), with
    cotangent weights w; only the right-hand side changes from one solution to the next.

    Attributes
    ----------
    ends : (2, h)
        Vertices i and j of each directed edge.
    rest : (h, 3)
        The edges at rest.
    mass, normals : (n,), (n, 3)
    gather : (n, h) sparse
        Sums over the edges of a vertex, with weights w.
    average : (n, n) sparse
        Means over a vertex and its neighbours.
    laplacian : (n, n) sparse
        L.
    stiffness : float
        μ.
    solve : callable
        Of the system.
    """

    ends: IntArray
    rest: FloatArray
    mass: FloatArray
    normals: FloatArray
    gather: sparse.csr_array
    average: sparse.csr_array
    laplacian: sparse.csr_array
    stiffness: float
    solve: Solve

    @classmethod
    def of(cls, mesh: TriMesh) -> ElasticSurface:
        """The mesh at rest."""
        laplacian, n = lbo(mesh), mesh.n_vertices
        entries = sparse.coo_array(laplacian.stiffness)
        apart = entries.row != entries.col
        i, j = entries.row[apart], entries.col[apart]
        w = np.maximum(-entries.data[apart], _LEAST_WEIGHT)
        gather = sparse.csr_array((w, (i, np.arange(len(i)))), (n, len(i)))
        sums = sparse.diags_array(np.asarray(gather.sum(axis=1)).ravel())
        resistance = sparse.csr_array(sums - sparse.csr_array((w, (i, j)), (n, n)))
        links = sparse.eye_array(n) + sparse.csr_array((np.ones(len(i)), (i, j)), (n, n))
        count = sparse.diags_array(1.0 / np.asarray(links.sum(axis=1)).ravel())
        return cls(
            ends=np.stack([i, j]),
            rest=mesh.vertices[i] - mesh.vertices[j],
            mass=laplacian.mass,
            normals=vertex_normals(mesh),
            gather=gather,
            average=sparse.csr_array(count @ links),
            laplacian=resistance,
            stiffness=STIFFNESS,
            solve=_system(resistance, laplacian.mass, STIFFNESS),
        )

    def softened(self, stiffness: float) -> ElasticSurface:
        """The same surface with another stiffness."""
        solve = _system(self.laplacian, self.mass, stiffness)
        return replace(self, stiffness=stiffness, solve=solve)

    def rotations(self, positions: FloatArray, averages: int = 0) -> FloatArray:
        """How each neighbourhood is turned, (n, 3, 3), averaged over neighbours so many times."""
        i, j = self.ends
        outer = (positions[i] - positions[j])[:, :, None] * self.rest[:, None, :]
        rows = self.gather @ outer.reshape(-1, 9)
        for _ in range(averages):
            rows = self.average @ rows
        return _nearest_rotations(rows.reshape(-1, 3, 3))

    def bent(self, positions: FloatArray, targets: FloatArray) -> FloatArray:
        """Positions (n, 3) closer to the targets (n, 3), starting from others."""
        i, j = self.ends
        for _ in range(_ROUNDS):
            turned = self.rotations(positions)
            edges = np.einsum("eab,eb->ea", 0.5 * (turned[i] + turned[j]), self.rest)
            right = self.stiffness * (self.gather @ edges) + self.mass[:, None] * targets
            positions = self.solve(right)
        return positions

    def turned_normals(self, positions: FloatArray) -> FloatArray:
        """The normals at rest, turned by rotations that vary slowly: details stay."""
        slow = self.rotations(positions, _AVERAGES)
        return np.asarray(np.einsum("nab,nb->na", slow, self.normals))


def _system(laplacian: sparse.csr_array, mass: FloatArray, stiffness: float) -> Solve:
    return factorise(sparse.csr_array(stiffness * laplacian + sparse.diags_array(mass)))


def _nearest_rotations(matrices: FloatArray) -> FloatArray:
    """The rotation nearest to each matrix, (n, 3, 3).

    M = R U with U symmetric, whose least eigenvalue may be negative. Its trace t is the largest
    root of x⁴ − 2|M|² x² − 8 det M x + |M|⁴ − 4|cof M|², to which Newton's method falls from above;
    R (t i − det M) = t cof M + (t² − i) M − M MᵀM with 2i = t² − |M|² by Cayley and Hamilton.
    Where two singular values nearly cancel, so that t i − det M vanishes, R comes from these.
    """
    size = np.linalg.norm(matrices, axis=(1, 2), keepdims=True)
    m = matrices / np.maximum(size, np.finfo(float).tiny)
    columns = [m[:, :, i] for i in range(3)]
    cofactors = np.stack([np.cross(columns[i - 2], columns[i - 1]) for i in range(3)], axis=2)
    determinant = np.einsum("ni,ni->n", columns[0], cofactors[:, :, 0])
    last = 1.0 - 4.0 * np.einsum("nij,nij->n", cofactors, cofactors)
    trace = np.full(len(m), np.sqrt(3.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(_NEWTON):
            value = ((trace**2 - 2.0) * trace - 8.0 * determinant) * trace + last
            trace -= value / (4.0 * (trace**2 - 1.0) * trace - 8.0 * determinant)
        second = 0.5 * (trace**2 - 1.0)
        a, b, c = (x[:, None, None] for x in (trace, second, determinant))
        turned = (a * cofactors + (a**2 - b) * m - m @ (m.transpose(0, 2, 1) @ m)) / (a * b - c)
    lack = np.abs(turned.transpose(0, 2, 1) @ turned - np.eye(3)).max(axis=(1, 2))
    unsure = ~(lack < _UNSURE)
    turned[unsure] = _rotations_by_svd(matrices[unsure])
    return np.asarray(turned)


def _rotations_by_svd(matrices: FloatArray) -> FloatArray:
    """The same by singular values, whatever they are."""
    left, _, right = np.linalg.svd(matrices)
    left[:, :, 2] *= np.sign(np.linalg.det(left) * np.linalg.det(right))[:, None]
    return np.asarray(left @ right)
