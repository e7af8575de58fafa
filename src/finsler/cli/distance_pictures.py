"""How distances are drawn: the way there, the way back, their difference, a front."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from finsler.cli.results import write_animation
from finsler.cli.trips import Trip

if TYPE_CHECKING:
    from finsler.mesh import TriMesh
    from finsler.view import Camera, Panel


def distance_panels(mesh: TriMesh, trips: list[Trip], sources: list[int]) -> list[Panel]:
    """One panel a trip, on one scale, and for two trips their difference, the first less the other.

    Parts that no source reaches are grey.
    """
    from finsler.view import level_sets

    place = f"vertex {sources[0]}" if len(sources) == 1 else "the sources"
    distances = {f"{trip.word} {place}": trip.distance for trip in trips}
    paths = [None if trip.path is None else trip.path.points for trip in trips]
    return level_sets.distance_panels(mesh, distances, sources[0], paths)


def write_front(
    path: Path, mesh: TriMesh, trips: list[Trip], camera: Camera, *, pictures: int
) -> None:
    """A GIF of the set that is nearer than a growing distance, trips side by side."""
    import numpy as np

    from finsler.view.level_sets import front_panel, level_steps

    scale = level_steps([trip.distance for trip in trips])
    times = [float(time) for time in np.linspace(0.0, scale[1], pictures + 1)[1:]]
    rows = [[front_panel(mesh, trip.distance, time, scale) for trip in trips] for time in times]
    write_animation(path, rows, [f"d < {time:.3g}" for time in times], camera=camera)


def camera_of(mesh: TriMesh, trips: list[Trip], source: int) -> Camera:
    """Faces the middle of the first path, or the source where there is none."""
    import numpy as np

    from finsler.view.surfaces import camera_facing

    path = trips[0].path
    if path is None:
        return camera_facing(mesh, source)
    middle = path.points[len(path.points) // 2]
    nearest = int(np.argmin(np.linalg.norm(mesh.vertices - middle, axis=1)))
    return camera_facing(mesh, nearest)
