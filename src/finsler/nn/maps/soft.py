"""Pointwise maps from features: soft ones with gradients, and nearest neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import normalize

from finsler.nn.maps.basis import MapBasis

# Cosines that are held at once where no gradient is needed.
_CELLS = 2**26


@dataclass(frozen=True, eq=False)
class SoftMaps:
    """What is known of the soft maps P_12 and P_21 between two shapes.

    Attributes
    ----------
    logits : (m_1, m_2)
        Of P_12 by rows, and of P_21 by columns.
    carried_12, carried_21 : (m_1, k), (m_2, k)
        P_12 Φ_2 and P_21 Φ_1: the basis of the other shape.
    functional_12, functional_21 : (k, k)
        Φ_1⁺ P_12 Φ_2 and Φ_2⁺ P_21 Φ_1.
    """

    logits: Tensor
    carried_12: Tensor
    carried_21: Tensor
    functional_12: Tensor
    functional_21: Tensor


def soft_maps(
    features_1: Tensor,
    features_2: Tensor,
    basis_1: MapBasis,
    basis_2: MapBasis,
    *,
    temperature: float,
) -> SoftMaps:
    """Soft maps of features (n_1, c) and (n_2, c): softmax of cosines / temperature."""
    first = normalize(features_1[basis_1.points], dim=1)
    second = normalize(features_2[basis_2.points], dim=1)
    logits = first @ second.T / temperature
    carried_12 = torch.softmax(logits, dim=1) @ basis_2.there
    carried_21 = torch.softmax(logits, dim=0).T @ basis_1.there
    return SoftMaps(
        logits,
        carried_12,
        carried_21,
        basis_1.inverse @ carried_12,
        basis_2.inverse @ carried_21,
    )


@torch.no_grad()
def nearest(queries: Tensor, points: Tensor) -> Tensor:
    """The row of `points` (p, d) nearest to each row of `queries` (q, d), (q,), block by block.

    Examples
    --------
    >>> nearest(torch.tensor([[0.9, 0.0], [0.0, 3.0]]), torch.eye(2)).tolist()
    [0, 1]
    """
    half = 0.5 * (points**2).sum(dim=1)
    block = max(1, _CELLS // len(points))
    parts = [(part @ points.T - half).argmax(dim=1) for part in torch.split(queries, block)]
    return torch.cat(parts)
