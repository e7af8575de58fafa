"""Randers distances in the manner of the heat method: two linear solves a source."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from finsler.compute.memory import choose
from finsler.errors import ConvergenceError
from finsler.mesh.arguments import checked, vertex_set, without_mesh
from finsler.mesh.measures import TangentBasis, face_areas, hat_gradients, require_usable_faces
from finsler.mesh.summary import one_line
from finsler.mesh.topology import vertex_components
from finsler.mesh.trimesh import TriMesh
from finsler.metric.randers import RandersMetric
from finsler.operator.drift import DriftOperator, default_epsilon, drift_operator
from finsler.solvers import Solve, factorise, factorise_unsymmetric, iterate, iterate_decaying
from finsler.typing import FloatArray, IntArray

# Columns solved at once, and the size of the source: u falls to about exp(-d/ε) of it.
_BLOCK = 16
_SOURCE = 1e250


@one_line()
@dataclass(eq=False, init=False)
class RandersHeat:
    """Randers distances from one factorisation, for many sources.

    Solve u + 2ε⟨ω*, ∇u⟩ − ε² div(D_F ∇u) = δ; then ∇d points along −∇u, and F*(∇d) = 1 gives its
    size; then the Poisson equation div(D_F ∇d) = div(D_F X) with X = −∇u / F*(−∇u). The transposed
    first system gives the way back, so one factorisation serves both directions.

    Parameters
    ----------
    metric : RandersMetric
    epsilon : float, optional
        See [`default_epsilon`][finsler.operator.drift.default_epsilon]. Should u come out negative
        somewhere, ε is raised by half and the system factorised anew, for this and later calls.
        Each connected component has its own.
    solver : {"auto", "direct", "iterative"}
        "iterative" takes neither factor: the first system is solved outwards in windows of six
        decades (`finsler.solvers.iterate_decaying`), the second by conjugate gradients with
        multigrid. Less memory, and less time for a few sources; distances agree to 1e-5 of the
        largest. "auto" is direct where that fits into memory; the attribute then says which.

    Raises
    ------
    InputError
        An unknown solver, or too little memory.
    ConvergenceError
        u stays negative even at ten times the first ε: the mesh is too coarse for the metric.
    """

    metric: RandersMetric
    epsilon: float
    solver: str
    _operator: DriftOperator = field(init=False, repr=False)
    _solvers: tuple[Solve, Solve] = field(init=False, repr=False)
    _poisson: Solve = field(init=False, repr=False)
    _component: IntArray = field(init=False, repr=False)
    _local: dict[str, FloatArray] = field(init=False, repr=False)
    _given: float | None = field(init=False, repr=False)
    _parts: dict[int, RandersHeat] = field(init=False, repr=False)

    @without_mesh
    def __init__(
        self, metric: RandersMetric, *, epsilon: float | None = None, solver: str = "auto"
    ) -> None:
        self.metric = metric
        self.solver = choose("heat", self.mesh.n_vertices, solver)
        require_usable_faces(self.mesh)
        self._component = vertex_components(self.mesh)
        self._given, self._parts = epsilon, {}
        first = default_epsilon(metric) if epsilon is None else epsilon
        if self._component.max() > 0:
            self.epsilon = first
            return
        self._largest = 10.0 * first
        self._factorise(first)
        flbo = self._operator.laplacian
        # W alone is singular; this little mass moves its solutions by 1e-8 and less.
        tiny = 1e-9 * float(np.median(flbo.stiffness.diagonal() / flbo.mass)) / len(flbo.mass)
        regular = flbo.stiffness + tiny * sparse.diags_array(flbo.mass)
        direct = self.solver == "direct"
        self._poisson = (factorise if direct else iterate)(sparse.csr_array(regular))
        self._local = _local_arrays(metric)

    @property
    def mesh(self) -> TriMesh:
        """The mesh of the metric."""
        return self.metric.mesh

    def _factorise(self, epsilon: float) -> None:
        self.epsilon = epsilon
        self._operator = drift_operator(self.metric, epsilon=epsilon)
        matrix = self._operator.matrix
        if self.solver == "direct":
            self._solvers = factorise_unsymmetric(matrix)
        else:
            transposed = sparse.csr_array(matrix.T)
            self._solvers = iterate_decaying(matrix), iterate_decaying(transposed)

    @checked
    def distance(
        self, sources: ArrayLike, *, reverse: bool = False, each: bool = False
    ) -> FloatArray:
        """Distance from (or, reversed, to) the sources; arguments as for `randers_distance`."""
        points = vertex_set(sources, self.mesh.n_vertices)
        groups = [points[i : i + 1] for i in range(len(points))] if each else [points]
        times = self._columns(groups, reverse)
        return times if each else times[:, 0]

    def _columns(self, groups: list[IntArray], reverse: bool) -> FloatArray:
        """Distances from each group of vertices, (n, groups)."""
        if self._component.max() == 0:
            blocks = range(0, len(groups), _BLOCK)
            return np.hstack([self._solve(groups[i : i + _BLOCK], reverse) for i in blocks])
        times = np.full((self.mesh.n_vertices, len(groups)), np.inf)
        for part in np.unique(self._component[np.concatenate(groups)]):
            members = np.flatnonzero(self._component == part)
            inside = [np.flatnonzero(np.isin(members, group)) for group in groups]
            columns = [c for c, group in enumerate(inside) if len(group)]
            solver = self._part(int(part))
            local = solver._columns([inside[c] for c in columns], reverse)
            times[np.ix_(members, np.array(columns))] = local
        return times

    def _part(self, part: int) -> RandersHeat:
        """The solver of one connected component, whose ε is that of its own size."""
        if part not in self._parts:
            metric, mesh = self.metric, self.mesh
            members = np.flatnonzero(self._component == part)
            faces = self._component[mesh.faces[:, 0]] == part
            piece = TriMesh(mesh.vertices[members], np.searchsorted(members, mesh.faces[faces]))
            basis = TangentBasis(metric.basis.first[faces], metric.basis.second[faces])
            local = RandersMetric(piece, metric.M[faces], metric.omega[faces], basis=basis)
            self._parts[part] = RandersHeat(local, epsilon=self._given, solver=self.solver)
        return self._parts[part]

    def _solve(self, groups: list[IntArray], reverse: bool) -> FloatArray:
        from finsler.analysis._compiled import unit_flux

        right = np.zeros((self.mesh.n_vertices, len(groups)))
        amount = _SOURCE * min(float(self._operator.laplacian.mass.mean()), 1.0)
        for column, group in enumerate(groups):
            right[group, column] = amount
        heat = self._positive(right, reverse)
        local = self._local
        flux = unit_flux(
            self.mesh.faces,
            local["gradients"],
            local["dual_tensor"],
            -local["dual_omega"] if reverse else local["dual_omega"],
            local["weights"],
            heat,
        )
        times = self._poisson(flux)
        for column, group in enumerate(groups):
            times[:, column] -= times[group, column].mean()
        return times

    def _positive(self, right: FloatArray, reverse: bool) -> FloatArray:
        while True:
            heat = np.ascontiguousarray(self._solvers[1 if reverse else 0](right))
            if (heat > 0.0).all():
                return heat
            raised = 1.5 * self._operator.epsilon
            if raised > self._largest:
                raise ConvergenceError(
                    f"the drift operator is not positive even at epsilon = {self.epsilon:.3g};"
                    ' refine the mesh, or use method="eikonal"'
                )
            self._factorise(raised)


def _local_arrays(metric: RandersMetric) -> dict[str, FloatArray]:
    """What `unit_flux` needs of each face, in the coordinates of the metric's basis."""
    mesh = metric.mesh
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
