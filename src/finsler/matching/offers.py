"""Maps between two meshes that a user can choose from: the best one and its alternatives."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finsler.errors import InputError
from finsler.matching.pairs import MATCH_ARRAYS
from finsler.storage.npz import read_npz
from finsler.typing import IntArray

# What a file says of alternatives, a row for each, by what it says of the map itself.
_OTHER = {
    "map_12": "alternatives_12",
    "map_21": "alternatives_21",
    "probability": "alternatives_probability",
}
# Most alternatives: a person looks at each of them.
_MOST = 8


@dataclass(frozen=True, eq=False)
class OfferedMap:
    """One of the maps from mesh 1 to mesh 2, with its name.

    Attributes
    ----------
    name : str
    arrays : mapping
        What is known of it, as `finsler match` writes it: `map_12` at least, and for most
        `map_21` and `probability`.
    """

    name: str
    arrays: Mapping[str, Any]

    @property
    def map_12(self) -> IntArray:
        """Vertex of mesh 2 for each vertex of mesh 1, (n_1,)."""
        return np.asarray(self.arrays["map_12"])

    @property
    def title(self) -> str:
        """The name, and how probable it is that the map is right.

        Examples
        --------
        >>> OfferedMap("best map", {"map_12": [0, 1], "probability": 0.871}).title
        'best map, 87%'
        """
        chance = self.arrays.get("probability")
        return self.name if chance is None else f"{self.name}, {100 * float(chance):.0f}%"


def read_maps(path: str | os.PathLike[str]) -> tuple[OfferedMap, ...]:
    """The map of a file of `finsler match`, and the alternatives that it holds.

    Raises
    ------
    InputError
        The file cannot be read, has no `map_12`, or arrays that do not fit together.
    """
    optional = (*(name for name in MATCH_ARRAYS if name != "map_12"), *_OTHER.values())
    arrays = read_npz(path, ("map_12",), optional=optional)
    columns = {name: arrays.pop(other) for name, other in _OTHER.items() if other in arrays}
    count = _count(path, columns)
    others = [{name: rows[i] for name, rows in columns.items()} for i in range(count)]
    offers = (
        OfferedMap("best map" if others else "map", arrays),
        *(OfferedMap(f"alternative {i}", each) for i, each in enumerate(others, start=1)),
    )
    for offer in offers:
        _require_probability(path, offer)
    return offers


def _count(path: str | os.PathLike[str], columns: Mapping[str, NDArray[Any]]) -> int:
    """How many alternatives there are."""
    shapes = {_OTHER[name]: rows.shape for name, rows in columns.items()}
    count = len(columns["map_12"]) if np.ndim(columns.get("map_12", 0)) == 2 else 0
    if any(shape[:1] != (count,) for shape in shapes.values()) or count > _MOST:
        raise InputError(
            f"{path}: the alternatives have the shapes"
            f" {', '.join(f'{name} {shape}' for name, shape in shapes.items())}; all must have one"
            f" row for each, at most {_MOST}; write the file again with finsler match"
        )
    return count


def _require_probability(path: str | os.PathLike[str], offer: OfferedMap) -> None:
    chance = np.asarray(offer.arrays.get("probability", 1.0))
    if chance.shape != () or chance.dtype.kind not in "fiu" or not 0.0 <= chance <= 1.0:
        raise InputError(
            f"{path}: the probability of the {offer.name} must be a number from 0 to 1; write the"
            " file again with finsler match"
        )
