"""`finsler bench`: what this machine needs for the main jobs, beside a known one."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finsler.cli.options import AsJson, working

if TYPE_CHECKING:
    from finsler.mesh import TriMesh
    from finsler.operator import AngleStack


def bench(
    vertices: Annotated[
        int, typer.Option(help="Size of the shape, about.", min=200, max=2_000_000)
    ] = 5000,
    repeats: Annotated[int, typer.Option(help="Runs of each job; the median counts.", min=1)] = 5,
    as_json: AsJson = False,
) -> None:
    """Measure the main jobs on a shape that the package makes: frames, operators, spectrum, ...

    Times on one machine say little about another; so each is also given as a multiple of a sparse
    matrix product with 64 functions, measured in the same run. The scripts in `benchmarks/` of the
    repository go further, and compare with other libraries.
    """
    import numpy as np

    from finsler.mesh import primitives

    mesh = primitives.bumpy_sphere(max(4, round(np.sqrt((vertices - 2) / 10.0))))
    rows = []
    unit = None
    for name, job in _jobs(mesh):
        with working(name):
            seconds = _median(job, repeats)
        unit = seconds if unit is None else unit
        rows.append({"job": name, "seconds": seconds, "products": seconds / unit})
    if as_json:
        print(json.dumps({"vertices": mesh.n_vertices, "repeats": repeats, "jobs": rows}, indent=2))
        return
    _print(mesh, rows)


def _median(job: Callable[[], object], repeats: int) -> float:
    """Median seconds, after a run that compiles and is not counted."""
    job()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2]


def _jobs(mesh: TriMesh) -> Iterator[tuple[str, Callable[[], object]]]:
    """The jobs by name; the first is what the others are compared with."""
    import numpy as np

    from finsler.analysis import geodesic_distance, spectrum
    from finsler.descriptors import shot
    from finsler.frames import principal_frames
    from finsler.operator import angle_stack, chebyshev_operators, lbo

    plain = lbo(mesh)
    functions = np.random.default_rng(0).standard_normal((mesh.n_vertices, 64))
    frames = principal_frames(mesh)
    stack = angle_stack(mesh, frames=frames)
    radius = 0.09 * float(np.sqrt(plain.mass.sum()))
    yield "sparse product with 64 functions", lambda: plain.stiffness @ functions
    yield "principal frames", lambda: principal_frames(mesh)
    yield "operators at eight angles", lambda: angle_stack(mesh, frames=frames)
    yield "their rescaling", lambda: chebyshev_operators(stack)
    yield "50 eigenpairs", lambda: spectrum(plain, 50)
    yield "distance from one vertex", lambda: geodesic_distance(mesh, 0)
    yield "SHOT at every vertex", lambda: shot(mesh, radius=radius)
    yield from _learning(stack)


def _learning(stack: AngleStack) -> Iterator[tuple[str, Callable[[], object]]]:
    """A layer of the network, forward and backward, where torch is there."""
    try:
        from finsler.nn.timing import layer_steps
    except ImportError:
        return
    from finsler.operator import chebyshev_operators

    for device, step in layer_steps(chebyshev_operators(stack)):
        yield f"a layer forward and backward, {device}", step


def _print(mesh: TriMesh, rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column(f"{mesh.n_vertices:,} vertices")
    for heading in ("ms", "× product"):
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(row["job"], f"{1000 * row['seconds']:,.1f}", f"{row['products']:,.1f}")
    Console(highlight=False).print(table)
