"""How long does a synthetic shape take?

Seconds to load one shape of a collection (identity, pose, skinning, remeshing and labels), the
median over several shapes, and the part of it that is remeshing; the template is made once.

    python benchmarks/synthetic.py [--sizes 2000 5000 20000] [--shapes 5]
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import numpy as np

import finsler
from common import median_time, peak_memory_gib, print_table, save
from finsler.data.sets.synthetic import synthetic_collection
from finsler.synthetic import remesh, template


def measure(species: str, size: int, shapes: int) -> dict[str, Any]:
    collection = synthetic_collection(species, train=shapes, test=0, vertices=size)
    collection.load(collection.reference)
    times, angles = [], []
    for name in collection.names:
        start = time.perf_counter()
        shape = collection[name]
        times.append(time.perf_counter() - start)
        report = finsler.health(shape.mesh)
        assert report.problems == [] and report.n_vertices == size, "meshes must be clean"
        angles.append(report.smallest_angle)
    mesh = template(species).mesh
    return {
        "species": species,
        "vertices": size,
        "shape": statistics.median(times),
        "remesh": median_time(lambda: remesh(mesh, size, np.random.default_rng(0)), 3),
        "smallest_angle": min(angles),
        "memory": peak_memory_gib(),
    }


def template_seconds(species: str) -> float:
    """Seconds to make the template, compiled code loaded."""
    template(species)
    start = time.perf_counter()
    template.__wrapped__(species)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[2_000, 5_000, 20_000])
    parser.add_argument("--shapes", type=int, default=5)
    arguments = parser.parse_args()
    kinds = ["humanoid", "quadruped"]
    templates = {species: template_seconds(species) for species in kinds}
    results = [measure(s, size, arguments.shapes) for s in kinds for size in arguments.sizes]
    print_table(
        "Synthetic shapes: seconds, and the smallest angle of any of their faces",
        ["species", "template s", "vertices", "shape s", "remeshing s", "degrees", "GiB"],
        [
            (
                r["species"],
                templates[r["species"]],
                r["vertices"],
                r["shape"],
                r["remesh"],
                r["smallest_angle"],
                r["memory"],
            )
            for r in results
        ],
    )
    save("synthetic", {"templates": templates, "shapes": results})


if __name__ == "__main__":
    main()
