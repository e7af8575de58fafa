"""Randers distances: from a source, and back to it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from finsler.analysis.eikonal import Eikonal
from finsler.analysis.randers_heat import RandersHeat
from finsler.compute.memory import require
from finsler.mesh.arguments import require_one_of, vertex_set, without_mesh
from finsler.mesh.measures import in_safe_unit
from finsler.metric.randers import RandersMetric
from finsler.typing import FloatArray, IntArray


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
    method, solver : {"eikonal", "heat"}, {"auto", "direct", "iterative"}
        "eikonal" is exact for a point source in a plane with constant metric; its cost grows with
        the number of sources, and with ‖ω‖ close to 1. "heat" has a few per cent of error and takes
        two linear solves a source by the solver, see [`RandersHeat`][finsler.RandersHeat].

    Returns
    -------
    (n,) or (n, s)
        Infinite on components without a source.

    Raises
    ------
    InputError
        No vertex, an unknown method or solver, too little memory, or ‖ω‖_{M⁻¹} ≥ 1 on a face.
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
    >>> metric = RandersMetric(mesh, np.eye(3), [0.5, 0.0, 0.0])
    >>> there, back = (randers_distance(metric, 0, reverse=way) for way in (False, True))
    >>> mesh.vertices[110].tolist(), round(float(there[110]), 12), round(float(back[110]), 12)
    ([1.0, 0.0, 0.0], 1.5, 0.5)
    """
    require_one_of(method, ("eikonal", "heat"), "method")
    points = vertex_set(sources, metric.mesh.n_vertices)
    scaled, unit = metric_in_safe_unit(metric)
    if method == "heat":
        heat = RandersHeat(scaled, solver=solver)
        return unit * heat.distance(points, reverse=reverse, each=each)
    front = scaled.reversed() if reverse else scaled
    return unit * _eikonal_distance(front, points, each)


def _eikonal_distance(metric: RandersMetric, points: IntArray, each: bool) -> FloatArray:
    require("eikonal", metric.mesh.n_vertices)
    front = Eikonal.of(metric)
    if not each:
        return front.distance(points)
    return np.stack([front.distance(points[[i]]) for i in range(len(points))], axis=1)


def metric_in_safe_unit(metric: RandersMetric) -> tuple[RandersMetric, float]:
    """The metric on its mesh in a unit of length in which nothing overflows, and that unit."""
    mesh, unit = in_safe_unit(metric.mesh)
    if mesh is metric.mesh:
        return metric, unit
    return RandersMetric(mesh, metric.M, metric.omega, basis=metric.basis), unit
