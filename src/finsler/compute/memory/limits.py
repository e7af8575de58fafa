"""What does not fit is refused before it starts."""

from __future__ import annotations

from bisect import bisect_left
from importlib.util import find_spec
from typing import Any

from finsler.compute.memory.estimates import GIB, estimate
from finsler.compute.memory.machine import free_for
from finsler.errors import InputError

SOLVERS = ("auto", "direct", "iterative")
_SOLVED = ("diffusion", "heat", "spectrum")
_NAMES = {
    "frames": "principal frames",
    "lbo": "operator",
    "stack": "operators",
    "chebyshev": "rescaled operators",
    "eikonal": "distance",
    "heat": "heat distance",
    "geodesic": "heat method",
    "shot": "SHOT descriptor",
    "description": "descriptor and its file",
}
# What a task's size depends on beside the vertices, as sentences name it.
_COUNTS = {
    "stack": "angles = {angles}",
    "chebyshev": "angles = {angles}",
    "filter": "channels = {channels}",
    "spectrum": "k = {k}",
    "shot": "{channels} values each",
    "signature": "{channels} values each",
    "description": "{channels} values each",
}


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
    for name in tried:
        needed = estimate(task, vertices, solver=name, k=k).total
        if needed <= free_for(needed):
            return name
    require(task, vertices, solver=tried[-1], k=k)
    return tried[-1]


def require(
    task: str,
    vertices: int,
    *,
    solver: str = "direct",
    k: int = 50,
    angles: int = 8,
    channels: int = 16,
    itemsize: int = 8,
) -> None:
    """Raise where a task is predicted not to fit; the arguments are those of `estimate`.

    Less than 0.09 GiB is taken to fit, unless a limit is stated.

    Raises
    ------
    InputError
        With what it needs, what is free, and what would fit.

    Examples
    --------
    >>> from finsler.compute.memory import limited
    >>> with limited(4):
    ...     require("spectrum", 1_000_000, k=500)
    Traceback (most recent call last):
    ...
    finsler.errors.InputError: 1,000,000 vertices and k = 500 need about 13 GiB ...
    """
    sizes: dict[str, Any] = {"solver": solver, "k": k, "angles": angles}
    sizes |= {"channels": channels, "itemsize": itemsize}
    needed = estimate(task, vertices, **sizes).total
    free = free_for(needed)
    if needed <= free:
        return
    count = f" and {_COUNTS[task].format(**sizes)}" if task in _COUNTS else ""
    raise InputError(
        f"{vertices:,} vertices{count} need about {_text(needed)} for the"
        f" {_NAMES.get(task, task)}, of which {_text(max(free, 0.0))} are free;"
        f" {_advice(task, vertices, sizes, free)}, or say with --memory or FINSLER_MEMORY that"
        " there are more GiB"
    )


def _advice(task: str, vertices: int, sizes: dict[str, Any], free: float) -> str:
    """What would fit."""

    def fits(n: int = vertices, task: str = task, **other: Any) -> bool:
        return estimate(task, n, **{**sizes, **other}).total <= free

    def most(name: str, counts: range, **other: Any) -> int:
        fitting = bisect_left(counts, True, key=lambda count: not fits(**{**other, name: count}))
        return counts[fitting - 1] if fitting else 0

    k, values = sizes["k"], sizes["channels"]
    if task in _SOLVED and sizes["solver"] == "direct" and fits(solver="iterative"):
        return "take the iterative solver"
    sparse = task == "spectrum" and 3 * k + 192 <= vertices
    if sparse and (count := most("k", range(1, k), solver="iterative")):
        return f"take k = {count} or fewer with the iterative solver"
    if task in ("heat", "geodesic") and fits(task="eikonal"):
        return "take the method eikonal"
    if task in ("stack", "chebyshev") and (count := most("angles", range(1, sizes["angles"]))):
        return f"take at most {count} of the angles at a time"
    if task == "filter" and sizes["itemsize"] == 8 and fits(itemsize=4):
        return "take float32"
    if task == "filter" and (count := most("channels", range(1, values))):
        return f"take at most {count} of the channels at a time"
    if task == "shot" and (count := most("channels", range(64, values, 32))):
        return f"take bins = {count // 32 - 1} or fewer"
    smaller = vertices
    while smaller > 100 and not fits(smaller):
        smaller = int(0.9 * smaller)
    return f"simplify the mesh to {smaller:,} vertices"


def _text(size: float) -> str:
    gib = size / GIB
    return f"{gib:.0f} GiB" if gib >= 9.5 else f"{gib:.2g} GiB"
