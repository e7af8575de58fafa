"""Gradients of functions at vertices, in tangent planes whose first axis may be chosen."""

from __future__ import annotations

import numpy as np

from finsler.mesh.arguments import takes_meshes
from finsler.mesh.measures import vertex_normals
from finsler.mesh.topology import edges
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray, IntArray


@takes_meshes
def vertex_gradients(
    mesh: TriMesh, along: FloatArray | None = None
) -> tuple[IntArray, IntArray, FloatArray]:
    """Neighbour pairs i, j (p,), (p,) and weights (2, p): ∇f at i is Σ_j weights_j (f_j − f_i).

    The least-squares fit to the differences along the edges of a vertex, each laid into the tangent
    plane with its length kept. The first axis of the plane is the projection of `along` (n, 3), the
    second that axis turned by 90° around the normal, counter-clockwise seen from outside. Without
    `along`, and where it has no tangential part, the first axis is arbitrary.
    """
    pairs = edges(mesh).vertices
    i, j = np.concatenate([pairs, pairs[:, ::-1]]).T
    order = np.argsort(i, kind="stable")
    i, j = i[order], j[order]
    normal = vertex_normals(mesh)
    first = _first_axes(normal, along)
    span = mesh.vertices[j] - mesh.vertices[i]
    flat = np.stack(
        [
            np.einsum("pi,pi->p", span, first[i]),
            np.einsum("pi,pi->p", span, np.cross(normal, first)[i]),
        ],
        axis=1,
    )
    length = np.linalg.norm(span, axis=1)
    flat *= (length / np.maximum(np.linalg.norm(flat, axis=1), 1e-12 * length.max()))[:, None]
    # Weights 1/length², so that long edges count no more than short ones.
    scaled = flat / length[:, None] ** 2
    outer = np.einsum("px,py->pxy", scaled, flat).reshape(-1, 4)
    normal_matrix = np.stack([np.bincount(i, o, mesh.n_vertices) for o in outer.T], axis=1)
    # A vertex with a single neighbour has no gradient across it.
    fitted = np.linalg.pinv(normal_matrix.reshape(-1, 2, 2), rcond=1e-6, hermitian=True)
    return i, j, np.ascontiguousarray(np.einsum("pxy,py->xp", fitted[i], scaled))


def _first_axes(normal: FloatArray, along: FloatArray | None) -> FloatArray:
    """Unit tangent vectors (n, 3)."""
    helper = np.eye(3)[np.abs(normal).argmin(axis=1)]
    axes = np.cross(normal, helper)
    if along is not None:
        tangent = along - np.einsum("ni,ni->n", along, normal)[:, None] * normal
        certain = np.linalg.norm(tangent, axis=1) > 1e-6
        axes[certain] = tangent[certain]
    return np.asarray(axes / np.maximum(np.linalg.norm(axes, axis=1, keepdims=True), 1e-12))
