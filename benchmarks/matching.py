"""How good is training-free matching, in which basis, and what does it cost?

Mean geodesic error × 100, divided by √area of the target: fast marching distance between the
predicted and the true vertex of B, at up to 400 vertices of A whose truth is given on both. Pairs
are neighbours in a list that alternates between the ends of the test split (all shapes where there
is no such split), so that on FAUST_r the two are of different people. Flipped are pairs whose map
turns most of the surface over. Doubtful are vertices whose confidence is below 0.5: their share,
and the mean error of these and of the others.

    python benchmarks/matching.py faust_r:FAUST_r scape_r:SCAPE_r [--pairs 10]
        [--operators lbo,albo,flbo] [--alpha 1] [--large 50000] [--search]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from common import median_time, peak_memory_gib, print_table, save
from finsler import Laplacian, TriMesh, albo, flbo, geodesic_matrix, lbo, primitives
from finsler.data import Collection, Shape, open_collection
from finsler.matching import Match, match, nearest_rows
from finsler.mesh import surface_area
from finsler.metric import curvature_strength, tau_of_strength

POINTS = 400
Result = dict[str, Any]


def operators(alpha: float) -> dict[str, Callable[[TriMesh], Laplacian]]:
    def curved(mesh: TriMesh) -> Laplacian:
        strength = curvature_strength(mesh, peak=0.9, where="curved")
        return flbo(mesh, alpha=alpha, tau=tau_of_strength(mesh, strength, alpha=alpha))

    return {"lbo": lbo, "albo": lambda mesh: albo(mesh, alpha=alpha), "flbo": curved}


def pairs_of(collection: Collection, count: int) -> list[tuple[str, str]]:
    names = list(collection.test or collection.names)
    half = len(names) // 2
    mixed = [name for pair in zip(names[:half], names[half:], strict=False) for name in pair]
    return [(mixed[i], mixed[(i + 1) % len(mixed)]) for i in range(min(count, len(mixed)))]


def errors(first: Shape, second: Shape, found: Match) -> tuple[np.ndarray[Any, Any], Any]:
    """Errors × 100 at some vertices of the first shape, and whether they are doubtful."""
    inverse = np.full(max(first.labels.max(), second.labels.max()) + 1, -1)
    named = np.flatnonzero(second.exact)
    inverse[second.labels[named]] = named
    a = np.flatnonzero(first.exact)
    a = a[inverse[first.labels[a]] >= 0]
    a = np.random.default_rng(0).permutation(a)[:POINTS]
    b = inverse[first.labels[a]]
    rows = geodesic_matrix(second.mesh, b, method="fmm", dtype=np.float32)
    distance = rows[np.arange(len(b)), found.map_12[a]] / np.sqrt(surface_area(second.mesh))
    return 100.0 * distance, found.confidence[a] < 0.5


def accuracy(name: str, count: int, chosen: list[str], alpha: float) -> list[Result]:
    collection = open_collection(name)
    rows = []
    for label in chosen:
        operator = operators(alpha)[label]
        means, seconds, every, doubtful, flips = [], [], [], [], 0
        for one, other in pairs_of(collection, count):
            first, second = collection[one], collection[other]
            start = time.perf_counter(), time.process_time()
            found = match(first.mesh, second.mesh, operator=operator)
            seconds.append((time.perf_counter() - start[0], time.process_time() - start[1]))
            error, doubt = errors(first, second, found)
            means.append(float(error.mean()))
            every.append(error)
            doubtful.append(doubt)
            flips += found.orientation < 0.5
            print(f"{collection.name} {label} {one} {other} {means[-1]:.2f}", flush=True)
        found_errors, doubts = np.concatenate(every), np.concatenate(doubtful)
        rows.append(
            {
                "collection": collection.name,
                "operator": label,
                "pairs": len(means),
                "mean": statistics.mean(means),
                "median": statistics.median(means),
                "worst": max(means),
                "above 5": sum(mean > 5.0 for mean in means),
                "flipped": flips,
                "doubtful, %": 100 * float(doubts.mean()),
                "error there": float(found_errors[doubts].mean()) if doubts.any() else None,
                "elsewhere": float(found_errors[~doubts].mean()),
                "s/pair": statistics.median(wall for wall, _ in seconds),
                "CPU s/pair": statistics.median(cpu for _, cpu in seconds),
            }
        )
    return rows


def search() -> list[Result]:
    """Nearest rows of 5,000 among 5,000, by product and by tree."""
    rng = np.random.default_rng(0)
    rows = []
    for dimension in (20, 100, 200):
        points = rng.normal(size=(5000, dimension)) / np.arange(1, dimension + 1) ** 0.5
        queries = points[::-1] + 0.1 * rng.normal(size=points.shape)

        def tree(points: Any = points, queries: Any = queries) -> object:
            return cKDTree(points).query(queries, workers=-1)

        def brute(points: Any = points, queries: Any = queries) -> object:
            return nearest_rows(queries, points)

        product, kd = median_time(brute, 3), median_time(tree, 1)
        rows.append(
            {"dimension": dimension, "product, s": product, "tree, s": kd, "ratio": kd / product}
        )
    return rows


def large(size: int) -> Result:
    """A bumpy sphere of about `size` vertices onto another with two thirds of them, turned."""
    meshes = [primitives.bumpy_sphere(round(np.sqrt(n / 10))) for n in (size, 2 * size / 3)]
    turned = TriMesh(7.0 * meshes[1].vertices[:, [2, 0, 1]], meshes[1].faces)
    start = time.perf_counter(), time.process_time()
    found = match(meshes[0], turned)
    seconds, cpu = time.perf_counter() - start[0], time.process_time() - start[1]
    apart = np.linalg.norm(meshes[0].vertices - meshes[1].vertices[found.map_12], axis=1)
    return {
        "vertices": [mesh.n_vertices for mesh in meshes],
        "s": seconds,
        "CPU s": cpu,
        "mean straight error x 100": 100 * float(apart.mean()) / surface_area(meshes[0]) ** 0.5,
        "GiB": peak_memory_gib(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collections", nargs="*")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--operators", default="lbo,albo,flbo")
    parser.add_argument("--alpha", type=float, default=1.0)
    parser.add_argument("--large", type=int, default=0)
    parser.add_argument("--search", action="store_true")
    options = parser.parse_args()
    chosen = options.operators.split(",")
    results: Result = {"alpha": options.alpha}
    rows = [
        row
        for name in options.collections
        for row in accuracy(name, options.pairs, chosen, options.alpha)
    ]
    if rows:
        print_table("Matching", list(rows[0]), [list(row.values()) for row in rows])
        results["accuracy"] = rows
    if options.search:
        found = search()
        print_table("Search", list(found[0]), [list(row.values()) for row in found])
        results["search"] = found
    if options.large:
        results["large"] = large(options.large)
        print(results["large"])
    save("matching", results)


if __name__ == "__main__":
    main()
