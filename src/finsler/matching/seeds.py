"""First maps from descriptors: several candidates, and an energy that picks one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from finsler.matching.functional import functional_map, vertex_map
from finsler.matching.quality import orientation_share
from finsler.matching.refine import Points, Step, basis_sizes, points_of, sampled, zoom
from finsler.matching.surface import Surface
from finsler.mesh.trimesh import FloatArray, TriMesh

# Descriptors of the candidates: weights of small SHOT, large SHOT, wave kernel signatures.
_MIXTURES = ((1.0, 1.0, 1.0), (1.0, 0.0, 0.3), (0.0, 1.0, 1.0))
_SIZES = (20, 40)
# Rounds at the first size, and the weight of the features, first and then.
_ROUNDS = 5
_WEIGHT, _LATER = 0.5, 0.3
_LAST = 60
# Weight of the lack of commutativity in the energy.
_COMMUTATIVITY = 10.0
# Vertices that candidates are refined with, and faces that they are judged by.
_SAMPLES = 1500
_FACES = 700
# Guessed signs: how many, sizes of the functional maps, vertices, and how many guesses go on.
_SIGNS = 5
_GUESS_SIZES = (6, 6, 10, 14, 20, 20)
_GUESS_SAMPLES = 500
_GUESSES_KEPT = 2


@dataclass(frozen=True, eq=False)
class Candidate:
    """A functional map (k_1, k_2) with its energy; low is good."""

    functional: FloatArray
    energy: float


def best_seed(
    first: Surface,
    second: Surface,
    features_1: NDArray[np.float32],
    features_2: NDArray[np.float32],
    *,
    partial: bool = False,
    seed: int = 0,
) -> Candidate:
    """The candidate of least energy, already refined to a basis of about 60 functions."""
    return min(
        candidates(first, second, features_1, features_2, partial=partial, seed=seed),
        key=lambda candidate: candidate.energy,
    )


def candidates(
    first: Surface,
    second: Surface,
    features_1: NDArray[np.float32],
    features_2: NDArray[np.float32],
    *,
    partial: bool = False,
    seed: int = 0,
) -> list[Candidate]:
    """Maps from mixtures of descriptors and from guessed signs, refined and judged.

    Descriptors are projected to bases of 20 and 40 functions, in both directions. Descriptors that
    mislead leave a guess: between nearly isometric surfaces the first functional map is nearly
    diagonal with entries ±1, so all signs of five functions are tried (Ren et al. 2020); not for
    parts, whose functions have other frequencies.
    """
    rng = np.random.default_rng(seed)
    whole_1 = points_of(first.spectrum, features_1)
    whole_2 = points_of(second.spectrum, features_2)
    some_1, some_2 = sampled(whole_1, _SAMPLES, rng), sampled(whole_2, _SAMPLES, rng)
    judge = _Judge.of(first, second, whole_1, whole_2, rng)
    found = []
    for size in _SIZES:
        steps = _steps(first, second, size, partial)
        for mixture in _MIXTURES:
            for functional in _from_descriptors(first, second, mixture, steps[0]):
                found.append(judge.judged(zoom(functional, some_1, some_2, steps)))
    if not partial:
        few_1, few_2 = sampled(whole_1, _GUESS_SAMPLES, rng), sampled(whole_2, _GUESS_SAMPLES, rng)
        steps = _steps(first, second, _SIZES[0], partial)
        for functional in _from_signs(few_1, few_2, judge):
            found.append(judge.judged(zoom(functional, some_1, some_2, steps)))
    return found


def _from_signs(few_1: Points, few_2: Points, judge: _Judge) -> list[FloatArray]:
    """The best functional maps that grow from diagonal ones with entries ±1."""
    limit = few_1.basis.shape[1]
    steps = [Step(min(k, limit), min(k, limit), _WEIGHT) for k in _GUESS_SIZES]
    grown = [
        judge.judged(zoom(np.diag([1.0, *signs]), few_1, few_2, steps))
        for signs in product((1.0, -1.0), repeat=_SIGNS)
    ]
    grown.sort(key=lambda candidate: candidate.energy)
    return [candidate.functional for candidate in grown[:_GUESSES_KEPT]]


def _steps(first: Surface, second: Surface, size: int, partial: bool) -> list[Step]:
    sizes = basis_sizes(first.spectrum, second.spectrum, first=size, step=20, partial=partial)
    start = sizes[0]
    early = [Step(start.size_1, start.size_2, _WEIGHT)] * _ROUNDS
    late = [Step(s.size_1, s.size_2, _LATER) for s in sizes[1:] if s.size_2 <= _LAST]
    return [*early, *late]


def _from_descriptors(
    first: Surface, second: Surface, mixture: Sequence[float], size: Step
) -> tuple[FloatArray, FloatArray]:
    """The functional map of a mixture of descriptors, and the adjoint of that from 1 to 2."""
    descriptors_1: list[NDArray[np.floating]] = [*first.shot, first.signatures]
    descriptors_2: list[NDArray[np.floating]] = [*second.shot, second.signatures]
    left, right = [], []
    for weight, values_1, values_2 in zip(mixture, descriptors_1, descriptors_2, strict=True):
        if weight > 0.0:
            unit_1, unit_2 = _in_common_units(values_1, values_2, first.mass, second.mass)
            left.append(weight * first.spectrum.coefficients(unit_1)[: size.size_1])
            right.append(weight * second.spectrum.coefficients(unit_2)[: size.size_2])
    here = np.hstack(left), first.spectrum.eigenvalues[: size.size_1]
    there = np.hstack(right), second.spectrum.eigenvalues[: size.size_2]
    forward = functional_map(here[0], there[0], here[1], there[1])
    backward = functional_map(there[0], here[0], there[1], here[1])
    return forward, backward.T


def _in_common_units(
    values_1: NDArray[np.floating],
    values_2: NDArray[np.floating],
    mass_1: FloatArray,
    mass_2: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Descriptors divided so that their columns together have mean square 1."""
    square = 0.5 * (mass_1 @ values_1**2 / mass_1.sum() + mass_2 @ values_2**2 / mass_2.sum())
    scale = np.sqrt(square.mean())
    return values_1 / scale, values_2 / scale


