"""What does implicit diffusion of 64 channels cost, against plain scipy and a spectral basis?

One implicit Euler step (S + tW) u = S u₀ with t a hundred times the mean edge squared. `diffuser`
factorises once and solves all channels together; "scipy" is `splu` as most people call it, then one
solve for each channel. The spectral way is a projection onto given eigenpairs and back; finding
them is not counted, nor that it smooths differently (exactly in time, and what lies beyond the
basis is lost). All on one thread.

    python benchmarks/diffusion.py [--sizes 5000 50000] [--k 100 200]
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu
from threadpoolctl import threadpool_limits

import finsler
from common import median_time, peak_memory_gib, print_table, save
from finsler import diffuse, diffuser, primitives
from finsler.mesh.measures import edge_lengths

CHANNELS = 64


def measure(size: int, ks: list[int]) -> dict[str, Any]:
    mesh = primitives.bumpy_sphere(round((size / 10) ** 0.5))
    laplacian = finsler.lbo(mesh)
    t = 100.0 * float(edge_lengths(mesh).mean()) ** 2
    u0 = np.random.default_rng(0).standard_normal((mesh.n_vertices, CHANNELS))
    system = sparse.csc_array(sparse.diags_array(laplacian.mass) + t * laplacian.stiffness)
    right = laplacian.mass[:, None] * u0
    repeats = 7 if size <= 10_000 else 3

    def by_column() -> np.ndarray[Any, Any]:
        return np.stack([factor.solve(column) for column in right.T], axis=1)

    factor, solve = splu(system), diffuser(laplacian, t)
    u = solve(u0)
    assert np.abs(by_column() - u).max() < 1e-9 * np.abs(u).max(), "both must find the same heat"
    found: dict[str, Any] = {
        "vertices": mesh.n_vertices,
        "factor": median_time(lambda: diffuser(laplacian, t), repeats),
        "solve": median_time(lambda: solve(u0), repeats),
        "scipy factor": median_time(lambda: splu(system), repeats),
        "scipy solve": median_time(by_column, repeats),
    }
    for k in ks:
        basis = finsler.spectrum(laplacian, k)
        found[f"spectral {k}"] = median_time(partial(diffuse, basis, u0, t), repeats)
    return {**found, "memory": peak_memory_gib()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[5_000, 50_000])
    parser.add_argument("--k", type=int, nargs="+", default=[100, 200])
    arguments = parser.parse_args()
    with threadpool_limits(1):
        results = [measure(size, arguments.k) for size in arguments.sizes]
    print_table(
        f"Diffusion of {CHANNELS} channels: seconds, and the ratio in this run",
        ["vertices", "factor s", "scipy ÷", "solve s", "scipy ÷", "both: scipy ÷", "GiB"],
        [
            (
                r["vertices"],
                r["factor"],
                r["scipy factor"] / r["factor"],
                r["solve"],
                r["scipy solve"] / r["solve"],
                (r["scipy factor"] + r["scipy solve"]) / (r["factor"] + r["solve"]),
                r["memory"],
            )
            for r in results
        ],
    )
    print_table(
        "Spectral diffusion with given eigenpairs, against the implicit solve",
        ["vertices", "k", "spectral s", "implicit solve ÷"],
        [
            (r["vertices"], k, r[f"spectral {k}"], r["solve"] / r[f"spectral {k}"])
            for r in results
            for k in arguments.k
        ],
    )
    save("diffusion", {"channels": CHANNELS, "steps": results})


if __name__ == "__main__":
    main()
