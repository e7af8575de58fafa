"""What do Randers distances cost, against potpourri3d's heat method for the Riemannian one?

`RandersHeat` and potpourri3d's `MeshHeatMethodDistanceSolver` do the same kind of work, one
factorisation of two systems and two solves a source; the Randers system is not symmetric, and gives
both directions. potpourri3d is asked for its plain solver (`use_robust=False`), and once for its
default, which builds an intrinsic Delaunay triangulation first. The eikonal solver has no
factorisation. The metric is that of nonlinear.py: M = I, ω the given multiple of the tangential
part of an axis.

Solvers that are compared take turns in one process, on one thread, and seconds are those of the
processor, so that what else the machine does counts little. Memory is what each adds to a loaded
mesh, in a process of its own.

    python benchmarks/distance.py [--sizes 5000 50000 200000] [--strengths 0 0.5 0.9 0.99]
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

import numpy as np
import potpourri3d as pp3d
from threadpoolctl import threadpool_limits

from common import peak_memory_gib, print_table, save
from finsler import RandersHeat, RandersMetric, TriMesh, geodesic_path, primitives
from finsler.analysis import _compiled
from finsler.analysis.eikonal import Eikonal
from finsler.mesh.measures import face_normals
from finsler.solvers.factor import _superlu_factor

STRENGTH, BLOCK = 0.5, 16
Result = dict[str, Any]
T = TypeVar("T")


def problem(size: int, strength: float) -> tuple[TriMesh, RandersMetric]:
    mesh = primitives.bumpy_sphere(round((size / 10) ** 0.5))
    normal = face_normals(mesh)
    omega = strength * (np.array([1.0, 0.0, 0.0]) - normal[:, :1] * normal)
    return mesh, RandersMetric(mesh, RandersMetric.isotropic(mesh).M, omega)


def repeats(size: int) -> int:
    return 7 if size <= 10_000 else 3


def peer(mesh: TriMesh, robust: bool) -> Any:
    return pp3d.MeshHeatMethodDistanceSolver(mesh.vertices, mesh.faces, use_robust=robust)


def take_turns(jobs: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median processor seconds of each job; in a round each runs twice, and the second counts."""
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            job()
            start = time.process_time()
            job()
            times[name].append(time.process_time() - start)
    return {name: statistics.median(found) for name, found in times.items()}


def heat(size: int) -> Result:
    """`RandersHeat`, the parts of one of its solves, and potpourri3d's two solvers."""
    mesh, metric = problem(size, STRENGTH)
    solver = RandersHeat(metric)
    plain, default = peer(mesh, False), peer(mesh, True)
    first, local = solver.epsilon, solver._local
    sources = np.linspace(0, mesh.n_vertices - 1, BLOCK).astype(int)
    one = np.zeros((mesh.n_vertices, 1))
    one[0] = 1e250
    u = solver._solvers[0](one)

    def divergence() -> Any:
        dual = local["dual_tensor"], local["dual_omega"], local["weights"]
        return _compiled.unit_flux(mesh.faces, local["gradients"], *dual, u)

    flux = divergence()
    solves = {
        "one": lambda: solver.distance(0),
        "plain one": lambda: plain.compute_distance(0),
        "default one": lambda: default.compute_distance(0),
        "reverse": lambda: solver.distance(0, reverse=True),
        "block": lambda: solver.distance(sources, each=True),
        "drift solve": lambda: solver._solvers[0](one),
        "poisson solve": lambda: solver._poisson(flux),
        "flux": divergence,
    }
    setups = {
        "setup": lambda: RandersHeat(metric),
        "plain setup": lambda: peer(mesh, False),
        "default setup": lambda: peer(mesh, True),
    }
    found: Result = {"vertices": mesh.n_vertices, **take_turns(solves, 3 * repeats(size))}
    assert solver.epsilon == first, "ε was raised, so that a set-up is hidden in a solve"
    found["each"] = found.pop("block") / BLOCK
    found["entries"] = int(_superlu_factor(solver._operator.matrix).nnz)
    return {**found, **take_turns(setups, repeats(size))}


