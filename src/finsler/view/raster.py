"""A renderer with a depth buffer: needs no graphics library at all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from finsler.view.scene import AMBIENT, DIFFUSE, SHEEN, SHEEN_POWER, Surface, View


def rasterize(surfaces: Sequence[Surface], view: View) -> NDArray[np.uint8]:
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
