"""How much memory a computation needs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec

from finsler.errors import InputError

GIB = 2.0**30
TASKS = (
    "frames",
    "lbo",
    "operator",
    "stack",
    "chebyshev",
    "filter",
    "diffusion",
    "eikonal",
    "heat",
    "geodesic",
    "spectrum",
    "shot",
    "signature",
    "description",
)


@dataclass(frozen=True)
class Estimate:
    """Bytes that a computation adds to the process at its peak, part by part."""

    parts: dict[str, float]

    @property
    def total(self) -> float:
        """Sum of the parts, in bytes."""
        return sum(self.parts.values())

    @property
    def gib(self) -> float:
        """Sum of the parts, in GiB."""
        return self.total / GIB


def estimate(
    task: str,
    vertices: int,
    *,
    solver: str = "direct",
    k: int = 50,
    angles: int = 8,
    channels: int = 16,
    itemsize: int = 8,
) -> Estimate:
    """Predict the memory of a task on a mesh, from peaks at 20,000 to 1,000,000 vertices.

    A triangle mesh has two faces and seven matrix entries a vertex, so all parts but a factor are
    so many bytes a vertex. The factor of nested dissection has about 5 n log₂ n entries. The
    estimate lies between 0.7 and 1.5 times the measured peak.

    Parameters
    ----------
    task : str
        "frames": principal frames. "lbo", "operator": the Laplacian, and that of a metric. "stack",
        "chebyshev": `angles` operators, and their rescaling. "filter": a Chebyshev filter of
        `channels` functions of `itemsize` bytes a number. "diffusion": implicit steps.
        "eikonal", "heat": the two methods of `randers_distance`. "geodesic": the heat method of
        potpourri3d. "spectrum": k eigenpairs. "shot": `channels` values of `itemsize` bytes.
        "signature": `channels` values of k eigenpairs. "description": `channels` values of any
        kind, computed and written to a file.
    vertices : int
    solver : {"direct", "iterative"}
        For diffusion, heat and spectrum.

    Raises
    ------
    InputError
        An unknown task.

    Examples
    --------
    >>> needs = estimate("spectrum", 1_000_000, k=50)
    >>> sorted(needs.parts), 2e9 < needs.total < 4e9
    (['basis', 'factor', 'matrix and work'], True)
    """
    sizes = {"k": k, "angles": angles, "channels": channels, "itemsize": itemsize}
    return Estimate(_parts(task, float(vertices), solver, **sizes))


def _parts(
    task: str, n: float, solver: str, *, k: int, angles: int, channels: int, itemsize: int
) -> dict[str, float]:
    match task:
        case "frames":
            parts = {"curvature and edges": 1190 * n}
        case "lbo":
            parts = {"matrix and work": 570 * n}
        case "operator":
            parts = {"tensors": 600 * n, "matrix": 300 * n}
        case "stack":
            parts = {"assembly": 340 * n, "values": 64.0 * angles * n}
        case "chebyshev":
            parts = {"values": 56.0 * angles * n, "work": 270 * n}
        case "filter":
            copy = 0.0 if itemsize == 8 else 8.0 * channels * n
            work = 5.0 * itemsize * channels * n
            parts = {"functions": work + copy, "operator": 10.0 * itemsize * n}
        case "diffusion":
            parts = {"matrix": 200 * n, **_solver_parts(solver, n)}
        case "eikonal":
            parts = {"geometry of corners": 1380 * n}
        case "heat":
            parts = {"geometry and matrices": 700 * n, **_solver_parts(solver, n)}
            if solver == "direct":
                parts["unsymmetric factor"] = 1.6 * _factor(n)
            else:
                parts["windows"] = 450 * n
        case "shot":
            copy = 0.0 if itemsize == 8 else float(itemsize * channels) * n
            parts = {"values": 8.0 * channels * n + copy, "cells and frames": 450 * n}
        case "signature":
            parts = {"values": 16.0 * channels * n, "squares": 8.0 * k * n}
        case "description":
            # The file is put together in memory before it is written.
            parts = {"values and file": 19.0 * channels * n, "cells and frames": 450 * n}
        case "geodesic":
            parts = {"intrinsic triangulation": 700 * n, "factors": 250.0 * math.log2(n + 1.0) * n}
        case "spectrum" if 3 * k + 192 > n:
            parts = {"dense matrices": 32.0 * n * n}
        case "spectrum":
            parts = {"matrix and work": 550 * n, **_solver_parts(solver, n)}
            parts["basis"] = 8.0 * (3 * k + 64) * n
        case _:
            raise InputError(f"task is {task!r}; it must be one of {', '.join(TASKS)}")
    return parts


def _solver_parts(solver: str, n: float) -> dict[str, float]:
    if solver == "iterative":
        return {"multigrid": 330 * n}
    # SuperLU, which stands in for CHOLMOD, keeps both triangles.
    return {"factor": _factor(n) * (1.0 if _has_cholmod() else 2.5)}


@cache
def _has_cholmod() -> bool:
    return find_spec("cholespy") is not None


def _factor(n: float) -> float:
    """Bytes of a Cholesky factor after nested dissection."""
    return max(62.0 * math.log2(n + 1.0) - 40.0, 0.0) * n
