"""How good is training-free matching, in which basis, and what does it cost?

Mean geodesic error × 100, divided by √area of the target: fast marching distance between the
predicted and the true vertex of B, at up to 400 vertices of A whose truth is given on both, and
the share within 0.05 and 0.1. Flipped are pairs whose map turns most of the surface over, called
wrong those of which the verdict says so. ρ is
Spearman's correlation of error and expected error, the mean over pairs; the last two errors are
those of the half of the vertices with the higher confidence in each pair, and of the other half.

Weights and sizes were chosen, and failures studied, on the tuning pairs; the held-out pairs took no
part in that, though on FAUST_r and SCAPE_r their shapes did, in other pairs.

    python benchmarks/matching.py faust_r:FAUST_r scape_r:SCAPE_r tosca_r:TOSCA_r:dog [--pairs 10]
        [--set held-out] [--operators lbo,albo,flbo] [--alpha 1] [--curves FOLDER]
        [--part 0.7] [--large 50000] [--search]
        [--model CHECKPOINT [--vertices 800]]
"""

from __future__ import annotations

import argparse
import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from scipy.stats import spearmanr

from common import median_time, peak_memory_gib, print_table, save
from finsler import Laplacian, TriMesh, albo, flbo, geodesic_matrix, lbo, primitives
from finsler.data import Collection, Shape, open_collection, synthetic_collection
from finsler.data.partial import cut
from finsler.matching import Match, learned_map, match, nearest_rows
from finsler.mesh import surface_area
from finsler.metric import curvature_strength, tau_of_strength
from finsler.typing import FloatArray

POINTS = 400
Result = dict[str, Any]


def operators(alpha: float) -> dict[str, Callable[[TriMesh], Laplacian]]:
    def curved(mesh: TriMesh) -> Laplacian:
        strength = curvature_strength(mesh, peak=0.9, where="curved")
        return flbo(mesh, alpha=alpha, tau=tau_of_strength(mesh, strength, alpha=alpha))

    return {"lbo": lbo, "albo": lambda mesh: albo(mesh, alpha=alpha), "flbo": curved}


# Number of A and number of B, by collection.
TUNING = {
    "FAUST_r": "80-90 90-81 81-91 91-82 82-92 92-83 83-93 93-84 82-96 83-97 86-90",
    "SCAPE_r": "52-62 62-53 53-63 63-54 54-64 64-55 55-65 65-56 55-69",
    "TOSCA_r cat": "8-9 9-8",
    "TOSCA_r horse": "15-17 17-15",
    "TOSCA_r michael": "16-18 18-17",
}
HELD_OUT = {
    "FAUST_r": "80-97 81-98 82-99 83-90 84-91 85-92 86-93 87-94 88-95 89-96",
    "SCAPE_r": "52-69 53-70 54-71 55-62 56-63 57-64 58-65 59-66 60-67 61-68",
    "TOSCA_r cat": "0-5",
    "TOSCA_r centaur": "0-3 1-5",
    "TOSCA_r david": "0-10 6-12",
    "TOSCA_r dog": "0-5 2-8",
    "TOSCA_r horse": "0-10",
    "TOSCA_r michael": "2-12",
    "TOSCA_r victoria": "0-10 4-21",
    "TOSCA_r wolf": "0-1 1-2",
}


def pairs_of(collection: Collection, chosen: dict[str, str], count: int) -> list[tuple[str, str]]:
    """The first pairs of a set, as names of shapes."""
    by_number = {int(re.findall(r"\d+", name)[-1]): name for name in collection.names}
    pairs = [pair.split("-") for pair in chosen.get(collection.name, "").split()]
    return [(by_number[int(a)], by_number[int(b)]) for a, b in pairs[:count]]


def errors(first: Shape, second: Shape, result: Match) -> tuple[FloatArray, FloatArray]:
    """Errors × 100 at some vertices of the first shape, and what was expected."""
    inverse = np.full(max(first.labels.max(), second.labels.max()) + 1, -1)
    named = np.flatnonzero(second.named)
    inverse[second.labels[named]] = named
    a = np.flatnonzero(first.named)
    a = a[inverse[first.labels[a]] >= 0]
    a = np.random.default_rng(0).permutation(a)[:POINTS]
    b = inverse[first.labels[a]]
    rows = geodesic_matrix(second.mesh, b, method="fmm", dtype=np.float32)
    distance = rows[np.arange(len(b)), result.map_12[a]] / np.sqrt(surface_area(second.mesh))
    return 100.0 * distance, result.expected[a]


def part_of(shape: Shape, share: float) -> Shape:
    """What a plane leaves of a shape: that share of its area."""
    part = cut(shape.mesh, share=share, seed=0)
    kept = part.vertex_map
    return Shape(shape.name, part.mesh, shape.labels[kept], shape.named[kept])


