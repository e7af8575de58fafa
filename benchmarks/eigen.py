"""How fast is the spectrum, against scipy's `eigsh` as most people call it?

Both compute the same k smallest eigenpairs of the same matrices in one run; scipy with its default
SuperLU factorisation and ARPACK, shift-invert at the same shift. Times include factorisation.
With an accelerator, its dense solver, stage by stage, one shape at a time and four at once, and
against the sparse one.

    python benchmarks/eigen.py [--sizes 5000 50000] [--k 30 100 200]
    python benchmarks/eigen.py --device cuda
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import eigsh

import finsler
from common import median_time, peak_memory_gib, print_table, save
from finsler import primitives
from finsler.operator import Laplacian


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


# Functions of `finsler.nn.spectra`, and the stages that they are.
STAGES = {
    "_dense": "dense matrix",
    "_invert": "factor and inverse",
    "_filtered": "filters",
    "_rayleigh_ritz": "Rayleigh-Ritz",
    "_on_host": "copy back",
}


def on_device(device: str, size: int = 5_000, k: int = 200, shapes: int = 10) -> dict[str, Any]:
    """Shapes a second on a device; the limit is that of the products with its dense inverse."""
    import torch

    from finsler.nn import spectra_torch, spectrum_torch

    frequency = round((size / 10) ** 0.5)
    laplacians = [
        cotangent(primitives.bumpy_sphere(frequency, amplitude=amplitude))
        for amplitude in np.linspace(0.15, 0.25, shapes)
    ]
    one = laplacians[-1]
    dense = median_time(
        lambda: [spectrum_torch(each, k, device=device) for each in laplacians], repeats=3
    )
    together = median_time(
        lambda: spectra_torch(laplacians, k, device=device, at_once=4), repeats=3
    )
    found = spectrum_torch(one, k, device=device)
    ratio = difference = None
    if find_spec("numba"):
        expected = finsler.spectrum(one, k).eigenvalues
        difference = float(np.abs(found.eigenvalues - expected).max() / expected[-1])
        assert difference < 1e-9, "the two must find the same eigenvalues"
        ratio = shapes * median_time(lambda: finsler.spectrum(one, k), 1) / dense
    matrix = torch.ones(size, size, dtype=torch.float64, device=device)
    rows = torch.ones(size, 276, dtype=torch.float64, device=device)
    # Some 45 products and the factorisation, which costs as much as another ten.
    limit = median_time(lambda: float(sum((matrix @ rows)[0, 0] for _ in range(55))), 3)
    return {
        "vertices": len(one.mass),
        "k": k,
        "shapes a second": shapes / dense,
        "shapes a second, 4 at once": shapes / together,
        "limit, shapes a second": 1.0 / limit,
        "sparse / dense": ratio,
        "difference": difference,
        "residual": float(found.residuals.max()),
        **stages(one, k, device),
        **other_ways(one, k, device),
    }


def cotangent(mesh: finsler.TriMesh) -> Laplacian:
    """`finsler.lbo` by numpy alone, for machines where nothing can be compiled."""
    n, corners = mesh.n_vertices, mesh.vertices[mesh.faces]
    entries = sparse.csr_array((n, n))
    areas = np.zeros(n)
    for corner in range(3):
        apex, i, j = (mesh.faces[:, (corner + turn) % 3] for turn in range(3))
        a, b = (corners[:, (corner + turn) % 3] - corners[:, corner] for turn in (1, 2))
        twice = np.linalg.norm(np.cross(a, b), axis=1)
        entries += sparse.csr_array((0.5 * (a * b).sum(axis=1) / twice, (i, j)), (n, n))
        areas += np.bincount(apex, twice / 6.0, n)
    weights = sparse.csr_array(entries + entries.T)
    return Laplacian(sparse.csr_array(sparse.diags_array(weights.sum(axis=1)) - weights), areas)


def stages(laplacian: Laplacian, k: int, device: str) -> dict[str, Any]:
    """Milliseconds of each stage of one shape, the device awaited after each."""
    from finsler.nn import spectra

    spent: dict[str, list[float]] = {}

    def timed(name: str, stage: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            await_device(device)
            start = time.perf_counter()
            result = stage(*arguments, **options)
            await_device(device)
            spent.setdefault(name, []).append(time.perf_counter() - start)
            return result

        return call

    inner = {name: getattr(spectra, name) for name in STAGES}
    try:
        for name, stage in inner.items():
            setattr(spectra, name, timed(name, stage))
        spectra.spectrum_torch(laplacian, k, device=device)
        spent.clear()
        start = time.perf_counter()
        spectra.spectrum_torch(laplacian, k, device=device)
        total = time.perf_counter() - start
    finally:
        for name, stage in inner.items():
            setattr(spectra, name, stage)
    known = {f"{STAGES[name]}, ms": 1e3 * sum(times) for name, times in spent.items()}
    rest = 1e3 * total - sum(known.values())
    return {**known, "rest, ms": rest, "filters, number": len(spent["_filtered"])}


def other_ways(laplacian: Laplacian, k: int, device: str) -> dict[str, Any]:
    """Milliseconds of ways not taken: torch's own inverse, and the small problem on the device."""
    import torch

    from finsler.nn import spectra

    root = torch.as_tensor(1.0 / np.sqrt(laplacian.mass), device=device)
    matrix = spectra._dense(laplacian.stiffness, root)
    matrix.diagonal().add_(float(laplacian.mass.sum()) * k)
    small = torch.randn(13 * k // 10, 13 * k // 10, dtype=torch.float64, device=device)
    small = small + small.T

    def by_torch() -> None:
        torch.cholesky_inverse(torch.linalg.cholesky_ex(matrix)[0])
        await_device(device)

    def factor() -> None:
        torch.linalg.cholesky_ex(matrix)
        await_device(device)

    return {
        "factor, ms": 1e3 * median_time(factor, 3),
        "factor and torch.cholesky_inverse, ms": 1e3 * median_time(by_torch, 3),
        "small eigh on the device, ms": 1e3
        * median_time(lambda: torch.linalg.eigh(small)[0].cpu(), 3),
        "small eigh on the processor, ms": 1e3
        * median_time(lambda: np.linalg.eigh(small.cpu().numpy()), 3),
    }


def await_device(device: str) -> None:
    """Return when the device has done what it was told."""
    import torch

    if torch.device(device).type == "cuda":
        torch.cuda.synchronize(device)


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
