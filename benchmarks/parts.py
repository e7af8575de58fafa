"""How well are parts of shapes matched, with the model in the box and without it?

A part of the first shape of each pair, what a plane leaves or what twelve discs leave of it, is
matched to the second shape with `partial=True`. Errors are straight distances on the second shape,
in √area × 100; a map has failed where their mean is above 8.

    python benchmarks/parts.py synthetic:person [--pairs 12] [--shapes test] [--seed 0]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from common import print_table, save
from finsler import TriMesh
from finsler.data import Collection, Shape, cut, holes, open_collection
from finsler.data.partial import Partial
from finsler.evaluation.benchmark.measuring import choose_sample
from finsler.matching import match
from finsler.mesh import surface_area

FAILED = 8.0
SHARES = (0.7, 0.5)


def parts_of(shape: Shape, seed: int) -> Iterator[tuple[str, Partial]]:
    """A cut and a shape with holes of each share."""
    for share in SHARES:
        yield f"cut, {share:.0%}", cut(shape.mesh, share=share, seed=seed)
        yield f"holes, {share:.0%}", holes(shape.mesh, share=share, seed=seed)


def error(one: Shape, other: Shape, part: Partial, model: str) -> tuple[float, bool]:
    """Mean error of the map of a part, and whether it is called doubtful."""
    number = np.full(one.mesh.n_vertices + 1, -1)
    number[part.vertex_map] = np.arange(len(part.vertex_map))
    here, there = number[np.asarray(one.points)], np.asarray(other.points)
    known = (here >= 0) & (there >= 0)
    unit = np.sqrt(surface_area(other.mesh))
    scale = unit / np.sqrt(surface_area(one.mesh))
    scaled = TriMesh(scale * part.mesh.vertices, part.mesh.faces)
    found = match(scaled, other.mesh, partial=True, model=model)
    images = other.mesh.vertices[found.map_12[here[known]]]
    apart = np.linalg.norm(images - other.mesh.vertices[there[known]], axis=1)
    return 100.0 * float(apart.mean()) / unit, found.verdict.doubtful


def measure(
    collection: Collection, names: tuple[str, ...], pairs: int, seed: int
) -> list[dict[str, Any]]:
    """A row for each kind of part and each model."""
    sample = choose_sample(collection, names, pairs, seed=seed)
    found: dict[tuple[str, str], list[tuple[float, bool]]] = {}
    start = time.perf_counter()
    for a, b in (pair for pair in sample.pairs if pair[0] != pair[1]):
        one, other = collection.load(a), collection.load(b)
        for kind, part in parts_of(one, seed):
            for model in ("box", "none"):
                found.setdefault((kind, model), []).append(error(one, other, part, model))
    print(f"{time.perf_counter() - start:.0f} s")
    rows = []
    for (kind, model), measured in found.items():
        errors, doubted = np.array(measured).T
        failed = errors > FAILED
        rows.append(
            {
                "part": kind,
                "model": model,
                "pairs": len(errors),
                "mean": float(errors.mean()),
                "median": float(np.median(errors)),
                "failed, %": 100.0 * float(failed.mean()),
                "failed that are doubted": int(doubted[failed].sum()),
                "others doubted": int(doubted[~failed].sum()),
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collection", help="As for finsler benchmark.")
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--shapes", choices=("train", "test", "all"), default="test")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    collection = open_collection(options.collection)
    names = {"train": collection.train, "test": collection.test, "all": collection.names}
    rows = measure(collection, names[options.shapes], options.pairs, options.seed)
    print_table(
        f"{collection.name}, {options.shapes} shapes",
        list(rows[0]),
        [list(row.values()) for row in rows],
    )
    save("parts", {"collection": collection.name, "seed": options.seed, "rows": rows})


if __name__ == "__main__":
    main()
