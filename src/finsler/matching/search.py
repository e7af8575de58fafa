"""ZoomOut of many functional maps between the same few vertices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from finsler.matching.points import Points, Step
from finsler.typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Search:
    """Some vertices of two surfaces, with what all functional maps between them share.

    Attributes
    ----------
    points_1, points_2 : Points
        With features.
    likeness : (p_1, p_2) float32
        ⟨f_1, f_2⟩ − |f_2|²/2 of their features: largest where these are nearest.
    """

    points_1: Points
    points_2: Points
    likeness: NDArray[np.float32]
    _inverses: dict[int, FloatArray] = field(default_factory=dict)

    @classmethod
    def of(cls, points_1: Points, points_2: Points) -> Search:
        """Compare the features of two sets of points."""
        assert points_1.features is not None and points_2.features is not None
        middle = points_2.features.mean(axis=0)
        one = np.asarray(points_1.features - middle, dtype=np.float32)
        other = np.asarray(points_2.features - middle, dtype=np.float32)
        product = one @ other.T
        return cls(points_1, points_2, product - 0.5 * np.einsum("pd,pd->p", other, other))

    def zoom(self, functional: FloatArray, steps: Sequence[Step]) -> FloatArray:
        """The functional map after the steps, as [`zoom`][finsler.matching.refine.zoom] has it."""
        for step in steps:
            images = self._images(functional, step.weight)
            functional = self._inverse(step.size_1) @ self.points_2.basis[images, : step.size_2]
        return functional

    def _images(self, functional: FloatArray, weight: float) -> IntArray:
        """The nearest of points 2 in basis and features, for each of points 1."""
        k_1, k_2 = functional.shape
        here = self.points_1.basis[:, :k_1].astype(np.float32)
        there = (self.points_2.basis[:, :k_2] @ (functional.T / k_1)).astype(np.float32)
        score = here @ there.T
        score -= 0.5 * k_1 * np.einsum("pd,pd->p", there, there)
        score += np.float32(weight**2) * self.likeness
        return np.asarray(score.argmax(axis=1))

    def _inverse(self, size: int) -> FloatArray:
        """The weighted pseudo-inverse of the first functions on points 1, (size, p_1)."""
        if size not in self._inverses:
            basis = self.points_1.basis[:, :size]
            weighted = basis * self.points_1.weights[:, None]
            gram = weighted.T @ basis
            gram += 1e-9 * np.trace(gram) / size * np.eye(size)
            self._inverses[size] = np.asarray(np.linalg.solve(gram, weighted.T))
        return self._inverses[size]
