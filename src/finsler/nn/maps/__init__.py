"""Maps between two shapes that can be differentiated: solver, soft maps, losses, network."""

from finsler.nn.maps.basis import MapBasis
from finsler.nn.maps.network import FeatureNet
from finsler.nn.maps.objective import MapLoss, pair_terms
from finsler.nn.maps.soft import SoftMaps, nearest, soft_maps
from finsler.nn.maps.solver import functional_maps, resolvent_mask

__all__ = [
    "FeatureNet",
    "MapBasis",
    "MapLoss",
    "SoftMaps",
    "functional_maps",
    "nearest",
    "pair_terms",
    "resolvent_mask",
    "soft_maps",
]
