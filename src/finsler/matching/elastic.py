"""A surface bent towards another, so that positions and normals help to find partners.

Eigenfunctions of different bodies differ, and a map that explains 200 of them loses what a smaller
one had right. Bent along the map so far, as rigidly as that allows, surface 1 can be compared with
surface 2 in space: a partner is near in the eigenfunctions, in position, and in the direction of
its normal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from finsler.matching.face_points import FacePoints, Fans, nearest_on_faces
from finsler.matching.functional import embeddings, project, pull_back
from finsler.matching.nearest import nearest_of_few, nearest_rows
from finsler.matching.points import Points, Refined, Step, sampled
from finsler.mesh.measures import vertex_normals
from finsler.mesh.trimesh import TriMesh
from finsler.operator import lbo
from finsler.solvers import factorise
from finsler.solvers.factor import Solve
from finsler.typing import FloatArray, IntArray

# Resistance to bending, in units of the area: lengths below its root are smoothed.
_STIFFNESS = 0.0015
# Rounds between rotations and positions, and of averaging rotations over neighbours.
_ROUNDS, _AVERAGES = 2, 30
# Weights of positions while the basis grows, for rough maps at first and in the end; then, in the
# last rounds, in which the surface softens, and its stiffness in each of them.
ROUGH, _GROWN = 10.0, 40.0
_SOFT = ((60.0, 8e-4), (100.0, 4e-4), (150.0, 2e-4))
# Weight of normals; weights of features, from the first round to the last.
_NORMALS = 1.0
_FEATURES = (1.5, 0.5)
# Neighbours in position and normal that are looked at, and vertices of the first search.
_NEIGHBORS = 20
_SAMPLES = 2000
_LEAST_WEIGHT = 1e-3


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
            stiffness=_STIFFNESS,
            solve=_system(resistance, laplacian.mass, _STIFFNESS),
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


def bend_and_zoom(
    functional: FloatArray,
    meshes: tuple[TriMesh, TriMesh],
    whole: tuple[Points, Points],
    steps: Sequence[Step],
    rng: np.random.Generator,
    *,
    first_weight: float = _GROWN,
    partial: bool = False,
) -> Refined:
    """ZoomOut in eigenfunctions, positions and normals together, both ways at once.

    In turn: partners of all vertices, (a) among the 20 nearest in position and normal, (b) the
    nearest in the embedding of the functional map and in features too, and then the nearest point
    on the faces around it; the functional map of a larger basis; surface 1 bent towards its
    partners and by those of surface 2, a part by its own partners only. Positions hold on to the
    map so far: they weigh 40, or from `first_weight` on more and more, for maps that are right only
    in the large. When the basis is complete, the surface softens in three more rounds.
    """
    unit = np.sqrt(whole[1].weights.sum())
    own = unit if partial else np.sqrt(whole[0].weights.sum())
    elastic = ElasticSurface.of(TriMesh(meshes[0].vertices / own, meshes[0].faces))
    goal, normals = meshes[1].vertices / unit, vertex_normals(meshes[1])
    positions, sign = _first_positions(functional, elastic, whole, goal, normals, rng)
    there_fixed = goal, sign * normals
    fans = [Fans.of(mesh.faces, mesh.n_vertices) for mesh in meshes]
    rounds = [
        *((step, weight, _STIFFNESS) for step, weight in _growing(steps, first_weight)),
        *((steps[-1], weight, stiffness) for weight, stiffness in _SOFT),
    ]
    shares = np.geomspace(*_FEATURES, len(rounds))
    for number, ((step, weight, stiffness), share) in enumerate(zip(rounds, shares, strict=True)):
        if number:
            if stiffness != elastic.stiffness:
                elastic = elastic.softened(stiffness)
            positions = elastic.bent(positions, targets)
        here_fixed = positions, elastic.turned_normals(positions)
        near = [np.hstack([weight * x, _NORMALS * n]) for x, n in (here_fixed, there_fixed)]
        features = whole[0].features, whole[1].features
        rows = embeddings(functional, own * whole[0].basis, own * whole[1].basis, *features, share)
        rows_1, rows_2 = (
            np.hstack(pair, dtype=np.float32) for pair in zip(rows, near, strict=True)
        )
        map_12 = nearest_of_few(near[0], near[1], rows_1, rows_2, _NEIGHBORS)
        map_21 = nearest_of_few(near[1], near[0], rows_2, rows_1, _NEIGHBORS)
        there = nearest_on_faces(rows_1, rows_2, map_12, fans[1])
        back = None if partial else nearest_on_faces(rows_2, rows_1, map_21, fans[0])
        targets = _targets(there, back, elastic.mass, whole[1].weights / unit**2, goal)
        bases = whole[0].basis[:, : step.size_1], whole[1].basis[:, : step.size_2]
        functional = project(there.values(bases[1]), bases[0], whole[0].weights)
    return Refined(map_12, functional, map_21)


def _growing(steps: Sequence[Step], first_weight: float) -> zip[tuple[Step, float]]:
    """The steps in which the basis grows, and the weight of positions in each."""
    return zip(steps, np.geomspace(first_weight, _GROWN, len(steps)), strict=True)


def _first_positions(
    functional: FloatArray,
    elastic: ElasticSurface,
    whole: tuple[Points, Points],
    goal: FloatArray,
    normals: FloatArray,
    rng: np.random.Generator,
) -> tuple[FloatArray, float]:
    """Positions in the span of the basis, and −1 where the normals then point the other way."""
    few = [sampled(points, _SAMPLES, rng) for points in whole]
    images = nearest_rows(*embeddings(functional, few[0].basis, few[1].basis))
    images = few[1].vertices[images]
    k = functional.shape[0]
    coefficients = pull_back(images, few[0].basis[:, :k], goal, few[0].weights)
    positions = whole[0].basis[:, :k] @ coefficients
    turned = elastic.turned_normals(positions)[few[0].vertices]
    agree = few[0].weights @ np.einsum("ni,ni->n", turned, normals[images])
    return positions, 1.0 if agree >= 0.0 else -1.0


def _targets(
    there: FacePoints,
    back: FacePoints | None,
    mass_1: FloatArray,
    mass_2: FloatArray,
    goal: FloatArray,
) -> FloatArray:
    """Where each vertex of surface 1 should go, (n_1, 3).

    To its partner on surface 2; and so that each vertex of 2 meets the point on 1 that is its
    partner, whose corners are to move by what is missing. The mean of these, by area.
    """
    own = there.values(goal)
    if back is None:
        return own
    total, weight = mass_1[:, None] * own, mass_1.copy()
    missing = goal - back.values(own)
    for corner, share in zip(back.corners.T, back.weights.T, strict=True):
        moved = (mass_2 * share)[:, None] * (own[corner] + missing)
        weight += np.bincount(corner, mass_2 * share, len(own))
        total += np.stack([np.bincount(corner, x, len(own)) for x in moved.T], axis=1)
    return np.asarray(total / weight[:, None])


def _nearest_rotations(matrices: FloatArray) -> FloatArray:
    """The rotation nearest to each matrix, (n, 3, 3)."""
    left, _, right = np.linalg.svd(matrices)
    left[:, :, 2] *= np.sign(np.linalg.det(left) * np.linalg.det(right))[:, None]
    return np.asarray(left @ right)