def memory(size: int, tool: str) -> float:
    """GiB that a solver and one distance add."""
    RandersHeat(problem(300, STRENGTH)[1]).distance(0)
    mesh, metric = problem(size, STRENGTH)
    before = peak_memory_gib()
    if tool == "ours":
        RandersHeat(metric).distance(0)
    else:
        peer(mesh, tool == "default").compute_distance(0)
    return peak_memory_gib() - before


def eikonal(size: int, strength: float) -> Result:
    """The eikonal solver: geometry, march, how often it visits a vertex, and one path."""
    mesh, metric = problem(size, strength)
    before = peak_memory_gib()
    solver = Eikonal.of(metric)
    source = np.array([0])
    distance, visits = solver.march(source)
    added = peak_memory_gib() - before
    target = int(np.argmax(distance))
    path = geodesic_path(metric, distance, 0, target)
    assert abs(path.length / distance[target] - 1.0) < 0.05, "a path must be as long as it says"
    plain = peer(mesh, False)
    jobs = {
        "setup": lambda: Eikonal.of(metric),
        "march": lambda: solver.distance(source),
        "path": lambda: geodesic_path(metric, distance, 0, target),
        "plain one": lambda: plain.compute_distance(0),
    }
    return {
        "vertices": mesh.n_vertices,
        "strength": strength,
        "visits": visits / mesh.n_vertices,
        "pieces": len(path.faces),
        "memory": added,
        **take_turns(jobs, 2 * repeats(size)),
    }


def alone(job: Callable[..., T], *arguments: Any) -> T:
    """The job in a fresh process, on one thread."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context, threadpool_limits, (1,)) as pool:
        return pool.submit(job, *arguments).result()


def report_heat(rows: list[Result]) -> None:
    headings = ["vertices", "set-up s", "÷ plain", "÷ default", "one s", "÷ plain", "÷ default"]
    print_table(
        "RandersHeat: seconds a source, divided by potpourri3d's plain and default solvers",
        [*headings, "reverse ÷", "of 16 ÷", "GiB", "plain GiB", "default GiB"],
        [
            (
                r["vertices"],
                r["setup"],
                r["setup"] / r["plain setup"],
                r["setup"] / r["default setup"],
                r["one"],
                r["one"] / r["plain one"],
                r["one"] / r["default one"],
                r["reverse"] / r["plain one"],
                r["each"] / r["plain one"],
                *r["memory"].values(),
            )
            for r in rows
        ],
    )
    headings = ["vertices", "drift ms", "Poisson ms", "flux ms", "limit ms", "whole ÷ limit"]
    print_table(
        "The limit: the triangular solves with the two factors; entries of the drift factor",
        [*headings, "entries", "drift GB/s"],
        [
            (
                r["vertices"],
                1e3 * r["drift solve"],
                1e3 * r["poisson solve"],
                1e3 * r["flux"],
                1e3 * (limit := r["drift solve"] + r["poisson solve"]),
                r["one"] / limit,
                r["entries"],
                # A value and a row number of each entry are read once.
                12e-9 * r["entries"] / r["drift solve"],
            )
            for r in rows
        ],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[5_000, 50_000, 200_000])
    parser.add_argument("--strengths", type=float, nargs="+", default=[0.0, 0.5, 0.9, 0.99])
    arguments = parser.parse_args()
    rows = []
    for size in arguments.sizes:
        added = {tool: alone(memory, size, tool) for tool in ("ours", "plain", "default")}
        rows.append({**alone(heat, size), "memory": added})
    report_heat(rows)
    fronts = [alone(eikonal, size, w) for size in arguments.sizes for w in arguments.strengths]
    headings = ["vertices", "‖ω‖", "geometry s", "march s", "march ÷", "visits a vertex"]
    print_table(
        "Eikonal: seconds a source, divided by potpourri3d's plain heat solve; one path",
        [*headings, "path s", "pieces", "GiB"],
        [
            (
                r["vertices"],
                r["strength"],
                r["setup"],
                r["march"],
                r["march"] / r["plain one"],
                r["visits"],
                r["path"],
                r["pieces"],
                r["memory"],
            )
            for r in fronts
        ],
    )
    save("distance", {"strength": STRENGTH, "heat": rows, "eikonal": fronts})


if __name__ == "__main__":
    main()
