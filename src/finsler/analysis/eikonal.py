"""The eikonal equation F*(∇d) = 1 of a Randers metric, solved face by face."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from finsler.mesh.measures import require_usable_faces
from finsler.mesh.topology import edges
from finsler.mesh.trimesh import TriMesh
from finsler.metric.randers import RandersMetric
from finsler.typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Eikonal:
    """F*(∇d) = 1 by local updates, iterated in bands of arrival time until nothing changes."""

    mesh: TriMesh
    start: NDArray[np.int32]
    corner: NDArray[np.int32]
    geometry: FloatArray
    apex: IntArray
    width: float

    @classmethod
    def of(cls, metric: RandersMetric) -> Eikonal:
        """What the solver needs of a metric on its mesh, for any number of sources."""
        from finsler.operator._compiled import corners_by_vertex

        mesh = metric.mesh
        require_usable_faces(mesh)
        apex = opposite_vertices(mesh)
        geometry = _corner_geometry(metric, apex)
        start, corner = corners_by_vertex(mesh.faces, mesh.n_vertices)
        width = 0.5 * float(np.median(geometry[:, :, 5:7]))
        return cls(mesh, start, corner, geometry, apex, width)

    def distance(self, sources: IntArray) -> FloatArray:
        """Distance from a set of vertices, (n,)."""
        from finsler.analysis._compiled import march

        found = np.full(self.mesh.n_vertices, np.inf)
        found[sources] = 0.0
        march(self.mesh.faces, self.start, self.corner, self.geometry, self.apex, self.width, found)
        return found


def opposite_vertices(mesh: TriMesh) -> IntArray:
    """The vertex beyond the side opposite to each corner, (m, 3); −1 where there is none."""
    first, second = edges(mesh).pairs.T
    # Half-edge 3f + c starts at corner c; the corner opposite to it is c + 2.
    far = np.roll(mesh.faces, -2, axis=1).ravel()
    beyond = np.full(3 * mesh.n_faces, -1, dtype=np.int64)
    beyond[first], beyond[second] = far[second], far[first]
    return np.roll(beyond.reshape(-1, 3), -1, axis=1)


def _corner_geometry(metric: RandersMetric, apex: IntArray) -> FloatArray:
    """The nine numbers of `corner_update` for each corner, (m, 3, 9)."""
    mesh = metric.mesh
    geometry = np.empty((mesh.n_faces, 3, 9))
    corners = mesh.vertices[mesh.faces]
    for i in range(3):
        c, a, b = corners[:, i], corners[:, (i + 1) % 3], corners[:, (i + 2) % 3]
        beyond = np.where(apex[:, i : i + 1] >= 0, mesh.vertices[apex[:, i]], a)
        geometry[:, i] = update_geometry(metric, slice(None), a, b, c, beyond)
    return geometry


def update_geometry(
    metric: RandersMetric,
    faces: IntArray | slice,
    a: FloatArray,
    b: FloatArray,
    c: FloatArray,
    beyond: FloatArray,
) -> FloatArray:
    """What `corner_update` needs for points c of faces, sides ab and points beyond them, (p, 9)."""
    tensor, omega = metric.M[faces], metric.omega[faces]
    axes = metric.basis.first[faces], metric.basis.second[faces]

    def local(vectors: FloatArray) -> FloatArray:
        return np.stack([np.einsum("pi,pi->p", vectors, axis) for axis in axes], axis=1)

    def product(first: FloatArray, second: FloatArray) -> FloatArray:
        return np.asarray(np.einsum("pi,pij,pj->p", first, tensor, second))

    def norm(vectors: FloatArray) -> FloatArray:
        size = np.sqrt(product(vectors, vectors))
        return np.asarray(size + np.einsum("pi,pi->p", omega, vectors))

    edge, from_a, from_b = local(b - a), local(c - a), local(c - b)
    length = np.sqrt(product(edge, edge))
    area = np.sqrt(np.linalg.det(tensor)) / length
    # Heights from the determinant: no cancellation on flat triangles.
    cross = edge[:, 0] * from_a[:, 1] - edge[:, 1] * from_a[:, 0]
    x, y = product(from_a, edge) / length, area * np.abs(cross)
    omega_x = np.einsum("pi,pi->p", omega, edge) / length
    omega_y = (np.einsum("pi,pi->p", omega, from_a) - omega_x * x) / y
    # The point beyond, turned about the edge into the plane of the face, on its other side.
    plain = np.linalg.norm(b - a, axis=1)
    along = np.einsum("pi,pi->p", beyond - a, b - a) / plain
    height = np.linalg.norm(np.cross(b - a, beyond - a), axis=1) / plain
    unit = edge / plain[:, None]
    normal = np.sign(cross)[:, None] * np.stack([-unit[:, 1], unit[:, 0]], axis=1)
    unfolded = along[:, None] * unit - height[:, None] * normal
    apex_x = product(unfolded, edge) / length
    apex_y = -area * np.abs(edge[:, 0] * unfolded[:, 1] - edge[:, 1] * unfolded[:, 0])
    return np.stack(
        [length, x, y, omega_x, omega_y, norm(from_a), norm(from_b), apex_x, apex_y], axis=1
    )
