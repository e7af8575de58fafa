"""Randers distances: from a source, and back to it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse import csgraph

from finsler.errors import ConvergenceError, InputError
from finsler.factor import Solve, factorise, factorise_unsymmetric
from finsler.mesh.measures import face_areas, hat_gradients, require_usable_faces
from finsler.mesh.topology import edges
from finsler.mesh.trimesh import FloatArray, IntArray, TriMesh
from finsler.metric.randers import RandersMetric
from finsler.operator.drift import DriftOperator, default_epsilon, drift_operator

# Columns solved at once, and the size of the source: u falls to about exp(-d/ε) of it.
_BLOCK = 16
_SOURCE = 1e250


def randers_distance(
    mesh: TriMesh,
    metric: RandersMetric,
    sources: ArrayLike,
    *,
    reverse: bool = False,
    each: bool = False,
    method: str = "eikonal",
) -> FloatArray:
    """Distance from the sources to every vertex, in which there and back may differ.

    Parameters
    ----------
    mesh, metric
        The metric's distance d(x, y) is the least ∫ F over curves from x to y.
    sources : int or sequence of int
        A vertex, or a set of them.
    reverse : bool
        d(·, sources), the way *to* the sources, instead of d(sources, ·).
    each : bool
        One column for each source, (n, s), instead of the distance from the set, (n,).
    method : {"eikonal", "heat"}
        "eikonal" is the accurate one, exact for a point source in a plane with constant metric and
        valid for any anisotropy and ‖ω‖; its cost grows with the number of sources. "heat" takes
        two linear solves a source after one factorisation, see
        [`RandersHeat`][finsler.analysis.distance.RandersHeat] to keep that for later calls; a few
        per cent of error, smooth.

    Returns
    -------
    (n,) or (n, s)
        Infinite on components without a source.

    Raises
    ------
    InputError
        No source, an index out of range, an unknown method.

    Examples
    --------
    >>> from finsler.mesh import primitives
    >>> mesh = primitives.plane(10, 10)
    >>> wind = np.tile([0.5, 0.0, 0.0], (mesh.n_faces, 1))
    >>> metric = RandersMetric(mesh, np.tile(np.eye(3), (mesh.n_faces, 1, 1)), wind)
    >>> there = randers_distance(mesh, metric, 0)
    >>> back = randers_distance(mesh, metric, 0, reverse=True)
    >>> mesh.vertices[110].tolist(), round(float(there[110]), 12), round(float(back[110]), 12)
    ([1.0, 0.0, 0.0], 1.5, 0.5)
    """
    if method not in ("eikonal", "heat"):
        raise InputError(f'method must be "eikonal" or "heat", not {method!r}')
    if method == "heat":
        return RandersHeat(mesh, metric).distance(sources, reverse=reverse, each=each)
    points = checked_sources(sources, mesh.n_vertices)
    solver = _Eikonal.of(mesh, metric.reversed() if reverse else metric)
    if not each:
        return solver.distance(points)
    return np.stack([solver.distance(points[i : i + 1]) for i in range(len(points))], axis=1)


def checked_sources(sources: ArrayLike, n_vertices: int) -> IntArray:
    """Vertex indices as a non-empty vector, or an InputError."""
    points = np.atleast_1d(np.asarray(sources))
    if points.size == 0:
        raise InputError("there are no sources; give at least one vertex")
    if points.ndim != 1 or not np.issubdtype(points.dtype, np.integer):
        raise InputError("sources must be a vertex index or a list of them")
    bad = (points < 0) | (points >= n_vertices)
    if bad.any():
        raise InputError(
            f"source {int(points[np.argmax(bad)])} is out of range; vertices are numbered"
            f" 0..{n_vertices - 1}"
        )
    return points.astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Eikonal:
    """F*(∇d) = 1 by local updates, iterated in bands of arrival time until nothing changes."""

    mesh: TriMesh
    start: NDArray[np.int32]
    corner: NDArray[np.int32]
    geometry: FloatArray
    apex: IntArray
    width: float

    @classmethod
    def of(cls, mesh: TriMesh, metric: RandersMetric) -> _Eikonal:
        from finsler.operator._compiled import corners_by_vertex

        require_usable_faces(mesh)
        apex = opposite_vertices(mesh)
        geometry = _corner_geometry(mesh, metric, apex)
        start, corner = corners_by_vertex(mesh.faces, mesh.n_vertices)
        width = 0.5 * float(np.median(geometry[:, :, 5:7]))
        return cls(mesh, start, corner, geometry, apex, width)

    def distance(self, sources: IntArray) -> FloatArray:
        from finsler.analysis._compiled import march

        found = np.full(self.mesh.n_vertices, np.inf)
        found[sources] = 0.0
        march(self.mesh.faces, self.start, self.corner, self.geometry, self.apex, self.width, found)
        return found


def opposite_vertices(mesh: TriMesh) -> IntArray:
    """The vertex beyond the side opposite to each corner, (m, 3); −1 where there is none."""
    first, second = edges(mesh).pairs.T
    # Half-edge 3f + c starts at corner c; the corner opposite to it is c + 2.
    far = np.roll(mesh.faces, -2, axis=1).ravel()
    beyond = np.full(3 * mesh.n_faces, -1, dtype=np.int64)
    beyond[first], beyond[second] = far[second], far[first]
    return np.roll(beyond.reshape(-1, 3), -1, axis=1)


def _corner_geometry(mesh: TriMesh, metric: RandersMetric, apex: IntArray) -> FloatArray:
    """The nine numbers of `corner_update` for each corner, (m, 3, 9)."""
    geometry = np.empty((mesh.n_faces, 3, 9))
    corners = mesh.vertices[mesh.faces]
    for i in range(3):
        c, a, b = corners[:, i], corners[:, (i + 1) % 3], corners[:, (i + 2) % 3]
        beyond = np.where(apex[:, i : i + 1] >= 0, mesh.vertices[apex[:, i]], a)
        geometry[:, i] = update_geometry(metric, slice(None), a, b, c, beyond)
    return geometry


def update_geometry(
    metric: RandersMetric,
    faces: IntArray | slice,
    a: FloatArray,
    b: FloatArray,
    c: FloatArray,
    beyond: FloatArray,
) -> FloatArray:
    """What `corner_update` needs for points c of faces, sides ab and points beyond them, (p, 9)."""
    tensor, omega = metric.M[faces], metric.omega[faces]
    axes = metric.basis.first[faces], metric.basis.second[faces]

    def local(vectors: FloatArray) -> FloatArray:
        return np.stack([np.einsum("pi,pi->p", vectors, axis) for axis in axes], axis=1)

    def product(first: FloatArray, second: FloatArray) -> FloatArray:
        return np.asarray(np.einsum("pi,pij,pj->p", first, tensor, second))

    def norm(vectors: FloatArray) -> FloatArray:
        size = np.sqrt(product(vectors, vectors))
        return np.asarray(size + np.einsum("pi,pi->p", omega, vectors))

    edge, from_a, from_b = local(b - a), local(c - a), local(c - b)
    length = np.sqrt(product(edge, edge))
    area = np.sqrt(np.linalg.det(tensor)) / length
    # Heights from the determinant: no cancellation on flat triangles.
    cross = edge[:, 0] * from_a[:, 1] - edge[:, 1] * from_a[:, 0]
    x, y = product(from_a, edge) / length, area * np.abs(cross)
    omega_x = np.einsum("pi,pi->p", omega, edge) / length
    omega_y = (np.einsum("pi,pi->p", omega, from_a) - omega_x * x) / y
    # The point beyond, turned about the edge into the plane of the face, on its other side.
    plain = np.linalg.norm(b - a, axis=1)
    along = np.einsum("pi,pi->p", beyond - a, b - a) / plain
    height = np.linalg.norm(np.cross(b - a, beyond - a), axis=1) / plain
    unit = edge / plain[:, None]
    normal = np.sign(cross)[:, None] * np.stack([-unit[:, 1], unit[:, 0]], axis=1)
    unfolded = along[:, None] * unit - height[:, None] * normal
    apex_x = product(unfolded, edge) / length
    apex_y = -area * np.abs(edge[:, 0] * unfolded[:, 1] - edge[:, 1] * unfolded[:, 0])
    return np.stack(
        [length, x, y, omega_x, omega_y, norm(from_a), norm(from_b), apex_x, apex_y], axis=1
    )


@dataclass(eq=False)
class RandersHeat:
    """Randers distances in the manner of the heat method; factorised once, for many sources.

    Solve u + 2ε⟨ω*, ∇u⟩ − ε² div(D_F ∇u) = δ; then ∇d points along −∇u, and F*(∇d) = 1 gives its
    size; then the Poisson equation div(D_F ∇d) = div(D_F X) with X = −∇u / F*(−∇u). The transposed
    first system gives the way back, so one factorisation serves both directions.

    Parameters
    ----------
    mesh, metric
    epsilon : float, optional
        See [`default_epsilon`][finsler.operator.drift.default_epsilon]. Should u come out negative
        somewhere, ε is raised by half and the system factorised anew, for this and later calls.

    Raises
    ------
    ConvergenceError
        u stays negative even at ten times the first ε: the mesh is too coarse for the metric.
    """

    mesh: TriMesh
    metric: RandersMetric
    epsilon: float | None = None
    _operator: DriftOperator = field(init=False, repr=False)
    _solvers: tuple[Solve, Solve] = field(init=False, repr=False)
    _poisson: Solve = field(init=False, repr=False)
    _component: IntArray = field(init=False, repr=False)
    _local: dict[str, FloatArray] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        first = default_epsilon(self.mesh, self.metric) if self.epsilon is None else self.epsilon
        self._largest = 10.0 * first
        self._factorise(first)
        flbo = self._operator.laplacian
        # W alone is singular; this little mass moves its solutions by 1e-8 and less.
        tiny = 1e-9 * float(np.median(flbo.stiffness.diagonal() / flbo.mass)) / len(flbo.mass)
        regular = flbo.stiffness + tiny * sparse.diags_array(flbo.mass)
        self._poisson = factorise(sparse.csr_array(regular))
        self._component = csgraph.connected_components(flbo.stiffness, directed=False)[1]
        self._local = _local_arrays(self.mesh, self.metric)

    def _factorise(self, epsilon: float) -> None:
        self.epsilon = epsilon
        self._operator = drift_operator(self.mesh, self.metric, epsilon=epsilon)
        self._solvers = factorise_unsymmetric(self._operator.matrix)

    def distance(
        self, sources: ArrayLike, *, reverse: bool = False, each: bool = False
    ) -> FloatArray:
        """Distance from (or, reversed, to) the sources; arguments as for `randers_distance`."""
        points = checked_sources(sources, self.mesh.n_vertices)
        groups = [points[i : i + 1] for i in range(len(points))] if each else [points]
        blocks = [
            self._solve(groups[i : i + _BLOCK], reverse) for i in range(0, len(groups), _BLOCK)
        ]
        found = np.concatenate(blocks, axis=1)
        return found if each else found[:, 0]

    def _solve(self, groups: list[IntArray], reverse: bool) -> FloatArray:
        from finsler.analysis._compiled import unit_flux

        right = np.zeros((self.mesh.n_vertices, len(groups)))
        reached = np.zeros(right.shape, dtype=bool)
        for column, group in enumerate(groups):
            right[group, column] = _SOURCE
            reached[:, column] = np.isin(self._component, self._component[group])
        heat = self._positive(right, reached, reverse)
        local = self._local
        flux = unit_flux(
            self.mesh.faces,
            local["gradients"],
            local["dual_tensor"],
            -local["dual_omega"] if reverse else local["dual_omega"],
            local["weights"],
            heat,
        )
        found = self._poisson(flux)
        for column, group in enumerate(groups):
            for part in np.unique(self._component[group]):
                here = self._component == part
                inside = group[self._component[group] == part]
                found[here, column] -= found[inside, column].mean()
        found[~reached] = np.inf
        return found

    def _positive(self, right: FloatArray, reached: NDArray[np.bool_], reverse: bool) -> FloatArray:
        while True:
            heat = np.ascontiguousarray(self._solvers[1 if reverse else 0](right))
            if (heat[reached] > 0.0).all():
                return heat
            raised = 1.5 * self._operator.epsilon
            if raised > self._largest:
                raise ConvergenceError(
                    f"the drift operator is not positive even at epsilon = {self.epsilon:.3g};"
                    ' refine the mesh, or use method="eikonal"'
                )
            self._factorise(raised)


def _local_arrays(mesh: TriMesh, metric: RandersMetric) -> dict[str, FloatArray]:
    """What `unit_flux` needs of each face, in the coordinates of the metric's basis."""
    gradients = np.stack(
        [metric.basis.coordinates(g) for g in hat_gradients(mesh).transpose(1, 0, 2)], axis=1
    )
    dual = metric.dual()
    diffusivity = dual.M - dual.omega[:, :, None] * dual.omega[:, None, :]
    weights = face_areas(mesh)[:, None, None] * diffusivity

    def packed(tensor: FloatArray) -> FloatArray:
        return np.ascontiguousarray(tensor.reshape(-1, 4)[:, [0, 1, 3]])

    return {
        "gradients": np.ascontiguousarray(gradients),
        "dual_tensor": packed(dual.M),
        "dual_omega": np.ascontiguousarray(dual.omega),
        "weights": packed(weights),
    }
