"""What a ray from the viewer's eye meets first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from finsler.typing import FloatArray


@dataclass(frozen=True)
class Picked:
    """A vertex under the pointer."""

    mesh: int
    vertex: int


def ray_lengths(corners: FloatArray, start: FloatArray, way: FloatArray) -> FloatArray:
    """How far along a ray each triangle (m, 3, 3) is met, (m,); infinite where it is not."""
    first, second = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    normal = np.cross(way, second)
    volume = np.einsum("fi,fi->f", first, normal)
    crossed = volume != 0.0
    inverse = 1.0 / np.where(crossed, volume, 1.0)
    offset = start - corners[:, 0]
    u = np.einsum("fi,fi->f", offset, normal) * inverse
    side = np.cross(offset, first)
    v = side @ way * inverse
    reach = np.einsum("fi,fi->f", second, side) * inverse
    inside = crossed & (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (reach > 0.0)
    return np.where(inside, reach, np.inf)
