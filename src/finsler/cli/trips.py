"""The ways that `finsler distance` measures: computed, named for files, and in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from finsler.cli.options import working

if TYPE_CHECKING:
    from finsler.analysis.paths import GeodesicPath
    from finsler.mesh import TriMesh
    from finsler.metric import RandersMetric
    from finsler.typing import FloatArray

_ENDINGS = ("", "_back")


class Method(StrEnum):
    """How distances are computed."""

    eikonal = "eikonal"
    heat = "heat"
    geodesic = "geodesic"


@dataclass(frozen=True, eq=False)
class Trip:
    """Distances (n,) from the sources, or to them with `reverse`, and one shortest path."""

    distance: FloatArray
    reverse: bool
    path: GeodesicPath | None = None

    @property
    def word(self) -> str:
        """Which way it goes."""
        return "to" if self.reverse else "from"


def traced(
    metric: RandersMetric,
    sources: list[int],
    ways: list[bool],
    method: Method = Method.eikonal,
    target: int | None = None,
) -> list[Trip]:
    """One trip for each way (True: to the sources), with a path where there is a target."""
    from finsler.analysis import RandersHeat, geodesic_path, randers_distance

    with working("distance"):
        if method is Method.geodesic:
            from finsler.analysis.geodesic import geodesic_distance

            found = [geodesic_distance(metric.mesh, sources, method="heat")]
        elif method is Method.heat:
            solver = RandersHeat(metric)
            found = [solver.distance(sources, reverse=way) for way in ways]
        else:
            found = [randers_distance(metric, sources, reverse=way) for way in ways]
    if target is None:
        return [Trip(d, way) for d, way in zip(found, ways, strict=True)]
    with working("path"):
        return [
            Trip(d, way, geodesic_path(metric, d, sources, target, reverse=way))
            for d, way in zip(found, ways, strict=True)
        ]


def functions_of(trips: list[Trip]) -> dict[str, FloatArray]:
    """What a file holds of one trip, or of the way there and the way back."""
    functions = {f"distance{end}": t.distance for end, t in zip(_ENDINGS, trips, strict=False)}
    if len(trips) == 2:
        functions["asymmetry"] = difference(trips)
    return functions


def difference(trips: list[Trip]) -> FloatArray:
    """There less back; NaN where neither way exists."""
    import numpy as np

    there, back = trips
    with np.errstate(invalid="ignore"):
        return np.asarray(there.distance - back.distance)


def corners(trips: list[Trip]) -> dict[str, FloatArray]:
    """Points (p, 3) of the paths, where there are some."""
    named = zip(_ENDINGS, trips, strict=False)
    return {f"path{end}": trip.path.points for end, trip in named if trip.path is not None}


def summary(
    mesh: TriMesh, trips: list[Trip], sources: list[int], target: int | None
) -> dict[str, Any]:
    """The largest values, what is not reached, and the paths, in numbers."""
    import numpy as np

    reached = np.isfinite(trips[0].distance)

    def largest(values: FloatArray) -> dict[str, Any]:
        vertex = int(np.argmax(np.where(reached, np.abs(values), -1.0)))
        return {"vertex": vertex, "value": float(values[vertex])}

    found = {f"largest_{trip.word}": largest(trip.distance) for trip in trips}
    if len(trips) == 2:
        found["largest_difference"] = largest(difference(trips))
    counts = {"vertices": mesh.n_vertices, "unreached": int((~reached).sum())}
    if target is None:
        return {**counts, **found}
    paths = [
        {**_ends(mesh, trip, trip.path, sources, target), "length": trip.path.length}
        for trip in trips
        if trip.path is not None
    ]
    return {**counts, **found, "paths": paths}


def _ends(
    mesh: TriMesh, trip: Trip, path: GeodesicPath, sources: list[int], target: int
) -> dict[str, int]:
    """First and last vertex of a path; of several sources, the one that it meets."""
    import numpy as np

    end = path.points[-1 if trip.reverse else 0]
    met = sources[int(np.argmin(np.linalg.norm(mesh.vertices[sources] - end, axis=1)))]
    return {"from": target, "to": met} if trip.reverse else {"from": met, "to": target}
