"""How distance fields are drawn: there, back, their difference, and a front that advances."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from finsler.analysis.distance_fields import DistanceField
from finsler.view import level_sets
from finsler.view.panel import Camera, Panel
from finsler.view.upright import Viewpoint


def field_panels(fields: Sequence[DistanceField]) -> list[Panel]:
    """One panel a field, on one scale, and of two fields their difference, first less second.

    Parts that no source reaches are grey.
    """
    first = fields[0]
    sources = f"vertex {first.sources[0]}" if len(first.sources) == 1 else "the sources"
    distances = {f"{field.preposition} {sources}": field.values for field in fields}
    paths = [None if field.path is None else field.path.points for field in fields]
    return level_sets.distance_panels(first.mesh, distances, first.sources[0], paths)


def front_rows(
    fields: Sequence[DistanceField], count: int
) -> tuple[list[list[Panel]], list[float]]:
    """Pictures of the set nearer than a growing distance, fields side by side; the distances."""
    scale = level_sets.level_steps([field.values for field in fields])
    radii = [float(radius) for radius in np.linspace(0.0, scale[1], count + 1)[1:]]
    rows = [
        [level_sets.front_panel(field.mesh, field.values, radius, scale) for field in fields]
        for radius in radii
    ]
    return rows, radii


def field_camera(fields: Sequence[DistanceField], viewpoint: Viewpoint | None = None) -> Camera:
    """Faces the middle of the first path, or the source where there is none."""
    first, seen = fields[0], viewpoint or Viewpoint()
    if first.path is None:
        return seen.facing(first.mesh, first.sources[0])
    middle = first.path.points[len(first.path.points) // 2]
    nearest = int(np.argmin(np.linalg.norm(first.mesh.vertices - middle, axis=1)))
    return seen.facing(first.mesh, nearest)
