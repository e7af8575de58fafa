"""Tangent frames per face from principal curvature directions, filled in where undefined."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse import csgraph

from finsler.compute.memory import require
from finsler.errors import InputError
from finsler.frames.curvature import line_field, normal_cycle
from finsler.mesh.arguments import checked, one_number, per_face
from finsler.mesh.measures import (
    TangentBasis,
    face_areas,
    face_basis,
    face_normals,
    require_usable_faces,
    surface_area,
)
from finsler.mesh.summary import one_line
from finsler.mesh.topology import edges
from finsler.mesh.trimesh import TriMesh
from finsler.solvers import factorise
from finsler.typing import FloatArray, IntArray

ComplexArray = NDArray[np.complex128]

# Anisotropy below which a curvature direction is not trusted, and the curvature, as a share of
# 1/sqrt(area), below which a surface counts as flat.
_TRUSTED = 0.1
_FLAT = 0.1
# Weight of the shape's long axis in a patch that no trusted direction borders, and in others.
_PRIOR_ISOLATED = 1e-3
_PRIOR = 1e-8


@one_line("mesh", "confidence")
@dataclass(frozen=True, eq=False)
class FaceFrames:
    """A right-handed orthonormal frame (û_M, û_m, n̂) per face.

    Attributes
    ----------
    mesh : TriMesh
        The mesh they belong to.
    u_max, u_min : (m, 3)
        Unit directions of maximal and minimal curvature, or the user's.
    normal : (m, 3)
        Unit normal, outwards; u_min = normal × u_max.
    confidence : (m,)
        In [0, 1]: |κ_max − κ_min| relative to |κ_max| + |κ_min| (and to the size of the shape, so
        that a flat surface scores 0). Directions of faces below 0.1 were filled in from around.
    """

    mesh: TriMesh
    u_max: FloatArray
    u_min: FloatArray
    normal: FloatArray
    confidence: FloatArray

    @classmethod
    @checked
    def from_directions(cls, mesh: TriMesh, u_max: ArrayLike) -> FaceFrames:
        """Frames whose first axis is the given direction, projected into each face.

        `u_max` is (m, 3), or (3,) for one direction everywhere.

        Raises
        ------
        InputError
            Wrong shape, or a direction that is zero, not finite or normal to its face.
        """
        require_usable_faces(mesh)
        normal = face_normals(mesh)
        directions = per_face(u_max, mesh.n_faces, ((3,),), "u_max", finite=False)
        tangent = directions - np.einsum("fi,fi->f", directions, normal)[:, None] * normal
        length = np.linalg.norm(tangent, axis=1)
        bad = ~(length > 1e-8 * np.linalg.norm(directions, axis=1)) | ~np.isfinite(length)
        if bad.any():
            raise InputError(
                f"u_max of face {int(np.argmax(bad))} is zero, not finite or normal to the face"
                f" ({int(bad.sum())} such faces); give a direction with a tangential part"
            )
        unit = tangent / length[:, None]
        return cls(mesh, unit, np.cross(normal, unit), normal, np.ones(mesh.n_faces))

    @property
    def basis(self) -> TangentBasis:
        """The tangent basis (û_M, û_m), in which 2×2 tensors of this frame are written."""
        return TangentBasis(self.u_max, self.u_min)

    @checked
    def rotated(self, theta: float) -> FaceFrames:
        """Frames turned by theta around the normal, counter-clockwise seen from outside."""
        angle = one_number(theta, "theta")
        c, s = np.cos(angle), np.sin(angle)
        return FaceFrames(
            self.mesh,
            c * self.u_max + s * self.u_min,
            c * self.u_min - s * self.u_max,
            self.normal,
            self.confidence,
        )


@checked
def principal_frames(mesh: TriMesh, *, smoothing: int = 10) -> FaceFrames:
    """Frames of the principal curvature directions, usable on every face.

    Curvature *tensors* are averaged over a face's corners (the authors' release averages
    eigenvectors, whose signs are arbitrary), so no sign enters. Where the two curvatures do not
    differ (spheres, flats, umbilics) the direction is the smoothest continuation of those around
    it: the minimiser of Σ |z_f − r_fg z_g|² in the doubled-angle representation z = e^{2iφ} with
    r_fg the parallel transport across an edge. Where nothing around it says anything either (a
    plane), it follows the shape's longest axis.

    The directions turn with the mesh and do not depend on how vertices and faces are numbered
    (on a shape as symmetric as a sphere no rule can have that property; there they are merely
    smooth). Signs are made to agree between neighbours along a spanning tree; û_M is a line, so
    seams remain where no global sign exists.

    Raises
    ------
    InputError
        A face without area, or more memory is needed than is free.

    Examples
    --------
    >>> from finsler.mesh import primitives
    >>> frames = principal_frames(primitives.cylinder(jitter=0.2))
    >>> bool(abs(frames.u_max[:, 2]).max() < 0.1)  # around, not along, the z axis
    True
    """
    require("frames", mesh.n_vertices)
    basis = face_basis(mesh)
    tensor = normal_cycle(mesh, smoothing=smoothing)
    corners = (tensor[mesh.faces[:, 0]] + tensor[mesh.faces[:, 1]] + tensor[mesh.faces[:, 2]]) / 3
    curvature = line_field(corners, basis.first, basis.second)
    strength = np.abs(curvature.deviator)
    # |κ_max| + |κ_min| = 2 max(|mean|, strength)
    flat = _FLAT / np.sqrt(surface_area(mesh))
    confidence = 2 * strength / (2 * np.maximum(np.abs(curvature.mean), strength) + flat)
    unit = np.divide(
        curvature.deviator, strength, out=np.zeros_like(curvature.deviator), where=strength > 0
    )

    transport = _dual_graph(mesh, basis)
    line = _fill(mesh, basis, transport, unit, confidence)
    angle = 0.5 * np.angle(line)
    angle = angle + np.pi * _flips(transport, angle, mesh.n_faces)
    u_max = np.cos(angle)[:, None] * basis.first + np.sin(angle)[:, None] * basis.second
    normal = np.cross(basis.first, basis.second)
    return FaceFrames(mesh, u_max, np.cross(normal, u_max), normal, confidence)


@dataclass(frozen=True, eq=False)
class _DualGraph:
    """Neighbouring faces f, g and the angle that turns g's basis coordinates into f's."""

    f: IntArray
    g: IntArray
    angle: FloatArray


def _dual_graph(mesh: TriMesh, basis: TangentBasis) -> _DualGraph:
    first, second = edges(mesh).pairs.T
    start, end = mesh.faces.ravel(), np.roll(mesh.faces, -1, axis=1).ravel()
    direction = mesh.vertices[end[first]] - mesh.vertices[start[first]]
    f, g = first // 3, second // 3

    def angle_in(face: IntArray) -> FloatArray:
        x = np.einsum("ei,ei->e", direction, basis.first[face])
        y = np.einsum("ei,ei->e", direction, basis.second[face])
        return np.asarray(np.arctan2(y, x))

    return _DualGraph(f, g, angle_in(f) - angle_in(g))


def _fill(
    mesh: TriMesh,
    basis: TangentBasis,
    graph: _DualGraph,
    line: ComplexArray,
    confidence: FloatArray,
) -> ComplexArray:
    """Unit doubled-angle directions; untrusted ones replaced by the smoothest continuation."""
    unknown = confidence < _TRUSTED
    if not unknown.any():
        return line
    number = np.cumsum(unknown) - 1
    weight = (confidence[unknown] / _TRUSTED) ** 2
    prior = np.where(_bordered(graph, unknown), _PRIOR, _PRIOR_ISOLATED)[unknown]
    diagonal = weight + prior
    right = weight * line[unknown] + prior * _long_axis(mesh, basis)[unknown]

    transport = np.exp(2j * graph.angle)
    rows, columns, values = [], [], []
    for f, g, r in ((graph.f, graph.g, transport), (graph.g, graph.f, transport.conj())):
        here = unknown[f]
        np.add.at(diagonal, number[f[here]], 1.0)
        data = here & ~unknown[g]
        np.add.at(right, number[f[data]], r[data] * line[g[data]])
        both = here & unknown[g]
        rows.append(number[f[both]])
        columns.append(number[g[both]])
        values.append(-r[both])
    size = len(diagonal)
    coupling = sparse.csr_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), (size, size)
    )
    system = sparse.csr_array(coupling + sparse.diags_array(diagonal))
    solve = factorise(
        sparse.csr_array(
            sparse.block_array([[system.real, -system.imag], [system.imag, system.real]])
        )
    )
    solution = solve(np.concatenate([right.real, right.imag]))
    filled = line.copy()
    filled[unknown] = solution[:size] + 1j * solution[size:]
    size_of = np.abs(filled)
    return np.divide(filled, size_of, out=np.ones_like(filled), where=size_of > 0)


def _bordered(graph: _DualGraph, unknown: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether each face's patch of unknown faces touches a known one, (m,)."""
    same = unknown[graph.f] == unknown[graph.g]
    links = sparse.csr_array(
        (np.ones(same.sum()), (graph.f[same], graph.g[same])), (len(unknown), len(unknown))
    )
    count, patch = csgraph.connected_components(links, directed=False)
    touches = np.zeros(count, dtype=bool)
    touches[patch[graph.f[~same]]] = True
    touches[patch[graph.g[~same]]] = True
    return np.asarray(touches[patch])


