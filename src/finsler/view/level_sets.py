"""Distances as level sets: there, back, and the difference, on scales with round steps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from finsler.errors import InputError
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray
from finsler.view.panel import DIVERGING, Panel

# At most so many level sets between the source and the farthest point.
_LEVELS = 24


def distance_panels(
    mesh: TriMesh,
    distances: Mapping[str, ArrayLike],
    source: int,
    paths: Sequence[ArrayLike | None] | None = None,
) -> list[Panel]:
    """One panel for each distance, on one scale, and for two their difference, first less second.

    Parameters
    ----------
    mesh : TriMesh
    distances : mapping of str to (n,)
        By title; infinite on parts that are not reached, which are grey.
    source : int
        Vertex with a marker.
    paths : sequence of (p, 3), optional
        Corners of a polyline for each distance, or None; the difference shows all.
    """
    arrays = [np.asarray(values, dtype=np.float64) for values in distances.values()]
    given = [None] * len(arrays) if paths is None else list(paths)
    lines = [None if line is None else np.asarray(line, dtype=np.float64) for line in given]
    step, top = level_steps(arrays)
    panels = [
        Panel(
            mesh,
            _filled(values, 2 * top),
            f"{title}\nlines every {step:g}",
            clim=(0.0, top),
            marker=source,
            path=line,
            bands=round(top / step),
            grey_from=_grey_from(values, top),
        )
        for title, values, line in zip(distances, arrays, lines, strict=True)
    ]
    if len(arrays) != 2:
        return panels
    drawn = [line for line in lines if line is not None]
    return [*panels, _difference(mesh, arrays, source, np.concatenate(drawn) if drawn else None)]


def front_panel(
    mesh: TriMesh, distances: ArrayLike, radius: float, scale: tuple[float, float]
) -> Panel:
    """The set nearer than a radius; the rest is grey. `scale` is that of `level_steps`."""
    step, top = scale
    return Panel(
        mesh,
        _filled(np.asarray(distances, dtype=np.float64), 2 * top),
        clim=(0.0, top),
        bands=round(top / step),
        grey_from=radius,
    )


def level_steps(distances: Sequence[FloatArray]) -> tuple[float, float]:
    """A round step between level sets, at most 24 of them, and the distance where they end."""
    finite = [values[np.isfinite(values)] for values in distances]
    if not finite or not all(len(values) for values in finite):
        raise InputError("there is no finite distance to draw; give a source on the surface")
    return _rounded(max(float(values.max()) for values in finite) or 1.0, _LEVELS)


def _difference(
    mesh: TriMesh, arrays: Sequence[FloatArray], source: int, path: FloatArray | None
) -> Panel:
    with np.errstate(invalid="ignore"):
        values = arrays[0] - arrays[1]
    # Roundoff is not drawn as if it were something.
    largest = max(float(np.nanmax(np.abs(values))), 1e-6 * level_steps(arrays)[1])
    step, top = _rounded(largest, _LEVELS // 2)
    return Panel(
        mesh,
        _filled(values, 2 * top),
        f"difference\nlines every {step:g}",
        cmap=DIVERGING,
        clim=(-top, top),
        marker=source,
        path=path,
        bands=2 * round(top / step),
        grey_from=_grey_from(values, top),
    )


def _rounded(largest: float, count: int) -> tuple[float, float]:
    """A step of 1, 2 or 5 times a power of ten, at most `count` of them, and where they end."""
    power = 10.0 ** math.floor(math.log10(largest / count))
    step = next(power * digit for digit in (1, 2, 5, 10) if power * digit * count >= largest)
    return step, step * math.ceil(largest / step)


def _filled(values: FloatArray, beyond: float) -> FloatArray:
    return np.where(np.isfinite(values), values, beyond)


def _grey_from(values: FloatArray, top: float) -> float | None:
    return None if np.isfinite(values).all() else top
