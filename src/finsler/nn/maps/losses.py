"""What maps between two shapes should fulfil, each as one number that is 0 where they do.

C_12 (k, k) takes coefficients on shape 2 to those on shape 1. Squared norms are divided by the
number of functions k, so that a wrong function costs about 1 whatever k is.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from finsler.nn.maps.basis import MapBasis


def bijectivity(functional_12: Tensor, functional_21: Tensor) -> Tensor:
    """‖C_12 C_21 − I‖² / k: there and back is the identity (Eynard et al. 2016).

    Examples
    --------
    >>> turn = torch.tensor([[0.0, -1.0], [1.0, 0.0]])
    >>> float(bijectivity(turn, turn.T)), float(bijectivity(turn, turn))
    (0.0, 4.0)
    """
    return _from_identity(functional_12 @ functional_21)


def orthogonality(functional: Tensor) -> Tensor:
    """‖Cᵀ C − I‖² / k: the map preserves areas (Ovsjanikov et al. 2012).

    Examples
    --------
    >>> float(orthogonality(torch.tensor([[0.0, -1.0], [1.0, 0.0]])))
    0.0
    """
    return _from_identity(functional.T @ functional)


def coupling(functional: Tensor, other: Tensor) -> Tensor:
    """‖C − C'‖² / k: a solved and a soft map are the same (Cao et al. 2023)."""
    return ((functional - other) ** 2).sum() / len(functional)


def multiresolution(basis_1: MapBasis, carried: Tensor, sizes: Sequence[int]) -> Tensor:
    """Mean over k of ‖Φ_1 − P Φ_2 C_kᵀ‖² / k with C_k = Φ_1⁺ P Φ_2 (Magnet, Ovsjanikov 2024).

    It is 0 where P carries functions to functions of the basis, and C_k is orthogonal, for each
    size k; it needs no solver.

    Parameters
    ----------
    basis_1 : MapBasis
    carried : (m, K)
        P Φ_2 at the points of shape 1.
    sizes : sequence of int
        At most K each.
    """
    functional = basis_1.inverse @ carried
    total = carried.new_zeros(())
    for k in sizes:
        apart = basis_1.there[:, :k] - carried[:, :k] @ functional[:k, :k].T
        total = total + (basis_1.weights[:, None] * apart**2).sum() / k
    return total / len(sizes)


def dirichlet(functional: Tensor, values_1: Tensor, values_2: Tensor) -> Tensor:
    """(Σ_ij C_ij² |λ_i − μ_j|) / Σ_j μ_j: carried functions keep their Dirichlet energy.

    The energy of function j, carried over, is Σ_i λ_i C_ij² (Magnet et al. 2022); a map that only
    had to make it small would send all to one point.
    """
    change = (values_1[:, None] - values_2[None, :]).abs()
    return (functional**2 * change).sum() / values_2.sum().clamp(min=1e-12)


def synchronous_diffusion(
    basis_1: MapBasis,
    carried: Tensor,
    values_2: Tensor,
    times: Sequence[float] = (0.001, 0.01),
) -> Tensor:
    """Mean over t of ‖P H_2(t) Φ_2 − H_1(t) P Φ_2‖² / k: to diffuse and to carry over commute.

    H(t) = Φ e^{−λt} Φ⁺ is the flow of heat; times are shares of the area (Cao et al. 2024).
    """
    functional, weights = basis_1.inverse @ carried, basis_1.weights[:, None]
    total = carried.new_zeros(())
    for time in times:
        before = carried * torch.exp(-time * values_2)
        after = basis_1.there @ (torch.exp(-time * basis_1.values)[:, None] * functional)
        total = total + (weights * (before - after) ** 2).sum() / len(values_2)
    return total / len(times)


def truth(logits: Tensor, partners: tuple[Tensor, Tensor]) -> Tensor:
    """Mean cross entropy of soft maps at points whose partner is known, both ways.

    The contrastive loss of pairs (van den Oord et al. 2018).

    Parameters
    ----------
    logits : (m_1, m_2)
    partners : (m_1,), (m_2,)
        Column for each row and row for each column, −1 where it is not known.
    """
    ways = ((logits, partners[0]), (logits.T, partners[1]))
    there, back = (
        torch.nn.functional.cross_entropy(rows, known, ignore_index=-1, reduction="sum")
        / (known >= 0).sum().clamp(min=1)
        for rows, known in ways
    )
    return 0.5 * (there + back)


def _from_identity(matrix: Tensor) -> Tensor:
    identity = torch.eye(len(matrix), dtype=matrix.dtype, device=matrix.device)
    return ((matrix - identity) ** 2).sum() / len(matrix)
