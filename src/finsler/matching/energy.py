"""The energy of a map, without knowing the truth: it picks the best of several candidates."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from finsler.matching.functional import vertex_map
from finsler.matching.points import Points
from finsler.matching.quality import distance_change, orientation_share
from finsler.matching.surfaces import DescribedSurface
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray, IntArray

# Parts of the energy, and their weights without a model and with one.
PARTS = ("histograms", "turned", "commutativity", "distances", "features")
_WITHOUT = (2.0, 1.0, 10.0, 10.0, 0.0)
_WITH = (1.0, 1.0, 5.0, 10.0, 6.0)
# Vertices from which distances are compared.
_LANDMARKS = 30


@dataclass(frozen=True, eq=False)
class Candidate:
    """A functional map (k_1, k_2) with its energy, low is good, and the parts of that (5,)."""

    functional: FloatArray
    energy: float
    parts: FloatArray

    @classmethod
    def of(cls, functional: FloatArray, parts: FloatArray, *, model: bool) -> Candidate:
        """With the energy that is the weighted sum of its parts."""
        return cls(functional, float(parts @ np.array(_WITH if model else _WITHOUT)), parts)


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
        Basis and histograms of these vertices.
    whole_2 : Points
        All vertices of the second surface.
    typical : (2,)
        Mean squares of the difference between a vertex and any other: of histograms, of features.
    """

    first: DescribedSurface
    second: DescribedSurface
    patch: TriMesh
    used: IntArray
    points: Points
    whole_2: Points
    typical: tuple[float, float]

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
        points = whole_1.at(used)
        patch = TriMesh(first.mesh.vertices[used], corners.reshape(-1, 3))
        other = rng.integers(0, len(whole_2.weights), len(used))
        assert points.features is not None and whole_2.features is not None
        typical = (
            _square(points.features, whole_2.features[other]),
            _square(first.features[used], second.features[other]),
        )
        return cls(first, second, patch, used, points, whole_2, typical)

    def score(self, functional: FloatArray) -> Candidate:
        """The energy without distances.

        Its parts are the differences of histograms and of the features of the model (1 for a random
        map), the share of faces that arrive turned over, and the mean of C_ij² (λ_i − μ_j)² / μ_k²,
        summed over i.
        """
        images, weights = self._images(functional), self.points.weights
        assert self.points.features is not None and self.whole_2.features is not None
        pairs = (
            (self.points.features, self.whole_2.features[images]),
            (self.first.features[self.used], self.second.features[images]),
        )
        histograms, features = (
            _square(*pair, weights) / max(typical, 1e-12)
            for pair, typical in zip(pairs, self.typical, strict=True)
        )
        kept = orientation_share(self.patch, self.second.mesh, images)
        k_1, k_2 = functional.shape
        values_1, values_2 = self.first.spectrum.eigenvalues, self.second.spectrum.eigenvalues
        gap = (values_1[:k_1, None] - values_2[None, :k_2]) / values_2[k_2 - 1]
        lack = float((functional**2 * gap**2).sum()) / k_2
        parts = np.array([histograms, 1.0 - kept, lack, 0.0, features])
        return Candidate.of(functional, parts, model=self.has_model)

    @property
    def has_model(self) -> bool:
        """Whether features of a model take part."""
        return bool(self.first.features.shape[1])

    def score_distances(
        self, candidates: list[Candidate], rng: np.random.Generator
    ) -> list[Candidate]:
        """The same with the change of geodesic distances as one more part.

        It is the root mean square of d_1(x, y) − d_2(map x, map y), by the heat method, from 30
        vertices x to all y of the patch, in units of √area.
        """
        marks = np.sort(rng.permutation(len(self.used))[:_LANDMARKS])
        before = self.first.distances.from_each(self.used[marks])[:, self.used]
        images = np.stack([self._images(candidate.functional) for candidate in candidates])
        sources, rows = np.unique(images[:, marks], return_inverse=True)
        after = self.second.distances.solver.rows(sources)
        scored = []
        for c, row, image in zip(candidates, rows.reshape(len(images), -1), images, strict=True):
            parts = c.parts.copy()
            parts[PARTS.index("distances")] = distance_change(before, after[row][:, image])
            scored.append(Candidate.of(c.functional, parts, model=self.has_model))
        return scored

    def _images(self, functional: FloatArray) -> IntArray:
        return vertex_map(functional, self.points.basis, self.whole_2.basis)


def mean_of(there: Candidate, back: Candidate) -> Candidate:
    """The first candidate with the mean energy of both directions."""
    energy, parts = 0.5 * (there.energy + back.energy), 0.5 * (there.parts + back.parts)
    return replace(there, energy=energy, parts=parts)


def _square(
    one: NDArray[np.float32], other: NDArray[np.float32], weights: FloatArray | None = None
) -> float:
    """Mean square of the difference of rows."""
    return float(np.average(((one - other) ** 2).sum(axis=1), weights=weights))
