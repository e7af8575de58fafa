"""Riemannian geodesic distances, through maintained libraries, or without them our own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from finsler.analysis.eikonal import Eikonal
from finsler.analysis.randers_heat import RandersHeat
from finsler.compute.memory import require
from finsler.errors import ConvergenceError, InputError
from finsler.mesh.arguments import checked, vertex_set
from finsler.mesh.measures import require_usable_faces
from finsler.mesh.topology import nonmanifold_edges, nonmanifold_vertices, vertex_components
from finsler.mesh.trimesh import TriMesh
from finsler.metric.randers import RandersMetric
from finsler.typing import FloatArray, IntArray

# Distance from a set of sources to every vertex.
_FromSet = Callable[[IntArray], FloatArray]


@checked
def geodesic_distance(
    mesh: TriMesh, sources: ArrayLike, *, method: str = "heat", each: bool = False
) -> FloatArray:
    """Length of the shortest path on the surface from the sources to every vertex.

    Parameters
    ----------
    mesh : TriMesh
    sources : int or sequence of int
        A vertex, or a set of them.
    method : {"heat", "fmm", "exact"}
        "heat": the heat method of Crane et al. (potpourri3d), fastest for many sources, smooth,
        about 1% of error. "fmm": fast marching (potpourri3d). Without that library the same methods
        of this package stand in, slower: those of `randers_distance`. "exact": exact on the
        polyhedron (pygeodesic, `pip install finsler[exact]`), a hundred times slower.
    each : bool
        One column for each source, (n, s), instead of the distance from the set, (n,).

    Returns
    -------
    (n,) or (n, s)
        Infinite on components without a source.

    Raises
    ------
    InputError
        No source, an index out of range, an unknown method, a library that is missing, or a mesh
        that it does not accept.
    """
    points = vertex_set(sources, mesh.n_vertices)
    solver = GeodesicSolver.of(mesh, method)
    if not each:
        return solver.from_set(points)
    return solver.rows(points, np.float64).T.astype(np.float64, copy=False)


@checked
def geodesic_matrix(
    mesh: TriMesh,
    sources: ArrayLike | None = None,
    *,
    method: str = "heat",
    dtype: DTypeLike = np.float32,
    memory: float = 4.0,
) -> NDArray[np.floating]:
    """Distances between all vertices, or from some to all: row i holds those from source i.

    Parameters
    ----------
    mesh : TriMesh
    sources : sequence of int, optional
        By default all vertices.
    method : {"heat", "fmm", "exact"}
        As for [`geodesic_distance`][finsler.geodesic_distance]. Distances of the heat method are
        not exactly symmetric.
    dtype : numpy float type
        Of the result; half the memory and seven digits by default.
    memory : float
        Largest result in GiB; more raises before anything is computed.

    Returns
    -------
    (s, n)
    """
    every = np.arange(mesh.n_vertices) if sources is None else sources
    points = vertex_set(every, mesh.n_vertices)
    size = len(points) * mesh.n_vertices * np.dtype(dtype).itemsize / 2**30
    if not size <= memory:
        raise InputError(
            f"{len(points):,} x {mesh.n_vertices:,} distances need {size:.1f} GiB, above"
            f" memory={memory:g}; ask for fewer sources at a time, or raise it"
        )
    return GeodesicSolver.of(mesh, method).rows(points, dtype)


@dataclass(frozen=True, eq=False)
class GeodesicSolver:
    """Distances on one mesh, by a method whose factors are kept from one source to the next.

    Attributes
    ----------
    part : (n,)
        Component of each vertex.
    solve : callable
        Distances from a set of sources, anything on components without one.
    """

    part: IntArray
    solve: _FromSet

    @classmethod
    def of(cls, mesh: TriMesh, method: str = "heat") -> GeodesicSolver:
        """By one of the methods of [`geodesic_distance`][finsler.geodesic_distance]."""
        return cls(vertex_components(mesh), _solver(mesh, method))

    def from_set(self, points: IntArray) -> FloatArray:
        """Distance from a set of sources, (n,)."""
        return _reachable(self.solve(points), self.part, points)

    def rows(self, points: IntArray, dtype: DTypeLike = np.float32) -> NDArray[np.floating]:
        """Distances from each of the sources, (s, n)."""
        distances = np.empty((len(points), len(self.part)), dtype=dtype)
        for row, point in enumerate(points):
            distances[row] = self.from_set(np.array([point]))
        return distances


def _solver(mesh: TriMesh, method: str) -> _FromSet:
    builders = {"heat": _heat, "fmm": _fast_marching, "exact": _exact}
    if method not in builders:
        raise InputError(f'method must be "heat", "fmm" or "exact", not {method!r}')
    require_usable_faces(mesh)
    if method != "heat":
        _require_manifold(mesh, method)
    try:
        with _accepting(method):
            return builders[method](mesh)
    except ImportError as error:
        raise InputError(
            f'method="{method}" needs pygeodesic, which is not installed or too old; pip install'
            " --upgrade finsler[exact]"
        ) from error


@contextmanager
def _accepting(method: str) -> Iterator[None]:
    """Turn a library's refusal of a mesh into a sentence."""
    try:
        yield
    except RuntimeError as error:
        raise InputError(
            f'method="{method}" does not accept this mesh ({error}); repair it with finsler.repair'
        ) from error


