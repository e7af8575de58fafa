"""How good a functional map is, without knowing the truth: the energy that picks a candidate."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from finsler.analysis.geodesic import geodesic_matrix
from finsler.matching.functional import vertex_map
from finsler.matching.quality import distance_change, orientation_share
from finsler.matching.refine import Points
from finsler.matching.surface import Surface
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray, IntArray

# Weights in the energy: difference of features, lack of commutativity, change of distances.
_FEATURES = 2.0
_COMMUTATIVITY = 10.0
_DISTANCES = 10.0
# Faces that maps are judged by, and vertices from which distances are compared.
_FACES = 700
_LANDMARKS = 40


@dataclass(frozen=True, eq=False)
class Candidate:
    """A functional map (k_1, k_2) with its energy; low is good."""

    functional: FloatArray
    energy: float


@dataclass(frozen=True, eq=False)
class Judge:
    """Some faces of surface 1, by whose images maps are judged.

    Attributes
    ----------
    patch : TriMesh
        The faces, with their vertices alone.
    used : (p,)
        Where these are among all vertices.
    points : Points
        Of these vertices.
    typical : float
        Mean square of the difference between features of a vertex and of any other.
    """

    first: Surface
    second: Surface
    patch: TriMesh
    used: IntArray
    points: Points
    whole_2: Points
    typical: float

    @classmethod
    def of(
        cls,
        first: Surface,
        second: Surface,
        whole_1: Points,
        whole_2: Points,
        rng: np.random.Generator,
    ) -> Judge:
        """Draw the faces."""
        faces = first.mesh.faces
        if len(faces) > _FACES:
            faces = faces[np.sort(rng.choice(len(faces), _FACES, replace=False))]
        used, corners = np.unique(faces, return_inverse=True)
        assert whole_1.features is not None and whole_2.features is not None
        points = Points(whole_1.basis[used], whole_1.weights[used], whole_1.features[used])
        patch = TriMesh(first.mesh.vertices[used], corners.reshape(-1, 3))
        other = whole_2.features[rng.integers(0, len(whole_2.features), len(used))]
        typical = float(((whole_1.features[used] - other) ** 2).sum(axis=1).mean())
        return cls(first, second, patch, used, points, whole_2, max(typical, 1e-12))

    def judged(self, functional: FloatArray) -> Candidate:
        """Energy: twice how far features are apart, 1 for a random map; the share of faces that
        arrive turned over; and ten times the mean of C_ij² (λ_i − μ_j)² / μ_k², summed over i."""
        found = self._images(functional)
        assert self.points.features is not None and self.whole_2.features is not None
        apart = ((self.points.features - self.whole_2.features[found]) ** 2).sum(axis=1)
        features = float(np.average(apart, weights=self.points.weights)) / self.typical
        kept = orientation_share(self.patch, self.second.mesh, found)
        k_1, k_2 = functional.shape
        values_1, values_2 = self.first.spectrum.eigenvalues, self.second.spectrum.eigenvalues
        gap = (values_1[:k_1, None] - values_2[None, :k_2]) / values_2[k_2 - 1]
        lack = float((functional**2 * gap**2).sum()) / k_2
        return Candidate(functional, _FEATURES * features + 1.0 - kept + _COMMUTATIVITY * lack)

    def with_distances(
        self, candidates: list[Candidate], rng: np.random.Generator
    ) -> list[Candidate]:
        """The same, their energy increased by ten times the change of geodesic distances.

        It is the root mean square of d_1(x, y) − d_2(map x, map y), by fast marching, from 40
        vertices x to all y of the patch, in units of √area.
        """
        marks = np.sort(rng.permutation(len(self.used))[:_LANDMARKS])
        before = geodesic_matrix(self.first.mesh, self.used[marks], method="fmm")[:, self.used]
        images = np.stack([self._images(candidate.functional) for candidate in candidates])
        sources, rows = np.unique(images[:, marks], return_inverse=True)
        after = geodesic_matrix(self.second.mesh, sources, method="fmm")
        changes = [
            distance_change(before, after[row][:, image])
            for row, image in zip(rows.reshape(len(images), -1), images, strict=True)
        ]
        return [
            replace(candidate, energy=candidate.energy + _DISTANCES * change)
            for candidate, change in zip(candidates, changes, strict=True)
        ]

    def _images(self, functional: FloatArray) -> IntArray:
        return vertex_map(functional, self.points.basis, self.whole_2.basis)
