"""Problems with their closed-form answers, and the motions under which answers must not change."""

from __future__ import annotations

import numpy as np

from finsler import TriMesh


def rotation(seed: int) -> np.ndarray:
    """A rotation matrix drawn at random."""
    q, r = np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))
    q = q * np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0 else -q


def relabelled(mesh: TriMesh, seed: int) -> tuple[TriMesh, np.ndarray, np.ndarray]:
    """The same surface with vertices, faces and corners renumbered.

    Returns the mesh, and for each new vertex and each new face its old number.
    """
    rng = np.random.default_rng(seed)
    old_vertex = rng.permutation(mesh.n_vertices)
    new_vertex = np.argsort(old_vertex)
    old_face = rng.permutation(mesh.n_faces)
    corners = new_vertex[mesh.faces[old_face]]
    shift = rng.integers(0, 3, mesh.n_faces)
    corners = np.take_along_axis(corners, (np.arange(3) + shift[:, None]) % 3, axis=1)
    return TriMesh(mesh.vertices[old_vertex], corners), old_vertex, old_face


def union(*meshes: TriMesh) -> TriMesh:
    """Several meshes in one, sharing nothing."""
    offsets = np.cumsum([0] + [mesh.n_vertices for mesh in meshes[:-1]])
    return TriMesh(
        np.concatenate([mesh.vertices for mesh in meshes]),
        np.concatenate([mesh.faces + o for mesh, o in zip(meshes, offsets, strict=True)]),
    )


def around_axis(points: np.ndarray) -> np.ndarray:
    """Unit directions around the z axis: maximal curvature of a cylinder, minimal of a torus."""
    direction = np.stack([-points[:, 1], points[:, 0], np.zeros(len(points))], axis=1)
    return direction / np.linalg.norm(direction, axis=1, keepdims=True)


def ellipsoid_curvature(
    points: np.ndarray, axes: tuple[float, float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Principal curvatures (p, 2), larger first, and the direction of the larger, (p, 3).

    Shape operator of f = Σ x²/a² = const: the Hessian of f restricted to the tangent plane, divided
    by |∇f|.
    """
    inverse = 1.0 / np.asarray(axes) ** 2
    gradient = 2.0 * points * inverse
    length = np.linalg.norm(gradient, axis=1)
    normal = gradient / length[:, None]
    projector = np.eye(3) - normal[:, :, None] * normal[:, None, :]
    shape = projector @ np.diag(2.0 * inverse) @ projector / length[:, None, None]
    values, vectors = np.linalg.eigh(shape)
    return values[:, :0:-1], vectors[:, :, 2]


def rate(sizes: list[float], errors: list[float]) -> float:
    """Order of convergence: slope of log error against log size."""
    return float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])


def line_angle(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Angle between lines in radians, accurate for small angles, (p,)."""
    sine = np.linalg.norm(np.cross(a, b), axis=1)
    return np.arctan2(sine, np.abs(np.einsum("pi,pi->p", a, b)))


def in_faces(mesh: TriMesh, directions: np.ndarray) -> np.ndarray:
    """Directions (m, 3) projected into the faces, where frames live."""
    a, b, c = (mesh.vertices[mesh.faces[:, corner]] for corner in range(3))
    normal = np.cross(b - a, c - a)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    return directions - np.einsum("fi,fi->f", directions, normal)[:, None] * normal
