"""What does a large mesh cost: seconds and peak memory, measured and predicted?

Every step runs in a process of its own, on one thread, after the same step on a small mesh, which
compiles the code. Seconds are those of the processor. The peak is what the step adds to a process
that holds its input, memory given back before; the prediction is `finsler.compute.memory.estimate`.

Peers, measured in the same run: libigl's `cotmatrix` for the operator, the bare sparse products for
the filter (its limit), potpourri3d's plain heat method for one distance, and scipy's `eigsh` for
the spectrum, at 50,000 vertices, where ours is measured again.

    python benchmarks/million.py [--size 1000000] [--k 50] [--skip "distance heat direct" ...]
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import multiprocessing
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import eigsh
from threadpoolctl import threadpool_limits

import finsler
from common import print_table, save
from finsler import RandersMetric, TriMesh, primitives
from finsler.analysis.heat import diffuse
from finsler.analysis.kernels import chebyshev_filter
from finsler.compute.memory import estimate
from finsler.mesh.measures import face_basis

ANGLES, ORDER, CHANNELS, STEPS = 8, 16, 16, 4
Job = Callable[[], object]
Result = dict[str, Any]


def sphere(size: int) -> TriMesh:
    return primitives.bumpy_sphere(round((size / 10) ** 0.5))


def stack_of(mesh: TriMesh) -> finsler.AngleStack:
    frames = finsler.FaceFrames.from_directions(mesh, face_basis(mesh).first)
    return finsler.angle_stack(mesh, angles=ANGLES, frames=frames)


def frames_job(mesh: TriMesh, k: int) -> Job:
    return lambda: finsler.principal_frames(mesh)


def operator_job(mesh: TriMesh, k: int) -> Job:
    frames = finsler.FaceFrames.from_directions(mesh, face_basis(mesh).first)
    return lambda: finsler.flbo(mesh, frames=frames)


def cotmatrix_job(mesh: TriMesh, k: int) -> Job:
    import igl

    vertices, faces = np.array(mesh.vertices), np.array(mesh.faces)
    return lambda: (
        igl.cotmatrix(vertices, faces),
        igl.massmatrix(vertices, faces, igl.MASSMATRIX_TYPE_BARYCENTRIC),
    )


def stack_job(mesh: TriMesh, k: int) -> Job:
    frames = finsler.FaceFrames.from_directions(mesh, face_basis(mesh).first)
    return lambda: finsler.angle_stack(mesh, angles=ANGLES, frames=frames)


def chebyshev_job(mesh: TriMesh, k: int) -> Job:
    stack = stack_of(mesh)
    return lambda: finsler.chebyshev_operators(stack)


def filter_job(mesh: TriMesh, k: int, dtype: type = np.float64) -> Job:
    operators = finsler.chebyshev_operators(stack_of(mesh), bound="gershgorin")
    rng = np.random.default_rng(0)
    functions: NDArray[Any] = rng.standard_normal((mesh.n_vertices, CHANNELS)).astype(dtype)
    coefficients = rng.standard_normal((ANGLES, ORDER))
    return lambda: chebyshev_filter(operators, functions, coefficients, dtype=dtype)


def filter32_job(mesh: TriMesh, k: int) -> Job:
    return filter_job(mesh, k, np.float32)


def products_job(mesh: TriMesh, k: int) -> Job:
    operators = finsler.chebyshev_operators(stack_of(mesh), bound="gershgorin")
    functions = np.random.default_rng(0).standard_normal((mesh.n_vertices, CHANNELS))

    def products() -> None:
        for angle in range(ANGLES):
            matrix = operators[angle]
            for _ in range(ORDER - 1):
                _ = matrix @ functions

    return products


def diffusion_job(mesh: TriMesh, k: int, solver: str = "direct") -> Job:
    laplacian = finsler.lbo(mesh)
    spike = np.eye(1, mesh.n_vertices)[0]
    return lambda: diffuse(laplacian, spike, 0.01, steps=STEPS, solver=solver)


def diffusion_iterative_job(mesh: TriMesh, k: int) -> Job:
    return diffusion_job(mesh, k, "iterative")


def eikonal_job(mesh: TriMesh, k: int) -> Job:
    metric = RandersMetric.isotropic(mesh)
    return lambda: finsler.randers_distance(metric, 0)


def heat_job(mesh: TriMesh, k: int, solver: str = "direct") -> Job:
    metric = RandersMetric.isotropic(mesh)
    return lambda: finsler.randers_distance(metric, 0, method="heat", solver=solver)


def heat_iterative_job(mesh: TriMesh, k: int) -> Job:
    return heat_job(mesh, k, "iterative")


def potpourri_job(mesh: TriMesh, k: int) -> Job:
    from potpourri3d import MeshHeatMethodDistanceSolver

    def distance() -> object:
        solver = MeshHeatMethodDistanceSolver(mesh.vertices, mesh.faces, use_robust=False)
        return solver.compute_distance(0)

    return distance


def spectrum_job(mesh: TriMesh, k: int, solver: str = "direct") -> Job:
    laplacian = finsler.lbo(mesh)
    return lambda: finsler.spectrum(laplacian, k, solver=solver)


def spectrum_iterative_job(mesh: TriMesh, k: int) -> Job:
    return spectrum_job(mesh, k, "iterative")


def eigsh_job(mesh: TriMesh, k: int) -> Job:
    laplacian = finsler.lbo(mesh)
    stiffness = sparse.csc_array(laplacian.stiffness)
    mass = sparse.csc_array(sparse.diags_array(laplacian.mass))
    return lambda: eigsh(stiffness, k, M=mass, sigma=-1e-2)


# Name of a step: its job, what is predicted, and its peer.
STEPS_OF: dict[str, tuple[Callable[[TriMesh, int], Job], dict[str, Any], str | None]] = {
    "frames": (frames_job, {"task": "frames"}, None),
    "flbo": (operator_job, {"task": "operator"}, "libigl cotmatrix"),
    "stack": (stack_job, {"task": "stack", "angles": ANGLES}, None),
    "rescaling": (chebyshev_job, {"task": "chebyshev", "angles": ANGLES}, None),
    "filter": (filter_job, {"task": "filter", "channels": CHANNELS}, "products alone"),
    "filter float32": (
        filter32_job,
        {"task": "filter", "channels": CHANNELS, "itemsize": 4},
        "products alone",
    ),
    "diffusion direct": (diffusion_job, {"task": "diffusion"}, None),
    "diffusion iterative": (
        diffusion_iterative_job,
        {"task": "diffusion", "solver": "iterative"},
        "diffusion direct",
    ),
    "distance eikonal": (eikonal_job, {"task": "eikonal"}, "potpourri3d heat"),
    "distance heat direct": (heat_job, {"task": "heat"}, "potpourri3d heat"),
    "distance heat iterative": (
        heat_iterative_job,
        {"task": "heat", "solver": "iterative"},
        "potpourri3d heat",
    ),
    "spectrum direct": (spectrum_job, {"task": "spectrum"}, None),
    "spectrum iterative": (
        spectrum_iterative_job,
        {"task": "spectrum", "solver": "iterative"},
        "spectrum direct",
    ),
}
PEERS: dict[str, Callable[[TriMesh, int], Job]] = {
    "libigl cotmatrix": cotmatrix_job,
    "products alone": products_job,
    "potpourri3d heat": potpourri_job,
}


def status(key: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(key))


def measure(make: Callable[[TriMesh, int], Job], size: int, k: int) -> Result:
    """Processor seconds and the memory that a job adds at its peak."""
    make(sphere(2000), k)()
    mesh = sphere(size)
    job = make(mesh, k)
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before, start = status("VmRSS"), time.process_time()
    job()
    seconds = time.process_time() - start
    return {
        "vertices": mesh.n_vertices,
        "seconds": seconds,
        "peak": (status("VmHWM") - before) / 2**30,
        "whole": status("VmHWM") / 2**30,
    }


def alone(make: Callable[[TriMesh, int], Job], size: int, k: int) -> Result:
    """The measurement in a fresh process, on one thread."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context, threadpool_limits, (1,)) as pool:
        return pool.submit(measure, make, size, k).result()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--k", type=int, default=50)
    parser.add_argument("--skip", nargs="*", default=[], help="Steps and peers to leave out.")
    parser.add_argument("--name", default="million", help="Of the file of results.")
    arguments = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    size, k = arguments.size, arguments.k

    found: dict[str, Result] = {}
    for name, make in PEERS.items():
        if name not in arguments.skip:
            found[name] = alone(make, size, k)
            print(f"{name}: {found[name]['seconds']:.3g} s", flush=True)
    rows = []
    for name, (make, prediction, peer) in STEPS_OF.items():
        if name in arguments.skip:
            continue
        result = found[name] = alone(make, size, k)
        options = {"vertices": result["vertices"], "k": k, **prediction}
        result["predicted"] = estimate(**options).total / 2**30
        other = found.get(peer or "")
        ratio = result["seconds"] / other["seconds"] if other else None
        rows.append(
            (
                name,
                result["seconds"],
                result["peak"],
                result["predicted"],
                result["predicted"] / result["peak"],
                result["whole"],
                peer if other else None,
                ratio,
            )
        )
        print(f"{name}: {result['seconds']:.3g} s, {result['peak']:.3g} GiB", flush=True)
    vertices = found[rows[0][0]]["vertices"]
    print_table(
        f"{vertices:,} vertices: processor seconds, GiB added at the peak, and the whole process",
        ["step", "s", "GiB", "predicted", "÷", "process GiB", "peer", "s ÷ peer"],
        rows,
    )
    small = min(size, 50_000)
    ours, theirs = alone(spectrum_job, small, k), alone(eigsh_job, small, k)
    print_table(
        f"{k} eigenpairs at {ours['vertices']:,} vertices against scipy's eigsh",
        ["ours s", "eigsh s", "eigsh ÷ ours", "ours GiB", "eigsh GiB"],
        [
            (
                ours["seconds"],
                theirs["seconds"],
                theirs["seconds"] / ours["seconds"],
                ours["peak"],
                theirs["peak"],
            )
        ],
    )
    save(arguments.name, {"k": k, "steps": found, "small": {"ours": ours, "eigsh": theirs}})


if __name__ == "__main__":
    main()
