"""How often is a right map called doubtful, and a wrong one not? And with which weights?

Maps between people and between animals that the package makes, of many builds, poses and
triangulations, whose truth is known: what the matcher proposes with the model in the box and
without it, the four best candidates of each pair, refined. With `--parts` the first shape of each
pair is cut off by a plane or eaten away by discs. A map is right where its mean error is below
0.06 √area and wrong where it is above 0.08; those between are left out. The weights of
`finsler.matching.verdict` were fitted on seed 31 (`--fit` prints such a fit); other seeds took no
part in that, nor did shapes that the model was trained on.

    python benchmarks/verdict.py [--shapes 24] [--seed 32] [--parts] [--fit]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from common import print_table, save
from finsler import TriMesh, lbo
from finsler.data import Shape, cut, holes, synthetic_collection
from finsler.data.partial import Partial
from finsler.descriptors.learned import feature_models
from finsler.errors import InputError
from finsler.matching import Verdict, describe
from finsler.matching.candidates import candidates
from finsler.matching.contenders import full_verdict, in_few_directions, refined_candidates
from finsler.matching.match import UnitPair
from finsler.matching.preference import Preference
from finsler.matching.summaries import principal_features
from finsler.matching.surfaces import DescribedSurface, Processor
from finsler.mesh import surface_area
from finsler.typing import FloatArray, IntArray

RIGHT, WRONG = 0.06, 0.08
SPECIES = ("person", "animal")
# Partners of shape i are i plus these; candidates of each pair that are refined.
STEPS, CANDIDATES = (1, 5), 4
# Functions in the bases, as in `finsler match`; shares of the area that parts keep.
FUNCTIONS, SHARES = 200, (0.4, 0.9)
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


@dataclass(frozen=True, eq=False)
class Known:
    """A mesh or described surface and its vertex at each of the points that correspond, or −1."""

    surface: TriMesh | DescribedSurface
    points: IntArray


def known_pairs(
    species: str, count: int, seed: int, partial: bool
) -> Iterator[tuple[Known, Known]]:
    """Each shape with two others; parts of it if that is asked for."""
    creatures = synthetic_collection(
        species, train=count, test=0, poses=1, vertices=3000, seed=seed
    )
    made = [creatures[name] for name in creatures.train]
    rng = np.random.default_rng(seed)
    surfaces = [shape.mesh if partial else describe(shape.mesh) for shape in made]
    for i, shape in enumerate(made):
        for step in STEPS:
            j = (i + step) % count
            other = Known(surfaces[j], np.asarray(made[j].points))
            if not partial:
                yield Known(surfaces[i], np.asarray(shape.points)), other
            elif (part := part_of(shape.mesh, rng)) is not None:
                yield part_in_unit(shape, part, surface_area(made[j].mesh)), other


def part_of(mesh: TriMesh, rng: np.random.Generator) -> Partial | None:
    """What a plane or several discs leave of a mesh; None if no share near the drawn one exists."""
    share, seed = rng.uniform(*SHARES), int(rng.integers(2**31))
    try:
        if rng.random() < 0.5:
            return cut(mesh, share=share, seed=seed)
        return holes(mesh, share=share, seed=seed, seeds=int(rng.integers(3, 16)))
    except InputError:
        return None


def part_in_unit(shape: Shape, part: Partial, area: float) -> Known:
    """The part of a shape that has been rescaled to an area."""
    number = np.full(shape.mesh.n_vertices + 1, -1)
    number[part.vertex_map] = np.arange(len(part.vertex_map))
    scale = np.sqrt(area / surface_area(shape.mesh))
    mesh = TriMesh(scale * part.mesh.vertices, part.mesh.faces)
    return Known(mesh, number[np.asarray(shape.points)])


def maps(species: str, count: int, seed: int, partial: bool) -> Iterator[Row]:
    """Every map with its true error and its verdict, which knows the features of the model."""
    models = feature_models("box")
    assert models is not None
    models = models.for_parts() if partial else models
    for known in known_pairs(species, count, seed, partial):
        pair = UnitPair.of(*(each.surface for each in known), partial=partial)
        one, other = pair.described(FUNCTIONS, lbo, models, None, Processor(), lambda stage: None)
        points_1, points_2 = (
            np.where(each.points >= 0, surface.unit.vertex_map[each.points], -1)
            for each, surface in zip(known, (one, other), strict=True)
        )
        one, other = in_few_directions(one, other)
        preferences = Preference.of(one, other), Preference.of(other, one)
        seen = (points_1 >= 0) & (points_2 >= 0)
        goals = other.mesh.vertices[points_2[seen]]
        for proposed in ("model", "descriptors"):
            both = (one, other) if proposed == "model" else (bare(one), bare(other))
            features = principal_features(one.histograms, other.histograms, 64)
            ranked = candidates(*both, *features, partial=partial)[:CANDIDATES]
            refined = refined_candidates(*both, features, ranked, partial, 0)
            for rank, found in enumerate(refined):
                images = found.refined.map_12[points_1[seen]]
                error = np.linalg.norm(other.mesh.vertices[images] - goals, axis=1).mean()
                said = full_verdict(found.refined, *preferences, partial=partial)
                yield Row(species, proposed, rank, float(error), said)


def bare(surface: DescribedSurface) -> DescribedSurface:
    """The same without the features of the model."""
    return replace(surface, features=surface.features[:, :0], model="none")


def without_features(said: Verdict) -> Verdict:
    """The verdict where no model was asked."""
    return replace(said, features=np.nan, elsewhere=np.nan)


def rates(rows: list[Row], *, model: bool) -> list[dict[str, object]]:
    """Right maps and alarms among them, wrong maps and misses, by who proposed them."""
    table: list[dict[str, object]] = []
    for proposed in ("model", "descriptors"):
        for first in (True, False):
            some = [r for r in rows if r.proposed == proposed and (r.rank == 0) == first]
            doubts = [
                (r.error, (r.verdict if model else without_features(r.verdict)).doubtful)
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
    """Weights of `Verdict.measures`."""
    clear = [r for r in rows if r.error < RIGHT or r.error > WRONG]
    sign = np.array([1.0 if r.error < RIGHT else -1.0 for r in clear])
    values = np.array(
        [(r.verdict if model else without_features(r.verdict)).measures for r in clear]
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
    parser.add_argument("--parts", action="store_true", help="Match parts to wholes.")
    parser.add_argument("--fit", action="store_true", help="Also fit weights to these maps.")
    options = parser.parse_args()
    rows = [
        row for kind in SPECIES for row in maps(kind, options.shapes, options.seed, options.parts)
    ]
    table = [row for model in (True, False) for row in rates(rows, model=model)]
    print_table(f"Seed {options.seed}", list(table[0]), [list(row.values()) for row in table])
    if options.fit:
        for model in (True, False):
            words = "with features" if model else "without"
            print(f"weights {words}: {fit(rows, model=model).round(2).tolist()}")
    save("verdict", {"seed": options.seed, "parts": options.parts, "rates": table})


if __name__ == "__main__":
    main()
