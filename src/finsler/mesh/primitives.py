"""Surfaces whose geometry is known in closed form, for demonstrations and tests.

Every closed surface is oriented outwards. `jitter` moves grid points at random inside the surface
by that share of a cell (0 gives the regular mesh; the result is reproducible from `seed`).
"""

from __future__ import annotations

import numpy as np

from finsler.errors import InputError
from finsler.mesh.arguments import checked, one_number, real_array, require_seed
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray, IntArray


@checked
def plane(
    nx: int = 20,
    ny: int = 20,
    *,
    size: tuple[float, float] = (1.0, 1.0),
    jitter: float = 0.0,
    seed: int = 0,
) -> TriMesh:
    """Rectangle [0, size[0]] × [0, size[1]] at z = 0, nx × ny cells, normal +z.

    Jitter leaves the boundary a rectangle: boundary points do not move.

    >>> plane(2, 3).n_faces
    12
    """
    s, t, faces = _grid({"nx": nx, "ny": ny}, (False, False), jitter, seed)
    size = one_number(size[0], "size[0]"), one_number(size[1], "size[1]")
    return TriMesh(np.stack([size[0] * s, size[1] * t, np.zeros_like(s)], axis=1), faces)


@checked
def cylinder(
    n_around: int = 40,
    n_height: int = 20,
    *,
    radius: float = 1.0,
    height: float = 2.0,
    jitter: float = 0.0,
    seed: int = 0,
) -> TriMesh:
    """Open cylinder around the z axis, from z = 0 to `height`; curvatures 1/radius and 0."""
    s, t, faces = _grid({"n_around": n_around, "n_height": n_height}, (True, False), jitter, seed)
    radius, height = one_number(radius, "radius"), one_number(height, "height")
    angle = 2.0 * np.pi * s
    points = [radius * np.cos(angle), radius * np.sin(angle), height * t]
    return TriMesh(np.stack(points, axis=1), faces)


@checked
def torus(
    n_major: int = 60,
    n_minor: int = 24,
    *,
    major: float = 1.0,
    minor: float = 0.4,
    jitter: float = 0.0,
    seed: int = 0,
) -> TriMesh:
    """Torus around the z axis; curvatures 1/minor and cos v / (major + minor cos v)."""
    if not 0.0 < minor < major < np.inf:
        raise InputError(f"torus needs 0 < minor < major, not minor={minor}, major={major}")
    s, t, faces = _grid({"n_major": n_major, "n_minor": n_minor}, (True, True), jitter, seed)
    u, v = 2.0 * np.pi * s, 2.0 * np.pi * t
    ring = major + minor * np.cos(v)
    points = [ring * np.cos(u), ring * np.sin(u), minor * np.sin(v)]
    return TriMesh(np.stack(points, axis=1), faces)


@checked
def sphere(frequency: int = 16, *, radius: float = 1.0) -> TriMesh:
    """Icosphere: each icosahedron face cut into frequency² triangles; 10 frequency² + 2 vertices.

    >>> sphere(4).n_vertices
    162
    """
    points, faces = _icosphere(frequency)
    return TriMesh(one_number(radius, "radius") * points, faces)


@checked
def ellipsoid(
    frequency: int = 16, *, axes: tuple[float, float, float] = (1.5, 1.0, 0.7)
) -> TriMesh:
    """Ellipsoid with the given half axes, the image of the icosphere."""
    points, faces = _icosphere(frequency)
    return TriMesh(points * real_array(axes, "axes"), faces)


@checked
def bumpy_sphere(frequency: int = 16, *, amplitude: float = 0.25) -> TriMesh:
    """A sphere with smooth, asymmetric bumps: no symmetry, curvature of both signs."""
    points, faces = _icosphere(frequency)
    x, y, z = points.T
    bumps = np.sin(3 * x + 1) * np.cos(2 * y) + 0.5 * np.sin(4 * z - x) * np.cos(3 * y + 0.5)
    return TriMesh(points * (1.0 + one_number(amplitude, "amplitude") * bumps)[:, None], faces)


