"""What does preparing a shape cost, step by step?

On the folder given (e.g. FAUST_r), or on synthetic humanoids of 5,000 vertices: seconds per shape
for reading, frames, operators, rescaling, SHOT, writing; then a whole collection with one process
and with all cores.

    python benchmarks/prepare.py [COLLECTION] [--shapes 8]
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import finsler
from common import print_table, save
from finsler.data import Collection, PrepareConfig, open_collection, prepare
from finsler.data.sets.synthetic import synthetic_collection
from finsler.data.store import normalised, prepare_shape
from finsler.data.store.entry import write_entry


def timed(job: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = job()
    return time.perf_counter() - start, result


def steps(collection: Collection, names: tuple[str, ...]) -> dict[str, float]:
    config = PrepareConfig()
    total = dict.fromkeys(("read", "frames", "stack", "rescale", "shot", "write"), 0.0)
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            read, shape = timed(lambda name=name: collection[name])  # type: ignore[misc]
            mesh = normalised(shape.mesh)
            frames, made = timed(lambda mesh=mesh: finsler.principal_frames(mesh))  # type: ignore[misc]
            stack, operators = timed(
                lambda mesh=mesh, made=made: finsler.angle_stack(mesh, frames=made)  # type: ignore[misc]
            )
            rescale, _ = timed(lambda o=operators: finsler.chebyshev_operators(o))  # type: ignore[misc]
            shot, _ = timed(lambda mesh=mesh: finsler.shot(mesh, radius=config.radius))  # type: ignore[misc]
            prepared = prepare_shape(shape, config)
            write, _ = timed(
                lambda p=prepared: write_entry(Path(folder) / "entry.npz", p, config)  # type: ignore[misc]
            )
            for step, seconds in zip(
                total, (read, frames, stack, rescale, shot, write), strict=True
            ):
                total[step] += seconds / len(names)
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("collection", nargs="?", default="")
    parser.add_argument("--shapes", type=int, default=8)
    arguments = parser.parse_args()
    collection = (
        open_collection(arguments.collection)
        if arguments.collection
        else synthetic_collection("humanoid", vertices=5000)
    )
    names = collection.names[: arguments.shapes]
    few = replace(collection, train=names, test=())
    steps(collection, names[:1])
    each = steps(collection, names)
    sum_of_steps = sum(each.values())
    print_table(
        f"{collection.name}: milliseconds per shape, and share of the whole",
        ["step", "ms", "share"],
        [(step, 1e3 * seconds, seconds / sum_of_steps) for step, seconds in each.items()],
    )
    cores = os.cpu_count() or 1
    whole = {}
    for jobs in (1, cores):
        with tempfile.TemporaryDirectory() as folder:
            whole[jobs], _ = timed(lambda jobs=jobs, to=folder: prepare(few, to, jobs=jobs))  # type: ignore[misc]
    print_table(
        f"{len(names)} shapes in all: seconds, and ratio in this run",
        ["one process", f"{cores} processes", "ratio"],
        [(whole[1], whole[cores], whole[1] / whole[cores])],
    )
    save("prepare", {"steps": each, "whole": {str(jobs): s for jobs, s in whole.items()}})


if __name__ == "__main__":
    main()
