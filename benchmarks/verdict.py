"""How often is a right map called doubtful, and a wrong one not? And with which weights?

Maps between people and between animals that the package makes, of many builds, poses and
triangulations, whose truth is known: what the matcher proposes with the model in the box and
without it, the four best candidates of each pair, refined. A map is right where its mean error is
below 0.06 √area and wrong where it is above 0.08; those between are left out. The weights of
`finsler.matching.verdict` were fitted on seed 31 (`--fit` prints such a fit); other seeds took no
part in that, nor did shapes that the model was trained on.

    python benchmarks/verdict.py [--shapes 24] [--seed 32] [--fit]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from common import print_table, save
from finsler.data import synthetic_collection
from finsler.matching import Verdict, describe
from finsler.matching.candidates import candidates
from finsler.matching.contenders import full_verdict, in_few_directions, refined_candidates
from finsler.matching.preference import Preference
from finsler.matching.summaries import principal_features
from finsler.matching.surfaces import DescribedSurface
from finsler.typing import FloatArray, IntArray

RIGHT, WRONG = 0.06, 0.08
SPECIES = ("person", "animal")
# Partners of shape i are i plus these; candidates of each pair that are refined.
STEPS, CANDIDATES = (1, 5), 4
# Rough sizes of the measures, so that one penalty serves for all weights, and its strength.
SCALES, PENALTY = np.array([1.0, 0.1, 0.02, 0.1, 0.15, 0.1]), 0.05


@dataclass(frozen=True)
class Row:
    """A map: who proposed it, its rank among the candidates, its true error, what is said of it."""

    species: str
    proposed: str
    rank: int
    error: float
    verdict: Verdict


def shapes(species: str, count: int, seed: int) -> list[tuple[DescribedSurface, IntArray]]:
    """Described surfaces, with the vertex of each at the points that correspond, or −1."""
    creatures = synthetic_collection(
        species, train=count, test=0, poses=1, vertices=3000, seed=seed
    )
    found = []
    for name in creatures.train:
        shape = creatures[name]
        surface = describe(shape.mesh)
        points = np.asarray(shape.points)
        found.append((surface, np.where(points >= 0, surface.unit.vertex_map[points], -1)))
    return found


def maps(species: str, count: int, seed: int) -> Iterator[Row]:
    """Every map with its true error and its verdict, which knows the features of the model."""
    made = shapes(species, count, seed)
    for i in range(count):
        for step in STEPS:
            (one, points_1), (other, points_2) = made[i], made[(i + step) % count]
            one, other = in_few_directions(one, other)
            preferences = Preference.of(one, other), Preference.of(other, one)
            known = (points_1 >= 0) & (points_2 >= 0)
            goals = other.mesh.vertices[points_2[known]]
            for proposed in ("model", "descriptors"):
                pair = (one, other) if proposed == "model" else (bare(one), bare(other))
                features = principal_features(one.histograms, other.histograms, 64)
                ranked = candidates(*pair, *features)[:CANDIDATES]
                for rank, found in enumerate(refined_candidates(*pair, features, ranked, False, 0)):
                    images = found.refined.map_12[points_1[known]]
                    error = np.linalg.norm(other.mesh.vertices[images] - goals, axis=1).mean()
                    said = full_verdict(found.refined, *preferences)
                    yield Row(species, proposed, rank, float(error), said)


def bare(surface: DescribedSurface) -> DescribedSurface:
    """The same without the features of the model."""
    return replace(surface, features=surface.features[:, :0], model="none")


def rates(rows: list[Row], *, model: bool) -> list[dict[str, object]]:
    """Right maps and alarms among them, wrong maps and misses, by who proposed them."""
    table: list[dict[str, object]] = []
    for proposed in ("model", "descriptors"):
        for first in (True, False):
            some = [r for r in rows if r.proposed == proposed and (r.rank == 0) == first]
            doubts = [
                (
                    r.error,
                    (
                        r.verdict
                        if model
                        else replace(r.verdict, features=np.nan, elsewhere=np.nan)
                    ).doubtful,
                )
                for r in some
            ]
            right = [doubt for error, doubt in doubts if error < RIGHT]
            wrong = [doubt for error, doubt in doubts if error > WRONG]
            table.append(
                {
                    "proposed by": proposed,
                    "candidate": "first" if first else "others",
                    "verdict": "with features" if model else "without",
                    "right": len(right),
                    "false alarms": sum(right),
                    "wrong": len(wrong),
                    "misses": len(wrong) - sum(wrong),
                }
            )
    return table


def fit(rows: list[Row], *, model: bool) -> FloatArray:
    """Weights: constant, change, torn, turned over, roots of features and of elsewhere."""
    clear = [r for r in rows if r.error < RIGHT or r.error > WRONG]
    sign = np.array([1.0 if r.error < RIGHT else -1.0 for r in clear])
    values = np.array(
        [
            [
                1.0,
                r.verdict.distance_change,
                min(r.verdict.torn_share, 0.1),
                1.0 - r.verdict.orientation,
                np.sqrt(max(r.verdict.features, 0.0)) if model else 0.0,
                np.sqrt(r.verdict.elsewhere) if model else 0.0,
            ]
            for r in clear
        ]
    )

    def loss(weights: FloatArray) -> float:
        odds = values @ (weights / SCALES)
        return float(np.logaddexp(0.0, -sign * odds).sum() + PENALTY * (weights[1:] ** 2).sum())

    # No measure speaks for a map; tearing and changes of distance and of orientation speak against
    # it at least a little, although these candidates hardly differ in them.
    bounds = [(None, None), (None, -0.2), (None, -0.2), (None, -0.8), (None, 0.0), (None, 0.0)]
    return np.asarray(minimize(loss, np.zeros(6), bounds=bounds).x / SCALES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shapes", type=int, default=24, help="Of each species.")
    parser.add_argument("--seed", type=int, default=32)
    parser.add_argument("--fit", action="store_true", help="Also fit weights to these maps.")
    options = parser.parse_args()
    rows = [row for kind in SPECIES for row in maps(kind, options.shapes, options.seed)]
    table = [row for model in (True, False) for row in rates(rows, model=model)]
    print_table(f"Seed {options.seed}", list(table[0]), [list(row.values()) for row in table])
    if options.fit:
        for model in (True, False):
            words = "with features" if model else "without"
            print(f"weights {words}: {fit(rows, model=model).round(2).tolist()}")
    save("verdict", {"seed": options.seed, "rates": table})


if __name__ == "__main__":
    main()