def _grid(
    cells: dict[str, int], periodic: tuple[bool, bool], jitter: float, seed: int
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Parameters s, t in [0, 1] of a grid of so many cells, and its faces (two a cell)."""
    least = [3 if wrapped else 1 for wrapped in periodic]
    nu, nv = cells.values()
    if nu < least[0] or nv < least[1]:
        raise InputError(
            f"the grid needs at least {least[0]} x {least[1]} cells, not {nu} x {nv}; raise"
            f" {' or '.join(cells)}"
        )
    require_seed(seed)
    if not 0.0 <= jitter <= 0.45:
        raise InputError(f"jitter must lie in 0..0.45 so that no face folds over, not {jitter}")
    cols, rows = (n if wrapped else n + 1 for n, wrapped in zip((nu, nv), periodic, strict=True))
    i, j = (index.ravel() for index in np.meshgrid(np.arange(cols), np.arange(rows), indexing="ij"))
    noise = np.random.default_rng(seed).uniform(-jitter, jitter, size=(2, len(i)))
    inside = (periodic[0] | ((i > 0) & (i < nu))) & (periodic[1] | ((j > 0) & (j < nv)))
    noise[:, ~inside] = 0.0

    a, b = (index.ravel() for index in np.meshgrid(np.arange(nu), np.arange(nv), indexing="ij"))
    corner = {(p, q): (a + p) % cols * rows + (b + q) % rows for p in (0, 1) for q in (0, 1)}
    lower = np.stack([corner[0, 0], corner[1, 0], corner[1, 1]], axis=1)
    upper = np.stack([corner[0, 0], corner[1, 1], corner[0, 1]], axis=1)
    return (i + noise[0]) / nu, (j + noise[1]) / nv, np.concatenate([lower, upper])


def _icosphere(frequency: int) -> tuple[FloatArray, IntArray]:
    """Unit points and outward faces of the geodesic polyhedron of class I."""
    if frequency < 1:
        raise InputError(f"frequency must be at least 1, not {frequency}")
    corners, triangles = _icosahedron()
    i, j = (index.ravel() for index in np.indices((frequency + 1, frequency + 1)))
    keep = i + j <= frequency
    weights = np.stack([frequency - i - j, i, j], axis=1)[keep]
    number = np.full((frequency + 2, frequency + 2), -1)
    number[i[keep], j[keep]] = np.arange(keep.sum())
    i, j = i[keep], j[keep]
    up = np.stack([number[i, j], number[i + 1, j], number[i, j + 1]], axis=1)
    down = np.stack([number[i + 1, j], number[i + 1, j + 1], number[i, j + 1]], axis=1)
    local = np.concatenate([up[(up >= 0).all(axis=1)], down[(down >= 0).all(axis=1)]])

    # A grid point is named by its integer weights on the icosahedron's corners, so points on
    # shared edges and corners are recognised exactly.
    named = np.where(weights[None] > 0, triangles[:, None, :], 12)
    order = np.argsort(named, axis=2)
    named = np.take_along_axis(named, order, axis=2)
    sorted_weights = np.take_along_axis(np.broadcast_to(weights, named.shape), order, axis=2)
    digits = np.concatenate([named, sorted_weights], axis=2).reshape(-1, 6)
    key = np.zeros(len(digits), dtype=np.int64)
    for column, base in zip(digits.T, [13] * 3 + [frequency + 1] * 3, strict=True):
        key = key * base + column
    _, first, vertex = np.unique(key, return_index=True, return_inverse=True)
    flat = np.einsum("pw,twx->tpx", weights, corners[triangles]).reshape(-1, 3)[first]
    points = flat / np.linalg.norm(flat, axis=1, keepdims=True)
    offsets = len(weights) * np.arange(len(triangles))
    return points, vertex[(local[None] + offsets[:, None, None]).reshape(-1, 3)]


def _icosahedron() -> tuple[FloatArray, IntArray]:
    golden = (1.0 + np.sqrt(5.0)) / 2.0
    pairs = np.array([(a, b * golden) for a in (1.0, -1.0) for b in (1.0, -1.0)])
    points = np.zeros((12, 3))
    for axis in range(3):
        points[4 * axis : 4 * axis + 4, [axis, (axis + 1) % 3]] = pairs
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    near = np.isclose(distance, 2.0)
    faces = np.array(
        [
            (a, b, c)
            for a in range(12)
            for b in range(a + 1, 12)
            for c in range(b + 1, 12)
            if near[a, b] and near[b, c] and near[a, c]
        ]
    )
    a, b, c = (points[faces[:, corner]] for corner in range(3))
    inward = np.einsum("fi,fi->f", np.cross(b - a, c - a), a) < 0
    faces[inward] = faces[inward][:, ::-1]
    return points, faces
