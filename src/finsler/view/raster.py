"""A depth-buffer renderer in numpy: needs no graphics library at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from finsler.mesh.trimesh import FloatArray, IntArray
from finsler.view.scene import AMBIENT, DIFFUSE, SHEEN, SHEEN_POWER, Surface, View

# Candidate (face, pixel) pairs held at a time; about 100 bytes each.
_PAIRS = 2_000_000


def rasterize(surfaces: Sequence[Surface], view: View) -> NDArray[np.uint8]:
    """Draw surfaces on white, (height, width, 3).

    Each pixel shows the nearest face under its centre; normals and levels are interpolated
    linearly, so colour and light vary smoothly inside a face.
    """
    corners = view.pixels(np.concatenate([s.corners for s in surfaces]))
    face, weights = _nearest_faces(corners, view.width, view.height)
    image = np.ones((view.height * view.width, 3))
    first = 0
    for surface in surfaces:
        count = len(surface.corners)
        mine = np.flatnonzero((face >= first) & (face < first + count))
        image[mine] = _shaded(surface, view, face[mine] - first, weights[mine])
        first += count
    pixels = np.rint(255 * np.clip(image, 0, 1)).astype(np.uint8)
    return pixels.reshape(view.height, view.width, 3)


def _shaded(surface: Surface, view: View, face: IntArray, weights: FloatArray) -> FloatArray:
    """Colour (p, 3) of points given by their face (p,) and barycentric coordinates (p, 3)."""
    n = np.einsum("pc,pci->pi", weights, surface.normals[face])
    lengths = np.linalg.norm(n, axis=1)
    eye = view.axes[2]
    # A face seen from behind is lit as if it were turned around.
    n /= np.where(n @ eye < 0, -1.0, 1.0)[:, None] * np.where(lengths > 0, lengths, 1.0)[:, None]
    cosine = n @ view.light
    mirrored = 2 * cosine * (n @ eye) - view.light @ eye
    sheen = np.where(cosine > 0, SHEEN * np.maximum(mirrored, 0) ** SHEEN_POWER, 0.0)
    brightness = AMBIENT + DIFFUSE * np.maximum(cosine, 0)
    return np.asarray(brightness[:, None] * _colors(surface, face, weights) + sheen[:, None])


def _colors(surface: Surface, face: IntArray, weights: FloatArray) -> FloatArray:
    if surface.colors is not None:
        return np.asarray(np.einsum("pc,pci->pi", weights, surface.colors[face]))
    if surface.levels is None or surface.table is None:
        return np.asarray(surface.color)[None, :]
    level = np.einsum("pc,pc->p", weights, surface.levels[face])
    size = len(surface.table)
    row = np.clip(np.floor(level * size), 0, size - 1).astype(np.int64)
    return np.asarray(surface.table[row])


def _nearest_faces(corners: FloatArray, width: int, height: int) -> tuple[IntArray, FloatArray]:
    """Nearest face under each pixel centre, -1 for none, (h w,), and its weights (h w, 3)."""
    depth = np.full(height * width, -np.inf)
    face = np.full(height * width, -1, dtype=np.int64)
    weights = np.zeros((height * width, 3))
    for pair_face, pixel in _candidates(corners, width, height):
        b = _barycentric(corners, pair_face, pixel, width)
        inside = (b >= -1e-9).all(axis=1)
        pair_face, pixel, b = pair_face[inside], pixel[inside], b[inside]
        pair_depth = np.einsum("pc,pc->p", b, corners[pair_face, :, 2])
        np.maximum.at(depth, pixel, pair_depth)
        nearest = pair_depth >= depth[pixel]
        face[pixel[nearest]] = pair_face[nearest]
        weights[pixel[nearest]] = b[nearest]
    return face, weights


def _candidates(
    corners: FloatArray, width: int, height: int
) -> Iterator[tuple[IntArray, IntArray]]:
    """Pairs of a face and a pixel whose centre lies in the bounding box of the face, in blocks."""
    limit = np.array([width, height])
    low = np.clip(np.ceil(corners[..., :2].min(axis=1) - 0.5), 0, limit).astype(np.int64)
    high = np.clip(np.floor(corners[..., :2].max(axis=1) - 0.5) + 1, 0, limit).astype(np.int64)
    columns, rows = np.maximum(high - low, 0).T
    counts = columns * rows
    faces = np.flatnonzero(counts)
    block = np.cumsum(counts[faces]) // _PAIRS
    for chosen in np.split(faces, np.flatnonzero(np.diff(block)) + 1):
        pair_face = np.repeat(chosen, counts[chosen])
        start = np.cumsum(counts[chosen]) - counts[chosen]
        local = np.arange(len(pair_face)) - np.repeat(start, counts[chosen])
        row, column = np.divmod(local, columns[pair_face])
        yield pair_face, (low[pair_face, 1] + row) * width + low[pair_face, 0] + column


def _barycentric(corners: FloatArray, face: IntArray, pixel: IntArray, width: int) -> FloatArray:
    """Barycentric coordinates (p, 3) of pixel centres; NaN where the face is seen edge-on."""
    a, b, c = (corners[:, i, :2] for i in range(3))
    # Linear functions of the plane, u(x) = ⟨g, x - a⟩, that are 1 at b or at c and 0 at the others.
    ab, ac = b - a, c - a
    area = ab[:, 0] * ac[:, 1] - ab[:, 1] * ac[:, 0]
    inverse = np.divide(1.0, area, out=np.full_like(area, np.nan), where=area != 0)[:, None]
    to_b = inverse * np.stack([ac[:, 1], -ac[:, 0]], axis=1)
    to_c = inverse * np.stack([-ab[:, 1], ab[:, 0]], axis=1)
    row, column = np.divmod(pixel, width)
    offset = np.stack([column + 0.5, row + 0.5], axis=1) - a[face]
    u = np.einsum("pi,pi->p", to_b[face], offset)
    v = np.einsum("pi,pi->p", to_c[face], offset)
    return np.stack([1 - u - v, u, v], axis=1)
