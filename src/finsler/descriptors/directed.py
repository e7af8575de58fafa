"""What the shipped model reads of a surface: numbers at vertices, and where it moves them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from finsler.analysis.gps import gps
from finsler.analysis.spectrum import Spectrum
from finsler.descriptors.wks import wks
from finsler.errors import InputError
from finsler.frames.oriented import FieldWarning, oriented_field
from finsler.mesh.measures import face_areas, vertex_normals
from finsler.mesh.summary import one_line
from finsler.mesh.trimesh import TriMesh
from finsler.operator.gradients import vertex_gradients
from finsler.typing import FloatArray, IntArray

# Eigenfunctions that the model works with, and those of the function whose gradient is "outwards".
FUNCTIONS = 128
_OUTWARD = 60
# Wave kernel signatures: logarithms of eigenvalues times area, and width of a band.
_ENERGIES = np.linspace(np.log(8.0), np.log(1500.0), 32)
_SIGMA = 0.3
# Times of diffusion, as shares of the area, after which positions are compared with those before.
_TIMES = np.geomspace(1e-3, 3e-2, 6)
# Unit of length of derivatives, in √area.
LENGTH = 0.1
# Distances from a border, in √area, within which it shows.
_FADING = (0.05, 0.15)
# Numbers at a vertex that do not come from histograms, and those that tell of a border.
INTRINSIC = len(_ENERGIES) + 2 * len(_TIMES)
BORDER = len(_FADING)


@one_line("eigenvalues", "strength")
@dataclass(frozen=True, eq=False)
class DirectedDomain:
    """Where functions on one surface of area 1 diffuse, and along which axes they change.

    Attributes
    ----------
    eigenvalues, eigenvectors, mass : (k,), (n, k), (n,) float32
        Of the LBO.
    rows, columns : (p,) int64
        Pairs of a vertex and a neighbour, sorted by vertex.
    gradient : (2, p) float32
        Σ_j gradient_j (f_j − f_i) is the derivative of f at i along e, and across it.
    strength : (n,) float32
        How certain the direction e is, from 0 to 1.
    """

    eigenvalues: NDArray[np.float32]
    eigenvectors: NDArray[np.float32]
    mass: NDArray[np.float32]
    rows: IntArray
    columns: IntArray
    gradient: NDArray[np.float32]
    strength: NDArray[np.float32]

    @classmethod
    def of(cls, mesh: TriMesh, spectrum: Spectrum) -> DirectedDomain:
        """Of a mesh of area 1 and the spectrum of its LBO; e points towards the ends of limbs."""
        field = _outward(mesh, spectrum)
        rows, columns, gradient = vertex_gradients(mesh, field)
        return cls(
            eigenvalues=spectrum.eigenvalues[:FUNCTIONS].astype(np.float32),
            eigenvectors=spectrum.eigenvectors[:, :FUNCTIONS].astype(np.float32),
            mass=np.asarray(spectrum.mass, dtype=np.float32),
            rows=rows,
            columns=columns,
            gradient=gradient.astype(np.float32),
            strength=np.linalg.norm(field, axis=1).astype(np.float32),
        )

    def derivative(self) -> sparse.csr_array:
        """The matrix (2n, n) of derivatives of functions along e, then across it."""
        n = len(self.mass)
        diagonal = np.stack([np.bincount(self.rows, weights, n) for weights in self.gradient])
        data = np.concatenate([*self.gradient, *-diagonal.astype(np.float32)])
        vertices = np.arange(n)
        rows = np.concatenate([self.rows, self.rows + n, vertices, vertices + n])
        columns = np.concatenate([self.columns, self.columns, vertices, vertices])
        return sparse.csr_array((data, (rows, columns)), (2 * n, n))


def intrinsic_inputs(mesh: TriMesh, spectrum: Spectrum) -> NDArray[np.float32]:
    """Wave kernel signatures, and how far diffusion moves each vertex, (n, 44) about 1 in size.

    Of a diffusion of positions for a time t, the displacement along the normal and its length,
    both divided by √t: multiples of the mean curvature at that scale. Neither depends on how the
    surface lies in space.
    """
    pairs = Spectrum(
        spectrum.eigenvalues[:FUNCTIONS],
        spectrum.eigenvectors[:, :FUNCTIONS],
        spectrum.mass,
        spectrum.residuals[:FUNCTIONS],
    )
    waves = 2.0 * np.log((1.0 + wks(pairs, _ENERGIES, sigma=_SIGMA)) / 2.0)
    mass, normals = np.asarray(spectrum.mass), vertex_normals(mesh)
    coefficients = pairs.eigenvectors.T @ (mass[:, None] * mesh.vertices)
    moved = []
    for time in _TIMES:
        kept = np.exp(-time * pairs.eigenvalues)[:, None] * coefficients
        step = (pairs.eigenvectors @ kept - mesh.vertices) / np.sqrt(time)
        moved += [np.einsum("ni,ni->n", step, normals), np.linalg.norm(step, axis=1)]
    return np.column_stack([waves, *moved]).astype(np.float32)


def border_inputs(vertices: ArrayLike, domain: DirectedDomain) -> NDArray[np.float32]:
    """How near the border of a surface is, (n, 2): e^(−d/0.05) and e^(−d/0.15), d along edges.

    An edge of the border is one whose ends have fewer than two neighbours in common. Where there is
    none, all is 0.
    """
    points, n = np.asarray(vertices, dtype=np.float64), len(domain.mass)
    pairs = (domain.rows, domain.columns)
    graph = sparse.csr_array((np.ones(len(domain.rows)), pairs), (n, n))
    common = np.asarray((graph @ graph)[pairs]).ravel()
    border = np.unique(domain.rows[common < 2.0])
    if len(border) == 0:
        return np.zeros((n, BORDER), np.float32)
    lengths = np.linalg.norm(points[domain.rows] - points[domain.columns], axis=1)
    edges = sparse.csr_array((lengths, pairs), (n, n))
    apart = dijkstra(edges, indices=border, min_only=True)
    return np.asarray(np.exp(-apart[:, None] / np.array(_FADING)), dtype=np.float32)


def _outward(mesh: TriMesh, spectrum: Spectrum) -> FloatArray:
    """At each vertex the mean over its faces of the oriented field of `gps`, (n, 3)."""
    few = Spectrum(
        spectrum.eigenvalues[:_OUTWARD],
        spectrum.eigenvectors[:, :_OUTWARD],
        spectrum.mass,
        spectrum.residuals[:_OUTWARD],
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FieldWarning)
            vectors = oriented_field(mesh, gps(few)).vectors
    except InputError:
        # A surface on which the function is constant has no direction.
        return np.zeros_like(mesh.vertices)
    areas = face_areas(mesh)
    total, weight = np.zeros_like(mesh.vertices), np.zeros(mesh.n_vertices)
    for corner in mesh.faces.T:
        weight += np.bincount(corner, areas, mesh.n_vertices)
        for axis in range(3):
            total[:, axis] += np.bincount(corner, areas * vectors[:, axis], mesh.n_vertices)
    return np.asarray(total / np.maximum(weight, 1e-300)[:, None])
