"""The compiled loop of the renderer: which face is seen at each pixel."""

from __future__ import annotations

import numpy as np
from numba import njit

from finsler.typing import FloatArray, IntArray


@njit(cache=True, nogil=True)
def nearest_faces(corners: FloatArray, width: int, height: int) -> tuple[IntArray, FloatArray]:
    """Nearest face under each pixel centre, −1 for none, (h w,), and its weights (h w, 3).

    `corners` (m, 3, 3) holds column, row and depth of the corners; larger depth is nearer. Faces
    that are seen edge-on cover nothing.
    """
    depth = np.full(height * width, -np.inf)
    face = np.full(height * width, -1, dtype=np.int64)
    weights = np.zeros((height * width, 3))
    for f in range(len(corners)):
        ax, ay, az = corners[f, 0]
        bx, by, bz = corners[f, 1]
        cx, cy, cz = corners[f, 2]
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if area == 0.0:
            continue
        left = max(0, int(np.ceil(min(ax, bx, cx) - 0.5)))
        right = min(width - 1, int(np.floor(max(ax, bx, cx) - 0.5)))
        top = max(0, int(np.ceil(min(ay, by, cy) - 0.5)))
        bottom = min(height - 1, int(np.floor(max(ay, by, cy) - 0.5)))
        for row in range(top, bottom + 1):
            y = row + 0.5 - ay
            for column in range(left, right + 1):
                x = column + 0.5 - ax
                u = (x * (cy - ay) - y * (cx - ax)) / area
                v = (y * (bx - ax) - x * (by - ay)) / area
                if u < -1e-9 or v < -1e-9 or u + v > 1.0 + 1e-9:
                    continue
                z = az + u * (bz - az) + v * (cz - az)
                pixel = row * width + column
                if z > depth[pixel]:
                    depth[pixel] = z
                    face[pixel] = f
                    weights[pixel, 0], weights[pixel, 1], weights[pixel, 2] = 1.0 - u - v, u, v
    return face, weights


@njit(cache=True, nogil=True)
def shade(
    image: FloatArray,
    pixels: IntArray,
    face: IntArray,
    weights: FloatArray,
    normals: FloatArray,
    colors: FloatArray,
    levels: FloatArray,
    table: FloatArray,
    eye: FloatArray,
    light: FloatArray,
    reflection: FloatArray,
) -> None:
    """Write the lit colours of some pixels into `image` (p, 3).

    The colour is interpolated from `colors` (m, 3 corners, 3), or where that is empty looked up in
    `table` (k, 3) at the interpolated `levels` (m, 3 corners), or where these are empty too it is
    the first row of the table. `reflection` holds AMBIENT, DIFFUSE, SHEEN and SHEEN_POWER.
    """
    ambient, diffuse, sheen, power = reflection
    size = len(table)
    n, color = np.empty(3), np.empty(3)
    for pixel in pixels:
        f = face[pixel]
        w = weights[pixel]
        length = towards = 0.0
        for i in range(3):
            n[i] = w[0] * normals[f, 0, i] + w[1] * normals[f, 1, i] + w[2] * normals[f, 2, i]
            length += n[i] * n[i]
            towards += n[i] * eye[i]
        # A face seen from behind is lit as if it were turned around.
        scale = (-1.0 if towards < 0.0 else 1.0) / (np.sqrt(length) if length > 0.0 else 1.0)
        cosine = seen = between = 0.0
        for i in range(3):
            cosine += scale * n[i] * light[i]
            seen += scale * n[i] * eye[i]
            between += light[i] * eye[i]
        brightness = ambient + diffuse * max(cosine, 0.0)
        mirrored = max(2.0 * cosine * seen - between, 0.0)
        gloss = sheen * mirrored**power if cosine > 0.0 else 0.0
        if len(colors):
            for i in range(3):
                color[i] = w[0] * colors[f, 0, i] + w[1] * colors[f, 1, i] + w[2] * colors[f, 2, i]
        else:
            row = 0
            if len(levels):
                level = w[0] * levels[f, 0] + w[1] * levels[f, 1] + w[2] * levels[f, 2]
                row = min(max(int(np.floor(level * size)), 0), size - 1)
            color[:] = table[row]
        for i in range(3):
            image[pixel, i] = brightness * color[i] + gloss
