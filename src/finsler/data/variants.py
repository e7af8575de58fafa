"""Hard variants of shapes, made on the fly, with ground truth that follows every vertex."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from finsler.data.collapse import collapse, midpoints
from finsler.data.collection import Shape
from finsler.data.partial import holes
from finsler.errors import InputError
from finsler.mesh.topology import edges
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray, IntArray

# A changed mesh, and the vertex of the old one behind each of its vertices, -1 for new ones.
Change = tuple[TriMesh, IntArray]


@dataclass(frozen=True)
class Variant:
    """One kind of change: what it does in words, how, and whether only to the second of a pair."""

    words: str
    change: Callable[[TriMesh, np.random.Generator], Change]
    second_only: bool = False


def _same(vertices: FloatArray, faces: IntArray) -> Change:
    return TriMesh(vertices, faces), np.arange(len(vertices))


def _rotated(mesh: TriMesh, rng: np.random.Generator) -> Change:
    turn, upper = np.linalg.qr(rng.normal(size=(3, 3)))
    turn = turn * np.sign(np.diag(upper))
    turn[:, 0] *= np.linalg.det(turn)
    return _same(mesh.vertices @ turn.T, mesh.faces)


def _rescaled(mesh: TriMesh, rng: np.random.Generator) -> Change:
    factor = np.exp(rng.uniform(np.log(0.01), np.log(100.0)))
    return _same(factor * mesh.vertices, mesh.faces)


def _noise(mesh: TriMesh, rng: np.random.Generator) -> Change:
    step = 0.2 * float(np.mean(_lengths(mesh)))
    return _same(mesh.vertices + step * rng.normal(size=mesh.vertices.shape), mesh.faces)


def _mirrored(mesh: TriMesh, rng: np.random.Generator) -> Change:
    return _same(mesh.vertices * [-1.0, 1.0, 1.0], mesh.faces[:, ::-1])


def _holes(mesh: TriMesh, rng: np.random.Generator) -> Change:
    part = holes(mesh, share=0.9, seed=int(rng.integers(2**31)), seeds=6)
    return part.mesh, part.vertex_map


def _crumbs(mesh: TriMesh, rng: np.random.Generator) -> Change:
    """Twenty fins on edges, ten stray triangles, and ten faces that are there twice."""
    ends = edges(mesh).vertices
    ends = ends[rng.choice(len(ends), min(20, len(ends)), replace=False)]
    n, size = mesh.n_vertices, float(np.mean(_lengths(mesh)))
    tips = mesh.vertices[ends].mean(axis=1) + size * rng.normal(size=(len(ends), 3))
    fins = np.column_stack([ends, n + np.arange(len(ends))])
    where = mesh.vertices[rng.integers(0, n, 10)][:, None] + size * rng.normal(size=(10, 3, 3))
    stray = n + len(ends) + np.arange(30).reshape(10, 3)
    again = mesh.faces[rng.choice(mesh.n_faces, min(10, mesh.n_faces), replace=False)]
    vertices = np.concatenate([mesh.vertices, tips, where.reshape(-1, 3)])
    changed = TriMesh(vertices, np.concatenate([mesh.faces, fins, stray, again]))
    return changed, np.r_[np.arange(n), np.full(len(vertices) - n, -1)]


def _decimated(mesh: TriMesh, rng: np.random.Generator) -> Change:
    return collapse(mesh, mesh.n_vertices // 2, mesh.vertices)


def _remeshed(mesh: TriMesh, rng: np.random.Generator) -> Change:
    """Four times the faces, then edges collapsed by their length in a space stretched eightfold."""
    fine = midpoints(mesh)
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    stretched = fine.vertices + 7.0 * np.outer(fine.vertices @ axis, axis)
    coarse, source = collapse(fine, mesh.n_vertices, stretched, keep=mesh.n_vertices)
    return coarse, np.where(source < mesh.n_vertices, source, -1)


def _lengths(mesh: TriMesh) -> FloatArray:
    ends = mesh.vertices[edges(mesh).vertices]
    return np.asarray(np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1))


VARIANTS = {
    "rotated": Variant("each shape turned at random", _rotated),
    "rescaled": Variant("each shape in a unit of its own, 0.01 to 100 times", _rescaled),
    "remeshed": Variant("remeshed, half of the faces twice as long as wide or more", _remeshed),
    "decimated": Variant("each shape with half of its vertices", _decimated),
    "noise": Variant("vertices moved by a fifth of the mean edge", _noise),
    "holes": Variant("a tenth of the area of each shape eaten away by six discs", _holes),
    "mirrored": Variant("the second shape mirrored", _mirrored, second_only=True),
    "crumbs": Variant("20 fins, 10 stray triangles and 10 double faces added", _crumbs),
}


def require_variant(name: str) -> Variant:
    """The variant of a name.

    Raises
    ------
    InputError
        There is none.
    """
    if name not in VARIANTS:
        raise InputError(f"variant is {name!r}; it must be one of {', '.join(VARIANTS)}")
    return VARIANTS[name]


def vary(shape: Shape, variant: str, *, seed: int = 0) -> Shape:
    """A shape changed in one way, its ground truth with it; the same for the same seed and name.

    Points whose vertex is gone are marked -1 and no longer count; new vertices have no label that
    is ground truth.

    Parameters
    ----------
    shape : Shape
    variant : str
        One of `VARIANTS`: rotated, rescaled, remeshed, decimated, noise, holes, mirrored, crumbs.
    seed : int

    Raises
    ------
    InputError
        There is no such variant, or the mesh does not allow it.

    Examples
    --------
    >>> from finsler.mesh import primitives
    >>> mesh = primitives.sphere(4)
    >>> every = np.arange(mesh.n_vertices)
    >>> shape = Shape("ball", mesh, every, every >= 0, every)
    >>> vary(shape, "decimated").mesh.n_vertices, mesh.n_vertices
    (81, 162)
    """
    kind = require_variant(variant)
    rng = np.random.default_rng([seed, zlib.crc32(f"{variant} {shape.name}".encode())])
    mesh, source = kind.change(shape.mesh, rng)
    old = np.maximum(source, 0)
    points = shape.points
    if points is not None:
        number = np.full(shape.mesh.n_vertices + 1, -1)
        kept = np.flatnonzero(source >= 0)
        number[source[kept]] = kept
        points = number[points]
    named = shape.named[old] & (source >= 0)
    return replace(shape, mesh=mesh, labels=shape.labels[old], named=named, points=points)
