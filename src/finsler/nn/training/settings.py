"""How a setting is declared, and those of learning maps between shapes."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

POSITIVE, NOT_NEGATIVE = ("at least", 1), ("at least", 0)
SHARE = (NOT_NEGATIVE, ("below", 1))
_FOR_MAPS = ("objective", "maps")


def setting(
    default: Any,
    help: str,
    *bounds: tuple[str, float],
    choices: tuple[str, ...] = (),
    only_with: tuple[str, str] | None = None,
    resumable: bool = False,
) -> Any:
    """A field: what it is for, its bounds or choices, and the setting without which it is unused.

    A run may be continued with another value of what is `resumable`: it decides where and how
    something is computed, not what.
    """
    metadata = {
        "help": help,
        "bounds": bounds,
        "choices": choices,
        "only_with": only_with,
        "resumable": resumable,
    }
    return dataclasses.field(default=default, metadata=metadata)


def _of_maps(default: Any, help: str, *bounds: tuple[str, float]) -> Any:
    return setting(default, help, *bounds, only_with=_FOR_MAPS)


def _weight(default: float, of: str) -> Any:
    return _of_maps(default, f"weight in the loss: {of}", NOT_NEGATIVE)


@dataclass(frozen=True)
class MapSettings:
    """What is learned, and how maps between two shapes are; see docs/training.md."""

    objective: str = setting(
        "labels",
        "what is learned: labels names vertices of a reference, maps matches any two shapes",
        choices=("labels", "maps"),
    )
    supervised: bool = _of_maps(False, "use the ground truth of the training shapes as well")
    maps_start: str = setting(
        "random",
        "first weights: random, or box, those of the model in the package, for model = directed",
        choices=("random", "box"),
        only_with=_FOR_MAPS,
    )
    maps_shapes: int = _of_maps(
        2, "shapes a step, each matched with every other", ("at least", 2), ("at most", 64)
    )
    maps_basis: int = _of_maps(
        200, "eigenfunctions of a functional map", ("at least", 2), ("at most", 1000)
    )
    maps_features: int = _of_maps(
        256, "numbers that describe a vertex in the end", POSITIVE, ("at most", 2**12)
    )
    maps_wave: int = _of_maps(
        128, "wave kernel signatures beside the descriptor", NOT_NEGATIVE, ("at most", 2**12)
    )
    maps_points: int = _of_maps(
        8000, "vertices of a shape that take part in soft maps, at most", ("at least", 10)
    )
    maps_temperature: float = _of_maps(
        0.07, "of soft maps: cosines of features are divided by it", ("above", 0)
    )
    maps_commutativity: float = _of_maps(
        1.0, "weight of the resolvent mask when functional maps are solved for", NOT_NEGATIVE
    )
    maps_bijectivity: float = _weight(1.0, "there and back is the identity")
    maps_orthogonality: float = _weight(1.0, "functional maps are orthogonal")
    maps_coupling: float = _weight(1.0, "solved and soft functional maps agree")
    maps_resolution: float = _weight(0.0, "soft maps carry bases of several sizes over")
    maps_dirichlet: float = _weight(0.0, "Dirichlet energy of carried functions")
    maps_diffusion: float = _weight(0.0, "soft maps and diffusion commute")
    maps_truth: float = _weight(1.0, "the ground truth, where supervised")
