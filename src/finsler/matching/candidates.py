"""First maps: several candidates from descriptors and from guesses, of which one is picked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from finsler.matching.energy import Candidate, MapEnergy
from finsler.matching.functional import functional_map
from finsler.matching.points import Points, Step, points_of, sampled
from finsler.matching.refine import basis_sizes, zoom
from finsler.matching.surfaces import DescribedSurface
from finsler.typing import FloatArray

# Descriptors of the candidates: weights of small SHOT, large SHOT, wave kernel signatures.
_MIXTURES = ((1.0, 1.0, 1.0), (1.0, 0.0, 0.3), (0.0, 1.0, 1.0))
_SIZES = (20, 40)
# Rounds at the first size, and the weight of the features, first and then.
_ROUNDS = 5
_WEIGHT, _LATER = 0.5, 0.3
_LAST = 60
# Vertices that candidates are refined with, and how many have their distances compared.
_SAMPLES = 1500
_FINALISTS = 10
# Guessed signs: how many, how often, sizes of the functional maps, vertices, and how many go on.
_SIGNS = 5
_DRAWS = 2
_GUESS_SIZES = (6, 6, 10, 14, 20, 20)
_GUESS_SAMPLES = 500
_GUESSES_KEPT = 4


def candidates(
    first: DescribedSurface,
    second: DescribedSurface,
    features_1: NDArray[np.float32],
    features_2: NDArray[np.float32],
    *,
    partial: bool = False,
    seed: int = 0,
) -> list[Candidate]:
    """The best maps from mixtures of descriptors and from guessed signs, refined and scored.

    Descriptors are projected to bases of 20 and 40 functions, in both directions. Descriptors that
    mislead leave a guess: between nearly isometric surfaces the first functional map is nearly
    diagonal with entries ±1, so all signs of five functions are tried (Ren et al. 2020), on two
    samples of the vertices. The ten best are scored by geodesic distances too. Neither is done for
    parts, whose functions have other frequencies and whose distances may be longer. The one of
    least energy comes first; all have bases of about 60 functions.
    """
    rng = np.random.default_rng(seed)
    whole_1 = points_of(first.spectrum, features_1)
    whole_2 = points_of(second.spectrum, features_2)
    some_1, some_2 = sampled(whole_1, _SAMPLES, rng), sampled(whole_2, _SAMPLES, rng)
    energy = MapEnergy.sample(first, second, whole_1, whole_2, rng)
    scored = []
    for size in _SIZES:
        steps = _steps(first, second, size, partial)
        for mixture in _MIXTURES:
            for functional in _from_descriptors(first, second, mixture, steps[0]):
                scored.append(energy.score(zoom(functional, some_1, some_2, steps)))
    if not partial:
        steps = _steps(first, second, _SIZES[0], partial)
        for _ in range(_DRAWS):
            few_1 = sampled(whole_1, _GUESS_SAMPLES, rng)
            few_2 = sampled(whole_2, _GUESS_SAMPLES, rng)
            for functional in _from_signs(few_1, few_2, energy):
                scored.append(energy.score(zoom(functional, some_1, some_2, steps)))
    scored.sort(key=lambda candidate: candidate.energy)
    if partial:
        return scored
    finalists = energy.score_distances(scored[:_FINALISTS], rng)
    return sorted(finalists, key=lambda candidate: candidate.energy)


def _from_signs(few_1: Points, few_2: Points, energy: MapEnergy) -> list[FloatArray]:
    """The best functional maps that grow from diagonal ones with entries ±1."""
    limit = few_1.basis.shape[1]
    steps = [Step(min(k, limit), min(k, limit), _WEIGHT) for k in _GUESS_SIZES]
    grown = [
        energy.score(zoom(np.diag([1.0, *signs]), few_1, few_2, steps))
        for signs in product((1.0, -1.0), repeat=_SIGNS)
    ]
    grown.sort(key=lambda candidate: candidate.energy)
    return [candidate.functional for candidate in grown[:_GUESSES_KEPT]]


def _steps(
    first: DescribedSurface, second: DescribedSurface, size: int, partial: bool
) -> list[Step]:
    sizes = basis_sizes(first.spectrum, second.spectrum, first=size, step=20, partial=partial)
    start = sizes[0]
    early = [Step(start.size_1, start.size_2, _WEIGHT)] * _ROUNDS
    late = [Step(s.size_1, s.size_2, _LATER) for s in sizes[1:] if s.size_2 <= _LAST]
    return [*early, *late]


def _from_descriptors(
    first: DescribedSurface, second: DescribedSurface, mixture: Sequence[float], size: Step
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
    # Descriptors that are zero everywhere, as with too few neighbours, stay so.
    scale = np.sqrt(square.mean()) or 1.0
    return values_1 / scale, values_2 / scale