def one_pair(
    first: Shape, second: Shape, operator: Callable[[TriMesh], Laplacian], *, partial: bool
) -> Result:
    start = time.perf_counter(), time.process_time()
    result = match(first.mesh, second.mesh, operator=operator, partial=partial)
    seconds = time.perf_counter() - start[0], time.process_time() - start[1]
    error, expected = errors(first, second, result)
    order = np.argsort(expected, kind="stable")
    half = len(order) // 2
    return {
        "errors": error,
        "mean": float(error.mean()),
        "within 0.05, %": 100 * float((error <= 5.0).mean()),
        "within 0.1, %": 100 * float((error <= 10.0).mean()),
        "flipped": float(result.orientation < 0.5),
        "called wrong": float(result.verdict.probably_wrong),
        "ρ": float(spearmanr(expected, error)[0]),
        "confident half": float(error[order[:half]].mean()),
        "other half": float(error[order[half:]].mean()),
        "confidence": float(result.confidence.mean()),
        "s/pair": seconds[0],
        "CPU s/pair": seconds[1],
    }


def accuracy(
    name: str, chosen: dict[str, str], count: int, labels: list[str], alpha: float, share: float
) -> list[Result]:
    collection, partial = open_collection(name), share < 1.0
    found: dict[str, list[Result]] = {label: [] for label in labels}
    for one, other in pairs_of(collection, chosen, count):
        first = part_of(collection[one], share) if partial else collection[one]
        for label in labels:
            operator = operators(alpha)[label]
            row = one_pair(first, collection[other], operator, partial=partial)
            found[label].append(row)
            figures = " ".join(f"{key} {row[key]:.3g}" for key in row if key != "errors")
            print(f"{collection.name} {label} {one} {other}: {figures}", flush=True)
    return [
        {
            "collection": collection.name,
            "operator": label,
            "pairs": len(rows),
            "worst": max(row["mean"] for row in rows),
            **{
                key: statistics.mean(row[key] for row in rows) for key in rows[0] if key != "errors"
            },
            "errors": np.concatenate([row["errors"] for row in rows]),
        }
        for label, rows in found.items()
        if rows
    ]


def draw_curves(folder: Path, rows: list[Result]) -> None:
    """One picture for each data set, categories of it together: a curve for each basis."""
    from finsler.view import plot_error_curves

    radii = np.linspace(0.0, 0.1, 101)
    found: dict[str, dict[str, list[FloatArray]]] = {}
    for row in rows:
        curves = found.setdefault(row["collection"].split()[0], {})
        curves.setdefault(row["operator"].upper(), []).append(row["errors"])
    for name, curves in found.items():
        shares = {
            label: (radii, [(np.concatenate(parts) <= 100.0 * r).mean() for r in radii])
            for label, parts in curves.items()
        }
        print(plot_error_curves(folder / f"matching_{name.lower()}.png", shares, title=name))


def learned(checkpoint: Path, vertices: int, count: int) -> list[Result]:
    """A network that was trained on synthetic people, on pairs of others; errors on the reference.

    The same pairs with the map of the network, with that map refined, and without the network.
    """
    people = synthetic_collection(
        "humanoid", train=0, test=count, poses=2, vertices=vertices, seed=1
    )
    reference = people[people.reference].mesh
    distance = 100.0 * geodesic_matrix(reference, method="fmm") / np.sqrt(surface_area(reference))
    found: dict[str, list[FloatArray]] = {"network": [], "network, refined": [], "no network": []}
    for i, name in enumerate(people.test):
        # The partner is of another body.
        first, second = people[name], people[people.test[(i + 3) % count]]
        start = learned_map(checkpoint, first.mesh, second.mesh)
        refined = match(first.mesh, second.mesh, initial=start.map_12, trust=start.trust)
        maps = start.map_12, refined.map_12, match(first.mesh, second.mesh).map_12
        for errors_of, map_12 in zip(found.values(), maps, strict=True):
            errors_of.append(distance[first.labels, second.labels[map_12]])
    return [
        {
            "map": label,
            "pairs": len(rows),
            "mean": float(np.mean(rows)),
            "worst pair": max(float(row.mean()) for row in rows),
            "within 0.05, %": 100 * float((np.array(rows) <= 5.0).mean()),
            "within 0.1, %": 100 * float((np.array(rows) <= 10.0).mean()),
        }
        for label, rows in found.items()
    ]


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
    parser.add_argument("--set", choices=("tuning", "held-out"), default="held-out")
    parser.add_argument("--operators", default="lbo,albo,flbo")
    parser.add_argument("--alpha", type=float, default=1.0)
    parser.add_argument("--part", type=float, default=1.0, help="Share of A that a plane leaves.")
    parser.add_argument("--curves", type=Path, help="Folder for pictures of the error curves.")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--vertices", type=int, default=800, help="Of the people for --model.")
    parser.add_argument("--large", type=int, default=0)
    parser.add_argument("--search", action="store_true")
    options = parser.parse_args()
    chosen = options.operators.split(",")
    pairs = TUNING if options.set == "tuning" else HELD_OUT
    results: Result = {"set": options.set, "alpha": options.alpha, "part": options.part}
    rows = [
        row
        for name in options.collections
        for row in accuracy(name, pairs, options.pairs, chosen, options.alpha, options.part)
    ]
    if rows and options.curves:
        draw_curves(options.curves, rows)
    for row in rows:
        del row["errors"]
    if rows:
        print_table("Matching", list(rows[0]), [list(row.values()) for row in rows])
        results["accuracy"] = rows
    if options.model:
        found = learned(options.model, options.vertices, options.pairs)
        print_table("Learned", list(found[0]), [list(row.values()) for row in found])
        results["learned"] = found
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
