"""Randers distances: from a source, and back to it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from finsler.analysis.eikonal import Eikonal
from finsler.analysis.randers_heat import RandersHeat
from finsler.compute.memory import require
from finsler.errors import InputError
from finsler.mesh.arguments import vertex_set, without_mesh
from finsler.metric.randers import RandersMetric
from finsler.typing import FloatArray


@without_mesh
def randers_distance(
    metric: RandersMetric,
    sources: ArrayLike,
    *,
    reverse: bool = False,
    each: bool = False,
    method: str = "eikonal",
    solver: str = "auto",
) -> FloatArray:
    """Distance from the sources to every vertex, in which there and back may differ.

    Parameters
    ----------
    metric : RandersMetric
        Carries its mesh. Its distance d(x, y) is the least ∫ F over curves from x to y.
    sources : int or sequence of int
        A vertex, or a set of them.
    reverse : bool
        d(·, sources), the way *to* the sources, instead of d(sources, ·).
    each : bool
        One column for each source, (n, s), instead of the distance from the set, (n,).
    method : {"eikonal", "heat"}
        "eikonal" is the accurate one, exact for a point source in a plane with constant metric; its
        cost grows with the number of sources, and with ‖ω‖ close to 1. "heat" takes
        two linear solves a source after one factorisation, see
        [`RandersHeat`][finsler.RandersHeat] to keep that for later calls; a few
        per cent of error, smooth.
    solver : {"auto", "direct", "iterative"}
        Of the method "heat", see there; the other has no system to solve.

    Returns
    -------
    (n,) or (n, s)
        Infinite on components without a source.

    Raises
    ------
    InputError
        No source, an index out of range, an unknown method or solver, too little memory, or a
        metric with ‖ω‖_{M⁻¹} ≥ 1 on a face.
    ConvergenceError
        Arrival times do not settle, since ‖ω‖_{M⁻¹} is all but 1.

    Warns
    -----
    MeshWarning
        The metric changes so much from face to face that "eikonal" may be off by 5% and more.

    Examples
    --------
    >>> from finsler.mesh import primitives
    >>> mesh = primitives.plane(10, 10)
    >>> wind = np.tile([0.5, 0.0, 0.0], (mesh.n_faces, 1))
    >>> metric = RandersMetric(mesh, np.tile(np.eye(3), (mesh.n_faces, 1, 1)), wind)
    >>> there = randers_distance(metric, 0)
    >>> back = randers_distance(metric, 0, reverse=True)
    >>> mesh.vertices[110].tolist(), round(float(there[110]), 12), round(float(back[110]), 12)
    ([1.0, 0.0, 0.0], 1.5, 0.5)
    """
    if method not in ("eikonal", "heat"):
        raise InputError(f'method must be "eikonal" or "heat", not {method!r}')
    if method == "heat":
        heat = RandersHeat(metric, solver=solver)
        return heat.distance(sources, reverse=reverse, each=each)
    mesh = metric.mesh
    require("eikonal", mesh.n_vertices)
    points = vertex_set(sources, mesh.n_vertices)
    front = Eikonal.of(metric.reversed() if reverse else metric)
    if not each:
        return front.distance(points)
    return np.stack([front.distance(points[i : i + 1]) for i in range(len(points))], axis=1)
