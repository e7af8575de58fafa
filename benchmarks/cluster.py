"""What do workers cost: preparing with one process, with processes behind pipes, with Dask?

Shapes per second and core once all workers are warm, the efficiency against one process, and
against the sum of the parts (reading, computing, writing) measured alone.

    python benchmarks/cluster.py [COLLECTION] [--shapes 16]
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from common import print_table, save
from finsler.compute.cluster import Workers
from finsler.data import Collection, PrepareConfig, Shape, open_collection, pack, prepare
from finsler.data.store import key_of, prepare_shape
from finsler.data.store.entry import write_entry
from finsler.mesh import primitives


def bumps(count: int, frequency: int = 22) -> Collection:
    """Spheres of 4,842 vertices with bumps of different height."""

    def load(name: str) -> Shape:
        mesh = primitives.bumpy_sphere(frequency, amplitude=0.1 + 0.2 * int(name) / count)
        n = mesh.n_vertices
        return Shape(name, mesh, np.arange(n), np.ones(n, dtype=np.bool_))

    names = tuple(str(i) for i in range(count))
    return Collection("bumps", names, (), names[0], load)


def chosen_collection(where: str, count: int, folder: str) -> tuple[Collection, str]:
    """The shapes, and the name under which workers can read them."""
    found = open_collection(where) if where else bumps(count)
    names = found.names[:count]
    few = replace(found, train=names, test=(), reference=names[0])
    pack(few, Path(folder) / "shapes.npz")
    source = f"pack:{folder}/shapes.npz"
    return open_collection(source), source


def parts(collection: Collection, config: PrepareConfig) -> dict[str, float]:
    """Median seconds for each shape of what has to be done, in this process."""
    times: dict[str, list[float]] = {"read": [], "key": [], "compute": [], "write": []}
    with tempfile.TemporaryDirectory() as folder:
        for name in collection.names:
            marks = [time.perf_counter()]
            shape = collection.load(name)
            marks.append(time.perf_counter())
            key = key_of(shape, config)
            marks.append(time.perf_counter())
            prepared = prepare_shape(shape, config)
            marks.append(time.perf_counter())
            write_entry(Path(folder) / f"{key}.npz", prepared, config)
            marks.append(time.perf_counter())
            for part, seconds in zip(times, np.diff(marks), strict=True):
                times[part].append(float(seconds))
    return {part: float(np.median(seconds)) for part, seconds in times.items()}


@contextmanager
def dask_workers(count: int) -> Iterator[Workers]:
    """Workers of a scheduler on this machine's loopback interface."""
    options = {"threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}
    with import_module("distributed").LocalCluster(n_workers=count, **options) as cluster:
        yield Workers(scheduler=cluster.scheduler_address)


def cpu_seconds() -> float:
    """Processor time of this process and of those it has ended."""
    own, others = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


def prepared(
    collection: Collection, config: PrepareConfig, workers: Workers, source: str | None
) -> tuple[list[float], float]:
    """When each shape was done, in seconds from the start, and the processor time of all."""
    ends: list[float] = []
    start, before = time.perf_counter(), cpu_seconds()
    with tempfile.TemporaryDirectory() as folder:
        prepare(
            collection,
            folder,
            config,
            workers=workers,
            source=source,
            progress=lambda name, outcome: ends.append(time.perf_counter() - start),
        )
    return ends, cpu_seconds() - before


def measured(
    collection: Collection,
    config: PrepareConfig,
    workers: Workers,
    source: str | None = None,
    *,
    count: int = 1,
) -> dict[str, float]:
    """Seconds in all; shapes per second once each of `count` has done two; processor time a shape.

    The last is the difference between all shapes and two for each worker, so that starting them
    is not in it; a busy machine slows the clock but hardly changes it.
    """
    first = 2 * count
    few = replace(collection, train=collection.names[:first])
    _, cpu_few = prepared(few, config, workers, source)
    ends, cpu = prepared(collection, config, workers, source)
    more = len(ends) - first
    return {
        "seconds": ends[-1],
        "rate": more / (ends[-1] - ends[first - 1]),
        "cpu": (cpu - cpu_few) / more,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("collection", nargs="?", default="")
    parser.add_argument("--shapes", type=int, default=16)
    arguments = parser.parse_args()
    config = PrepareConfig()
    with tempfile.TemporaryDirectory() as folder:
        shapes, source = chosen_collection(arguments.collection, arguments.shapes, folder)
        parts(replace(shapes, train=shapes.names[:1]), config)
        each = parts(shapes, config)
        results: dict[str, dict[str, float]] = {}
        for label, count in (("this process", 1), ("2 processes", 2)):
            workers = Workers(jobs=count)
            results[label] = measured(shapes, config, workers, count=count)
        results["2 processes that read"] = measured(shapes, config, workers, source, count=2)
        for label, count in (("1 worker of Dask", 1), ("2 workers of Dask", 2)):
            with dask_workers(count) as workers:
                results[label] = measured(shapes, config, workers, count=count)
    whole = sum(each.values())
    print_table(
        f"{shapes.name}: milliseconds for each shape, in this process",
        ["part", "ms", "share"],
        [(part, 1e3 * seconds, seconds / whole) for part, seconds in each.items()],
    )
    alone = results["this process"]["rate"]
    rows: list[tuple[Any, ...]] = []
    for label, found in results.items():
        jobs = 2 if label.startswith("2") else 1
        rate = found["rate"] / jobs
        saved = results["this process"]["cpu"] / found["cpu"]
        rows.append(
            (label, found["seconds"], rate, rate / alone, rate * whole, found["cpu"], saved)
        )
    print_table(
        f"{len(shapes)} shapes: seconds with the start, and shapes per second and core without",
        ["who", "seconds", "rate", "of one process", "of the parts", "cpu s a shape", "ratio"],
        rows,
    )
    save("cluster", {"parts": each, "runs": results})


if __name__ == "__main__":
    main()
