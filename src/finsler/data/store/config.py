"""What is computed for every shape of a store."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from finsler.data.collection import Shape
from finsler.errors import InputError
from finsler.mesh.arguments import require_one_of, require_whole
from finsler.spec import OperatorSpec
from finsler.storage.hashing import content_key

# Part of every key: raise it when what is computed changes, and old entries are not found again.
FORMAT = 3
DESCRIPTORS = ("shot", "shot_released", "shot_two", "xyz", "none")
# Far above what is of use, and low enough that nothing runs for hours.
_MOST_BINS, _MOST_PAIRS, _MOST_COPIES = 1000, 100_000, 1000


@dataclass(frozen=True)
class PrepareConfig(OperatorSpec):
    """Which operators are prepared, and what goes with them; all of it is part of an entry's key.

    The fields of [`OperatorSpec`][finsler.OperatorSpec], and these.

    Attributes
    ----------
    descriptor : {"shot", "shot_released", "shot_two", "xyz", "none"}
        "shot_released" is SHOT as the C++ code in circulation computes it; "shot_two" that in the
        two balls which the model in the box reads, whatever `radius` is.
    radius : float
        Of SHOT, as a share of √area.
    bins : int
        Of SHOT.
    eigenpairs : int
        Of the isotropic Laplacian; 0 for none.
    support : float
        Radius of the supports that field convolutions need, as a share of √area; 0 for none.
    copies : int
        Deformed copies of each training shape that are prepared beside it
        ([`with_copies`][finsler.data.with_copies]).
    support_apart : bool
        Take supports that fall apart where the mesh does not; otherwise such a shape is refused.

    Raises
    ------
    InputError
        A value out of its range.
    """

    descriptor: str = "shot"
    radius: float = 0.09
    bins: int = 10
    eigenpairs: int = 0
    support: float = 0.0
    support_apart: bool = False
    copies: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_one_of(self.descriptor, DESCRIPTORS, "descriptor")
        require_whole(self.bins, 1, _MOST_BINS, "bins")
        require_whole(self.eigenpairs, 0, _MOST_PAIRS, "eigenpairs")
        require_whole(self.copies, 0, _MOST_COPIES, "copies")
        if not 0.0 < self.radius < np.inf:
            raise InputError(f"radius is {self.radius}; it must be a positive number")
        if self.descriptor == "shot_two" and self.bins != 10:
            raise InputError(
                f"bins is {self.bins}; the descriptor shot_two has 10, so leave it out"
            )
        if not 0.0 <= self.support < np.inf:
            raise InputError(f"support is {self.support}; it must be 0 or a positive number")

    @property
    def channels(self) -> int:
        """Features a vertex that the descriptor gives."""
        shot = 32 * (self.bins + 1)
        return {"xyz": 3, "none": 0, "shot_two": 2 * shot}.get(self.descriptor, shot)

    def settings(self) -> dict[str, Any]:
        """The fields, as keys hash them; kind, drift, copies where they are not the usual ones."""
        fields = dataclasses.asdict(self)
        usual = ["kind"] if self.kind == "flbo" else []
        usual += [] if self.is_directed else ["field", "peclet", "field_alpha"]
        usual += [] if self.copies else ["copies"]
        return {name: value for name, value in fields.items() if name not in usual}


def key_of(shape: Shape, config: PrepareConfig) -> str:
    """Name of a shape's entry: a hash of its content and of everything that is done to it."""
    own = dataclasses.replace(config, copies=0).settings()
    about = {"format": FORMAT, "name": shape.name, **own}
    points = np.empty(0, np.int64) if shape.points is None else shape.points
    arrays = (shape.mesh.vertices, shape.mesh.faces, shape.labels, shape.named, points)
    return content_key(about, arrays)
