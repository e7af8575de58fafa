"""Where the meshes stand on the page, in units in which each fits a sphere of radius 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray, IntArray
from finsler.view.scene import bounding_sphere
from finsler.view.upright import PAGE, Stance, Viewpoint, pair_stances

_GAP = 0.3
# Copies of the first mesh below the pair: their largest scale, and the share of their room that
# they fill; the room of the words below them.
_COPY, _FILL, _WORDS = 0.7, 0.85, 0.25


@dataclass(frozen=True, eq=False)
class Frame:
    """What a camera has to show: a middle (3,), half the width and half the height."""

    center: FloatArray
    width: float
    height: float


class Layout:
    """One mesh, or two side by side, upright; a full map makes both face the same way."""

    def __init__(
        self, meshes: tuple[TriMesh, ...], map_12: IntArray | None, viewpoint: Viewpoint
    ) -> None:
        self._meshes = meshes
        spheres = [bounding_sphere(mesh) for mesh in meshes]
        self._centers = [center for center, _ in spheres]
        self._scales = [1.0 / radius for _, radius in spheres]
        self._turns = [stance.turn for stance in _stances(meshes, map_12, viewpoint)]
        self.camera = PAGE.camera(viewpoint.view or "front")
        right = np.cross(self.camera.up, self.camera.direction)
        right = right / np.linalg.norm(right)
        # To the right and up in the first picture, (2, 3).
        self._axes = np.stack([right, np.cross(self.camera.direction, right)])
        self._offsets = [np.zeros(3) for _ in meshes]
        if len(meshes) == 2:
            half = 0.5 * self._room() * right
            self._offsets = [-half, half]

    def to_page(self, mesh: int, points: FloatArray) -> FloatArray:
        """Points (..., 3) of a mesh on the page."""
        scaled = (points - self._centers[mesh]) @ self._turns[mesh].T * self._scales[mesh]
        return np.asarray(scaled + self._offsets[mesh])

    def to_copy(self, points: FloatArray, number: int, count: int) -> FloatArray:
        """Points (..., 3) of the first mesh on the `number`-th of `count` copies below the pair."""
        scale, places = self._copies(count)
        return np.asarray(scale * (self.to_page(0, points) - self._offsets[0]) + places[number])

    def below_copy(self, number: int, count: int) -> FloatArray:
        """Where the words of a copy are, (3,)."""
        copied = self.to_copy(self._meshes[0].vertices, number, count) @ self._axes.T
        middle = 0.5 * (copied[:, 0].min() + copied[:, 0].max())
        place = np.array([middle, copied[:, 1].min() - 0.2 * _WORDS]) @ self._axes
        return np.asarray(place)

    def frame(self, copies: int = 0) -> Frame:
        """The pair and so many copies as the first camera sees them."""
        width, height = self._extent()
        lowest = -height
        if copies:
            lowest = float(self._axes[1] @ self.below_copy(0, copies)) - _WORDS
        return Frame(0.5 * (height + lowest) * self._axes[1], width, 0.5 * (height - lowest))

    def _copies(self, count: int) -> tuple[float, FloatArray]:
        """Scale of the copies, and where each has the middle of its sphere, (count, 3)."""
        width, height = self._extent()
        seen = (self.to_page(0, self._meshes[0].vertices) - self._offsets[0]) @ self._axes.T
        low, high = seen.min(axis=0), seen.max(axis=0)
        room = 2.0 * width / count
        scale = min(_COPY, _FILL * room / max(float(high[0] - low[0]), 1e-9))
        across = (np.arange(count) + 0.5) * room - width - 0.5 * scale * (low[0] + high[0])
        upward = np.full(count, -height - 0.5 * _GAP - scale * high[1])
        return scale, np.stack([across, upward], axis=1) @ self._axes

    def _extent(self) -> tuple[float, float]:
        """Half the width and half the height of the pair."""
        points = [self.to_page(i, mesh.vertices) for i, mesh in enumerate(self._meshes)]
        seen = np.abs(np.concatenate(points) @ self._axes.T)
        return float(seen[:, 0].max()), float(seen[:, 1].max())

    def _room(self) -> float:
        """How far apart two meshes stand, so that the viewer sees a gap between them."""
        first, second = (
            self.to_page(i, mesh.vertices) @ self._axes[0] for i, mesh in enumerate(self._meshes)
        )
        return float(first.max() - second.min()) + _GAP


def _stances(
    meshes: tuple[TriMesh, ...], map_12: IntArray | None, viewpoint: Viewpoint
) -> list[Stance]:
    if map_12 is None or (map_12 < 0).any():
        return [viewpoint.stance(mesh) for mesh in meshes]
    return list(pair_stances(meshes[0], meshes[1], map_12, viewpoint.up))
