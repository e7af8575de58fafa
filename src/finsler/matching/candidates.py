"""First maps: several candidates from descriptors and from guesses, of which one is picked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from finsler.matching.energy import Candidate, MapEnergy, mean_of
from finsler.matching.functional import functional_map, pull_back
from finsler.matching.points import Points, Step, points_of, sampled
from finsler.matching.refine import basis_sizes
from finsler.matching.search import Search
from finsler.matching.surfaces import DescribedSurface
from finsler.typing import FloatArray

EFFORTS = (0, 1, 2)
# Descriptors of the candidates: weights of small SHOT, large SHOT, wave kernel signatures.
_MIXTURES = ((1.0, 1.0, 1.0), (1.0, 0.0, 0.3), (0.0, 1.0, 1.0))
_SIZES = (20, 40)
# Rounds at the first size, and the weight of the features, first and then.
_ROUNDS = 5
_WEIGHT, _LATER = 0.5, 0.3
_LAST = 60
# Weight of the features of the model beside those of histograms.
_LEARNED = 2.0
# Vertices that candidates are refined with, at first and then.
_EARLY, _SAMPLES = 1000, 1500
# Guessed signs: how many, how often, sizes of the functional maps, vertices, and how many go on.
_SIGNS = 5
_DRAWS = 2
_GUESS_SIZES = (6, 6, 10, 14, 20, 20)
_GUESS_SAMPLES = 500
_GUESSES_KEPT = 4
# Faces of the energy at first and then, candidates that grow, and that have distances compared.
_FEW_FACES, _FACES = 150, 500
_GROWN, _FINALISTS = 8, 5
# Functional maps whose first entries differ by less, relative to their norm, are the same; one sign
# of twenty makes a difference of 0.45.
_SAME = 0.35


def candidates(
    first: DescribedSurface,
    second: DescribedSurface,
    features_1: NDArray[np.float32],
    features_2: NDArray[np.float32],
    *,
    effort: int = EFFORTS[-1],
    partial: bool = False,
    seed: int = 0,
) -> list[Candidate]:
    """The best maps from the model, from mixtures of descriptors and from guessed signs, scored.

    Of the efforts, 0 looks at maps of the model alone, 1 at all, and 2 at all that are grown from 1
    to 2 and, read backwards, from 2 to 1: either direction misses some that the other finds. The
    best different ones are scored in both directions, by geodesic distances too. For parts it is
    one direction and no distances, which may be longer there. The one of least energy comes first;
    all have bases of about 60 functions.
    """
    rng = np.random.default_rng(seed)
    whole_1 = points_of(first.spectrum, features_1)
    whole_2 = points_of(second.spectrum, features_2)
    there, energy = _grown(first, second, whole_1, whole_2, effort, partial, rng)
    if partial:
        return sorted(map(energy.score, there), key=lambda candidate: candidate.energy)
    if effort == EFFORTS[-1]:
        back, energy_back = _grown(second, first, whole_2, whole_1, effort, partial, rng)
    else:
        back, energy_back = [], MapEnergy.sample(second, first, whole_2, whole_1, rng, _FACES)

    def score(functional: FloatArray) -> Candidate:
        return mean_of(energy.score(functional), energy_back.score(functional.T))

    pooled = [*there, *(functional.T for functional in back)]
    finalists = [best.functional for best, _ in _best_different([(m, 0) for m in pooled], score)]
    forwards = [energy.score(functional) for functional in finalists[:_FINALISTS]]
    backwards = [energy_back.score(functional.T) for functional in finalists[:_FINALISTS]]
    both = zip(
        energy.score_distances(forwards, rng),
        energy_back.score_distances(backwards, rng),
        strict=True,
    )
    return sorted((mean_of(*pair) for pair in both), key=lambda candidate: candidate.energy)


def _grown(
    first: DescribedSurface,
    second: DescribedSurface,
    whole_1: Points,
    whole_2: Points,
    effort: int,
    partial: bool,
    rng: np.random.Generator,
) -> tuple[list[FloatArray], MapEnergy]:
    """Functional maps of about 60 functions, and the energy that they may be scored with.

    Descriptors are projected to bases of 20 and 40 functions, in both directions. Descriptors that
    mislead leave a guess: between nearly isometric surfaces the first functional map is nearly
    diagonal with entries ±1, so all signs of five functions are tried (Ren et al. 2020), on two
    samples of the vertices, but not for parts, whose functions have other frequencies. After a few
    rounds on few vertices, all but the eight best different ones are dropped; those grow.
    """
    few = MapEnergy.sample(first, second, whole_1, whole_2, rng, _FEW_FACES)
    rich_1, rich_2 = enriched(whole_1, first), enriched(whole_2, second)
    early = Search.of(sampled(rich_1, _EARLY, rng), sampled(rich_2, _EARLY, rng))
    started = []
    for size in _SIZES:
        step = _steps(first, second, size, partial)[0]
        for functional in _from_model(first, second, early, step, partial):
            started.append((early.zoom(functional, [step] * _ROUNDS), size))
        for mixture in _MIXTURES if effort else ():
            for functional in _from_descriptors(first, second, mixture, step):
                started.append((early.zoom(functional, [step] * _ROUNDS), size))
    if effort and not partial:
        step = _steps(first, second, _SIZES[0], partial)[0]
        for _ in range(_DRAWS):
            some = (sampled(points, _GUESS_SAMPLES, rng) for points in (rich_1, rich_2))
            for functional in _from_signs(Search.of(*some), few):
                started.append((early.zoom(functional, [step] * _ROUNDS), _SIZES[0]))
    energy = MapEnergy.sample(first, second, whole_1, whole_2, rng, _FACES)
    late = Search.of(sampled(rich_1, _SAMPLES, rng), sampled(rich_2, _SAMPLES, rng))
    grown = [
        late.zoom(candidate.functional, _steps(first, second, size, partial)[1:])
        for candidate, size in _best_different(started, few.score)
    ]
    # Between bodies that differ much, what the model finds is right where no isometry is.
    last = _steps(first, second, _SIZES[-1], partial)[-1]
    return [*_from_model(first, second, late, last, partial), *grown], energy


def enriched(points: Points, surface: DescribedSurface) -> Points:
    """With the features of the model beside the histograms."""
    assert points.features is not None
    both = np.hstack([points.features, _LEARNED * surface.features])
    return replace(points, features=both)


def _best_different(
    started: Sequence[tuple[FloatArray, int]], score: Callable[[FloatArray], Candidate]
) -> list[tuple[Candidate, int]]:
    """The maps of least energy, and their first size; of those that agree only the better one."""
    scored = [(score(functional), size) for functional, size in started]
    scored.sort(key=lambda pair: pair[0].energy)
    kept: list[tuple[Candidate, int]] = []
    for candidate, size in scored:
        if len(kept) < _GROWN and not any(
            _agree(candidate.functional, other.functional) for other, _ in kept
        ):
            kept.append((candidate, size))
    return kept


def _agree(one: FloatArray, other: FloatArray) -> bool:
    """Whether two functional maps have nearly the same first entries."""
    k_1, k_2 = np.minimum(one.shape, other.shape)
    a, b = one[:k_1, :k_2], other[:k_1, :k_2]
    return bool(np.linalg.norm(a - b) < _SAME * np.linalg.norm(a))


def _from_signs(search: Search, energy: MapEnergy) -> list[FloatArray]:
    """The best functional maps that grow from diagonal ones with entries ±1."""
    limit = search.points_1.basis.shape[1]
    steps = [Step(min(k, limit), min(k, limit), _WEIGHT) for k in _GUESS_SIZES]
    grown = [
        (search.zoom(np.diag([1.0, *signs]), steps), 0)
        for signs in product((1.0, -1.0), repeat=_SIGNS)
    ]
    return [
        candidate.functional
        for candidate, _ in _best_different(grown, energy.score)[:_GUESSES_KEPT]
    ]


def _steps(
    first: DescribedSurface, second: DescribedSurface, size: int, partial: bool
) -> list[Step]:
    """The step at a first size, and those that follow."""
    sizes = basis_sizes(first.spectrum, second.spectrum, first=size, step=20, partial=partial)
    start = Step(sizes[0].size_1, sizes[0].size_2, _WEIGHT)
    return [start, *(Step(s.size_1, s.size_2, _LATER) for s in sizes[1:] if s.size_2 <= _LAST)]


def _from_model(
    first: DescribedSurface, second: DescribedSurface, search: Search, size: Step, partial: bool
) -> list[FloatArray]:
    """The functional map of nearest features of the model, and the adjoint of that from 2 to 1.

    Of a part only the first: most of the whole has no partner there.
    """
    if first.features.shape[1] == 0:
        return []
    points_1, points_2 = search.points_1, search.points_2
    one, other = first.features[points_1.vertices], second.features[points_2.vertices]
    product = one @ other.T
    there = (product - 0.5 * (other**2).sum(axis=1)).argmax(axis=1)
    bases = points_1.basis[:, : size.size_1], points_2.basis[:, : size.size_2]
    forward = pull_back(there, *bases, points_1.weights)
    if partial:
        return [forward]
    back = (product.T - 0.5 * (one**2).sum(axis=1)).argmax(axis=1)
    backward = pull_back(back, *bases[::-1], points_2.weights)
    return [forward, backward.T]


def _from_descriptors(
    first: DescribedSurface, second: DescribedSurface, mixture: Sequence[float], size: Step
) -> tuple[FloatArray, FloatArray]:
    """The functional map of a mixture of descriptors, and the adjoint of that from 1 to 2."""
    left, right = [], []
    for weight, (a, square_1), (b, square_2) in zip(
        mixture, _descriptors(first), _descriptors(second), strict=True
    ):
        # Descriptors that are zero everywhere, as with too few neighbours, stay so.
        scale = np.sqrt(0.5 * (square_1 + square_2)) or 1.0
        if weight > 0.0:
            left.append(weight / scale * a[: size.size_1])
            right.append(weight / scale * b[: size.size_2])
    here = np.hstack(left).astype(np.float64), first.spectrum.eigenvalues[: len(left[0])]
    there = np.hstack(right).astype(np.float64), second.spectrum.eigenvalues[: len(right[0])]
    forward = functional_map(here[0], there[0], here[1], there[1])
    backward = functional_map(there[0], here[0], there[1], here[1])
    return forward, backward.T


def _descriptors(surface: DescribedSurface) -> list[tuple[NDArray[np.float32], float]]:
    """Coefficients of small SHOT, large SHOT and signatures, and the mean square of each."""
    histograms, signatures = surface.histograms, surface.signatures
    small, large = np.hsplit(histograms.coefficients, 2)
    return [
        (small, float(histograms.squares[0])),
        (large, float(histograms.squares[1])),
        (signatures.coefficients, signatures.square),
    ]