@dataclass(frozen=True, eq=False)
class _Judge:
    """Faces of surface 1 by whose images maps are judged."""

    patch: TriMesh
    points: Points
    mesh_2: TriMesh
    whole_2: Points
    eigenvalues_1: FloatArray
    eigenvalues_2: FloatArray
    typical: float

    @classmethod
    def of(
        cls,
        first: Surface,
        second: Surface,
        whole_1: Points,
        whole_2: Points,
        rng: np.random.Generator,
    ) -> _Judge:
        faces = first.mesh.faces
        if len(faces) > _FACES:
            faces = faces[np.sort(rng.choice(len(faces), _FACES, replace=False))]
        used, corners = np.unique(faces, return_inverse=True)
        assert whole_1.features is not None and whole_2.features is not None
        points = Points(whole_1.basis[used], whole_1.weights[used], whole_1.features[used])
        patch = TriMesh(first.mesh.vertices[used], corners.reshape(-1, 3))
        other = whole_2.features[rng.integers(0, len(whole_2.features), len(used))]
        typical = float(((whole_1.features[used] - other) ** 2).sum(axis=1).mean())
        values = first.spectrum.eigenvalues, second.spectrum.eigenvalues
        return cls(patch, points, second.mesh, whole_2, *values, max(typical, 1e-12))

    def judged(self, functional: FloatArray) -> Candidate:
        """Energy: how far features are apart, 1 for a random map; the share of faces that arrive
        turned over; and ten times the mean of C_ij² (λ_i − μ_j)² / μ_k², summed over i."""
        found = vertex_map(functional, self.points.basis, self.whole_2.basis)
        assert self.points.features is not None and self.whole_2.features is not None
        apart = ((self.points.features - self.whole_2.features[found]) ** 2).sum(axis=1)
        features = float(np.average(apart, weights=self.points.weights)) / self.typical
        kept = orientation_share(self.patch, self.mesh_2, found)
        k_1, k_2 = functional.shape
        gap = self.eigenvalues_1[:k_1, None] - self.eigenvalues_2[None, :k_2]
        lack = float((functional**2 * (gap / self.eigenvalues_2[k_2 - 1]) ** 2).sum()) / k_2
        return Candidate(functional, features + 1.0 - kept + _COMMUTATIVITY * lack)
