"""How fast is ZoomOut on an accelerator, against the same on the processor, on the same data?

From 60 to 200 functions, by way of 5,000 samples, between two numberings of one surface, from a map
with errors. The bases are spherical harmonics, in closed form: no mesh and no spectrum is computed.
Where numba is missing, the processor searches by products instead of cells.

    python benchmarks/zoomout.py [--vertices 100000] [--device cuda] [--no-cpu]
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from scipy.special import gammaln

from common import median_time, print_table, save
from finsler.analysis import Spectrum
from finsler.matching import nearest, nearest_rows, refine
from finsler.nn import zoomout_torch
from finsler.typing import FloatArray

FIRST, STEP = 60, 70


def harmonics(points: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    """The first k real spherical harmonics at points (n, 3) of the unit sphere: values, (n, k)."""
    x, y, z = points.T
    around = np.arctan2(y, x)
    flat = np.sqrt(np.maximum(1.0 - z * z, 0.0))
    degrees = math.isqrt(k - 1) + 1
    columns: list[FloatArray] = [np.empty(0)] * degrees**2
    diagonal = np.ones_like(z)
    for m in range(degrees):
        # P_m^m, then up in the degree.
        before, now = np.zeros_like(z), diagonal
        for degree in range(m, degrees):
            size = (2 * degree + 1) / (4.0 * math.pi) * (1.0 if m == 0 else 2.0)
            scale = math.sqrt(size * math.exp(gammaln(degree - m + 1) - gammaln(degree + m + 1)))
            middle = degree * degree + degree
            columns[middle + m] = scale * now * np.cos(m * around)
            if m:
                columns[middle - m] = scale * now * np.sin(m * around)
            after = ((2 * degree + 1) * z * now - (degree + m) * before) / (degree + 1 - m)
            before, now = now, after
        diagonal = diagonal * (2 * m + 1) * flat
    values = np.repeat(np.arange(degrees), 2 * np.arange(degrees) + 1)[:k]
    return (values * (values + 1)).astype(float), np.stack(columns[:k], axis=1)


def sphere(n: int, k: int) -> tuple[FloatArray, Spectrum]:
    """Points of a spiral on the sphere, all of one area, and their basis."""
    z = 1.0 - (2.0 * np.arange(n) + 1.0) / n
    angle = math.pi * (3.0 - math.sqrt(5.0)) * np.arange(n)
    flat = np.sqrt(1.0 - z * z)
    points = np.stack([flat * np.cos(angle), flat * np.sin(angle), z], axis=1)
    values, basis = harmonics(points, k)
    return points, Spectrum(values, basis, np.full(n, 4.0 * math.pi / n), np.zeros(k))


def timed(job: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = job()
    return time.perf_counter() - start, result


def measure(n: int, k: int, device: str, *, cpu: bool) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    points, first = sphere(n, k)
    order = rng.permutation(n)
    right = np.argsort(order)
    second = Spectrum(first.eigenvalues, first.eigenvectors[order], first.mass, first.residuals)
    start = np.where(rng.random(n) < 0.2, rng.integers(0, n, n), right)

    def on_device() -> Any:
        return zoomout_torch(start, first, second, start=FIRST, step=STEP, device=device)

    seconds, found = median_time(on_device, 3), on_device()
    apart = np.linalg.norm(points - points[order][found.map_12], axis=1)
    result: dict[str, Any] = {
        "vertices": n,
        "device": device,
        "on the device, s": seconds,
        **parts(first, second, device),
        "exact, %": 100.0 * float((apart == 0.0).mean()),
        "right at the start, %": 100.0 * float((start == right).mean()),
    }
    if cpu:
        cells = find_spec("numba") is not None
        if cells:
            nearest_rows(points[:20_000], points[:20_000])  # compiles
        else:
            nearest._MANY_POINTS = 10**9
        spent, expected = timed(lambda: refine(start, first, second, first=FIRST, step=STEP))
        result |= {
            f"on the processor, s ({'cells' if cells else 'products'})": spent,
            "ratio": spent / seconds,
            "same vertex, %": 100.0 * float((found.map_12 == expected.map_12).mean()),
        }
    return result


def parts(first: Spectrum, second: Spectrum, device: str) -> dict[str, float]:
    """Seconds of moving the bases, of the last search, and of its products as a limit."""
    from finsler.nn.zoomout import _nearest

    def moved() -> list[torch.Tensor]:
        bases = [torch.as_tensor(each.eigenvectors, device=device) for each in (first, second)]
        float(bases[1][0, 0])
        return bases

    queries, points = moved()
    q, p = queries.float(), points.float()

    def products() -> float:
        return float(sum((q[i : i + 5000] @ p.T)[0, 0] for i in range(0, len(q), 5000)))

    return {
        "moving the bases, s": median_time(moved, 3),
        "last search, s": median_time(lambda: int(_nearest(queries, points, 2**31)[0]), 3),
        "limit: its products alone, s": median_time(products, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vertices", type=int, default=100_000)
    parser.add_argument("--functions", type=int, default=200)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--no-cpu", action="store_true", help="Leave the processor out.")
    options = parser.parse_args()
    result = measure(options.vertices, options.functions, options.device, cpu=not options.no_cpu)
    print_table("ZoomOut on a device", ["what", "value"], list(map(list, result.items())))
    save("zoomout", result)


if __name__ == "__main__":
    main()
