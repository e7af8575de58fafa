"""More training shapes: copies of the given ones, a little deformed, with the same labels."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.linalg import expm

from finsler.analysis.spectrum import spectrum
from finsler.data.collection import Collection, Shape
from finsler.mesh.arguments import takes_meshes
from finsler.mesh.measures import surface_area, vertex_normals
from finsler.mesh.topology import edges
from finsler.mesh.trimesh import TriMesh
from finsler.operator import lbo
from finsler.storage.hashing import bytes_key

# Stands between the name of a shape and the number of its copy.
_MARK = "~"
# Standard deviations: of the logarithm of a stretch, of a swelling at the lowest frequency in units
# of √area, and of noise in units of the mean edge.
_STRETCH, _SWELLING, _NOISE = 0.06, 0.004, 0.02
# Eigenfunctions that a swelling is made of, and the eigenvalue times area from which it fades.
_WAVES, _FADING = 25, 50.0


@takes_meshes
def deform(mesh: TriMesh, rng: np.random.Generator) -> TriMesh:
    """The mesh stretched along random axes, swollen here and thinned there, and roughened a little.

    The swelling moves vertices along their normals by a random sum of the first eigenfunctions of
    the Laplacian, which fades with the frequency: limbs become thicker or thinner.

    Examples
    --------
    >>> from finsler.mesh import primitives
    >>> mesh = primitives.torus(12, 8)
    >>> changed = deform(mesh, np.random.default_rng(0))
    >>> bool(np.abs(changed.vertices - mesh.vertices).max() > 0.01)
    True
    """
    unit = float(np.sqrt(surface_area(mesh)))
    basis = spectrum(lbo(mesh), min(_WAVES, mesh.n_vertices // 2))
    scale = 1.0 / np.sqrt(1.0 + basis.eigenvalues[1:] * unit**2 / _FADING)
    heights = unit * basis.eigenvectors[:, 1:] @ (scale * rng.normal(size=len(scale)))
    middle = mesh.vertices.mean(axis=0)
    swollen = mesh.vertices - middle + _SWELLING * unit * heights[:, None] * vertex_normals(mesh)
    noise = rng.normal(size=(3, 3)) * _STRETCH
    ends = mesh.vertices[edges(mesh).vertices]
    rough = _NOISE * np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1).mean()
    stretched = swollen @ expm(0.5 * (noise + noise.T))
    return TriMesh(stretched + middle + rough * rng.normal(size=swollen.shape), mesh.faces)


def with_copies(collection: Collection, copies: int) -> Collection:
    """The collection with so many deformed copies of each training shape, named NAME~1, NAME~2, …

    A copy is the same whenever it is loaded: its random numbers follow from its name.
    """
    if copies == 0:
        return collection
    added = [f"{name}{_MARK}{copy}" for copy in range(1, copies + 1) for name in collection.train]

    def load(name: str) -> Shape:
        given = collection.load(original(name) if name in known else name)
        return copy_of(given, name)

    known = frozenset(added)
    return dataclasses.replace(collection, train=(*collection.train, *added), load=load)


def copy_of(shape: Shape, name: str) -> Shape:
    """The copy of that name; the shape itself where that is its own name."""
    if shape.name == name:
        return shape
    rng = np.random.default_rng(int(bytes_key(name.encode())[:12], 16))
    return dataclasses.replace(shape, name=name, mesh=deform(shape.mesh, rng))


def original(name: str) -> str:
    """The shape that a copy was made of, or the shape itself.

    Examples
    --------
    >>> original("cat~2"), original("cat")
    ('cat', 'cat')
    """
    shape, mark, copy = name.rpartition(_MARK)
    return shape if mark and copy.isdigit() else name
