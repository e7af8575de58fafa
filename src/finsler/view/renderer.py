"""Pictures of panels, drawn off screen without any graphics library."""

from __future__ import annotations

import importlib.util

import numpy as np
from numpy.typing import NDArray

from finsler.errors import InputError
from finsler.view.colors import color_table
from finsler.view.panel import Camera, Panel, resolve_colors
from finsler.view.raster import rasterize
from finsler.view.scene import scene_of, view_of

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
    view = view_of(panel.mesh, camera or Camera(), k * width, k * height)
    [resolved] = resolve_colors([panel])
    large = rasterize(scene_of(resolved, view, color_table(resolved)), view)
    mean = large.reshape(height, k, width, k, 3).mean(axis=(1, 3), dtype=np.float32)
    return np.asarray(np.rint(mean), dtype=np.uint8)


def require_matplotlib() -> None:
    """Raise where matplotlib, which lays out every figure, is missing."""
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError(
            "matplotlib is not installed; pictures need it: pip install 'finsler[view]'"
        )