def _require_manifold(mesh: TriMesh, method: str) -> None:
    """Raise before a library that only knows manifolds reads what is not there."""
    remedy = f'method="{method}" needs a manifold: take "heat", or repair it with finsler.repair'
    crowded, joined = nonmanifold_edges(mesh), nonmanifold_vertices(mesh)
    if len(crowded):
        raise InputError(
            f"the edge between vertices {crowded[0, 0]} and {crowded[0, 1]} has more than two faces"
            f" ({len(crowded)} such edges); {remedy}"
        )
    if len(joined):
        raise InputError(
            f"vertex {joined[0]} joins separate fans of faces ({len(joined)} such vertices);"
            f" {remedy}"
        )


def _heat(mesh: TriMesh) -> _FromSet:
    require("geodesic", mesh.n_vertices)
    try:
        from potpourri3d import MeshHeatMethodDistanceSolver
    except ImportError:
        return RandersHeat(_euclidean(mesh)).distance

    part = vertex_components(mesh)
    solvers = {}

    def distance(points: IntArray) -> FloatArray:
        # Component by component: the time step of the heat goes with the mean length of edges.
        times = np.full(mesh.n_vertices, np.inf)
        for c in np.unique(part[points]):
            members = np.flatnonzero(part == c)
            if c not in solvers:
                faces = np.searchsorted(members, mesh.faces[part[mesh.faces[:, 0]] == c])
                with _accepting("heat"):
                    solvers[c] = MeshHeatMethodDistanceSolver(mesh.vertices[members], faces)
            inside = np.flatnonzero(np.isin(members, points))
            times[members] = solvers[c].compute_distance_multisource(inside.tolist())
        return times

    return distance


def _fast_marching(mesh: TriMesh) -> _FromSet:
    try:
        from potpourri3d import MeshFastMarchingDistanceSolver
    except ImportError:
        return Eikonal.of(_euclidean(mesh)).distance
    solver = MeshFastMarchingDistanceSolver(mesh.vertices, mesh.faces)
    return lambda points: np.asarray(solver.compute_distance([[(int(v), [])] for v in points]))


def _euclidean(mesh: TriMesh) -> RandersMetric:
    return RandersMetric(mesh, np.eye(3), np.zeros(3))


def _exact(mesh: TriMesh) -> _FromSet:
    from pygeodesic.geodesic import PyGeodesicAlgorithmExact

    solver = PyGeodesicAlgorithmExact(mesh.vertices, mesh.faces)
    part = vertex_components(mesh)

    def distance(points: IntArray) -> FloatArray:
        # Asked for vertices that no source reaches, the library reads what it never wrote.
        reached = np.flatnonzero(np.isin(part, part[points]))
        distances = np.full(mesh.n_vertices, np.inf)
        distances[reached] = solver.geodesicDistances(points, reached)[0]
        if not np.isfinite(distances[reached]).all():
            raise ConvergenceError(
                'method="exact" loses its way on this mesh, which probably has needle-like faces;'
                ' take "heat", or remesh it'
            )
        return distances

    return distance


def _reachable(distance: FloatArray, part: IntArray, points: IntArray) -> FloatArray:
    """Infinite on the components that hold no source."""
    return np.where(np.isin(part, part[points]), distance, np.inf)
