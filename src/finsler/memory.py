"""How much memory a computation needs, said before it starts."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from finsler.errors import InputError

GIGABYTE = 1e9
SOLVERS = ("auto", "direct", "iterative")
TASKS = (
    "frames",
    "operator",
    "stack",
    "chebyshev",
    "filter",
    "diffusion",
    "eikonal",
    "heat",
    "geodesic",
    "spectrum",
)
_SOLVED = ("diffusion", "heat", "spectrum")
_NAMES = {"eikonal": "distance", "heat": "heat distance", "geodesic": "heat method"}
_CGROUP = Path("/sys/fs/cgroup")
_MEMINFO = Path("/proc/meminfo")
_stated: ContextVar[float | None] = ContextVar("stated", default=None)


@dataclass(frozen=True)
class Estimate:
    """Bytes that a computation adds to the process at its peak, part by part."""

    parts: dict[str, float]

    @property
    def total(self) -> float:
        """Sum of the parts, in bytes."""
        return sum(self.parts.values())

    @property
    def gigabytes(self) -> float:
        """Sum of the parts, in GB of 10⁹ bytes."""
        return self.total / GIGABYTE


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
        "frames": principal frames. "operator": the Laplacian of a metric. "stack", "chebyshev":
        `angles` operators, and their rescaling. "filter": a Chebyshev filter of `channels`
        functions of `itemsize` bytes a number. "diffusion": implicit steps. "eikonal", "heat":
        the two methods of `randers_distance`. "geodesic": the heat method of potpourri3d.
        "spectrum": k eigenpairs.
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
    n = float(vertices)
    match task:
        case "frames":
            parts = {"curvature and edges": 1190 * n}
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
            parts = {"geometry of corners": 1300 * n}
        case "heat":
            parts = {"geometry and matrices": 700 * n, **_solver_parts(solver, n)}
            if solver == "direct":
                parts["unsymmetric factor"] = 1.6 * _factor(n)
            else:
                parts["windows"] = 450 * n
        case "geodesic":
            parts = {"intrinsic triangulation and factors": 5000 * n}
        case "spectrum" if 3 * k + 192 > vertices:
            parts = {"dense matrices": 32.0 * n * n}
        case "spectrum":
            parts = {"matrix and work": 550 * n, **_solver_parts(solver, n)}
            parts["basis"] = 8.0 * (3 * k + 64) * n
        case _:
            raise InputError(f"task is {task!r}; it must be one of {', '.join(TASKS)}")
    return Estimate(parts)


def _solver_parts(solver: str, n: float) -> dict[str, float]:
    if solver == "iterative":
        return {"multigrid": 330 * n}
    # SuperLU, which stands in for CHOLMOD, keeps both triangles.
    return {"factor": _factor(n) * (1.0 if find_spec("cholespy") else 2.5)}


def _factor(n: float) -> float:
    """Bytes of a Cholesky factor after nested dissection."""
    return max(62.0 * math.log2(n + 1.0) - 40.0, 0.0) * n


@contextmanager
def limited(gigabytes: float) -> Iterator[None]:
    """Within the block, so much memory is taken to be free.

    Raises
    ------
    InputError
        Not a positive number.
    """
    if not 0.0 < gigabytes < math.inf:
        raise InputError(f"memory is {gigabytes} GB; it must be a positive number")
    token = _stated.set(gigabytes)
    try:
        yield
    finally:
        _stated.reset(token)


def available() -> float:
    """Bytes that may still be used: the smaller of what the machine has free and the cgroup allows.

    `limited` takes their place, else the environment variable FINSLER_MEMORY, in GB. Infinite where
    the system says nothing.

    Raises
    ------
    InputError
        FINSLER_MEMORY is not a positive number.
    """
    stated = _stated.get()
    if stated is not None:
        return stated * GIGABYTE
    variable = os.environ.get("FINSLER_MEMORY")
    if variable:
        return _gigabytes(variable) * GIGABYTE
    return min(_free_in_machine(), _free_in_cgroup())


def _gigabytes(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 < value < math.inf:
        raise InputError(f"FINSLER_MEMORY is {text!r}; it must be a positive number of GB")
    return value


def _free_in_machine() -> float:
    try:
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
    except OSError:
        return math.inf
    for line in lines:
        if line.startswith("MemAvailable:"):
            return 1024.0 * float(line.split()[1])
    return math.inf


def _free_in_cgroup() -> float:
    """Limit less use of this process's control group; pages of files can be dropped."""
    try:
        limit = (_CGROUP / "memory.max").read_text(encoding="ascii").strip()
        used = float((_CGROUP / "memory.current").read_text(encoding="ascii"))
        lines = (_CGROUP / "memory.stat").read_text(encoding="ascii").splitlines()
    except OSError:
        return math.inf
    if limit == "max":
        return math.inf
    files = sum(float(line.split()[1]) for line in lines if line.startswith("inactive_file "))
    return float(limit) - used + files


