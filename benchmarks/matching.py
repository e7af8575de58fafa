"""What does matching large meshes cost, and which search is faster?

How good matching is, is measured by `finsler benchmark`.

    python benchmarks/matching.py [--large 50000] [--search]
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from common import median_time, peak_memory_gib, print_table, save
from finsler import TriMesh, primitives
from finsler.matching import match, nearest_rows
from finsler.mesh import surface_area

Result = dict[str, Any]


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
    result = match(meshes[0], turned)
    seconds, cpu = time.perf_counter() - start[0], time.process_time() - start[1]
    apart = np.linalg.norm(meshes[0].vertices - meshes[1].vertices[result.map_12], axis=1)
    return {
        "vertices": [mesh.n_vertices for mesh in meshes],
        "s": seconds,
        "CPU s": cpu,
        "mean straight error x 100": 100 * float(apart.mean()) / surface_area(meshes[0]) ** 0.5,
        "GiB": peak_memory_gib(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", type=int, default=0, help="Vertices of the larger mesh.")
    parser.add_argument("--search", action="store_true")
    options = parser.parse_args()
    results: Result = {}
    if options.search:
        results["search"] = search()
        first = results["search"][0]
        print_table("Search", list(first), [list(row.values()) for row in results["search"]])
    if options.large:
        results["large"] = large(options.large)
        print(results["large"])
    save("matching", results)


if __name__ == "__main__":
    main()
