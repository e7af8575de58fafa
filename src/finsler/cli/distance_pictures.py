"""How distances are drawn: level sets, the way there, the way back, their difference, a front."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from finsler.cli.results import camera_facing, write_animation
from finsler.cli.trips import Trip, difference

if TYPE_CHECKING:
    from finsler.mesh import TriMesh
    from finsler.mesh.trimesh import FloatArray
    from finsler.view import Camera, Panel

# At most so many level sets between the source and the farthest point.
_LEVELS = 24


def distance_panels(mesh: TriMesh, trips: list[Trip], sources: list[int]) -> list[Panel]:
    """One panel a trip, on one scale, and for two trips their difference, the first less the other.

    Parts that no source reaches are grey.
    """
    from finsler.view import Panel

    step, top = _scale(trips)
    place = f"vertex {sources[0]}" if len(sources) == 1 else "the sources"
    panels = [
        Panel(
            mesh,
            _filled(trip.distance, 2 * top),
            f"{trip.word} {place}\nlines every {step:g}",
            clim=(0.0, top),
            marker=sources[0],
            path=None if trip.path is None else trip.path.points,
            bands=round(top / step),
            grey_from=_grey_from(trip.distance, top),
        )
        for trip in trips
    ]
    return [*panels, _difference(mesh, trips, sources[0])] if len(trips) == 2 else panels


def write_front(
    path: Path, mesh: TriMesh, trips: list[Trip], camera: Camera, *, pictures: int
) -> None:
    """A GIF of the set that is nearer than a growing distance, trips side by side."""
    import numpy as np

    from finsler.view import Panel

    step, top = _scale(trips)
    times = np.linspace(0.0, top, pictures + 1)[1:]
    rows = [
        [
            Panel(
                mesh,
                _filled(trip.distance, 2 * top),
                clim=(0.0, top),
                bands=round(top / step),
                grey_from=float(time),
            )
            for trip in trips
        ]
        for time in times
    ]
    write_animation(path, rows, [f"d < {time:.3g}" for time in times], camera=camera)


def camera_of(mesh: TriMesh, trips: list[Trip], source: int) -> Camera:
    """Faces the middle of the first path, or the source where there is none."""
    import numpy as np

    path = trips[0].path
    if path is None:
        return camera_facing(mesh, source)
    middle = path.points[len(path.points) // 2]
    nearest = int(np.argmin(np.linalg.norm(mesh.vertices - middle, axis=1)))
    return camera_facing(mesh, nearest)


def _difference(mesh: TriMesh, trips: list[Trip], source: int) -> Panel:
    import numpy as np

    from finsler.view import Panel

    values = difference(trips)
    # Roundoff is not drawn as if it were something.
    largest = max(float(np.nanmax(np.abs(values))), 1e-6 * _scale(trips)[1])
    step, top = _rounded(largest, _LEVELS // 2)
    round_trip = [trip.path.points for trip in trips if trip.path is not None]
    return Panel(
        mesh,
        _filled(values, 2 * top),
        f"difference\nlines every {step:g}",
        cmap="coolwarm",
        clim=(-top, top),
        marker=source,
        path=np.concatenate(round_trip) if round_trip else None,
        bands=2 * round(top / step),
        grey_from=_grey_from(values, top),
    )


def _scale(trips: list[Trip]) -> tuple[float, float]:
    import numpy as np

    largest = max(float(trip.distance[np.isfinite(trip.distance)].max()) for trip in trips)
    return _rounded(largest or 1.0, _LEVELS)


def _rounded(largest: float, count: int) -> tuple[float, float]:
    """A step of 1, 2 or 5 times a power of ten, at most `count` of them, and where they end."""
    power = 10.0 ** math.floor(math.log10(largest / count))
    step = next(power * digit for digit in (1, 2, 5, 10) if power * digit * count >= largest)
    return step, step * math.ceil(largest / step)


def _filled(values: FloatArray, beyond: float) -> FloatArray:
    import numpy as np

    return np.where(np.isfinite(values), values, beyond)


def _grey_from(values: FloatArray, top: float) -> float | None:
    import numpy as np

    return None if np.isfinite(values).all() else top