def choose(task: str, vertices: int, solver: str = "auto", *, k: int = 50) -> str:
    """The solver to take, "direct" or "iterative"; raises before anything that cannot fit starts.

    "auto" is direct where that is predicted to fit, else iterative (which needs pyamg).

    Raises
    ------
    InputError
        An unknown solver, or a prediction above what is available; the sentence names what would
        fit.
    """
    if solver not in SOLVERS:
        raise InputError(f'solver must be "auto", "direct" or "iterative", not {solver!r}')
    iterative = [] if find_spec("pyamg") is None else ["iterative"]
    tried = ["direct", *iterative] if solver == "auto" else [solver]
    free = available()
    for name in tried:
        if estimate(task, vertices, solver=name, k=k).total <= free:
            return name
    require(task, vertices, solver=tried[-1], k=k)
    return tried[-1]


def require(task: str, vertices: int, *, solver: str = "direct", k: int = 50) -> None:
    """Raise where a task is predicted not to fit.

    Raises
    ------
    InputError
        With what it needs, what is free, and what would fit.

    Examples
    --------
    >>> with limited(4):
    ...     require("spectrum", 1_000_000, k=500)
    Traceback (most recent call last):
    ...
    finsler.errors.InputError: 1,000,000 vertices and k = 500 need about 14 GB ...
    """
    free = available()
    needed = estimate(task, vertices, solver=solver, k=k).total
    if needed <= free:
        return
    sizes = f"{vertices:,} vertices and k = {k}" if task == "spectrum" else f"{vertices:,} vertices"
    raise InputError(
        f"{sizes} need about {_text(needed)} for the {_NAMES.get(task, task)}, of which"
        f" {_text(max(free, 0.0))} are free; {_advice(task, vertices, solver, k, free)}, or say"
        " with --memory or FINSLER_MEMORY that there are more GB"
    )


def _advice(task: str, vertices: int, solver: str, k: int, free: float) -> str:
    """What would fit."""

    def fits(n: int = vertices, *, task: str = task, solver: str = solver, k: int = k) -> bool:
        return estimate(task, n, solver=solver, k=k).total <= free

    if solver == "direct" and task in _SOLVED and fits(solver="iterative"):
        return "take the iterative solver"
    if task == "spectrum" and 3 * k + 192 <= vertices and fits(k=1, solver="iterative"):
        most = max(count for count in range(1, k) if fits(k=count, solver="iterative"))
        return f"take k = {most} or fewer with the iterative solver"
    if task in ("heat", "geodesic") and fits(task="eikonal"):
        return "take the method eikonal"
    smaller = vertices
    while smaller > 100 and not fits(smaller):
        smaller = int(0.9 * smaller)
    return f"simplify the mesh to {smaller:,} vertices"


def _text(size: float) -> str:
    gigabytes = size / GIGABYTE
    return f"{gigabytes:.0f} GB" if gigabytes >= 9.5 else f"{gigabytes:.2g} GB"