def _long_axis(mesh: TriMesh, basis: TangentBasis) -> ComplexArray:
    """The longest axis of the surface, projected into each face, as a doubled-angle direction."""
    areas = face_areas(mesh)
    centres = mesh.vertices[mesh.faces].mean(axis=1)
    centred = centres - np.average(centres, axis=0, weights=areas)
    inertia = np.einsum("f,fi,fj->ij", areas, centred, centred)
    axis = np.linalg.eigh(inertia)[1][:, -1]
    return np.asarray((basis.first @ axis + 1j * (basis.second @ axis)) ** 2)


def _flips(graph: _DualGraph, angle: FloatArray, n_faces: int) -> IntArray:
    """0 or 1 per face: whether to turn its direction by π so that neighbours agree.

    Agreement is imposed along the spanning tree of best aligned neighbours. On the double cover of
    that tree (two nodes a face, one for each sign) each tree is two connected pieces: picking one
    of them picks the signs.
    """
    if len(graph.f) == 0:
        return np.zeros(n_faces, dtype=np.int64)
    cosine = np.cos(angle[graph.g] + graph.angle - angle[graph.f])
    shape = (n_faces, n_faces)
    # Not every release of scipy takes longer indices for a spanning tree.
    indices = graph.f.astype(np.int32), graph.g.astype(np.int32)
    cost = 2.0 - np.abs(cosine)
    tree = csgraph.minimum_spanning_tree(sparse.csr_array((cost, indices), shape)).tocoo()
    sign = sparse.csr_array((np.where(cosine < 0, -1.0, 1.0), indices), shape)
    opposite = np.asarray(sign[tree.row, tree.col]).ravel() < 0
    tail = np.r_[tree.row, tree.row + n_faces]
    head = np.r_[tree.col + n_faces * opposite, tree.col + n_faces * ~opposite]
    cover = sparse.csr_array((np.ones(len(tail)), (tail, head)), (2 * n_faces, 2 * n_faces))
    _, label = csgraph.connected_components(cover, directed=False)
    return np.asarray(label[:n_faces] > label[n_faces:], dtype=np.int64)
