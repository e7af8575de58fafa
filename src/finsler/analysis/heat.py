"""Heat on a surface: kernels, diffusion, and the paper's simplified Finsler heat equation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse import csgraph

from finsler.analysis.kernels import convolution_kernel
from finsler.analysis.spectrum import Spectrum, scaled_rows
from finsler.compute.memory import choose
from finsler.errors import InputError
from finsler.mesh.arguments import (
    checked,
    require_type,
    vertex_functions,
    vertex_indices,
    without_mesh,
)
from finsler.mesh.measures import face_areas, hat_gradients, vertex_areas
from finsler.mesh.trimesh import TriMesh
from finsler.metric.randers import RandersMetric
from finsler.operator.laplacian import Laplacian
from finsler.solvers import factorise, iterate
from finsler.typing import FloatArray

# Steps of heat, as multiples of the shortest time scale of the mesh: above the first the mean is
# split off, which a solver keeps to rounding times the step only; above the second the mass drops
# out of the system, and what varies has long been decaying like 1/step.
_LONG = 1e6
_LONGEST = 1e12


def heat_kernel(spectrum: Spectrum, t: float, sources: ArrayLike) -> FloatArray:
    """Heat kernel k_t(x, y) = Σ_i e^{−λ_i t} φ_i(x) φ_i(y) at time t ≥ 0.

    `sources` is a vertex or several; returns (n,) for one, (n, s) for several. The sum is cut off
    after the eigenpairs at hand, so a short time needs many of them.

    Raises
    ------
    InputError
        A time that is negative or not finite; a vertex that does not exist, or none.
    """
    return _time_kernel(spectrum, _decay, t, sources)


def averaged_heat_kernel(spectrum: Spectrum, t: float, sources: ArrayLike) -> FloatArray:
    """∫₀ᵗ k_s ds = Σ_i (1 − e^{−λ_i t})/λ_i φ_i(x) φ_i(y), with t for λ_i = 0 (paper Eq. 27 to 29).

    What a source that burns steadily from time 0 to t leaves behind; divide by t for the mean
    kernel. Shapes and errors as for [`heat_kernel`][finsler.heat_kernel].
    """
    return _time_kernel(spectrum, _averaged_decay, t, sources)


@checked
def diffuse(
    operator: Laplacian | Spectrum,
    u0: ArrayLike,
    t: float | ArrayLike,
    *,
    steps: int = 1,
    solver: str = "auto",
) -> FloatArray:
    """Heat u(t) of ∂u/∂t = −S⁻¹W u, u(0) = u0.

    Parameters
    ----------
    operator : Laplacian or Spectrum
        A Laplacian is stepped by implicit Euler, see [`diffuser`][finsler.analysis.heat.diffuser].
        A spectrum gives Σ_i e^{−λ_i t} ⟨φ_i, u0⟩_S φ_i, exact in time; u0 is first projected onto
        its eigenvectors, and `steps` plays no part.
    u0 : (n,) or (n, c)
    t : float or (times,)
        Unit length², 0 or more.
    steps : int
        Implicit steps of t / steps each, for every time anew.
    solver : {"auto", "direct", "iterative"}
        Of the implicit steps.

    Returns
    -------
    The shape of u0 for one time; (times, …) for several.

    Raises
    ------
    InputError
        Times that are negative or not finite, functions of wrong shape, steps below 1.

    Examples
    --------
    >>> from finsler import lbo, primitives
    >>> laplacian = lbo(primitives.sphere(8))
    >>> u = diffuse(laplacian, np.eye(642)[5], [0.0, 0.1], steps=2)
    >>> u.shape, (u @ laplacian.mass / laplacian.mass[5]).round(9).tolist()
    ((2, 642), [1.0, 1.0])
    """
    times = _checked_times(t)
    if isinstance(operator, Spectrum):
        start = operator.coefficients(vertex_functions(u0, len(operator.eigenvectors), "u0"))
        later = [scaled_rows(_decay(operator.eigenvalues, s), start) for s in np.atleast_1d(times)]
        states = [operator.synthesise(c) for c in later]
    else:
        u = vertex_functions(u0, len(operator.mass), "u0")
        states = [
            diffuser(operator, s, steps=steps, solver=solver)(u) for s in np.atleast_1d(times)
        ]
    return states[0] if times.ndim == 0 else np.stack(states)


@checked
def diffuser(
    laplacian: Laplacian, t: float, *, steps: int = 1, solver: str = "auto"
) -> Callable[[ArrayLike], FloatArray]:
    """Implicit Euler with one factorisation for any number of functions: u(t) = diffuser(…)(u0).

    Solves (S + (t/steps) W) u_{j+1} = S u_j. Unconditionally stable, conserves heat Σ S u, first
    order in t/steps, and keeps u ≥ 0 wherever W has no positive entry off its diagonal (the
    isotropic Laplacian of a Delaunay mesh).

    `solver` "iterative" solves each step by conjugate gradients with multigrid, in less memory, to
    1e-10 of its right-hand side; "auto" is direct where a factor fits into memory.

    Raises
    ------
    InputError
        t negative or not finite, steps below 1, an unknown solver, too little memory, or a
        stiffness that is not semidefinite.
    """
    time = _one_time(t)
    if steps < 1:
        raise InputError(f"steps is {steps}; it must be at least 1")
    mass, step = laplacian.mass, time / steps
    direct = choose("diffusion", len(mass), solver) == "direct"
    fastest = float((np.abs(laplacian.stiffness.diagonal()) / mass).max())
    taken = min(step, _LONGEST / fastest)
    system = sparse.csr_array(sparse.diags_array(mass) + taken * laplacian.stiffness)
    solve = factorise(system) if direct else iterate(system)

    def diffused(functions: ArrayLike) -> FloatArray:
        u = vertex_functions(functions, len(mass))
        if step * fastest <= _LONG:
            for _ in range(steps):
                u = solve(scaled_rows(mass, u))
            return u
        mean = _component_means(laplacian, u)
        for _ in range(steps):
            # What varies decays like 1/step; what is constant is left to rounding by the solver.
            v = solve(scaled_rows(mass, u - mean)) * (taken / step)
            u = mean + v - _component_means(laplacian, v)
        return u

    return diffused


@without_mesh
def drift_source(metric: RandersMetric) -> FloatArray:
    """div(ω*) at the vertices, (n,): the source of the simplified Finsler heat equation.

    Weakly, S_i div(ω*)_i = −Σ_faces area ⟨ω*, ∇φ_i⟩ with the lumped mass S. No heat crosses the
    boundary, so Σ_i S_i div(ω*)_i = 0; where ω* points out of a boundary the source there is
    negative, of the order of 1/edge length.

    Raises
    ------
    InputError
        The metric is not valid.
    """
    return _drift_load(metric) / vertex_areas(metric.mesh)


@without_mesh
def finsler_flow(
    spectrum: Spectrum, metric: RandersMetric, u0: ArrayLike, t: float | ArrayLike
) -> FloatArray:
    """The paper's simplified Finsler heat equation ∂u/∂t = div(D_F ∇u) + div(ω*) (Eq. 25 to 29).

    u(t) = Σ_i [e^{−λ_i t} ⟨φ_i, u0⟩ + (1 − e^{−λ_i t})/λ_i ⟨φ_i, div ω*⟩] φ_i: the heat kernel
    applied to u0 plus its time integral applied to the source, exact in time, projected onto the
    eigenvectors. The total flux D_F∇u + ω* does not cross a boundary, so heat is conserved.
    The flow is affine in u0, not linear, and u has the unit of a length.

    Parameters
    ----------
    spectrum : Spectrum
        Of the metric's operator, `laplacian(metric.mesh, metric.diffusivity())`.
    metric : RandersMetric
    u0 : (n,) or (n, c)
    t : float or (times,)
        0 or more.

    Returns
    -------
    The shape of u0 for one time; (times, …) for several.

    Raises
    ------
    InputError
        As for [`diffuse`][finsler.diffuse]; the spectrum belongs to another mesh.
    """
    times = _checked_times(t)
    mesh = metric.mesh
    _require_spectrum_of(mesh, spectrum)
    start = spectrum.coefficients(vertex_functions(u0, mesh.n_vertices, "u0"))
    source = spectrum.eigenvectors.T @ _drift_load(metric)
    states = []
    for time in np.atleast_1d(times):
        heat = scaled_rows(_decay(spectrum.eigenvalues, time), start)
        made = _averaged_decay(spectrum.eigenvalues, time) * source
        states.append(spectrum.synthesise((heat.T + made).T))
    return states[0] if times.ndim == 0 else np.stack(states)


def _time_kernel(
    spectrum: Spectrum, weights: Callable[[FloatArray, float], FloatArray], t: float, at: ArrayLike
) -> FloatArray:
    require_type(spectrum, "Spectrum", "spectrum")
    time = _one_time(t)
    points = vertex_indices(at, len(spectrum.eigenvectors), "sources")
    return convolution_kernel(spectrum, lambda values: weights(values, time), points)


def _require_spectrum_of(mesh: TriMesh, spectrum: Spectrum) -> None:
    """Raise unless the masses of a spectrum are the areas around the vertices of a mesh."""
    rows = spectrum.mass.sum(axis=1) if sparse.issparse(spectrum.mass) else spectrum.mass
    if len(rows) != mesh.n_vertices or not np.allclose(rows, vertex_areas(mesh), 1e-6, 0.0):
        raise InputError(
            f"the spectrum has {len(rows)} vertices, the metric's mesh {mesh.n_vertices}, and the"
            " areas around them differ; take the spectrum of the metric's operator"
        )


def _drift_load(metric: RandersMetric) -> FloatArray:
    """−Σ_faces area ⟨ω*, ∇φ_i⟩ for each vertex i, (n,)."""
    mesh = metric.mesh
    omega = metric.basis.vectors(metric.dual().omega)
    outflow = np.einsum("f,fi,fci->fc", face_areas(mesh), omega, hat_gradients(mesh))
    load = np.bincount(mesh.faces.ravel(), -outflow.ravel(), mesh.n_vertices)
    return np.asarray(load, dtype=np.float64)


def _component_means(laplacian: Laplacian, u: FloatArray) -> FloatArray:
    """The mean of functions over the connected component of each vertex, shaped like u."""
    count, part = csgraph.connected_components(laplacian.stiffness, directed=False)
    members = sparse.csr_array((laplacian.mass, (part, np.arange(len(part)))), (count, len(part)))
    means = scaled_rows(1.0 / np.bincount(part, laplacian.mass), members @ u)
    return np.asarray(means[part])


def _decay(eigenvalues: FloatArray, time: float) -> FloatArray:
    """e^{−λt}; an eigenvalue that rounding put below zero is zero, so that no heat grows."""
    return np.asarray(np.exp(-time * np.maximum(eigenvalues, 0.0)))


def _averaged_decay(eigenvalues: FloatArray, time: float) -> FloatArray:
    """(1 − e^{−λt})/λ = t · (−expm1(−x))/x with x = λt: no digits lost for small x."""
    x = time * np.maximum(eigenvalues, 0.0)
    share = np.divide(-np.expm1(-x), x, out=np.ones_like(x), where=x > 0.0)
    return np.asarray(time * share)


def _checked_times(t: float | ArrayLike) -> FloatArray:
    try:
        times = np.asarray(t, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"t is {t!r}; time must be a number or a list of numbers") from error
    if times.ndim > 1 or times.size == 0 or not ((times >= 0.0) & np.isfinite(times)).all():
        raise InputError(f"t is {t!r}; time must be finite and 0 or more, one number or a list")
    return times


def _one_time(t: float) -> float:
    time = _checked_times(t)
    if time.ndim != 0:
        raise InputError(f"t is {t}; time must be one number here")
    return float(time)
