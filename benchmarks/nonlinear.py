"""What does one step of the nonlinear Finsler heat flow cost, against one linear implicit step?

Both start from the same bump on the same mesh, with the time step (mean edge)² times 10. The linear
step is that of the FLBO of the same metric: assemble, factorise S + tW, solve. The nonlinear one
takes as many such solves as Newton needs. ω follows the tangential part of an axis with the given
greatest ‖ω‖; α = 0.

    python benchmarks/nonlinear.py [--sizes 5000 50000] [--strengths 0.1 0.5 0.9]
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from scipy import sparse

import finsler
from common import median_time, peak_memory_gib, print_table, save
from finsler import RandersMetric, primitives
from finsler.analysis.finsler_heat import finsler_heat_step
from finsler.mesh.measures import edge_lengths, face_normals
from finsler.solvers import factorise


def measure(size: int, strength: float) -> dict[str, Any]:
    mesh = primitives.bumpy_sphere(round((size / 10) ** 0.5))
    normal = face_normals(mesh)
    omega = strength * (np.array([1.0, 0.0, 0.0]) - normal[:, :1] * normal)
    metric = RandersMetric(mesh, RandersMetric.isotropic(mesh).M, omega)
    squared = ((mesh.vertices - mesh.vertices[0]) ** 2).sum(axis=1)
    u0 = np.exp(-squared / 0.02)
    t = 10.0 * float(edge_lengths(mesh).mean()) ** 2
    repeats = 5 if size <= 10_000 else 3

    def linear_step() -> np.ndarray[Any, Any]:
        operator = finsler.laplacian(mesh, metric.diffusivity())
        matrix = sparse.diags_array(operator.mass) + t * operator.stiffness
        return factorise(sparse.csr_array(matrix))(operator.mass * u0)

    step = finsler_heat_step(metric, u0, t)
    assert step.energy_after < step.energy_before, "the energy must fall"
    return {
        "vertices": mesh.n_vertices,
        "strength": strength,
        "nonlinear": median_time(lambda: finsler_heat_step(metric, u0, t), repeats),
        "linear": median_time(linear_step, repeats),
        "iterations": step.iterations,
        "residual": step.residual,
        "memory": peak_memory_gib(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[5_000, 50_000])
    parser.add_argument("--strengths", type=float, nargs="+", default=[0.1, 0.5, 0.9])
    arguments = parser.parse_args()
    results = [measure(size, w) for size in arguments.sizes for w in arguments.strengths]
    columns = {
        "vertices": "vertices",
        "‖ω‖": "strength",
        "nonlinear s": "nonlinear",
        "linear s": "linear",
        "Newton": "iterations",
        "residual": "residual",
        "GiB": "memory",
    }
    ratios = [r["nonlinear"] / r["linear"] for r in results]
    print_table(
        "One implicit step: seconds, and the ratio in this run",
        [*columns, "ratio", "ratio / Newton"],
        [
            (*(r[key] for key in columns.values()), ratio, ratio / r["iterations"])
            for r, ratio in zip(results, ratios, strict=True)
        ],
    )
    save("nonlinear", {"steps": results})


if __name__ == "__main__":
    main()
