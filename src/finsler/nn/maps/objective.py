"""The loss of features on two shapes: which terms there are, and their sum."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from finsler.nn.maps import losses
from finsler.nn.maps.basis import MapBasis
from finsler.nn.maps.soft import SoftMaps, soft_maps
from finsler.nn.maps.solver import functional_maps, resolvent_mask

# Sizes of the bases that the multi-resolution loss looks at, as shares of the whole.
_SIZES = (0.1, 0.2, 0.4, 0.7, 1.0)


@dataclass(frozen=True)
class MapLoss:
    """Weights of the terms of the loss, by name, and what maps are computed with.

    Attributes
    ----------
    weights : mapping
        Of "bijectivity", "orthogonality", "coupling", "resolution", "dirichlet", "diffusion" and
        "truth"; what is missing or 0 is not computed.
    temperature : float
        Of soft maps.
    commutativity : float
        Weight of the resolvent mask.
    """

    weights: Mapping[str, float]
    temperature: float = 0.07
    commutativity: float = 1.0

    def uses(self, *names: str) -> bool:
        """Whether one of these terms counts."""
        return any(self.weights.get(name, 0.0) > 0.0 for name in names)

    def total(self, terms: Mapping[str, Tensor]) -> Tensor:
        """Their weighted sum."""
        parts = [self.weights[name] * value for name, value in terms.items()]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total


def pair_terms(
    features: Sequence[Tensor],
    bases: tuple[MapBasis, MapBasis],
    loss: MapLoss,
    *,
    partners: tuple[Tensor, Tensor] | None = None,
) -> dict[str, Tensor]:
    """The terms of the loss for two shapes, each the mean of both directions.

    Parameters
    ----------
    features : (n_1, c), (n_2, c)
    bases : pair of MapBasis
    loss : MapLoss
    partners : (m_1,), (m_2,), optional
        Point of the other shape for each point of soft maps, −1 where it is not known.
    """
    terms: dict[str, Tensor] = {}
    if loss.uses("bijectivity", "orthogonality", "coupling"):
        solved = _solved(features, bases, loss)
        if loss.uses("bijectivity"):
            there, back = losses.bijectivity(*solved), losses.bijectivity(*solved[::-1])
            terms["bijectivity"] = 0.5 * (there + back)
        if loss.uses("orthogonality"):
            terms["orthogonality"] = _mean(losses.orthogonality(each) for each in solved)
    if loss.uses("coupling", "resolution", "dirichlet", "diffusion", "truth"):
        soft = soft_maps(features[0], features[1], *bases, temperature=loss.temperature)
        if loss.uses("coupling"):
            both = zip(solved, (soft.functional_12, soft.functional_21), strict=True)
            terms["coupling"] = _mean(losses.coupling(*each) for each in both)
        terms |= _soft_terms(soft, bases, loss)
        if loss.uses("truth") and partners is not None:
            terms["truth"] = losses.truth(soft.logits, partners)
    return terms


def _solved(
    features: Sequence[Tensor], bases: tuple[MapBasis, MapBasis], loss: MapLoss
) -> tuple[Tensor, Tensor]:
    """The functional maps C_12 and C_21 that carry the features over."""
    a, b = (basis.coefficients(each) for basis, each in zip(bases, features, strict=True))
    mask = resolvent_mask(bases[0].values, bases[1].values)
    both = torch.stack([a, b]), torch.stack([b, a]), torch.stack([mask, mask.T])
    there, back = functional_maps(*both, weight=loss.commutativity)
    return there, back


def _soft_terms(
    soft: SoftMaps, bases: tuple[MapBasis, MapBasis], loss: MapLoss
) -> dict[str, Tensor]:
    """Those that need no solver."""
    terms: dict[str, list[Tensor]] = {}
    ways = (
        (bases[0], bases[1], soft.carried_12, soft.functional_12),
        (bases[1], bases[0], soft.carried_21, soft.functional_21),
    )
    for here, other, carried, functional in ways:
        if loss.uses("resolution"):
            sizes = sorted({max(2, round(share * here.k)) for share in _SIZES})
            terms.setdefault("resolution", []).append(losses.multiresolution(here, carried, sizes))
        if loss.uses("dirichlet"):
            energy = losses.dirichlet(functional, here.values, other.values)
            terms.setdefault("dirichlet", []).append(energy)
        if loss.uses("diffusion"):
            apart = losses.synchronous_diffusion(here, carried, other.values)
            terms.setdefault("diffusion", []).append(apart)
    return {name: 0.5 * (there + back) for name, (there, back) in terms.items()}


def _mean(values: Iterable[Tensor]) -> Tensor:
    there, back = values
    return 0.5 * (there + back)
