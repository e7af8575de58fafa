"""From metrics to Chebyshev operators with gradients, so that a metric can be learned.

The numbers are those of `finsler.angle_stack`, `finsler.laplacian` and
`finsler.chebyshev_operators`; here they are differentiable in the metric.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from finsler.errors import InputError
from finsler.metric.randers import drift_squared, require_anisotropy, require_below_one
from finsler.nn.geometry import MeshGeometry
from finsler.operator.angles import angle_coefficients, angles_of
from finsler.operator.rescale import lanczos_margin

# Lanczos steps.
_STEPS = 50


def randers_diffusivity(M: Tensor, omega: Tensor) -> Tensor:
    """The Finsler diffusivity D_F = M⁻¹/λ, λ = 1 − ⟨ω, M⁻¹ω⟩, of F(v) = ‖v‖_M + ⟨ω, v⟩.

    Parameters
    ----------
    M : (..., m, 2, 2)
        Positive definite, in the tangent basis; its symmetric part is used.
    omega : (..., m, 2)
        In the same basis. Leading dimensions, e.g. angles, are broadcast.

    Returns
    -------
    (..., m, 2, 2)

    Raises
    ------
    InputError
        M is not positive definite, or ⟨ω, M⁻¹ω⟩ is not below 1; a face is named.

    Examples
    --------
    >>> M, omega = torch.eye(2)[None], torch.tensor([[0.6, 0.0]])
    >>> randers_diffusivity(M, omega).diagonal(dim1=1, dim2=2)
    tensor([[1.5625, 1.5625]])
    """
    faces = M.shape[-3:-2]
    if len(faces) == 0 or M.shape[-2:] != (2, 2) or omega.shape[-2:] != (*faces, 2):
        raise InputError(
            "M must have shape (..., m, 2, 2) and omega (..., m, 2) for m faces,"
            f" not {tuple(M.shape)} and {tuple(omega.shape)}"
        )
    a, b, d = M[..., 0, 0], 0.5 * (M[..., 0, 1] + M[..., 1, 0]), M[..., 1, 1]
    determinant = a * d - b * b
    _require_positive(a, determinant)
    inverse = torch.stack([d, -b, -b, a], dim=-1).reshape(M.shape) / determinant[..., None, None]
    drift: Tensor = drift_squared(inverse, omega)
    worst = drift.detach().reshape(-1, drift.shape[-1]).amax(dim=0)
    require_below_one(worst.double().cpu().numpy())
    return inverse / (1.0 - drift)[..., None, None]


def assemble_torch(geometry: MeshGeometry, diffusivity: Tensor) -> Tensor:
    """Stiffness values (a, nnz) of diffusivities (a, m, 2, 2): W_ij = Σ_faces area ∇φ_iᵀ D ∇φ_j.

    Linear in D, whose symmetric part is used; D acts on gradients, in the tangent basis of
    `geometry`. Each row is one matrix on the pattern of `geometry`, symmetric with rows summing to
    zero, positive semidefinite where D is. On an accelerator the order of the sums, and with it
    the last digits, are the same each time only under `torch.use_deterministic_algorithms`.

    Raises
    ------
    InputError
        Wrong shape.
    """
    m = len(geometry.areas)
    if diffusivity.ndim != 4 or diffusivity.shape[1:] != (m, 2, 2):
        raise InputError(
            f"diffusivity must have shape (a, {m}, 2, 2), one tensor a face for each operator,"
            f" not {tuple(diffusivity.shape)}"
        )
    x, y = geometry.gradients.unbind(-1)
    area = geometry.areas[:, None, None]
    xx = area * x[:, :, None] * x[:, None, :]
    xy = area * (x[:, :, None] * y[:, None, :] + y[:, :, None] * x[:, None, :])
    yy = area * y[:, :, None] * y[:, None, :]
    d11, d12, d21, d22 = diffusivity[..., None, None].flatten(2, 3).unbind(2)
    elements = d11 * xx + 0.5 * (d12 + d21) * xy + d22 * yy
    values = elements.new_zeros(len(elements), len(geometry.indices))
    return values.index_add(1, geometry.entry_indices.flatten(), elements.flatten(1))


def rescale_torch(
    geometry: MeshGeometry,
    stiffness: Tensor,
    *,
    normalization: str = "acscnn",
    lambda_max: str | float | Tensor = "lanczos",
    reference_diagonal: Tensor | None = None,
    drift: Tensor | None = None,
) -> Tensor:
    """Values (a, nnz) of L̂ = 2 L'/λ_max − I, L' = S⁻¹ N (W + C) N, from stiffness values (a, nnz).

    Parameters
    ----------
    geometry : MeshGeometry
    stiffness : (a, nnz)
    normalization : {"acscnn", "reference", "plain"}
        N = diag(S⁻¹W)^(−1/2); the same from `reference_diagonal`; or I.
    lambda_max : {"lanczos", "gershgorin"}, or number or (a,)
        Bound on the eigenvalues of L'. "lanczos" is that of
        [`largest_eigenvalue`][finsler.operator.largest_eigenvalue], 50 products with the matrices;
        "gershgorin" one, never too small and up to 40% too large. Gradients pass through both, for
        "lanczos" through the eigenvalue that it bounds; a number is a constant.
    reference_diagonal : (a, n), optional
        Diagonal of the stiffness at ω = 0, for "reference".
    drift : (a, nnz), optional
        C, skew; N and λ_max are those of W.

    Raises
    ------
    InputError
        Wrong option or shape; a diagonal that is not positive.
    """
    n, nnz = len(geometry.mass), len(geometry.indices)
    if stiffness.ndim != 2 or stiffness.shape[1] != nnz:
        raise InputError(f"stiffness must have shape (a, {nnz}), not {tuple(stiffness.shape)}")
    if normalization == "acscnn":
        scale = _scale(geometry, stiffness.index_select(1, geometry.diagonal))
    elif normalization == "reference":
        if reference_diagonal is None or reference_diagonal.shape != (len(stiffness), n):
            raise InputError(
                f'"reference" needs reference_diagonal of shape ({len(stiffness)}, {n}),'
                " the diagonals of the stiffness at omega = 0"
            )
        scale = _scale(geometry, reference_diagonal)
    elif normalization == "plain":
        scale = torch.ones_like(geometry.mass).expand(len(stiffness), n)
    else:
        raise InputError(
            f'normalization must be "acscnn", "reference" or "plain", not {normalization!r}'
        )
    # S^(-1/2) N W N S^(-1/2): symmetric, same eigenvalues as L' = S^(-1) N W N.
    half = geometry.mass.sqrt()
    symmetric = stiffness * _outer(geometry, scale / half, scale / half)
    bound = _bound(geometry, symmetric, lambda_max)
    if drift is not None:
        symmetric = symmetric + drift * _outer(geometry, scale / half, scale / half)
    values = symmetric * _outer(geometry, 2.0 / (bound[:, None] * half), half.expand_as(scale))
    return values.index_add(1, geometry.diagonal, -values.new_ones(len(values), n))


def strength_operators(
    geometry: MeshGeometry,
    strength: Tensor,
    *,
    alpha: float = 10.0,
    angles: int | Sequence[float] = 8,
    normalization: str = "reference",
    lambda_max: str | float | Tensor = "lanczos",
) -> Tensor:
    """Values (a, nnz) of L̂_θ for the paper's metric with a given strength ‖ω‖_{M⁻¹}.

    D = R_θ diag(1/(1+α), 1) R_θᵀ / (1 − strength²). The strength does not depend on the angle, so
    three assemblies serve all of them (docs/mathematics.md, section 5).

    Parameters
    ----------
    geometry : MeshGeometry
        Made with `frames.basis`: the first axis is û_M.
    strength : (m,)
        In (−1, 1); the sign has no effect. Learn it as the sigmoid of a free parameter.
    alpha : float
        Anisotropy.
    angles : int or sequence
        So many evenly spaced in [0, π), or the angles in radians.
    normalization, lambda_max
        As for [`rescale_torch`][finsler.nn.assembly.rescale_torch]. "acscnn" divides by the
        operator's own diagonal and hides most of the strength, so "reference" is the default.
    """
    require_anisotropy(alpha)
    if strength.shape != geometry.areas.shape:
        raise InputError(
            f"strength must be one number a face ({len(geometry.areas)}),"
            f" not {tuple(strength.shape)}"
        )
    tensor = torch.diag(strength.new_tensor([1.0 + alpha, 1.0])).expand(len(strength), 2, 2)
    # ω of this strength along the second axis, where M is the identity.
    omega = torch.stack([torch.zeros_like(strength), strength], dim=1)
    parts = _turning_parts(geometry, randers_diffusivity(tensor, omega))
    coefficients = torch.as_tensor(angle_coefficients(angles_of(angles))).to(parts)
    reference = None
    if normalization == "reference":
        plain = _turning_parts(geometry, randers_diffusivity(tensor, torch.zeros_like(omega)))
        reference = coefficients @ plain.index_select(1, geometry.diagonal)
    return rescale_torch(
        geometry,
        coefficients @ parts,
        normalization=normalization,
        lambda_max=lambda_max,
        reference_diagonal=reference,
    )


def _turning_parts(geometry: MeshGeometry, diffusivity: Tensor) -> Tensor:
    """Stiffness values (3, nnz) of a I, S and JS for D = a I + S (m, 2, 2), as in `angle_stack`."""
    mean = 0.5 * (diffusivity[:, 0, 0] + diffusivity[:, 1, 1])
    half, mixed = diffusivity[:, 0, 0] - mean, diffusivity[:, 0, 1]
    none = torch.zeros_like(mean)
    entries = [mean, none, none, mean, half, mixed, mixed, -half, -mixed, half, half, mixed]
    return assemble_torch(geometry, torch.stack(entries).reshape(3, 2, 2, -1).permute(0, 3, 1, 2))


def _scale(geometry: MeshGeometry, diagonal: Tensor) -> Tensor:
    """N = diag(S⁻¹W)^(−1/2) as (a, n), from the diagonal of W."""
    bad = ~(diagonal.detach() > 0.0).all(dim=0)
    if bad.any():
        raise InputError(
            f"the diagonal of the stiffness at vertex {int(bad.int().argmax())} is not positive;"
            " the diffusivity of every face must be positive definite"
        )
    return (geometry.mass / diagonal).sqrt()


def _outer(geometry: MeshGeometry, left: Tensor, right: Tensor) -> Tensor:
    """left_i right_j on the pattern, (a, nnz)."""
    # The gradient sums by these indices, which is several times slower with 32 bits.
    columns = geometry.indices.long()
    return left.index_select(1, geometry.rows) * right.index_select(1, columns)


def _bound(geometry: MeshGeometry, symmetric: Tensor, lambda_max: str | float | Tensor) -> Tensor:
    """λ_max (a,) of symmetric matrices, as asked for or as given."""
    if not isinstance(lambda_max, str):
        given = torch.as_tensor(lambda_max, dtype=symmetric.dtype, device=symmetric.device)
        if given.shape not in ((), (1,), (len(symmetric),)) or not (given.detach() > 0.0).all():
            raise InputError(
                f"lambda_max must be one positive number, or one for each of the {len(symmetric)}"
                " operators"
            )
        return given.expand(len(symmetric))
    if lambda_max not in ("lanczos", "gershgorin"):
        raise InputError(f'lambda_max must be "lanczos", "gershgorin" or given, not {lambda_max!r}')
    largest_sum = _row_sums(geometry, symmetric.abs()).amax(dim=1)
    if lambda_max == "gershgorin":
        return largest_sum
    vector, value = _top(geometry, symmetric.detach(), largest_sum.detach())
    # The gradient of an eigenvalue is that of the quotient ⟨v, A v⟩ at its eigenvector v.
    quotient = (symmetric * _outer(geometry, vector, vector)).sum(dim=1)
    return quotient * (value / quotient.detach())


def _top(geometry: MeshGeometry, matrices: Tensor, largest: Tensor) -> tuple[Tensor, Tensor]:
    """Approximate top eigenvectors (a, n) and bounds (a,), at most `largest`, on the eigenvalues.

    The bound is that of [`largest_eigenvalue`][finsler.operator.largest_eigenvalue].
    """
    n = len(geometry.mass)
    if n <= 2 * _STEPS:
        dense = matrices.new_zeros(len(matrices), n, n)
        dense[:, geometry.rows, geometry.indices] = matrices
        values, vectors = torch.linalg.eigh(dense)
        return vectors[:, :, -1], values[:, -1] * (1.0 + 16 * torch.finfo(dense.dtype).eps)
    start = np.random.default_rng(0).standard_normal(n)
    vector = torch.from_numpy(start / np.linalg.norm(start)).to(matrices).expand(len(matrices), n)
    before, coupling = torch.zeros_like(vector), matrices.new_zeros(len(matrices), 1)
    basis, alpha, beta = [], [], []
    for _ in range(_STEPS):
        product = matrices * vector.index_select(1, geometry.indices)
        image = _row_sums(geometry, product) - coupling * before
        basis.append(vector)
        alpha.append((vector * image).sum(dim=1))
        image = image - alpha[-1][:, None] * vector
        coupling = image.norm(dim=1, keepdim=True)
        beta.append(coupling[:, 0])
        # A vanishing image leaves zeros in the rest of the matrix, which lie in the spectrum.
        before, vector = vector, image / coupling.clamp(min=torch.finfo(image.dtype).tiny)
    side = torch.diag_embed(torch.stack(beta[:-1], dim=1), offset=1)
    tridiagonal = torch.diag_embed(torch.stack(alpha, dim=1)) + side + side.mT
    ritz, weights = torch.linalg.eigh(tridiagonal)
    short = lanczos_margin(n, _STEPS)
    value = torch.minimum(largest, ritz[:, -1] / max(1.0 - short, 1e-3))
    return torch.einsum("ka,kan->an", weights[:, :, -1].T, torch.stack(basis)), value


def _row_sums(geometry: MeshGeometry, values: Tensor) -> Tensor:
    """Sums (a, n) of the entries (a, nnz) of each row."""
    sums = values.new_zeros(len(values), len(geometry.mass))
    return sums.index_add_(1, geometry.rows, values)


def _require_positive(first: Tensor, determinant: Tensor) -> None:
    """Raise unless tensors with these entries D₁₁ and determinants are positive definite."""
    positive = (first.detach() > 0.0) & (determinant.detach() > 0.0)
    bad = ~positive.reshape(-1, positive.shape[-1]).all(dim=0)
    if bad.any():
        raise InputError(
            f"M of face {int(bad.int().argmax())} is not positive definite"
            f" ({int(bad.sum())} such faces)"
        )
