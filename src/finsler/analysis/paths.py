"""Shortest paths through faces, read off a distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from finsler.analysis.eikonal import opposite_corners, trusted_share, typical_jump, update_geometry
from finsler.errors import ConvergenceError, InputError
from finsler.mesh.arguments import vertex_set, without_mesh
from finsler.mesh.health import warn_of
from finsler.mesh.summary import one_line
from finsler.mesh.topology import edges, nonmanifold_edges
from finsler.metric.randers import RandersMetric
from finsler.typing import FloatArray, IntArray

# A crossing closer than this share of an edge to its end is that end.
_SNAP = 1e-9
# Times a path may return to a vertex before it counts as caught.
_RETURNS = 100


@one_line()
@dataclass(frozen=True, eq=False)
class GeodesicPath:
    """A polyline on the surface, in the direction of travel.

    Attributes
    ----------
    points : (p, 3)
        Straight inside each face.
    faces : (p − 1,)
        The face that each piece lies in (one of two for a piece along an edge).
    length : float
        ∫ F along the path, in the direction of travel.
    """

    points: FloatArray
    faces: IntArray
    length: float


@without_mesh
def geodesic_path(
    metric: RandersMetric,
    distance: ArrayLike,
    sources: ArrayLike,
    target: int,
    *,
    reverse: bool = False,
) -> GeodesicPath:
    """The shortest path from the sources to a vertex, or back with `reverse`.

    Traced from the target to the source. Each piece goes back to where the update of the eikonal
    solver says that its end point was reached from: a point on the opposite edge of a face, whose
    own origin is looked for in the next face.

    Parameters
    ----------
    metric : RandersMetric
    distance : (n,)
        From `randers_distance` or `RandersHeat`, with the same sources and `reverse`.
    sources : int or sequence of int
    target : int
    reverse : bool
        Whether `distance` is that *to* the sources; the path then runs from target to source.

    Raises
    ------
    InputError
        The distance has the wrong shape, or the target cannot be reached.
    ConvergenceError
        The distance is not one of this metric, so that no path leads to a source.

    Examples
    --------
    >>> from finsler.mesh import primitives
    >>> from finsler.analysis.distance import randers_distance
    >>> mesh = primitives.plane(10, 10, jitter=0.3)
    >>> metric = RandersMetric.isotropic(mesh)
    >>> path = geodesic_path(metric, randers_distance(metric, 0), 0, 120)
    >>> round(path.length, 9), path.points[-1].tolist()
    (1.414213562, [1.0, 1.0, 0.0])
    """
    mesh = metric.mesh
    values = np.asarray(distance, dtype=np.float64)
    if values.shape != (mesh.n_vertices,):
        raise InputError(f"distance must have shape ({mesh.n_vertices},), not {values.shape}")
    ends = vertex_set(sources, mesh.n_vertices)
    goal = int(vertex_set(target, mesh.n_vertices, "target")[0])
    if not np.isfinite(values[goal]):
        raise InputError(f"vertex {goal} cannot be reached: its distance is infinite")
    values = values.copy()
    values[ends] = 0.0
    used = metric.reversed() if reverse else metric
    tracer = _Tracer(used, values, frozenset(int(v) for v in ends))
    tracer.run(goal)
    order = slice(None) if reverse else slice(None, None, -1)
    points, faces = np.array(tracer.points)[order], np.array(tracer.faces, dtype=np.int64)[order]
    return GeodesicPath(points, faces, tracer.length)


@dataclass(frozen=True)
class _Position:
    """A vertex, or a point on a half-edge of the face it has just been reached through."""

    vertex: int = -1
    halfedge: int = -1
    share: float = 0.0


class _Tracer:
    """Steps back from point to point and collects the points, faces and length of the way."""

    def __init__(
        self, metric: RandersMetric, distance: FloatArray, sources: frozenset[int]
    ) -> None:
        from finsler.operator._compiled import corners_by_vertex

        self.metric, self.distance, self.sources = metric, distance, sources
        self.mesh = mesh = metric.mesh
        self.start, self.corner = corners_by_vertex(mesh.faces, mesh.n_vertices)
        table = edges(mesh)
        # The way does not cross an edge of many faces, but follows it.
        warn_of({"nonmanifold_edges": len(nonmanifold_edges(mesh, table))})
        pairs = table.pairs
        self.across = np.full(3 * mesh.n_faces, -1, dtype=np.int64)
        self.across[pairs[:, 0]] = pairs[:, 1]
        self.across[pairs[:, 1]] = pairs[:, 0]
        corners = opposite_corners(mesh)
        self.apex = np.where(corners >= 0, mesh.faces.ravel()[corners], -1)
        self.trust = trusted_share(typical_jump(metric))
        self.left: set[int] = set()
        self.returns = 0
        self.points: list[FloatArray] = []
        self.faces: list[int] = []
        self.length = 0.0

    def run(self, target: int) -> None:
        position = _Position(vertex=target)
        self.points.append(self.mesh.vertices[target])
        for _ in range(3 * self.mesh.n_faces + 100):
            if position.vertex in self.sources:
                return
            position = (
                self._before_vertex(position.vertex)
                if position.vertex >= 0
                else self._before(position)
            )
        raise ConvergenceError("the path does not end; is the distance one of this metric?")

    def _before_vertex(self, vertex: int) -> _Position:
        """Where a vertex was reached from, over all faces around it."""
        self.left.add(vertex)
        here = self.mesh.vertices[vertex]
        options = []
        for corner in self.corner[self.start[vertex] : self.start[vertex + 1]]:
            face, c = divmod(int(corner), 3)
            options.append(self._origin(here, face, (c + 1) % 3))
        return self._go(options)

    def _before(self, position: _Position) -> _Position:
        """Where a point on an edge was reached from, in the face across the edge."""
        face, side = divmod(position.halfedge, 3)
        i, j = self._ends(position.halfedge)
        here = (1.0 - position.share) * self.mesh.vertices[i] + position.share * self.mesh.vertices[
            j
        ]
        other = int(self.across[position.halfedge])
        if other < 0:
            times = [
                self.distance[v] + self._norm(face, here - self.mesh.vertices[v]) for v in (i, j)
            ]
            return self._go([(times[k], face, _Position(vertex=(i, j)[k])) for k in (0, 1)])
        face, side = divmod(other, 3)
        return self._go([self._origin(here, face, (side + k) % 3) for k in (1, 2)])

    def _origin(self, here: FloatArray, face: int, side: int) -> tuple[float, int, _Position]:
        """Arrival time at a point of a face through one of its sides, and where it crosses."""
        from finsler.analysis._compiled import corner_update

        i, j = self._ends(3 * face + side)
        beyond = int(self.apex[face, (side + 2) % 3])
        a, b, far = (self.mesh.vertices[[v]] for v in (i, j, max(beyond, 0)))
        geometry = update_geometry(self.metric, np.array([face]), a, b, here[None], far)[0]
        later = self.distance[beyond] if beyond >= 0 else np.nan
        time, share = corner_update(geometry, self.distance[i], self.distance[j], later, self.trust)
        if share < _SNAP:
            return time, face, _Position(vertex=i)
        if share > 1.0 - _SNAP:
            return time, face, _Position(vertex=j)
        return time, face, _Position(halfedge=3 * face + side, share=share)

    def _go(self, options: list[tuple[float, int, _Position]]) -> _Position:
        """Take the earliest of several origins, if possible not a vertex that was left before.

        Distances of the heat method have local minima that are no source, at boundaries above all;
        this leads out of them.
        """
        fresh = [option for option in options if option[2].vertex not in self.left]
        self.returns += not fresh
        _, face, position = min(fresh or options, key=lambda option: option[0])
        if self.returns > _RETURNS:
            raise ConvergenceError(
                "the path is caught in a local minimum of the distance that is no source;"
                ' use method="eikonal"'
            )
        if position.vertex >= 0:
            point = self.mesh.vertices[position.vertex]
        else:
            i, j = self._ends(position.halfedge)
            point = (1.0 - position.share) * self.mesh.vertices[
                i
            ] + position.share * self.mesh.vertices[j]
        self.length += self._norm(face, self.points[-1] - point)
        self.points.append(point)
        self.faces.append(face)
        return position

    def _ends(self, halfedge: int) -> tuple[int, int]:
        face, side = divmod(halfedge, 3)
        return int(self.mesh.faces[face, side]), int(self.mesh.faces[face, (side + 1) % 3])

    def _local(self, face: int, vector: FloatArray) -> FloatArray:
        basis = self.metric.basis
        return np.array([basis.first[face] @ vector, basis.second[face] @ vector])

    def _norm(self, face: int, vector: FloatArray) -> float:
        local = self._local(face, vector)
        tensor, omega = self.metric.M[face], self.metric.omega[face]
        return float(np.sqrt(local @ tensor @ local) + omega @ local)
