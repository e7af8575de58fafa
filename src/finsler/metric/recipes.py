"""Drift fields τ(x) whose strength varies over the surface.

The strength ‖ω‖_{M⁻¹} ∈ [0, 1) is what decides: a constant one multiplies the operator by a
constant, a varying one speeds diffusion up by 1/(1 − strength²) where it is large.
"""

from __future__ import annotations

import numpy as np

from finsler.errors import InputError
from finsler.frames.curvature import principal_curvature
from finsler.mesh.arguments import checked
from finsler.mesh.measures import surface_area
from finsler.mesh.trimesh import TriMesh
from finsler.metric.randers import axis_vector, face_field, require_anisotropy
from finsler.typing import FloatArray

# Curvature, as a share of 1/sqrt(area), that is rounding.
_FLAT = 1e-9


@checked
def tau_of_strength(
    mesh: TriMesh,
    strength: float | FloatArray,
    *,
    alpha: float = 10.0,
    omega_axis: str = "max",
) -> FloatArray:
    """The τ field (m,) that gives ‖ω‖_{M⁻¹} = strength in `RandersMetric.from_curvature`.

    A user's scalar field goes here: any number per face in [0, 1).

    Examples
    --------
    >>> from finsler.mesh import primitives
    >>> mesh = primitives.plane(2, 2)
    >>> round(float(tau_of_strength(mesh, 0.5, alpha=3.0)[0]), 12)
    1.0
    """
    require_anisotropy(alpha)
    field = face_field(strength, mesh, "strength")
    if not ((field >= 0.0) & (field < 1.0)).all():
        worst = int(np.argmax(np.maximum(-field, field)))
        raise InputError(f"strength of face {worst} is {field[worst]:.6g}; it must lie in [0, 1)")
    along, across = axis_vector(omega_axis) ** 2
    return np.asarray(field / np.sqrt(along / (1.0 + alpha) + across))


@checked
def curvature_strength(
    mesh: TriMesh, *, peak: float = 0.9, where: str = "curved", smoothing: int = 10
) -> FloatArray:
    """A strength (m,) that follows curvature: near `peak` where curved (or flat), else near 0.

    With curvedness c = √((κ_max² + κ_min²)/2) and its area-free median c̃ over the vertices, the
    strength is peak · c²/(c² + c̃²), or peak · c̃²/(c² + c̃²) for `where="flat"`: bounded, smooth,
    unchanged by scaling, rotation and numbering. Where half of the vertices and more are flat, c̃
    is the median of the others.

    Raises
    ------
    InputError
        A peak outside [0, 1), an unknown `where`, or a surface that is flat everywhere.
    """
    if not 0.0 <= peak < 1.0:
        raise InputError(f"peak is {peak}; it must lie in [0, 1)")
    if where not in ("curved", "flat"):
        raise InputError(f'where must be "curved" or "flat", not {where!r}')
    curvature = principal_curvature(mesh, smoothing=smoothing)
    squared = 0.5 * (curvature.maximal**2 + curvature.minimal**2)
    curved = squared > _FLAT**2 / surface_area(mesh)
    if not curved.any():
        raise InputError("the surface is flat; its curvature cannot set the strength of omega")
    typical = float(np.median(squared))
    if typical <= _FLAT**2 / surface_area(mesh):
        typical = float(np.median(squared[curved]))
    on_faces = squared[mesh.faces].mean(axis=1)
    share = on_faces / (on_faces + typical)
    return np.asarray(peak * (share if where == "curved" else 1.0 - share))
