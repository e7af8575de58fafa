"""How fast is the spectrum, against scipy's `eigsh` as most people call it?

Both compute the same k smallest eigenpairs of the same matrices in one run; scipy with its default
SuperLU factorisation and ARPACK, shift-invert at the same shift. Times include factorisation.
With an accelerator, its dense solver against the sparse one on a single core.

    python benchmarks/eigen.py [--sizes 5000 50000] [--k 30 100 200]
    python benchmarks/eigen.py --device cuda
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import eigsh

import finsler
from common import median_time, peak_memory_gib, print_table, save
from finsler import primitives


def measure(size: int, k: int) -> dict[str, Any]:
    mesh = primitives.bumpy_sphere(round((size / 10) ** 0.5))
    laplacian = finsler.lbo(mesh)
    stiffness = sparse.csc_array(laplacian.stiffness)
    mass = sparse.csc_array(sparse.diags_array(laplacian.mass))
    shift = -1e-2
    repeats = 5 if size <= 10_000 else 1

    def scipy_default() -> np.ndarray[Any, Any]:
        values: np.ndarray[Any, Any] = eigsh(stiffness, k, M=mass, sigma=shift)[0]
        return values

    ours = finsler.spectrum(laplacian, k)
    theirs = scipy_default()
    difference = np.abs(np.sort(theirs) - ours.eigenvalues).max() / theirs.max()
    assert difference < 1e-9, "the two must find the same eigenvalues"
    return {
        "vertices": mesh.n_vertices,
        "k": k,
        "ours": median_time(lambda: finsler.spectrum(laplacian, k), repeats),
        "scipy": median_time(scipy_default, repeats),
        "difference": float(difference),
        "residual": float(ours.residuals.max()),
        "memory": peak_memory_gib(),
    }


def on_device(device: str, size: int = 5_000, k: int = 200, shapes: int = 10) -> dict[str, Any]:
    """Shapes a second on a device; the limit is that of the products with its dense inverse."""
    import torch

    from finsler.nn import spectrum_torch

    laplacian = finsler.lbo(primitives.bumpy_sphere(round((size / 10) ** 0.5)))
    spectrum_torch(laplacian, k, device=device)  # starts the libraries
    dense = median_time(lambda: spectrum_torch(laplacian, k, device=device), shapes)
    sparse_one = median_time(lambda: finsler.spectrum(laplacian, k), 3)
    matrix = torch.ones(size, size, dtype=torch.float64, device=device)
    rows = torch.ones(size, 276, dtype=torch.float64, device=device)
    # Some 45 products and the factorisation, which costs as much as another ten.
    limit = median_time(lambda: float(sum((matrix @ rows)[0, 0] for _ in range(55))), 3)
    return {
        "vertices": len(laplacian.mass),
        "k": k,
        "shapes a second": 1.0 / dense,
        "sparse / dense": sparse_one / dense,
        "limit, shapes a second": 1.0 / limit,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", help="Measure an accelerator instead, e.g. cuda.")
    parser.add_argument("--sizes", type=int, nargs="+", default=[5_000, 50_000])
    parser.add_argument("--k", type=int, nargs="+", default=[30, 100, 200])
    arguments = parser.parse_args()
    if arguments.device:
        result = on_device(arguments.device)
        print_table("Dense solver", ["what", "value"], list(map(list, result.items())))
        save("eigen_device", result)
        return
    results = [measure(size, k) for size in arguments.sizes for k in arguments.k]
    print_table(
        "Smallest eigenpairs: seconds, and the ratio in this run",
        ["vertices", "k", "ours s", "scipy s", "scipy / ours", "difference", "residual", "GiB"],
        [
            (
                r["vertices"],
                r["k"],
                r["ours"],
                r["scipy"],
                r["scipy"] / r["ours"],
                r["difference"],
                r["residual"],
                r["memory"],
            )
            for r in results
        ],
    )
    save("eigen", {"pairs": results})


if __name__ == "__main__":
    main()
