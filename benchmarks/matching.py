"""What does matching cost, stage by stage and on large meshes, and which search is faster?

How good matching is, is measured by `finsler benchmark`.

    python benchmarks/matching.py [--stages 5000] [--large 50000] [--search]
    python benchmarks/matching.py --zoomout 100000 --growth 5000 --growth 20000 --growth 80000
"""

from __future__ import annotations

import argparse
import itertools
import time
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from common import median_time, peak_memory_gib, print_table, save
from finsler import TriMesh, lbo, primitives
from finsler.analysis import spectrum
from finsler.data import synthetic_collection
from finsler.matching import describe, match, nearest, nearest_rows, refine
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


def stages(size: int) -> Result:
    """CPU time of the stages of matching two people, as shares, and of those described before."""
    people = synthetic_collection("humanoid", train=0, test=2, poses=1, vertices=size, seed=1)
    meshes = [people[name].mesh for name in people.test]
    small = primitives.bumpy_sphere(6)
    match(small, small, k=40)  # compiles
    marks: list[tuple[str, float]] = []
    match(*meshes, progress=lambda stage: marks.append((stage, time.process_time())))
    marks.append(("", time.process_time()))
    spent = {name: after - before for (name, before), (_, after) in itertools.pairwise(marks)}
    surfaces = [describe(mesh) for mesh in meshes]
    start = time.process_time()
    match(*surfaces)
    kept, total = time.process_time() - start, sum(spent.values())
    return {
        "vertices": size,
        "CPU s/pair": total,
        **{f"{name}, share": seconds / total for name, seconds in spent.items()},
        "CPU s/pair, described before": kept,
        "ratio": total / kept,
    }


def zoomout(size: int) -> Result:
    """ZoomOut from 60 to 200 functions between bumpy spheres of `size` vertices, and its search.

    The limit is the last search, among all vertices: by cells, and by products with a tenth of
    the queries, ten times.
    """
    mesh = primitives.bumpy_sphere(round(np.sqrt(size / 10)))
    rng = np.random.default_rng(0)
    order = rng.permutation(mesh.n_vertices)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    other = TriMesh(mesh.vertices[order], place[mesh.faces])
    spectra = [spectrum(lbo(each), 200) for each in (mesh, other)]
    refine(place, *spectra, first=60, step=70)  # compiles
    start = time.perf_counter()
    found = refine(place, *spectra, first=60, step=70)
    seconds = time.perf_counter() - start
    rows = [np.asarray(each.eigenvectors) for each in spectra]
    aligned = rows[0] @ found.functional
    cells = median_time(lambda: nearest_rows(aligned, rows[1]), 1)
    limit, nearest._MANY_POINTS = nearest._MANY_POINTS, 10**9
    product = 10 * median_time(lambda: nearest_rows(aligned[::10], rows[1]), 1)
    nearest._MANY_POINTS = limit
    apart = np.linalg.norm(mesh.vertices - other.vertices[found.map_12], axis=1)
    return {
        "vertices": mesh.n_vertices,
        "ZoomOut 60 to 200, s": seconds,
        "last search by cells, s": cells,
        "by products, s": product,
        "ratio": product / cells,
        "exact, %": 100 * float((apart == 0.0).mean()),
    }


def growth(sizes: list[int]) -> list[Result]:
    """Seconds of the stages of matching two bumpy spheres of each size, and their growth.

    The exponent is that of the total against the size before: 1 is linear.
    """
    small = primitives.bumpy_sphere(6)
    match(small, small, k=40)  # compiles
    rows: list[Result] = []
    for size in sizes:
        first, second = (primitives.bumpy_sphere(round(np.sqrt(n / 10))) for n in (size, size))
        turned = TriMesh(7.0 * second.vertices[::-1, [2, 0, 1]], backwards(second))
        stages: list[str] = []
        times: list[float] = []

        def note(stage: str, stages: list[str] = stages, times: list[float] = times) -> None:
            stages.append(stage)
            times.append(time.perf_counter())

        match(first, turned, progress=note)
        times.append(time.perf_counter())
        spent: Result = {}
        for name, (before, after) in zip(stages, itertools.pairwise(times), strict=True):
            spent[name] = spent.get(name, 0.0) + after - before
        total = sum(spent.values())
        row = {"vertices": first.n_vertices, **spent, "total, s": total}
        if rows:
            last = rows[-1]
            row["exponent"] = float(
                np.log(total / last["total, s"]) / np.log(row["vertices"] / last["vertices"])
            )
        rows.append(row)
    return rows


def backwards(mesh: TriMesh) -> Any:
    """Faces of the mesh whose vertices are numbered backwards."""
    return mesh.n_vertices - 1 - mesh.faces


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", type=int, default=0, help="Vertices of the larger mesh.")
    parser.add_argument("--search", action="store_true")
    parser.add_argument("--stages", type=int, default=0, help="Vertices of two people.")
    parser.add_argument("--zoomout", type=int, default=0, help="Vertices.")
    parser.add_argument("--growth", type=int, action="append", help="Vertices; several times.")
    options = parser.parse_args()
    results: Result = {}
    if options.search:
        results["search"] = search()
        first = results["search"][0]
        print_table("Search", list(first), [list(row.values()) for row in results["search"]])
    if options.stages:
        results["stages"] = stages(options.stages)
        print_table("Stages", ["stage", "value"], list(map(list, results["stages"].items())))
    if options.large:
        results["large"] = large(options.large)
        print(results["large"])
    if options.zoomout:
        results["zoomout"] = zoomout(options.zoomout)
        print_table("ZoomOut", ["what", "value"], list(map(list, results["zoomout"].items())))
    if options.growth:
        results["growth"] = growth(options.growth)
        for row in results["growth"]:
            print(row)
    save("matching", results)


if __name__ == "__main__":
    main()
