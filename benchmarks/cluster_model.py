"""How long do 100,000 shapes take on 1 to 1,000 workers, and what stops them?

A worker needs p seconds for a shape (read, compute, write), the scheduler s seconds for a task, and
the store takes B bytes a second. N shapes of b bytes on W workers take

    T(N, W) = p + N max(p / W, s, b / B),

and the largest of the three says what is the limit. p is measured with a shape, s with workers that
only sleep, many of them in one process with the scheduler: an upper bound, as all share one core
there; tasks that are sent in bundles cost the scheduler less. With p and s of this run, T is
compared with preparing on one and on two workers.

    python benchmarks/cluster_model.py [COLLECTION] [--shapes 12] [--workers 100] [--gigabytes 5]
"""

from __future__ import annotations

import argparse
import pickle
import tempfile
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from cluster import chosen_collection, measured, parts
from common import print_table, save
from finsler.compute.cluster import Workers, run
from finsler.data import PrepareConfig
from finsler.data.store import prepare_shape
from finsler.data.store.entry import write_entry

SHAPES = 100_000
BUNDLE = 16
WORKERS = (1, 2, 10, 30, 100, 300, 1000)


@dataclass(frozen=True)
class Cost:
    """Seconds of a worker and of the scheduler for a shape, and of the store for its bytes."""

    shape: float
    task: float
    store: float

    def seconds(self, shapes: int, workers: int) -> float:
        """T(N, W)."""
        return self.shape + shapes * max(self.shape / workers, self.task, self.store)

    def limit(self, workers: int) -> str:
        """What is busy all the time."""
        busy = {"workers": self.shape / workers, "scheduler": self.task, "store": self.store}
        return max(busy, key=lambda name: busy[name])

    def efficiency(self, shapes: int, workers: int) -> float:
        """The share of the workers' time that is spent on shapes."""
        return shapes * self.shape / (workers * self.seconds(shapes, workers))


def nap(seconds: float, cargo: bytes) -> int:
    time.sleep(seconds)
    return len(cargo)


def task_rate(
    workers: int, tasks: int, seconds: float, cargo: bytes = b"", bundle: int = 1
) -> float:
    """Tasks per second of so many workers that sleep, after each had two."""
    distributed = import_module("distributed")
    ends = []
    with distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=False,
        protocol="tcp",
        host="127.0.0.1",
        dashboard_address=None,
        memory_limit=0,
        silence_logs=50,
    ) as cluster:
        dask = Workers(scheduler=cluster.scheduler_address, bundle=bundle)
        for _ in run(nap, ((str(i), (seconds, cargo)) for i in range(tasks)), dask):
            ends.append(time.perf_counter())
    skipped = min(2 * workers * bundle, tasks // 2)
    return (len(ends) - skipped) / (ends[-1] - ends[skipped - 1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("collection", nargs="?", default="")
    parser.add_argument("--shapes", type=int, default=12)
    parser.add_argument("--workers", type=int, default=100, help="that sleep")
    parser.add_argument("--gigabytes", type=float, default=5.0, help="a second, of the store")
    arguments = parser.parse_args()
    config = PrepareConfig()
    with tempfile.TemporaryDirectory() as folder:
        shapes, source = chosen_collection(arguments.collection, arguments.shapes, folder)
        parts(shapes, config)
        each = parts(shapes, config)
        one = shapes.load(shapes.reference)
        cargo = pickle.dumps(one)
        write_entry(Path(folder) / "entry.npz", prepare_shape(one, config), config)
        size = (Path(folder) / "entry.npz").stat().st_size
        p = sum(each.values())
        runs = {
            jobs: measured(shapes, config, Workers(jobs=jobs, memory=8.0), source)["rate"]
            for jobs in (1, 2)
        }
        many = arguments.workers
        rates = {
            "10 workers, no work": task_rate(10, 1000, 0.0),
            "10 workers, no work, a mesh sent": task_rate(10, 300, 0.0, cargo),
            f"10 workers, no work, bundles of {BUNDLE}": task_rate(10, 16_000, 0.0, bundle=BUNDLE),
        }
        crowds = {
            bundle: task_rate(many, 6 * many * bundle, p, bundle=bundle) for bundle in (1, BUNDLE)
        }
    print_table(
        f"tasks per second; a mesh has {len(cargo) / 1e6:.2f} MB, an entry {size / 1e6:.1f} MB",
        ["workers", "measured"],
        list(rates.items()),
    )
    (read, sent, bundled), store = rates.values(), size / (1e9 * arguments.gigabytes)
    costs = {
        "workers read": Cost(p, 1 / read, store),
        "meshes sent": Cost(p, 1 / sent, store),
        f"workers read, bundles of {BUNDLE}": Cost(p, 1 / bundled, store),
    }
    print_table(
        f"{many} workers that sleep {p:.2f} s, tasks per second: model and measured",
        ["bundles of", "model", "measured", "ratio"],
        [
            (bundle, model := min(many / p, limit), rate, rate / model)
            for (bundle, rate), limit in zip(crowds.items(), (read, bundled), strict=True)
        ],
    )
    print_table(
        "preparing, shapes per second: model and measured",
        ["workers", "model", "measured", "ratio"],
        [(jobs, jobs / p, rate, rate * p / jobs) for jobs, rate in runs.items()],
    )
    for label, cost in costs.items():
        print_table(
            f"{SHAPES:,} shapes, {label}: hours, efficiency, limit",
            ["workers", "hours", "efficiency", "limit"],
            [
                (w, cost.seconds(SHAPES, w) / 3600, cost.efficiency(SHAPES, w), cost.limit(w))
                for w in WORKERS
            ],
        )
    save(
        "cluster_model",
        {
            "parts": each,
            "bytes": {"mesh": len(cargo), "entry": size},
            "task_rates": rates,
            "sleeping_rates": {f"{many} workers, bundles of {b}": r for b, r in crowds.items()},
            "prepare_rates": {str(jobs): rate for jobs, rate in runs.items()},
            "hours": {
                label: {str(w): cost.seconds(SHAPES, w) / 3600 for w in WORKERS}
                for label, cost in costs.items()
            },
        },
    )


if __name__ == "__main__":
    main()
