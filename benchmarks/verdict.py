"""How often is a right map called probably wrong, and a wrong one not?

Pairs of synthetic creatures of different bodies, whose truth is known. Maps are: the truth, all
candidates of the matcher, refined, and the truth with parts of the body exchanged. A map is right
where its mean error on the reference is below 0.05 √area and wrong where it is above 0.1; those
between are listed apart. Limits were chosen on creatures of seed 0; seed 1 took no part in that.

    python benchmarks/verdict.py [--pairs 10] [--vertices 1000] [--seeds 0,1]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from common import print_table, save
from finsler.analysis.geodesic import geodesic_matrix
from finsler.data import Shape, synthetic_collection
from finsler.data.partial import cut
from finsler.matching import Verdict, describe, refine, verdict
from finsler.matching.candidates import candidates
from finsler.matching.points import points_of
from finsler.matching.refine import last_step
from finsler.matching.summaries import principal_features
from finsler.mesh import TriMesh, surface_area
from finsler.typing import BoolArray, FloatArray, IntArray

RIGHT, WRONG = 0.05, 0.1
Row = dict[str, Any]
Motion = Callable[[FloatArray], FloatArray]
Region = Callable[[FloatArray], BoolArray]


def exchange(signs: tuple[int, int, int], where: Region = lambda p: p[:, 0] < np.inf) -> Motion:
    """Reflects points of the reference in the planes x, y, z = 0 whose sign is −1, some of them."""
    return lambda p: np.where(where(p)[:, None], p * np.array(signs), p)


# Wrong maps that are their own inverse: creatures face +z, and their left is +x.
EXCHANGES = {
    "humanoid": {
        "left and right exchanged": exchange((-1, 1, 1)),
        "turned about, front to back": exchange((-1, 1, -1)),
        "legs exchanged": exchange((-1, 1, 1), lambda p: p[:, 1] < 0.85),
        "arms exchanged": exchange((-1, 1, 1), lambda p: np.abs(p[:, 0]) > 0.25),
    },
    "quadruped": {
        "left and right exchanged": exchange((-1, 1, 1)),
        "turned about, front to back": exchange((-1, 1, -1)),
        "legs exchanged, left and right": exchange((-1, 1, 1), lambda p: p[:, 1] < 0.4),
        "legs exchanged, fore and hind": exchange((1, 1, -1), lambda p: p[:, 1] < 0.4),
    },
}


def moved(first: Shape, second: Shape, points: FloatArray, motion: Motion) -> IntArray:
    """The vertex of `second` whose label lies nearest to the moved label of each of `first`."""
    goals = motion(points[first.labels])
    return np.asarray(cKDTree(points[second.labels]).query(goals)[1], dtype=np.int64)


def refined_candidates(first: Shape, second: Shape) -> Iterator[tuple[IntArray, IntArray]]:
    """Maps both ways of all candidates of the matcher, that of least energy first."""
    a, b = (describe(shape.mesh, k=120) for shape in (first, second))
    features = principal_features(a.histograms, b.histograms, 64)
    whole = points_of(a.spectrum), points_of(b.spectrum)
    for candidate in candidates(a, b, *features):
        start = last_step(candidate.functional, *whole).map_12
        there = refine(start, a.spectrum, b.spectrum, first=60)
        back = last_step(there.functional.T, *whole[::-1]).map_12
        yield there.map_12, refine(back, b.spectrum, a.spectrum, first=60).map_12


def maps(species: str, pairs: int, vertices: int, seed: int) -> Iterator[Row]:
    """Every map with its true error and its verdict."""
    creatures = synthetic_collection(
        species, train=0, test=2 * pairs, poses=1, vertices=vertices, seed=seed
    )
    reference = creatures[creatures.reference].mesh
    points = reference.vertices
    apart = geodesic_matrix(reference, method="fmm") / np.sqrt(surface_area(reference))
    motions = {"truth": lambda p: p, **EXCHANGES[species]}

    def row(kind: str, one: Shape, other: Shape, map_12: IntArray, found: Verdict) -> Row:
        error = float(apart[one.labels, other.labels[map_12]].mean())
        return {
            "species": species,
            "seed": seed,
            "kind": kind,
            "error": error,
            "change": found.distance_change,
            "torn": found.torn_share,
            "orientation": found.orientation,
            "wrong": found.doubtful,
        }

    for number in range(pairs):
        one, other = (creatures[name] for name in creatures.test[2 * number : 2 * number + 2])
        for kind, motion in motions.items():
            both = moved(one, other, points, motion), moved(other, one, points, motion)
            yield row(kind, one, other, both[0], verdict(one.mesh, other.mesh, *both))
            # Bodies differ in size, and a part is given in the unit of the whole.
            unit = np.sqrt(surface_area(other.mesh) / surface_area(one.mesh))
            piece = cut(TriMesh(unit * one.mesh.vertices, one.mesh.faces), share=0.7, seed=number)
            kept = piece.vertex_map
            part = Shape(one.name, piece.mesh, one.labels[kept], one.named[kept])
            there = both[0][kept]
            found = verdict(part.mesh, other.mesh, there, both[1], partial=True)
            yield row(f"{kind}, of a part", part, other, there, found)
        for rank, both in enumerate(refined_candidates(one, other)):
            kind = "match" if rank == 0 else "other candidates"
            yield row(kind, one, other, both[0], verdict(one.mesh, other.mesh, *both))


def rates(rows: list[Row]) -> list[Row]:
    """Counts by kind of map: right, alarms among them; wrong, misses among them; between."""
    table = []
    for kind in [*dict.fromkeys(row["kind"] for row in rows), "all"]:
        some = [row for row in rows if kind in (row["kind"], "all")]
        right = [row["wrong"] for row in some if row["error"] < RIGHT]
        wrong = [row["wrong"] for row in some if row["error"] > WRONG]
        between = [row["wrong"] for row in some if RIGHT <= row["error"] <= WRONG]
        table.append(
            {
                "map": kind,
                "right": len(right),
                "false alarms": sum(right),
                "wrong": len(wrong),
                "misses": len(wrong) - sum(wrong),
                "between": len(between),
                "called wrong": sum(between),
            }
        )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=10, help="Of each species and seed.")
    parser.add_argument("--vertices", type=int, default=1000)
    parser.add_argument("--seeds", default="0,1")
    options = parser.parse_args()
    results = {}
    for seed in map(int, options.seeds.split(",")):
        rows = []
        for species in EXCHANGES:
            for row in maps(species, options.pairs, options.vertices, seed):
                rows.append(row)
                print({k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()})
        table = rates(rows)
        print_table(f"Seed {seed}", list(table[0]), [list(row.values()) for row in table])
        results[str(seed)] = {"rates": table, "maps": rows}
        save("verdict", results)


if __name__ == "__main__":
    main()
