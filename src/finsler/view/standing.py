"""How well a shape would stand along a direction: which way up people, animals and objects are.

Some numbers of a direction say how well a shape would stand along it; their weights were fitted to
synthetic people and animals in many poses, half of them turned at random.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import ConvexHull, QhullError, cKDTree

from finsler.mesh.measures import face_areas, face_normals
from finsler.mesh.trimesh import TriMesh
from finsler.typing import BoolArray, FloatArray

AXES = np.concatenate([np.eye(3), -np.eye(3)])
# Shares of files that stand along these axes, chosen with real collections in view.
_USUAL = np.array([0.02, 0.5, 0.4, 0.02, 0.1, 0.05])
# Of what `_features` gives, in its order.
_WEIGHTS = np.array([2.4, -3.1, -4.3, -15.2, 3.6, 1.3, 0.4, -0.6, 3.6, 42.0, -38.0, 6.4, 17.5])
# Weights of an axis of the file: as such, and for being near an axis of inertia.
_OF_FILE, _ALIGNED = 2.3, 0.56
# Faces beyond which a shape is coarsened on a grid, and the cells along it.
_FINE, _GRID = 3000, 48
# Points for symmetry, how many of them are mirrored, and the vertical planes that are tried.
_SAMPLES, _MIRRORED, _PLANES = 1000, 300, 12
# Sides of the convex hull that a shape may lie on; those within 14° of each other are one.
_SIDES, _ONE_SIDE = 16, 0.97


def likely_ups(mesh: TriMesh) -> tuple[FloatArray, FloatArray] | None:
    """Directions (p, 3) that might be up and their probabilities (p,); None without an area.

    The axes of the file, the axes of inertia both ways, and away from large sides of the convex
    hull, which a shape can lie on. Files mostly stand along an axis: y in graphics, z in design and
    in scans, now and then the other way round; more surely where it is an axis of inertia too.

    Examples
    --------
    >>> from finsler.mesh import primitives
    >>> axes, probabilities = likely_ups(primitives.bumpy_sphere(8))
    >>> axes[probabilities.argmax()].tolist()
    [0.0, 1.0, 0.0]
    """
    small = _coarsened(mesh)
    if small is None:
        return None
    shape = _Shape.of(small)
    moment = np.sqrt(shape.weights)[:, None] * shape.centers
    own = np.linalg.svd(moment, full_matrices=False)[2]
    axes = np.concatenate([AXES, own, -own, _lying(shape.mesh.vertices)])
    scores = _features(shape, axes) @ _WEIGHTS
    nearness = np.minimum(abs(AXES @ own.T).max(axis=1), 1.0)
    scores[:6] += np.log(_USUAL) + _OF_FILE - _ALIGNED * np.log(1.01 - nearness)
    chances = np.exp(scores - scores.max())
    return axes, chances / chances.sum()


@dataclass(frozen=True, eq=False)
class _Shape:
    """A mesh about its middle and of radius of gyration 1; faces: centres, shares of the area."""

    mesh: TriMesh
    centers: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, mesh: TriMesh) -> _Shape:
        areas, centers = face_areas(mesh), mesh.vertices[mesh.faces].mean(axis=1)
        weights = areas / areas.sum()
        middle = weights @ centers
        size = np.sqrt(weights @ ((centers - middle) ** 2).sum(axis=1))
        scaled = TriMesh((mesh.vertices - middle) / size, mesh.faces)
        return cls(scaled, (centers - middle) / size, weights)


def _lying(points: FloatArray) -> FloatArray:
    """Directions (p, 3) away from the largest sides of the convex hull, nearly flat ones as one."""
    try:
        hull = ConvexHull(points)
    except QhullError:
        return np.empty((0, 3))
    corners = points[hull.simplices]
    doubled = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas, normals = np.linalg.norm(doubled, axis=1), hull.equations[:, :3]
    sides: list[FloatArray] = []
    left = np.ones(len(areas), dtype=bool)
    for i in np.argsort(-areas, kind="stable"):
        if left[i]:
            near = left & (normals @ normals[i] > _ONE_SIDE)
            sides.append(areas[near] @ normals[near])
            left &= ~near
    sizes = np.linalg.norm(sides, axis=1)
    largest = np.argsort(-sizes, kind="stable")[:_SIDES]
    return np.asarray(-np.asarray(sides)[largest] / sizes[largest, None])


def _features(shape: _Shape, axes: FloatArray) -> FloatArray:
    """For each axis (p, 3) that might point up, what `_WEIGHTS` weigh, (p, 13)."""
    normals = face_normals(shape.mesh)
    drawn = np.random.default_rng(0).choice(len(shape.centers), _SAMPLES, p=shape.weights)
    tree, sample = cKDTree(shape.centers[drawn]), shape.centers[drawn[:_MIRRORED]]
    return np.array([_row(shape, normals, tree, sample, up) for up in axes])


def _row(
    shape: _Shape, normals: FloatArray, tree: cKDTree, sample: FloatArray, up: FloatArray
) -> list[float]:
    """What is seen of a shape along an axis that might point up.

    The share of its shadow that the lowest and the highest tenth span; how much it differs from its
    mirror images upside down, in the best vertical plane, and by how much more in the worst; the
    pieces of the lowest fifth, third and of the highest fifth; the logarithm of the height beside
    the width; the area of soles and of flat tops; that of the highest quarter; the height of the
    centre.
    """
    mesh, weights = shape.mesh, shape.weights
    heights = mesh.vertices @ up
    low, height = float(heights.min()), max(float(np.ptp(heights)), 1e-12)
    share, face_share = (heights - low) / height, (shape.centers @ up - low) / height
    level = np.linalg.svd(up[None])[2][1:]
    shadow = mesh.vertices @ level.T
    whole = max(_hull_area(shadow), 1e-12)
    turned = np.arange(_PLANES) * np.pi / _PLANES
    planes = np.outer(np.cos(turned), level[0]) + np.outer(np.sin(turned), level[1])
    upside_down, *sideways = (_mirror_distance(tree, sample, n) for n in (up, *planes))
    slope = normals @ up
    return [
        _hull_area(shadow[share < 0.1]) / whole,
        _hull_area(shadow[share > 0.9]) / whole,
        upside_down,
        min(sideways),
        max(sideways) - min(sideways),
        min(_pieces(mesh, share < 0.2), 4),
        min(_pieces(mesh, share < 0.35), 4),
        min(_pieces(mesh, share > 0.8), 4),
        float(np.log(height / np.sqrt(whole))),
        float(weights[(face_share < 0.08) & (slope < -0.8)].sum()),
        float(weights[(face_share > 0.92) & (slope > 0.8)].sum()),
        float(weights[face_share >= 0.75].sum()),
        -low / height,
    ]


def _mirror_distance(tree: cKDTree, sample: FloatArray, normal: FloatArray) -> float:
    """How far points, mirrored in the plane with this normal, are from the nearest others."""
    return float(tree.query(sample - 2 * np.outer(sample @ normal, normal))[0].mean())


def _hull_area(points: FloatArray) -> float:
    try:
        return float(ConvexHull(points).volume) if len(points) > 2 else 0.0
    except QhullError:
        return 0.0


def _pieces(mesh: TriMesh, kept: BoolArray) -> int:
    """How many pieces the faces between some vertices make, crumbs left out."""
    a, b, c = mesh.faces[kept[mesh.faces].all(axis=1)].T
    ends = np.concatenate([a, b]), np.concatenate([b, c])
    shape = (mesh.n_vertices, mesh.n_vertices)
    links = coo_array((np.ones(len(ends[0])), ends), shape=shape)
    _, label = connected_components(links, directed=False)
    sizes = np.bincount(label[np.unique(ends)])
    return int((sizes > max(2, 0.003 * mesh.n_vertices)).sum())


def _coarsened(mesh: TriMesh) -> TriMesh | None:
    """In a cube of side 1; a fine mesh with its vertices moved together in the cells of a grid.

    None where no face has an area.
    """
    points = 0.5 * mesh.vertices
    points = points - points.min(axis=0)
    points, faces = points / (points.max() or 1.0), mesh.faces
    if mesh.n_faces > _FINE:
        cells = np.floor(_GRID * points).astype(np.int64) @ [1, 2 * _GRID, 4 * _GRID**2]
        _, owner = np.unique(cells, return_inverse=True)
        count = np.bincount(owner)
        points = np.stack([np.bincount(owner, x) / count for x in points.T], axis=1)
        faces = owner[faces]
        faces = faces[(faces != np.roll(faces, 1, axis=1)).all(axis=1)]
    small = TriMesh(points, faces) if len(faces) else None
    return small if small is not None and face_areas(small).sum() > 0 else None
