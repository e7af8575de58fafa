"""One prepared shape: what a network needs of it, computed once and kept in a file."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finsler.analysis.log_maps import Support, vertex_support
from finsler.analysis.spectrum import spectrum
from finsler.data.collection import Shape
from finsler.data.store.config import PrepareConfig
from finsler.descriptors.learned import two_histograms
from finsler.descriptors.shot import shot
from finsler.errors import InputError
from finsler.mesh.arguments import takes_meshes
from finsler.mesh.measures import face_areas, require_usable_faces
from finsler.mesh.summary import one_line
from finsler.mesh.trimesh import TriMesh
from finsler.operator.laplacian import lbo
from finsler.operator.rescale import chebyshev_operators
from finsler.storage.npz import read_npz, write_npz
from finsler.storage.schema import ArraySchema, require_arrays
from finsler.typing import FloatArray

# Kinds and shapes of the arrays in a file.
_ARRAYS: ArraySchema = {
    "vertices": ("f", ("n", 3)),
    "faces": ("i", ("m", 3)),
    "labels": ("i", ("n",)),
    "exact": ("b", ("n",)),
    "points": ("i", ("p",)),
    "theta": ("f", ("a",)),
    "indptr": ("i", ("n + 1",)),
    "indices": ("i", ("nnz",)),
    "values": ("f", ("a", "nnz")),
    "lambda_max": ("f", ("a",)),
    "mass": ("f", ("n",)),
    "features": ("f", ("n", "c")),
    "eigenvalues": ("f", ("k",)),
    "eigenvectors": ("f", ("n", "k")),
}
# Fields of a shape whose array has another name in a file.
_FIELDS = {"exact": "named"}
_SUPPORT: ArraySchema = {
    "support_indptr": ("i", ("n + 1",)),
    "support_indices": ("i", ("pairs",)),
    **{f"support_{name}": ("f", ("pairs",)) for name in ("r", "theta", "direction", "phi")},
    "support_weight": ("f", ("pairs",)),
}


@one_line("name", "vertices", "faces", "values", "features", "eigenvalues")
@dataclass(frozen=True, eq=False)
class PreparedShape:
    """A shape ready for a network; areas are 1, floats are single precision.

    Attributes
    ----------
    name : str
    vertices, faces : (n, 3), (m, 3)
        Scaled to area 1 and centred.
    labels, named : (n,)
    points : (p,)
        As in [`Shape`][finsler.data.collection.Shape]; p = 0 where the set lists no points.
    theta : (a,)
    indptr, indices : (n + 1,), (nnz,)
        The pattern of all operators.
    values : (a, nnz)
        The rescaled operators L̂_θ.
    lambda_max : (a,)
        What they were divided by.
    mass : (n,)
    features : (n, c)
        The descriptor; c = 0 for none.
    eigenvalues, eigenvectors : (k,), (n, k)
    support : Support or None
        Logarithmic maps and transports within a radius.
    """

    name: str
    vertices: NDArray[np.float32]
    faces: NDArray[np.int32]
    labels: NDArray[np.int32]
    named: NDArray[np.bool_]
    points: NDArray[np.int32]
    theta: FloatArray
    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    values: NDArray[np.float32]
    lambda_max: FloatArray
    mass: NDArray[np.float32]
    features: NDArray[np.float32]
    eigenvalues: FloatArray
    eigenvectors: NDArray[np.float32]
    support: Support | None = None


def prepare_shape(shape: Shape, config: PrepareConfig) -> PreparedShape:
    """Normalise, then compute operators, descriptor and spectrum; in double, stored in single."""
    mesh = normalised(shape.mesh)
    stack = config.stack(mesh)
    operators = chebyshev_operators(stack, normalization=config.normalization)
    pairs = spectrum(lbo(mesh), config.eigenpairs) if config.eigenpairs else None
    empty = np.zeros((mesh.n_vertices, 0), dtype=np.float32)
    points = np.zeros(0) if shape.points is None else shape.points
    return PreparedShape(
        name=shape.name,
        vertices=mesh.vertices.astype(np.float32),
        faces=mesh.faces.astype(np.int32),
        labels=shape.labels.astype(np.int32),
        named=shape.named,
        points=points.astype(np.int32),
        theta=operators.theta,
        indptr=operators.indptr,
        indices=operators.indices,
        values=operators.values.astype(np.float32),
        lambda_max=operators.lambda_max,
        mass=stack.mass.astype(np.float32),
        features=_features(mesh, config),
        eigenvalues=np.zeros(0) if pairs is None else pairs.eigenvalues,
        eigenvectors=empty if pairs is None else pairs.eigenvectors.astype(np.float32),
        support=_support(mesh, config),
    )


@takes_meshes
def normalised(mesh: TriMesh) -> TriMesh:
    """The mesh scaled to area 1, its centre of area at the origin."""
    require_usable_faces(mesh)
    areas = face_areas(mesh)
    centre = np.average(mesh.vertices[mesh.faces].mean(axis=1), axis=0, weights=areas)
    return TriMesh((mesh.vertices - centre) / np.sqrt(areas.sum()), mesh.faces)


def _features(mesh: TriMesh, config: PrepareConfig) -> NDArray[np.float32]:
    if config.descriptor == "xyz":
        return mesh.vertices.astype(np.float32)
    if config.descriptor == "none":
        return np.zeros((mesh.n_vertices, 0), dtype=np.float32)
    if config.descriptor == "shot_two":
        return two_histograms(mesh)
    released = config.descriptor == "shot_released"
    values = shot(mesh, radius=config.radius, bins=config.bins, as_released=released)
    return np.asarray(values, dtype=np.float32)


def _support(mesh: TriMesh, config: PrepareConfig) -> Support | None:
    if not config.support:
        return None
    # The area is 1, so a share of its root is a length.
    return vertex_support(mesh, config.support, require_connected=not config.support_apart)


def write_entry(path: Path, shape: PreparedShape, config: PrepareConfig) -> None:
    """Write an entry, whole or not at all."""
    arrays = {name: getattr(shape, _FIELDS.get(name, name)) for name in _ARRAYS}
    if shape.support is not None:
        parts = {name: name.removeprefix("support_") for name in _SUPPORT}
        arrays |= {name: getattr(shape.support, part) for name, part in parts.items()}
    write_npz(path, arrays, {"shape": shape.name, **dataclasses.asdict(config)})


def read_entry(path: Path, name: str, config: PrepareConfig) -> PreparedShape:
    """Read the entry of a shape, and check it against what is said to be in it.

    Raises
    ------
    InputError
        The file is missing or damaged, or its arrays are not those of the configuration.
    """
    schema = {**_ARRAYS, **(_SUPPORT if config.support else {})}
    # The record as well, so that damage anywhere is found.
    data = read_npz(path, (*schema, "config"))
    try:
        sizes = require_arrays(data, schema)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    expected = {"a": config.angles, "c": config.channels, "k": config.eigenpairs}
    wrong = [key for key, size in expected.items() if sizes[key] != size]
    n = sizes["n"]
    fits = not wrong and sizes["n + 1"] == n + 1 and _name_rows(data["faces"], n)
    fits = fits and _is_pattern(data["indptr"], data["indices"], n)
    fits = fits and _name_rows(data["points"] + 1, n + 1)
    if config.support:
        fits = fits and _is_pattern(data["support_indptr"], data["support_indices"], n)
    if not fits:
        raise InputError(f"{path}: the arrays do not fit together")
    around = {part.removeprefix("support_"): data[part] for part in schema.keys() - _ARRAYS.keys()}
    support = Support(**around, radius=config.support) if config.support else None
    fields = {_FIELDS.get(part, part): data[part] for part in _ARRAYS}
    return PreparedShape(name, **fields, support=support)


def _is_pattern(indptr: NDArray[Any], indices: NDArray[Any], n: int) -> bool:
    """Whether these are the rows and columns of a sparse matrix (n, n): kernels trust them."""
    ends = bool(indptr[0] == 0 and indptr[-1] == len(indices))
    return ends and bool((np.diff(indptr) >= 0).all()) and _name_rows(indices, n)


def _name_rows(indices: NDArray[Any], n: int) -> bool:
    """Whether all are numbers from 0 to n - 1."""
    return indices.size == 0 or bool(0 <= indices.min() <= indices.max() < n)
