"""What do the distances of a reference shape cost by method, how far off are they, and scoring?

"heat" and "fmm" compute the whole matrix as `reference_distances` does; "exact" some rows, and its
time is scaled to all. Errors are those of the same rows against "exact", by distance: at most 0.02
√area is about one edge. Scoring is `evaluate` on shapes with one prediction for each vertex, a
random one for half of them, from the matrix and without it.

    python benchmarks/evaluation.py [--size 5000] [--rows 40] [--shapes 20]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from typing import Any

import numpy as np

from common import median_time, peak_memory_gib, print_table, save
from finsler import TriMesh, geodesic_matrix, primitives
from finsler.data import Collection, Shape
from finsler.evaluation import (
    DistancesOnDemand,
    Predictions,
    ReferenceDistances,
    evaluate,
    reference_distances,
)

# Of √area.
CLASSES = ((0.0, 0.02), (0.02, 0.05), (0.05, 0.2), (0.2, np.inf))
Result = dict[str, Any]


def distances(mesh: TriMesh, count: int) -> tuple[list[Result], ReferenceDistances]:
    n = mesh.n_vertices
    sources = np.linspace(0, n - 1, count).astype(int)
    start = time.perf_counter()
    exact = geodesic_matrix(mesh, sources, method="exact", dtype=np.float64)
    rows: list[Result] = [{"method": "exact", "s": (time.perf_counter() - start) * n / count}]
    for method in ("heat", "fmm"):
        start = time.perf_counter()
        found = reference_distances(mesh, method=method)
        seconds = time.perf_counter() - start
        one_way = geodesic_matrix(mesh, sources, method=method, dtype=np.float64)[:, sources]
        result: Result = {
            "method": method,
            "s": seconds,
            "asymmetry": float(np.abs(one_way - one_way.T).max() / found.diameter),
        }
        truth = exact / np.sqrt(found.area)
        for low, high in CLASSES:
            near = (truth > low) & (truth <= high)
            result[f"{low:g}"] = float((found.matrix[sources][near] / truth[near] - 1.0).mean())
        wrong = (found.matrix[sources] <= 0.01) != (truth <= 0.01)
        result["flipped"] = int(wrong.sum())
        result["within"] = int((truth <= 0.01).sum()) - count
        rows.append(result)
    return rows, found


def storage(mesh: TriMesh) -> list[Result]:
    found = []
    for dtype in (np.float32, np.float16):
        with tempfile.TemporaryDirectory() as cache:
            reference_distances(mesh, method="heat", dtype=dtype, cache=cache)

            def again(folder: str = cache, kind: Any = dtype) -> object:
                return reference_distances(mesh, method="heat", dtype=kind, cache=folder)

            size = mesh.n_vertices**2 * np.dtype(dtype).itemsize / 2**20
            found.append({"dtype": np.dtype(dtype).name, "MiB": size, "hit": median_time(again, 3)})
    return found


def scoring(mesh: TriMesh, shapes: int, measured: ReferenceDistances) -> Result:
    n = mesh.n_vertices
    rng = np.random.default_rng(0)
    names = tuple(f"shape {i}" for i in range(shapes))
    truth, exact = np.arange(n), rng.random(n) < 0.7
    guess = {name: np.where(rng.random(n) < 0.5, truth, rng.integers(0, n, n)) for name in names}
    collection = Collection(
        "benchmark", (), names, names[0], lambda name: Shape(name, mesh, truth, exact)
    )
    one = {"run": Predictions({names[0]: guess[names[0]]}, {})}
    every = {"run": Predictions(guess, {})}
    rows = DistancesOnDemand(mesh, "heat")
    return {
        "shapes": shapes,
        "matrix": median_time(lambda: evaluate(every, collection, measured), 3),
        "one on demand": median_time(lambda: evaluate(one, collection, rows), 1),
        "memory": peak_memory_gib(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=5_000)
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--shapes", type=int, default=20)
    arguments = parser.parse_args()
    mesh = primitives.bumpy_sphere(round((arguments.size / 10) ** 0.5))
    found, measured = distances(mesh, arguments.rows)
    kept = storage(mesh)
    scored = scoring(mesh, arguments.shapes, measured)
    print_table(
        f"All distances of {mesh.n_vertices:,} vertices; mean relative error by distance / √area",
        ["method", "s", "÷ heat", "asymmetry", *(f"{a:g}..{b:g}" for a, b in CLASSES), "0.01 ±"],
        [
            (
                r["method"],
                r["s"],
                r["s"] / found[1]["s"],
                r.get("asymmetry"),
                *(r.get(f"{low:g}") for low, _ in CLASSES),
                f"{r['flipped']} of {r['within']}" if "flipped" in r else None,
            )
            for r in found
        ],
    )
    print_table(
        "Kept on disk",
        ["type", "MiB", "s to find"],
        [(r["dtype"], r["MiB"], r["hit"]) for r in kept],
    )
    print_table(
        "Scoring",
        ["shapes", "from the matrix s", "one shape on demand s (heat)", "GiB"],
        [(scored["shapes"], scored["matrix"], scored["one on demand"], scored["memory"])],
    )
    save("evaluation", {"vertices": mesh.n_vertices, "distances": found, "storage": kept, **scored})


if __name__ == "__main__":
    main()
