"""Distances from sources or to them, with the shortest paths, ready to be written and drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from finsler.analysis.distance import randers_distance
from finsler.analysis.geodesic import geodesic_distance
from finsler.analysis.paths import GeodesicPath, geodesic_path
from finsler.analysis.randers_heat import RandersHeat
from finsler.mesh.arguments import checked
from finsler.mesh.summary import one_line
from finsler.mesh.trimesh import TriMesh
from finsler.metric.randers import RandersMetric
from finsler.typing import FloatArray

_ENDINGS = ("", "_back")


@one_line()
@dataclass(frozen=True, eq=False)
class DistanceField:
    """Distances of every vertex from sources, or to them.

    Attributes
    ----------
    mesh : TriMesh
    sources : list of int
    values : (n,)
        Infinite on parts without a source.
    reverse : bool
        Whether these are distances to the sources.
    path : GeodesicPath, optional
        A shortest path between the sources and one vertex, in the direction of travel.
    """

    mesh: TriMesh
    sources: list[int]
    values: FloatArray
    reverse: bool
    path: GeodesicPath | None = None

    @property
    def preposition(self) -> str:
        """ "to" or "from": how the sources are spoken of."""
        return "to" if self.reverse else "from"

    @checked
    def path_ends(self, target: int) -> tuple[int, int]:
        """First and last vertex of the path; of several sources, the one that it meets."""
        assert self.path is not None
        end = self.path.points[-1 if self.reverse else 0]
        steps = np.linalg.norm(self.mesh.vertices[self.sources] - end, axis=1)
        met = self.sources[int(np.argmin(steps))]
        return (target, met) if self.reverse else (met, target)


@checked
def distance_fields(
    metric: RandersMetric,
    sources: Sequence[int],
    *,
    both: bool = False,
    reverse: bool = False,
    method: str = "eikonal",
    solver: str = "auto",
    target: int | None = None,
) -> list[DistanceField]:
    """The distance from the sources, to them with `reverse`, or with `both` first one, then other.

    Parameters
    ----------
    metric : RandersMetric
    sources : sequence of int
    method : {"eikonal", "heat", "geodesic"}
        As for [`randers_distance`][finsler.randers_distance]; "geodesic" is the heat method for the
        surface's own lengths, whatever the metric.
    solver : {"auto", "direct", "iterative"}
        Of the heat method.
    target : int, optional
        A vertex to trace a shortest path to, or from it on the way back.

    Raises
    ------
    InputError
        A vertex that does not exist, or a target on a part without a source.

    Examples
    --------
    >>> from finsler.mesh import primitives
    >>> plane = primitives.plane(4, 4)
    >>> metric = RandersMetric.isotropic(plane)
    >>> there, back = distance_fields(metric, [0], both=True, target=4)
    >>> round(there.path.length, 6), back.path_ends(4)
    (1.0, (4, 0))
    """
    ways = [False, True] if both else [reverse]
    starts = [int(vertex) for vertex in sources]
    if method == "heat":
        heat = RandersHeat(metric, solver=solver)
        values = [heat.distance(starts, reverse=way) for way in ways]
    elif method == "geodesic":
        values = [geodesic_distance(metric.mesh, starts, method="heat") for _ in ways]
    else:
        values = [randers_distance(metric, starts, reverse=way, method=method) for way in ways]
    fields = []
    for way, distance in zip(ways, values, strict=True):
        path = None
        if target is not None:
            path = geodesic_path(metric, distance, starts, target, reverse=way)
        fields.append(DistanceField(metric.mesh, starts, distance, way, path))
    return fields


def difference(fields: Sequence[DistanceField]) -> FloatArray:
    """The first of two distances less the second; NaN where neither way exists."""
    first, second = fields
    with np.errstate(invalid="ignore"):
        return np.asarray(first.values - second.values)


def named_values(fields: Sequence[DistanceField]) -> dict[str, FloatArray]:
    """`distance`, and of two fields also `distance_back` and `asymmetry`, for a file."""
    named = {f"distance{end}": f.values for end, f in zip(_ENDINGS, fields, strict=False)}
    return named | ({"asymmetry": difference(fields)} if len(fields) == 2 else {})


def named_paths(fields: Sequence[DistanceField]) -> dict[str, FloatArray]:
    """Corners (p, 3) of the paths, where there are some: `path` and `path_back`."""
    named = zip(_ENDINGS, fields, strict=False)
    return {f"path{end}": field.path.points for end, field in named if field.path is not None}


def summary(fields: Sequence[DistanceField], target: int | None = None) -> dict[str, Any]:
    """The largest values with their vertices, what is not reached, and lengths of the paths."""
    reached = np.isfinite(fields[0].values)

    def largest(values: FloatArray) -> dict[str, Any]:
        vertex = int(np.argmax(np.where(reached, np.abs(values), -1.0)))
        return {"vertex": vertex, "value": float(values[vertex])}

    numbers: dict[str, Any] = {"vertices": len(reached), "unreached": int((~reached).sum())}
    numbers |= {f"largest_{field.preposition}": largest(field.values) for field in fields}
    if len(fields) == 2:
        numbers["largest_difference"] = largest(difference(fields))
    if target is not None:
        numbers["paths"] = [
            {**dict(zip(("from", "to"), field.path_ends(target), strict=True)), "length": length}
            for field in fields
            if (length := field.path.length if field.path else None) is not None
        ]
    return numbers
