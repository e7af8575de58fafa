"""A smooth body: rounded limbs blended into one implicit surface, and that surface as a mesh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray, IntArray

Point = tuple[float, float, float]

_BLOCK = 8


@dataclass(frozen=True)
class Part:
    """A tapered capsule from `start` to `end`, an ellipsoid where the two coincide.

    Attributes
    ----------
    bone : str
        The bone that carries it.
    start, end : (3,)
        Ends of its axis.
    radii : (2,)
        Radius at the two ends.
    squash : (3,)
        Factors of its width along x, y and z.
    blend : float
        Width over which it melts into the parts listed before it.
    """

    bone: str
    start: Point
    end: Point
    radii: tuple[float, float]
    squash: Point = (1.0, 1.0, 1.0)
    blend: float = 0.03

    def distance(self, points: FloatArray) -> FloatArray:
        """Signed distance (n,) of points (n, 3), negative inside; a lower bound where squashed.

        |p − a − t (b − a)| − (1 − t) r_a − t r_b, with t the share of the axis nearest to p,
        in coordinates where the part is not squashed.
        """
        squash = np.asarray(self.squash)
        local = (points - np.asarray(self.start)) / squash
        axis = (np.asarray(self.end) - np.asarray(self.start)) / squash
        square = float(axis @ axis)
        share = np.clip(local @ axis / square, 0.0, 1.0) if square > 0 else np.zeros(len(points))
        radius = self.radii[0] + share * (self.radii[1] - self.radii[0])
        away = np.linalg.norm(local - share[:, None] * axis, axis=1)
        return np.asarray((away - radius) * squash.min())


def body_distance(parts: Sequence[Part], points: FloatArray) -> FloatArray:
    """Implicit function (n,) of the body, negative inside: a smooth minimum over the parts.

    Each part in turn joins the ones before by min(d, e) − h² / (4 k), h = max(k − |d − e|, 0), with
    k its blend: smooth, and the plain minimum where the two differ by more than k.
    """
    total = np.full(len(points), np.inf)
    for part in parts:
        single = part.distance(points)
        overlap = np.maximum(part.blend - np.abs(total - single), 0.0)
        total = np.minimum(total, single) - overlap**2 / (4.0 * part.blend)
    return total


def nearest_part(parts: Sequence[Part], points: FloatArray) -> IntArray:
    """Part (n,) with the smallest distance to each point."""
    return np.asarray(np.argmin([part.distance(points) for part in parts], axis=0))


def polygonise(parts: Sequence[Part], spacing: float) -> TriMesh:
    """The body as a mesh by marching tetrahedra on a grid, oriented outwards.

    Every grid cube is cut into six tetrahedra along its diagonal, alike in all cubes, so faces
    match across cubes and the mesh is a closed manifold. Its triangles can be very thin.
    """
    lower, values = _sampled(parts, spacing)
    shape = values.shape
    flat = np.where(values == 0.0, 1e-12, values).ravel()
    tetrahedra = _crossing_tetrahedra(flat.reshape(shape) < 0.0)
    ends = _crossed_edges(tetrahedra, flat < 0.0)
    low, high = np.sort(ends, axis=2).reshape(-1, 2).T
    _, first, vertex = np.unique(low * flat.size + high, return_index=True, return_inverse=True)
    low, high = low[first], high[first]
    share = (flat[low] / (flat[low] - flat[high]))[:, None]
    corners = [
        lower + spacing * np.stack(np.unravel_index(at, shape), axis=1) for at in (low, high)
    ]
    return TriMesh((1.0 - share) * corners[0] + share * corners[1], vertex.reshape(-1, 3))


def onto_surface(parts: Sequence[Part], points: FloatArray, *, steps: int = 4) -> FloatArray:
    """Points (n, 3) moved along the gradient to the surface, by Newton's method.

    The gradient is taken by central differences.
    """
    width = 1e-5
    for _ in range(steps):
        gradient = np.stack(
            [
                body_distance(parts, points + width * axis)
                - body_distance(parts, points - width * axis)
                for axis in np.eye(3)
            ],
            axis=1,
        ) / (2.0 * width)
        square = np.einsum("ni,ni->n", gradient, gradient)
        points = points - gradient * (body_distance(parts, points) / square)[:, None]
    return points


def _sampled(parts: Sequence[Part], spacing: float) -> tuple[FloatArray, FloatArray]:
    """Lower corner of a grid around all parts, and the implicit function on it, (nx, ny, nz).

    Blocks of 8³ points that the surface cannot reach hold the value of their centre: the function
    changes by less than 1.5 a unit of length where radii change slower than their axes.
    """
    ends = np.array([(p.start, p.end) for p in parts])
    reach = np.array([max(p.radii) * np.asarray(p.squash) + p.blend for p in parts])[:, None]
    lower = (ends - reach).min(axis=(0, 1)) - 2.0 * spacing
    upper = (ends + reach).max(axis=(0, 1)) + 2.0 * spacing
    blocks = np.ceil((upper - lower) / (_BLOCK * spacing)).astype(np.int64)
    corners = _BLOCK * np.indices(blocks).reshape(3, -1).T
    half = 0.5 * (_BLOCK - 1)
    centres = body_distance(parts, lower + spacing * (corners + half))
    values = np.repeat(centres[:, None], _BLOCK**3, axis=1)
    near = np.abs(centres) <= 1.5 * np.sqrt(3.0) * half * spacing
    within = np.indices((_BLOCK, _BLOCK, _BLOCK)).reshape(3, -1).T
    points = lower + spacing * (corners[near][:, None, :] + within)
    values[near] = body_distance(parts, points.reshape(-1, 3)).reshape(len(points), -1)
    grid = values.reshape(*blocks, _BLOCK, _BLOCK, _BLOCK).transpose(0, 3, 1, 4, 2, 5)
    return lower, grid.reshape(_BLOCK * blocks)


# Corners of a cube are numbered x + 2 y + 4 z; each tetrahedron is a path from 0 to 7.
_PATHS = np.array(
    [[0, 1, 3, 7], [0, 3, 2, 7], [0, 2, 6, 7], [0, 6, 4, 7], [0, 4, 5, 7], [0, 5, 1, 7]]
)


def _crossing_tetrahedra(inside: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> IntArray:
    """Grid indices (t, 4) of the corners of the tetrahedra that the surface crosses, all
    right-handed: (b − a) × (c − a) · (d − a) > 0."""
    shape = inside.shape
    number = np.arange(inside.size).reshape(shape)
    cubes = []
    for corner in range(8):
        x, y, z = corner & 1, corner >> 1 & 1, corner >> 2
        window = tuple(slice(o, n - 1 + o) for o, n in zip((x, y, z), shape, strict=True))
        cubes.append(number[window].ravel())
    corners = np.stack(cubes, axis=1)
    state = inside.ravel()[corners]
    corners = corners[state.any(axis=1) & ~state.all(axis=1)]
    tetrahedra = corners[:, _PATHS].reshape(-1, 4)
    state = inside.ravel()[tetrahedra]
    return tetrahedra[state.any(axis=1) & ~state.all(axis=1)]


def _crossed_edges(
    tetrahedra: IntArray, inside: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> IntArray:
    """The faces cut out of tetrahedra, each corner given by the grid edge it lies on, (m, 3, 2)."""
    faces = []
    for code in range(1, 15):
        corners = tetrahedra[(inside[tetrahedra] @ [1, 2, 4, 8]) == code]
        for triangle in _cut(code):
            faces.append(corners[:, np.asarray(triangle)])
    return np.concatenate(faces)


def _cut(code: int) -> list[list[tuple[int, int]]]:
    """Triangles cut out of a right-handed tetrahedron whose corner i is inside where bit i is set,
    counter-clockwise seen from outside the body."""
    within = [i for i in range(4) if code >> i & 1]
    without = [i for i in range(4) if not code >> i & 1]
    even = _even([*within, *without])
    if len(within) == 2:
        (a, b), (c, d) = within, without
        quad = [(a, c), (a, d), (b, d), (b, c)]
        ring = quad if even else quad[::-1]
        return [[ring[0], ring[1], ring[2]], [ring[0], ring[2], ring[3]]]
    if len(within) == 1:
        ring = [(within[0], i) for i in without]
        return [ring if even else ring[::-1]]
    ring = [(i, without[0]) for i in within]
    return [ring if even else ring[::-1]]


def _even(order: list[int]) -> bool:
    swaps = sum(order[i] > order[j] for i in range(4) for j in range(i + 1, 4))
    return swaps % 2 == 0
