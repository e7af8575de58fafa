"""The energy of a map, without knowing the truth: it picks the best of several candidates."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from finsler.analysis.geodesic import geodesic_matrix
from finsler.matching.functional import vertex_map
from finsler.matching.points import Points
from finsler.matching.quality import distance_change, orientation_share
from finsler.matching.surfaces import DescribedSurface
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray, IntArray

# Weights in the energy: difference of features, lack of commutativity, change of distances.
_FEATURES = 2.0
_COMMUTATIVITY = 10.0
_DISTANCES = 10.0
# Vertices from which distances are compared.
_LANDMARKS = 30


@dataclass(frozen=True, eq=False)
class Candidate:
    """A functional map (k_1, k_2) with its energy; low is good."""

    functional: FloatArray
    energy: float


@dataclass(frozen=True, eq=False)
class MapEnergy:
    """The energy of functional maps between two surfaces, measured on some faces of the first.

    Attributes
    ----------
    first, second : DescribedSurface
    patch : TriMesh
        The faces, with only their own vertices.
    used : (p,)
        Index of these vertices among all.
    points : Points
        Basis and features of these vertices.
    whole_2 : Points
        All vertices of the second surface.
    typical : float
        Mean square of the difference between features of a vertex and of any other.
    """

    first: DescribedSurface
    second: DescribedSurface
    patch: TriMesh
    used: IntArray
    points: Points
    whole_2: Points
    typical: float

    @classmethod
    def sample(
        cls,
        first: DescribedSurface,
        second: DescribedSurface,
        whole_1: Points,
        whole_2: Points,
        rng: np.random.Generator,
        count: int,
    ) -> MapEnergy:
        """Draw `count` faces."""
        faces = first.mesh.faces
        if len(faces) > count:
            faces = faces[np.sort(rng.choice(len(faces), count, replace=False))]
        used, corners = np.unique(faces, return_inverse=True)
        assert whole_1.features is not None and whole_2.features is not None
        points = Points(whole_1.basis[used], whole_1.weights[used], used, whole_1.features[used])
        patch = TriMesh(first.mesh.vertices[used], corners.reshape(-1, 3))
        other = whole_2.features[rng.integers(0, len(whole_2.features), len(used))]
        typical = float(((whole_1.features[used] - other) ** 2).sum(axis=1).mean())
        return cls(first, second, patch, used, points, whole_2, max(typical, 1e-12))

    def score(self, functional: FloatArray) -> Candidate:
        """Twice the difference of features (1 for a random map), the share of faces that arrive
        turned over, and ten times the mean of C_ij² (λ_i − μ_j)² / μ_k², summed over i."""
        images = self._images(functional)
        assert self.points.features is not None and self.whole_2.features is not None
        apart = ((self.points.features - self.whole_2.features[images]) ** 2).sum(axis=1)
        features = float(np.average(apart, weights=self.points.weights)) / self.typical
        kept = orientation_share(self.patch, self.second.mesh, images)
        k_1, k_2 = functional.shape
        values_1, values_2 = self.first.spectrum.eigenvalues, self.second.spectrum.eigenvalues
        gap = (values_1[:k_1, None] - values_2[None, :k_2]) / values_2[k_2 - 1]
        lack = float((functional**2 * gap**2).sum()) / k_2
        return Candidate(functional, _FEATURES * features + 1.0 - kept + _COMMUTATIVITY * lack)

    def score_distances(
        self, candidates: list[Candidate], rng: np.random.Generator
    ) -> list[Candidate]:
        """The same, their energy increased by ten times the change of geodesic distances.

        It is the root mean square of d_1(x, y) − d_2(map x, map y), by the heat method, from 30
        vertices x to all y of the patch, in units of √area.
        """
        marks = np.sort(rng.permutation(len(self.used))[:_LANDMARKS])
        before = geodesic_matrix(self.first.mesh, self.used[marks], method="heat")[:, self.used]
        images = np.stack([self._images(candidate.functional) for candidate in candidates])
        sources, rows = np.unique(images[:, marks], return_inverse=True)
        after = geodesic_matrix(self.second.mesh, sources, method="heat")
        scored = []
        for c, row, image in zip(candidates, rows.reshape(len(images), -1), images, strict=True):
            change = distance_change(before, after[row][:, image])
            scored.append(replace(c, energy=c.energy + _DISTANCES * change))
        return scored

    def _images(self, functional: FloatArray) -> IntArray:
        return vertex_map(functional, self.points.basis, self.whole_2.basis)
