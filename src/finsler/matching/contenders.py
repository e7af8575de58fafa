"""Different maps between two described surfaces, refined, the most probable first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from finsler.matching.bending import Bending, Ground, bend_and_zoom
from finsler.matching.candidates import EFFORTS, candidates, enriched
from finsler.matching.energy import Candidate
from finsler.matching.points import Refined, points_of
from finsler.matching.preference import Preference
from finsler.matching.refine import basis_sizes, elastic_steps
from finsler.matching.summaries import principal_features
from finsler.matching.surfaces import DescribedSurface
from finsler.matching.verdict import Verdict, measured_verdict

# Directions of the histograms that are kept, and growth of the basis in a step.
_FEATURES = 64
STEP = 70
# Candidates that are refined until one of them is as probable as the second number, and
# probability, knowing the others, at which no more are looked for.
_TRIED, _SURE, _CLEAR = 4, 0.975, 0.9
# Probability at which the first map of the model is taken without looking at others: that of maps
# between bodies alike that are right in every limb.
_ALONE = 0.992
# Share of the squares of features that is left out with the directions in which they vary little.
_LEFT_OUT = 1e-3
# Changes of distances in √area below this count the same when maps are weighed against each other.
_LEAST_CHANGE = 0.005
# Maps whose images are nearer to each other in the mean, in √area, are the same.
_SAME = 0.05


@dataclass(frozen=True, eq=False)
class Contender:
    """A refined map and what is known of it; `bending` is what its last rounds start from."""

    refined: Refined
    verdict: Verdict
    bending: Bending | None = None

    def polished(self) -> Contender:
        """The same after the last rounds, which move no vertex far."""
        return self if self.bending is None else replace(self, refined=self.bending.polished())


def contenders(
    first: DescribedSurface,
    second: DescribedSurface,
    *,
    alternatives: int = 0,
    partial: bool = False,
    seed: int = 0,
    progress: Callable[[str], None] = lambda stage: None,
) -> list[Contender]:
    """The best map and so many others that differ from it.

    Candidates are refined in the order of their energy until one is very probably right, at most
    four of them unless more alternatives are asked for; the best is that of the largest odds for
    how much it changes distances. With a model, the best of its own candidates comes first; others
    are looked for unless that is beyond doubt, or where alternatives are asked for.
    """
    features = principal_features(first.histograms, second.histograms, _FEATURES)
    first, second = in_few_directions(first, second)
    refined: list[Contender] = []
    for effort in _efforts(first, alternatives, partial):
        progress("candidates")
        ranked = candidates(*(first, second, *features), effort=effort, partial=partial, seed=seed)
        progress("refinement")
        for number, contender in enumerate(
            refined_candidates(first, second, features, ranked, partial, seed), start=1
        ):
            refined.append(contender)
            # Without a model nothing tells whether the map of a part is right.
            blind = partial and not first.features.shape[1]
            enough = contender.verdict.probability > _SURE or number >= _TRIED
            if (blind or enough or not effort) and len(_different(refined, second)) > alternatives:
                break
        different = _against_each_other(_different(refined, second))
        if different[0].verdict.probability > (_CLEAR if effort else _ALONE):
            break
    return [contender.polished() for contender in different[: 1 + alternatives]]


def _efforts(first: DescribedSurface, alternatives: int, partial: bool) -> tuple[int, ...]:
    """How hard to look for candidates, first and then."""
    if not first.features.shape[1]:
        return EFFORTS[-1:]
    if partial:
        return EFFORTS[:2]
    return EFFORTS[1:] if alternatives else EFFORTS


def in_few_directions(
    first: DescribedSurface, second: DescribedSurface
) -> tuple[DescribedSurface, DescribedSurface]:
    """Both surfaces with features in the directions in which these vary: some 70 instead of 256."""
    rows = np.concatenate([first.features, second.features]).astype(np.float64)
    if rows.shape[1] == 0:
        return first, second
    values, vectors = np.linalg.eigh(rows.T @ rows)
    missing = np.cumsum(np.maximum(values, 0.0)) / values.sum()
    axes = vectors[:, missing > _LEFT_OUT].astype(np.float32)
    one, other = (replace(surface, features=surface.features @ axes) for surface in (first, second))
    return one, other


def _against_each_other(different: list[Contender]) -> list[Contender]:
    """Maps with verdicts that know of each other: at most one of several can be right."""
    standings = np.array([_standing(contender.verdict) for contender in different])
    others = standings.sum() - standings
    return [
        replace(each, verdict=replace(each.verdict, rivals=float(other * _change(each.verdict))))
        for each, other in zip(different, others, strict=True)
    ]


def _standing(verdict: Verdict) -> float:
    """Odds among maps of one pair: of two, that with half the change of distances has twice these.

    How far distances change says little of a map by itself, as bodies differ; of maps between the
    same two bodies the one that changes them less is to be preferred.
    """
    return verdict.odds / _change(verdict)


def _change(verdict: Verdict) -> float:
    return max(verdict.distance_change, _LEAST_CHANGE)


def _different(refined: list[Contender], second: DescribedSurface) -> list[Contender]:
    """The maps that differ, the best first."""
    kept: list[Contender] = []
    for contender in sorted(refined, key=lambda each: -_standing(each.verdict)):
        if not any(_same(contender, other, second) for other in kept):
            kept.append(contender)
    return kept


def refined_candidates(
    first: DescribedSurface,
    second: DescribedSurface,
    features: tuple[np.ndarray, np.ndarray],
    ranked: list[Candidate],
    partial: bool,
    seed: int,
) -> Iterator[Contender]:
    """Each candidate refined, but for the last rounds, with its verdict."""
    whole = (
        enriched(points_of(first.spectrum, features[0]), first),
        enriched(points_of(second.spectrum, features[1]), second),
    )
    meshes = first.mesh, second.mesh
    ground = Ground.of(meshes, whole, partial=partial)
    preferences = Preference.of(first, second), Preference.of(second, first)
    sizes = basis_sizes(
        *(first.spectrum, second.spectrum),
        first=ranked[0].functional.shape[1],
        step=STEP,
        partial=partial,
    )
    for candidate in ranked:
        rng = np.random.default_rng(seed)
        bending = bend_and_zoom(ground, candidate.functional, elastic_steps(sizes), rng)
        said = full_verdict(bending.refined, *preferences, partial=partial)
        yield Contender(bending.refined, said, bending)


def full_verdict(
    refined: Refined, there: Preference, back: Preference, *, partial: bool = False
) -> Verdict:
    """The verdict on a map, with what the model prefers where there is one."""
    assert refined.map_21 is not None
    distances = there.one.distances, there.other.distances
    said = measured_verdict(*distances, refined.map_12, refined.map_21, partial=partial)
    if not there.one.features.shape[1]:
        return said
    shares = [there.elsewhere(refined.map_12)]
    if not partial:
        shares.append(back.elsewhere(refined.map_21))
    return replace(said, features=there.excess(refined.map_12), elsewhere=max(shares))


def _same(one: Contender, other: Contender, second: DescribedSurface) -> bool:
    points = second.mesh.vertices
    apart = points[one.refined.map_12] - points[other.refined.map_12]
    return float(np.linalg.norm(apart, axis=1).mean()) < _SAME
