"""A map refined while surface 1 bends along it.

Eigenfunctions of different bodies differ, and a map that explains 200 of them loses what a smaller
one had right. Bent along the map so far, as rigidly as that allows, surface 1 can be compared with
surface 2 in space: a partner is near in the eigenfunctions, in position, in the direction of its
normal, and in features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from finsler.matching.elastic import ElasticSurface
from finsler.matching.face_points import FacePoints, Fans, nearest_on_faces
from finsler.matching.functional import embeddings, project, pull_back
from finsler.matching.nearest import nearest_of_few, nearest_rows
from finsler.matching.points import Points, Refined, Step, sampled
from finsler.mesh.measures import vertex_normals
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray

# Weight of positions while the basis grows, and those of features, first and last.
_POSITIONS = 10.0
_FEATURES = (1.5, 0.8)
# The last rounds, in which the surface softens: weights of positions and features, stiffness.
_SOFT = ((20.0, 0.7, 8e-4), (50.0, 0.6, 4e-4), (120.0, 0.5, 2e-4))
_NORMALS = 1.0
# Neighbours in position and normal that are looked at, and vertices of the first search.
_NEIGHBORS = 20
_SAMPLES = 2000


@dataclass(frozen=True, eq=False)
class Ground:
    """Two surfaces between which maps are refined, each of area 1, a part in the unit of the whole.

    Attributes
    ----------
    whole : (Points, Points)
        All vertices, with features; functions of both are those of surface 1 in its new unit.
    fans : (Fans, Fans)
    goal, normals : (n_2, 3)
        Vertices and normals of surface 2.
    elastic : ElasticSurface
        Surface 1 at rest.
    partial : bool
        Surface 1 is a part of surface 2.
    """

    whole: tuple[Points, Points]
    fans: tuple[Fans, Fans]
    goal: FloatArray
    normals: FloatArray
    elastic: ElasticSurface
    partial: bool

    @classmethod
    def of(
        cls,
        meshes: tuple[TriMesh, TriMesh],
        whole: tuple[Points, Points],
        *,
        partial: bool = False,
    ) -> Ground:
        """Of two meshes in any unit, of which the points are all vertices."""
        unit = np.sqrt(whole[1].weights.sum())
        own = unit if partial else np.sqrt(whole[0].weights.sum())
        one, other = (
            replace(points, basis=own * points.basis, weights=points.weights / u**2)
            for points, u in zip(whole, (own, unit), strict=True)
        )
        first, second = (Fans.of(mesh.faces, mesh.n_vertices) for mesh in meshes)
        return cls(
            whole=(one, other),
            fans=(first, second),
            goal=meshes[1].vertices / unit,
            normals=vertex_normals(meshes[1]),
            elastic=ElasticSurface.of(TriMesh(meshes[0].vertices / own, meshes[0].faces)),
            partial=partial,
        )


@dataclass(frozen=True, eq=False)
class Bending:
    """A map on its way, and surface 1 bent along it.

    Attributes
    ----------
    ground : Ground
    refined : Refined
        The maps so far.
    positions, targets : (n_1, 3)
        Where the vertices of surface 1 are, and where the map wants them.
    side : float
        −1 where normals are to be compared with those that point the other way.
    """

    ground: Ground
    refined: Refined
    positions: FloatArray
    targets: FloatArray
    side: float

    def polished(self) -> Refined:
        """The map after three more rounds, in which the surface softens."""
        bending = self
        for weight, share, stiffness in _SOFT:
            elastic = self.ground.elastic.softened(stiffness)
            size = Step(*self.refined.functional.shape)
            bending = bending._next(elastic, size, weight, share)
        return bending.refined

    def _next(self, elastic: ElasticSurface, size: Step, weight: float, share: float) -> Bending:
        positions = elastic.bent(self.positions, self.targets)
        return _partners(
            self.ground, elastic, positions, self.side, self.refined.functional, size, weight, share
        )


def bend_and_zoom(
    ground: Ground, functional: FloatArray, steps: Sequence[Step], rng: np.random.Generator
) -> Bending:
    """ZoomOut in eigenfunctions, positions, normals and features together, both ways at once.

    In turn: partners of all vertices; the functional map of a larger basis; surface 1 bent towards
    its partners and by those of surface 2, a part by its own partners only. Positions hold on to
    the map so far, features to what is alike, less and less.
    """
    positions, side = _first_positions(ground, functional, rng)
    shares = np.geomspace(*_FEATURES, len(steps))
    bending = _partners(
        *(ground, ground.elastic, positions, side, functional, steps[0], _POSITIONS, shares[0])
    )
    for step, share in zip(steps[1:], shares[1:], strict=True):
        bending = bending._next(ground.elastic, step, _POSITIONS, share)
    return bending


def _partners(
    ground: Ground,
    elastic: ElasticSurface,
    positions: FloatArray,
    side: float,
    functional: FloatArray,
    size: Step,
    weight: float,
    share: float,
) -> Bending:
    """Partners of all vertices, and the functional map of them.

    (a) Among the 20 nearest in position and normal, (b) the nearest in the embedding of the
    functional map and in features too, and (c) the nearest point on the faces around it.
    """
    one, other = ground.whole
    fixed = (positions, elastic.turned_normals(positions)), (ground.goal, side * ground.normals)
    near = [np.hstack([weight * x, _NORMALS * n]) for x, n in fixed]
    rows = embeddings(functional, one.basis, other.basis, one.features, other.features, share)
    rows_1, rows_2 = (np.hstack(pair, dtype=np.float32) for pair in zip(rows, near, strict=True))
    map_12 = nearest_of_few(near[0], near[1], rows_1, rows_2, _NEIGHBORS)
    map_21 = nearest_of_few(near[1], near[0], rows_2, rows_1, _NEIGHBORS)
    there = nearest_on_faces(rows_1, rows_2, map_12, ground.fans[1])
    back = None if ground.partial else nearest_on_faces(rows_2, rows_1, map_21, ground.fans[0])
    bases = one.basis[:, : size.size_1], other.basis[:, : size.size_2]
    larger = project(there.values(bases[1]), bases[0], one.weights)
    targets = _targets(there, back, one.weights, other.weights, ground.goal)
    return Bending(ground, Refined(map_12, larger, map_21), positions, targets, side)


def _first_positions(
    ground: Ground, functional: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, float]:
    """Positions in the span of the basis, and −1 where the normals then point the other way."""
    few = [sampled(points, _SAMPLES, rng) for points in ground.whole]
    images = nearest_rows(*embeddings(functional, few[0].basis, few[1].basis))
    images = few[1].vertices[images]
    k = functional.shape[0]
    coefficients = pull_back(images, few[0].basis[:, :k], ground.goal, few[0].weights)
    positions = ground.whole[0].basis[:, :k] @ coefficients
    turned = ground.elastic.turned_normals(positions)[few[0].vertices]
    agree = few[0].weights @ np.einsum("ni,ni->n", turned, ground.normals[images])
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
