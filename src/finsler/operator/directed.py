"""Directed operators: diffusion with a drift that turns through the whole circle, so that ω acts.

The FLBO cannot tell ω from −ω (docs/mathematics.md, section 3). These operators can: each is the
generator of a heat flow that is carried along a direction b = R_θ e, e an oriented field. Put into
a Chebyshev convolution they look forwards and backwards. Derivation: section 14.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from finsler.compute.memory import require
from finsler.errors import InputError
from finsler.frames.oriented import OrientedField
from finsler.mesh.arguments import checked
from finsler.mesh.measures import face_areas, face_normals, hat_gradients
from finsler.metric.randers import RandersMetric, require_anisotropy
from finsler.operator.angles import AngleStack, angle_coefficients, angles_of, turning_tensors
from finsler.operator.stiffness import assemble, assemble_skew
from finsler.typing import FloatArray

# Péclet number of a cell above which drift outweighs diffusion, and polynomials grow by hundreds.
MOST_PECLET = 1.0


@checked
def directed_stack(
    field: OrientedField,
    *,
    peclet: float = 0.3,
    alpha: float = 0.0,
    directions: int | ArrayLike = 8,
) -> AngleStack:
    """−div(D_k ∇u) + ⟨v_k, ∇u⟩ for several directions b_k = R_{θ_k} e: a stack with `drift`.

    The drift is v_k = p b_k / h with h = √(2 area) of the face, in its skew form
    C_ij = ½ ∫ (φ_i ⟨v, ∇φ_j⟩ − φ_j ⟨v, ∇φ_i⟩): heat is carried along b_k, and the operator at
    θ + π is the transpose. D_k = I − α/(1+α) (J b_k)(J b_k)ᵀ diffuses freely along b_k and slowly
    across. Two skew assemblies serve all directions, and three symmetric ones. Where e fades, so
    do drift and anisotropy; p = α = 0 gives the LBO.

    Parameters
    ----------
    field : OrientedField
        From [`oriented_field`][finsler.oriented_field].
    peclet : float
        p in [0, 1]: drift against diffusion across one face. T_15 of the rescaled operator grows
        by at most 5.4 at 0.3 and 75 at 0.8 ([`growth_bound`][finsler.operator.growth_bound]).
    alpha : float
        Anisotropy in the frame of the field, above −1.
    directions : int or sequence
        So many evenly spaced in [0, 2π), or angles in radians from e.

    Raises
    ------
    InputError
        p or α out of its range, or more memory is needed than is free.

    Examples
    --------
    >>> from finsler.frames import oriented_field
    >>> from finsler.mesh import primitives
    >>> mesh = primitives.torus(12, 8)
    >>> stack = directed_stack(oriented_field(mesh, mesh.vertices[:, 0]), directions=4)
    >>> stack.values.shape == stack.drift.shape, np.allclose(stack.drift[0], -stack.drift[2])
    (True, True)
    """
    require_peclet(peclet)
    require_anisotropy(alpha)
    theta = angles_of(directions, "directions") * (2.0 if np.ndim(directions) == 0 else 1.0)
    mesh = field.mesh
    require("stack", mesh.n_vertices, angles=2 * len(theta))
    parts = assemble(mesh, field.basis, turning_tensors(_diffusivity(field, alpha)))
    values = angle_coefficients(theta) @ parts.values
    turning = np.stack([np.cos(theta), np.sin(theta)], axis=1)
    return AngleStack(
        theta=theta,
        indptr=parts.indptr,
        indices=parts.indices,
        values=values,
        mass=parts.mass,
        diagonal=parts.diagonal,
        reference_diagonal=values[:, parts.diagonal],
        drift=turning @ assemble_skew(mesh, parts, _slopes(field, peclet)),
    )


def require_peclet(peclet: float) -> None:
    """Raise unless p lies in [0, 1]."""
    if not 0.0 <= peclet <= MOST_PECLET:
        raise InputError(
            f"peclet is {peclet}; it must lie in [0, {MOST_PECLET:g}]: beyond, drift outweighs"
            " diffusion across a face and polynomials of the operator grow without use"
        )


@checked
def directed_metric(
    field: OrientedField, *, strength: float, alpha: float = 0.0, theta: float = 0.0
) -> RandersMetric:
    """The Randers metric whose balls reach further along b = R_θ e than against it.

    M = D⁻¹ with D as in `directed_stack` and ω = −s |e| M b / ‖b‖_M, so that ‖ω‖_{M⁻¹} = s |e|: the
    drift term of its [`drift_operator`][finsler.drift_operator] points along b.

    Raises
    ------
    InputError
        A strength outside [0, 1), or α ≤ −1.
    """
    if not 0.0 <= strength < 1.0:
        raise InputError(f"strength is {strength}; it must lie in [0, 1)")
    require_anisotropy(alpha)
    turned = field.turned(theta)
    tensor = np.linalg.inv(_diffusivity(turned, alpha))
    # D b = b, so M b = b and ‖b‖_M = |b|.
    return RandersMetric(field.mesh, tensor, -strength * turned.coordinates, basis=field.basis)


def _diffusivity(field: OrientedField, alpha: float) -> FloatArray:
    """I − α/(1+α) (Je)(Je)ᵀ of each face, (m, 2, 2)."""
    x, y = field.coordinates.T
    across = np.stack([y * y, -x * y, -x * y, x * x], axis=1).reshape(-1, 2, 2)
    return np.asarray(np.eye(2) - alpha / (1.0 + alpha) * across)


def _slopes(field: OrientedField, peclet: float) -> FloatArray:
    """area/6 ⟨v, ∇φ_c⟩ of the corners c, (m, 3, 2), for drifts v = p e/h and v = p Je/h."""
    mesh = field.mesh
    areas = face_areas(mesh)
    across = np.cross(face_normals(mesh), field.vectors)
    drifts = np.stack([field.vectors, across], axis=2)
    drifts *= (peclet * areas / (6.0 * np.sqrt(2.0 * areas)))[:, None, None]
    return np.asarray(np.einsum("fci,fix->fcx", hat_gradients(mesh), drifts))
