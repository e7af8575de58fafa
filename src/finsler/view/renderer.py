"""Pictures of panels, drawn through a compiled depth buffer without any graphics library."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from finsler.errors import InputError
from finsler.view.colors import color_table
from finsler.view.panel import Camera, Panel, resolve_colors
from finsler.view.scene import (
    AMBIENT,
    DIFFUSE,
    SHEEN,
    SHEEN_POWER,
    DrawnSurface,
    Projection,
    projection_of,
    scene_of,
)

# Pictures are drawn this many times larger in each direction and averaged: smooth outlines.
_OVERSAMPLING = 3


def render_panel(
    panel: Panel, *, camera: Camera | None = None, size: tuple[int, int] = (400, 400)
) -> NDArray[np.uint8]:
    """Picture of one panel without title or colour bar, on white, (height, width, 3), RGB.

    Parameters
    ----------
    panel : Panel
    camera : Camera, optional
        Unless the panel brings its own; by default from slightly right of and above the z axis.
    size : (width, height)
        In pixels.

    Raises
    ------
    InputError
        The size is not positive, the colour map unknown, or matplotlib not installed.
    """
    width, height = size
    if width < 1 or height < 1:
        raise InputError(f"the size of a picture is {size}; both numbers must be positive")
    require_matplotlib()
    k = _OVERSAMPLING
    chosen = panel.camera or camera or Camera()
    view = projection_of(panel.mesh, chosen, k * width, k * height)
    [resolved] = resolve_colors([panel])
    large = rasterize(scene_of(resolved, view, color_table(resolved)), view)
    mean = large.reshape(height, k, width, k, 3).mean(axis=(1, 3), dtype=np.float32)
    return np.asarray(np.rint(mean), dtype=np.uint8)


def rasterize(surfaces: Sequence[DrawnSurface], view: Projection) -> NDArray[np.uint8]:
    """Draw surfaces on white, (height, width, 3).

    Each pixel shows the nearest face under its centre; normals and levels are interpolated
    linearly, so colour and light vary smoothly inside a face.
    """
    from finsler.view._compiled_raster import nearest_faces, shade

    corners = view.pixels(np.concatenate([s.corners for s in surfaces]))
    face, weights = nearest_faces(corners, view.width, view.height)
    image = np.ones((view.height * view.width, 3))
    reflection = np.array([AMBIENT, DIFFUSE, SHEEN, SHEEN_POWER])
    first = 0
    for surface in surfaces:
        last = first + len(surface.corners)
        mine = np.flatnonzero((face >= first) & (face < last))
        colors = np.zeros((0, 3, 3)) if surface.colors is None else surface.colors
        levels, table = np.zeros((0, 3)), np.array([surface.color])
        if surface.levels is not None and surface.table is not None:
            levels, table = surface.levels, surface.table
        # One layout of arrays is one compilation.
        normals, colors, levels, table = (
            np.ascontiguousarray(a) for a in (surface.normals, colors, levels, table)
        )
        light = (view.axes[2], view.light, reflection)
        shade(image, mine, face - first, weights, normals, colors, levels, table, *light)
        first = last
    pixels = np.rint(255 * np.clip(image, 0, 1)).astype(np.uint8)
    return pixels.reshape(view.height, view.width, 3)


def require_matplotlib() -> None:
    """Raise where matplotlib, which lays out every figure, is missing."""
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError(
            "matplotlib is not installed; pictures need it: pip install 'finsler[view]'"
        )
