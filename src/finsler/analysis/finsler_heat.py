"""The nonlinear Laplace-Finsler operator and its heat flow.

∂u/∂t = div(F*(∇u) ∇F*(∇u)) is the descent of E(u) = ½ ∫ F*(∇u)², F* the dual of the Randers metric
(docs/mathematics.md, section 2). Where u falls along v, heat runs along v with diffusivity F*(−v)².
For F(v) = ‖v‖ + ⟨ω, v⟩ this is 1/(1 − ‖ω‖)² along ω and 1/(1 + ‖ω‖)² against it: **heat runs faster
along ω**, where F is large. In the plane with a constant metric
u(x, t) = t⁻¹ exp(−F(−x)²/4t) is a solution, so heat seen at x tells F(−x), the distance *to* its
source. Turn ω around for the other one. With F*(−∇u) in place of F*(∇u) all directions would be
reversed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from finsler.analysis.dual_energy import DualEnergy, vertex_function
from finsler.errors import ConvergenceError, InputError
from finsler.mesh.arguments import without_mesh
from finsler.mesh.measures import vertex_areas
from finsler.mesh.summary import one_line
from finsler.mesh.topology import vertex_components
from finsler.mesh.trimesh import TriMesh
from finsler.metric.randers import RandersMetric
from finsler.solvers import factorise
from finsler.typing import FloatArray

# Share of the decrease promised by the slope that a step must deliver, and the shortest step tried.
_ARMIJO = 1e-4
_SHORTEST = 2.0**-40


@one_line()
@dataclass(frozen=True, eq=False)
class FinslerHeatStep:
    """One implicit step of the flow.

    Attributes
    ----------
    u : (n,)
        The function after time t.
    energy_before, energy_after : float
        E(u) = ½ ∫ F*(∇u)²; it decreases.
    mass_before, mass_after : float
        ∫ u; it is conserved.
    iterations : int
        Newton iterations, each with one factorisation.
    residual : float
        Norm of the gradient that is left, in the unit of `tolerance`.
    """

    u: FloatArray
    energy_before: float
    energy_after: float
    mass_before: float
    mass_after: float
    iterations: int
    residual: float


@one_line()
@dataclass(frozen=True, eq=False)
class FinslerHeatFlow:
    """States of the flow at k times, the start first.

    Attributes
    ----------
    times : (k + 1,)
        From 0.
    u : (k + 1, n)
    energy, mass : (k + 1,)
        ½ ∫ F*(∇u)² and ∫ u.
    iterations : (k,)
        Newton iterations of each step.
    """

    times: FloatArray
    u: FloatArray
    energy: FloatArray
    mass: FloatArray
    iterations: np.ndarray[tuple[int], np.dtype[np.int64]]


@without_mesh
def finsler_heat_step(
    metric: RandersMetric,
    u0: ArrayLike,
    t: float,
    *,
    tolerance: float = 1e-8,
    max_iterations: int = 50,
) -> FinslerHeatStep:
    """One implicit Euler step of the nonlinear heat flow ∂u/∂t = div(F*(∇u) ∇F*(∇u)).

    u minimises the strictly convex E(u) + ‖u − u₀‖²_S / 2t, that is S(u − u₀) + t ∇E(u) = 0. For
    ω = 0 this is the linear step (S + tW)u = Su₀ with D = M⁻¹.

    Semismooth Newton with Armijo backtracking, convergent from every start. By homogeneity its full
    step solves (S + t W_g) u = S u₀ with the diffusivity g*(∇u) of
    [`finsler_laplacian_at`][finsler.analysis.dual_energy.finsler_laplacian_at].

    u stays between the extremes of u₀, and u₀ ≤ v₀ gives u ≤ v, where no W_g has a positive entry
    off its diagonal. On equilateral faces with M = I that is ‖ω‖ ≤ 1/2; flat triangles or a strong
    anisotropy break it, as they do for linear heat.

    Parameters
    ----------
    metric : RandersMetric
        Heat runs faster along ω than against it (see the module's first lines).
    u0 : (n,)
    t : float
        Length of the step, above 0. Heat spreads over some √t, in lengths measured by F.
    tolerance : float
        Bound on the gradient r = S(u − u₀) + t ∇E(u), in the norm of S⁻¹, relative to
        min(‖u₀ − mean‖_S, t ‖Δ_F u₀‖_S). The error ‖u − u*‖_S is at most ‖r‖_{S⁻¹}, so u is exact
        to this share of u₀'s variation, and of its change where t is short.
    max_iterations : int
        Newton iterations allowed.

    Raises
    ------
    InputError
        A wrong shape, a value that is not finite, t ≤ 0, a metric that is not valid.
    ConvergenceError
        The tolerance was not reached.

    Examples
    --------
    >>> from finsler.mesh import primitives
    >>> mesh = primitives.plane(8, 8)
    >>> plain = RandersMetric.isotropic(mesh)
    >>> metric = RandersMetric(mesh, plain.M, np.tile([0.5, 0.0, 0.0], (mesh.n_faces, 1)))
    >>> x = mesh.vertices[:, 0]
    >>> step = finsler_heat_step(metric, np.exp(-20 * (x - 0.5) ** 2), t=0.01)
    >>> bool(np.average(x, weights=step.u) > 0.51), step.energy_after < step.energy_before
    (True, True)
    """
    if not (np.isfinite(t) and t > 0.0):
        raise InputError(f"t is {t}; the length of a step must be finite and above 0")
    limits = _Limits(tolerance, max_iterations)
    return _step(DualEnergy.of(metric), vertex_function(metric.mesh, u0, "u0"), float(t), limits)


@without_mesh
def finsler_heat_flow(
    metric: RandersMetric,
    u0: ArrayLike,
    times: ArrayLike,
    *,
    tolerance: float = 1e-8,
    max_iterations: int = 50,
) -> FinslerHeatFlow:
    """States of the nonlinear heat flow at several times, one implicit step from each to the next.

    `times` (k,) rise from above 0; the error goes with the longest gap. For `steps` equal ones up
    to t pass `np.linspace(0, t, steps + 1)[1:]`. The rest is as for
    [`finsler_heat_step`][finsler.analysis.finsler_heat.finsler_heat_step].
    """
    stops = np.asarray(times, dtype=np.float64)
    if stops.ndim != 1 or len(stops) == 0:
        raise InputError(f"times must be a list of at least one time, not of shape {stops.shape}")
    grid = np.concatenate([[0.0], stops])
    if not (np.isfinite(grid).all() and (np.diff(grid) > 0.0).all()):
        raise InputError("times must be finite, above 0 and strictly rising; sort them")
    limits = _Limits(tolerance, max_iterations)
    energy = DualEnergy.of(metric)
    states: list[FloatArray] = [vertex_function(metric.mesh, u0, "u0")]
    steps: list[FinslerHeatStep] = []
    for gap in np.diff(grid):
        steps.append(_step(energy, states[-1], float(gap), limits))
        states.append(steps[-1].u)
    return FinslerHeatFlow(
        times=grid,
        u=np.stack(states),
        energy=np.array([steps[0].energy_before, *(step.energy_after for step in steps)]),
        mass=np.array([steps[0].mass_before, *(step.mass_after for step in steps)]),
        iterations=np.array([step.iterations for step in steps], dtype=np.int64),
    )


@dataclass(frozen=True)
class _Limits:
    tolerance: float
    iterations: int

    def __post_init__(self) -> None:
        if not 0.0 < self.tolerance < 1.0:
            raise InputError(f"tolerance is {self.tolerance}; it must lie between 0 and 1")
        if self.iterations < 1:
            raise InputError(f"max_iterations is {self.iterations}; it must be at least 1")


@dataclass(frozen=True, eq=False)
class _Objective:
    """t E(v) + ‖w‖²_S / 2, where w is the change that led to v: what a step minimises, times t."""

    energy: DualEnergy
    mass: FloatArray
    t: float

    def gradient(self, v: FloatArray, w: FloatArray) -> FloatArray:
        return self.t * self.energy.gradient(v) + self.mass * w

    def hessian(self, v: FloatArray) -> sparse.csr_array:
        return sparse.csr_array(self.t * self.energy.hessian(v) + sparse.diags_array(self.mass))

    def step_length(self, v: FloatArray, w: FloatArray, d: FloatArray, slope: float) -> float:
        """Largest 2⁻ᵏ along d that decreases the objective by Armijo's rule; 0 if none does."""
        p, q = self.energy.slopes(v), self.energy.slopes(d)
        linear, square = float(w @ (self.mass * d)), float(d @ (self.mass * d))
        length = 1.0
        while length > _SHORTEST:
            change = self.t * self.energy.change(p, length * q)
            change += length * linear + 0.5 * length**2 * square
            if change <= _ARMIJO * length * slope:
                return length
            length *= 0.5
        return 0.0


def _step(energy: DualEnergy, u0: FloatArray, t: float, limits: _Limits) -> FinslerHeatStep:
    """Newton's iteration on the deviation from the mean, in the unit of its size.

    The deviation v and its change w from the start are both carried along: for long times v is
    far smaller than the start, for short ones w is, and each is needed to its own last digit.
    """
    mass = vertex_areas(energy.mesh)
    objective = _Objective(energy, mass, t)
    start = _deviation(energy.mesh, u0, mass)
    unit = float(np.abs(start).max()) or 1.0
    v, w = start / unit, np.zeros_like(start)
    gradient = objective.gradient(v, w)
    scale = min(_norm(v, mass), _norm(gradient / mass, mass)) or 1.0
    iterations = 0
    while (residual := _norm(gradient / mass, mass) / scale) > limits.tolerance:
        failure = ConvergenceError(
            f"the step of length {t:.6g} has relative residual {residual:.1e} after {iterations}"
            f" Newton iterations, above the tolerance {limits.tolerance:.1e}; take shorter steps,"
            " allow more iterations or raise the tolerance"
        )
        if iterations == limits.iterations:
            raise failure
        try:
            d = -factorise(objective.hessian(v))(gradient)
        except InputError as error:
            # t is so long that S vanishes beside t W_g, and what is left has no inverse.
            raise failure from error
        length = objective.step_length(v, w, d, float(gradient @ d))
        if length == 0.0:
            raise failure
        v, w, iterations = v + length * d, w + length * d, iterations + 1
        gradient = objective.gradient(v, w)
    u = u0 + unit * w
    return FinslerHeatStep(
        u=u,
        energy_before=energy.value(u0),
        energy_after=energy.value(u),
        mass_before=float(mass @ u0),
        mass_after=float(mass @ u),
        iterations=iterations,
        residual=residual,
    )


def _deviation(mesh: TriMesh, u: FloatArray, mass: FloatArray) -> FloatArray:
    """u less its mean on each connected component, which the flow keeps."""
    part = vertex_components(mesh)
    return np.asarray(u - (np.bincount(part, mass * u) / np.bincount(part, mass))[part])


def _norm(u: FloatArray, mass: FloatArray) -> float:
    return float(np.sqrt(mass @ u**2))
