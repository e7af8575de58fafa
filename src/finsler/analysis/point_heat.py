"""Heat that starts at vertices of a surface measured with its own area as the unit."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from finsler.analysis.heat import diffuse, finsler_flow
from finsler.analysis.spectrum import spectrum
from finsler.errors import ConvergenceError, InputError
from finsler.mesh.arguments import checked, real_array, vertex_functions, vertex_indices
from finsler.mesh.measures import require_usable_faces, surface_area
from finsler.mesh.trimesh import TriMesh
from finsler.metric.randers import RandersMetric
from finsler.operator.laplacian import Laplacian
from finsler.typing import FloatArray

# Share of the first wave left out above which the missing ones are seen.
_CUT = 0.02
# Share of the heat that rounding may make or destroy.
_LOST = 1e-6


def unit_area(mesh: TriMesh) -> TriMesh:
    """The mesh scaled to area 1, so that times are shares of the area of the original."""
    require_usable_faces(mesh)
    return TriMesh(mesh.vertices / np.sqrt(surface_area(mesh)), mesh.faces)


@checked
def point_heat(mass: FloatArray, sources: list[int], amount: float = 1.0) -> FloatArray:
    """Heat (n,) shared evenly by the sources, whose mean over the surface is `amount`.

    Raises
    ------
    InputError
        A vertex that does not exist, or an amount that is not finite.
    """
    mass = real_array(mass, "mass")
    if mass.ndim != 1 or not mass.size or not (mass > 0.0).all():
        raise InputError("mass must be an array (n,) of positive numbers, one a vertex")
    vertex_indices(sources, len(mass), "sources")
    if not np.isfinite(amount):
        raise InputError(f"amount is {amount}; it must be finite")
    heat = np.zeros_like(mass)
    np.add.at(heat, sources, amount * mass.sum() / (len(sources) * mass[sources]))
    return heat


@checked
def heat_flow(
    operator: Laplacian,
    start: FloatArray,
    *,
    k: int | None = None,
    steps: int = 16,
    solver: str = "auto",
    drift: RandersMetric | None = None,
) -> Callable[[float], FloatArray]:
    """A function from a time to the heat (n,) then.

    By implicit steps, or with `k` exactly in time on that many eigenpairs; with `drift`, a metric,
    the paper's simplified Finsler heat equation on them. Where waves that the eigenpairs lack are
    not yet gone at a time, a warning says so.

    Raises
    ------
    InputError
        As for [`diffuse`][finsler.diffuse], or `drift` without k.
    ConvergenceError
        When it is called: a time so large that rounding changes the amount of heat.
    """
    start = vertex_functions(start, len(operator.mass), "start")
    if k is None:
        if drift is not None:
            raise InputError("the Finsler heat equation is solved on eigenpairs; give k")
        return lambda time: _conserved(
            diffuse(operator, start, time, steps=steps, solver=solver), start, operator.mass, time
        )
    basis = spectrum(operator, k, solver=solver)

    def heat_at(time: float) -> FloatArray:
        left = float(np.exp(-time * basis.eigenvalues[-1]))
        if left > _CUT and k < len(operator.mass):
            warnings.warn(
                f"at times as short as {time:.2g} the {k} eigenpairs miss waves of which"
                f" {left:.0%} is left, and the heat ripples; raise -k or take --method implicit",
                stacklevel=2,
            )
        if drift is None:
            return diffuse(basis, start, time)
        return finsler_flow(basis, drift, start, time)

    return heat_at


def _conserved(heat: FloatArray, start: FloatArray, mass: FloatArray, time: float) -> FloatArray:
    """The heat, or an error where its amount is no longer what was given."""
    change = abs(float(mass @ heat - mass @ start))
    if not change <= _LOST * float(mass @ np.abs(start)):
        raise ConvergenceError(
            f"at time {time:g} rounding changes the amount of heat; heat is spread evenly long"
            " before, so take a smaller time, or the spectral method"
        )
    return heat
