"""Functional maps that carry features over, as the solution of linear systems with gradients.

A functional map C, (k_1, k_2), takes coefficients of functions on shape 2 to those of their
pull-back to shape 1, as everywhere in this package.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

# Added to the systems, as a share of the mean of their diagonals.
_RIDGE = 1e-7


def resolvent_mask(values_1: Tensor, values_2: Tensor, *, power: float = 0.5) -> Tensor:
    """How far apart functions i of shape 1 and j of shape 2 are in frequency, (k_1, k_2).

    |R(λ_i) − R(μ_j)|² with the resolvent R(λ) = 1/(λ^γ − √−1), eigenvalues divided by the largest:
    what a map that commutes with the Laplacians must avoid (Ren et al. 2019).

    Examples
    --------
    >>> values = torch.tensor([0.0, 1.0])
    >>> resolvent_mask(values, values)
    tensor([[0.0000, 0.5000],
            [0.5000, 0.0000]])
    """
    scale = torch.maximum(values_1[-1], values_2[-1]).clamp(min=1e-12)
    first, second = ((v.clamp(min=0.0) / scale) ** power for v in (values_1, values_2))
    a, b = first[:, None], second[None, :]
    real = b / (b**2 + 1.0) - a / (a**2 + 1.0)
    imaginary = 1.0 / (b**2 + 1.0) - 1.0 / (a**2 + 1.0)
    return real**2 + imaginary**2


def functional_maps(
    coefficients_1: Tensor, coefficients_2: Tensor, mask: Tensor, *, weight: float
) -> Tensor:
    """The map C of least ‖C B − A‖² + weight Σ_ij mask_ij C_ij², (k_1, k_2).

    Each row is a system of its own; all are factored at once, in double precision. Gradients go
    through the same factors (Donati et al. 2020).

    Parameters
    ----------
    coefficients_1, coefficients_2 : (..., k_1, d), (..., k_2, d)
        A and B: features of the shapes in their bases; of several pairs at once, if need be.
    mask : (..., k_1, k_2)
        See `resolvent_mask`.
    weight : float

    Examples
    --------
    >>> a = torch.eye(3)[[2, 0, 1]]
    >>> functional_maps(a, torch.eye(3), torch.zeros(3, 3), weight=1.0).round().int().tolist()
    [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    """
    a, b = coefficients_1.double(), coefficients_2.double()
    gram, right = b @ b.mT, a @ b.mT
    solution = cast(Any, _Rows).apply(gram, right, weight * mask.double())
    return cast(Tensor, solution.to(coefficients_1.dtype))


class _Rows(torch.autograd.Function):
    """Solutions c_i of (G + diag(d_i)) c_i = r_i, for all rows i."""

    @staticmethod
    def forward(ctx: Any, gram: Tensor, right: Tensor, diagonals: Tensor) -> Tensor:
        ridge = _RIDGE * gram.diagonal(dim1=-2, dim2=-1).mean(-1)[..., None, None] + 1e-30
        systems = gram[..., None, :, :] + torch.diag_embed(diagonals + ridge)
        factors, _ = torch.linalg.cholesky_ex(systems)
        rows = torch.cholesky_solve(right[..., None], factors)[..., 0]
        ctx.save_for_backward(factors, rows)
        return rows

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        factors, rows = ctx.saved_tensors
        adjoint = torch.cholesky_solve(grad[..., None], factors)[..., 0]
        # d c = S⁻¹ (d r − d G c), and G is symmetric; the ridge counts as constant.
        product = adjoint.mT @ rows
        return -0.5 * (product + product.mT), adjoint, None
