"""Prepared shapes on disk: what a network needs, computed once, found again by content."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finsler.data.collection import Collection, Shape
from finsler.data.layout import require_plain_names
from finsler.data.support import Support, vertex_support
from finsler.errors import InputError
from finsler.files import location, read_bytes, read_npz, write_bytes, write_npz
from finsler.json_text import parse_json
from finsler.mesh.trimesh import FloatArray, TriMesh

# Part of every key: raise it when what is computed changes, and old entries are not found again.
FORMAT = 2

_ARRAYS = (
    "vertices",
    "faces",
    "labels",
    "exact",
    "theta",
    "indptr",
    "indices",
    "stiffness",
    "values",
    "lambda_max",
    "mass",
    "features",
    "eigenvalues",
    "eigenvectors",
)
_SUPPORT = ("indptr", "indices", "r", "theta", "direction", "phi", "weight")


@dataclass(frozen=True)
class PrepareConfig:
    """Everything that decides what is computed for a shape; all of it is part of the key.

    Attributes
    ----------
    alpha, tau, angles, smoothing, normalization
        Of the operators: see `angle_stack`, `principal_frames`, `chebyshev_operators`.
    omega : {"constant", "curved", "flat"}
        With "curved" or "flat" the strength of ω follows curvature up to `peak`, and `tau` is not
        used.
    peak : float
    descriptor : {"shot", "shot_released", "xyz", "none"}
        "shot_released" is SHOT as the C++ code in circulation computes it.
    radius : float
        Of SHOT, as a share of √area.
    bins : int
        Of SHOT.
    eigenpairs : int
        Of the isotropic Laplacian; 0 for none.
    support : float
        Radius of the supports that field convolutions need, as a share of √area; 0 for none.
    support_apart : bool
        Take supports that fall apart where the mesh does not; otherwise such a shape is refused.
    """

    alpha: float = 10.0
    tau: float = 0.1
    angles: int = 8
    smoothing: int = 10
    normalization: str = "acscnn"
    omega: str = "constant"
    peak: float = 0.9
    descriptor: str = "shot"
    radius: float = 0.09
    bins: int = 10
    eigenpairs: int = 0
    support: float = 0.0
    support_apart: bool = False


@dataclass(frozen=True, eq=False)
class PreparedShape:
    """A shape ready for a network; areas are 1, floats are single precision.

    Attributes
    ----------
    name : str
    vertices, faces : (n, 3), (m, 3)
        Scaled to area 1 and centred.
    labels, exact : (n,)
        As in [`Shape`][finsler.data.collection.Shape].
    theta : (a,)
    indptr, indices : (n + 1,), (nnz,)
        The pattern of all operators.
    stiffness, values : (a, nnz)
        The angle stack W_θ, and the rescaled operators L̂_θ.
    lambda_max : (a,)
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
    exact: NDArray[np.bool_]
    theta: FloatArray
    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    stiffness: NDArray[np.float32]
    values: NDArray[np.float32]
    lambda_max: FloatArray
    mass: NDArray[np.float32]
    features: NDArray[np.float32]
    eigenvalues: FloatArray
    eigenvectors: NDArray[np.float32]
    support: Support | None = None


def prepare_shape(shape: Shape, config: PrepareConfig) -> PreparedShape:
    """Normalise, then compute operators, descriptor and spectrum; in double, stored in single."""
    from finsler.analysis import spectrum
    from finsler.frames import principal_frames
    from finsler.operator import angle_stack, chebyshev_operators, lbo

    mesh = normalised(shape.mesh)
    frames = principal_frames(mesh, smoothing=config.smoothing)
    stack = angle_stack(
        mesh, alpha=config.alpha, tau=_tau(mesh, config), angles=config.angles, frames=frames
    )
    operators = chebyshev_operators(stack, normalization=config.normalization)
    pairs = spectrum(lbo(mesh), config.eigenpairs) if config.eigenpairs else None
    empty = np.zeros((mesh.n_vertices, 0), dtype=np.float32)
    return PreparedShape(
        name=shape.name,
        vertices=mesh.vertices.astype(np.float32),
        faces=mesh.faces.astype(np.int32),
        labels=shape.labels.astype(np.int32),
        exact=shape.exact,
        theta=operators.theta,
        indptr=operators.indptr,
        indices=operators.indices,
        stiffness=stack.values.astype(np.float32),
        values=operators.values.astype(np.float32),
        lambda_max=operators.lambda_max,
        mass=stack.mass.astype(np.float32),
        features=_features(mesh, config),
        eigenvalues=np.zeros(0) if pairs is None else pairs.eigenvalues,
        eigenvectors=empty if pairs is None else pairs.eigenvectors.astype(np.float32),
        support=_support(mesh, config),
    )


def _support(mesh: TriMesh, config: PrepareConfig) -> Support | None:
    if not config.support:
        return None
    # The area is 1, so a share of its root is a length.
    return vertex_support(mesh, config.support, require_connected=not config.support_apart)


def normalised(mesh: TriMesh) -> TriMesh:
    """The mesh scaled to area 1, its centre of area at the origin."""
    from finsler.mesh.measures import face_areas, require_usable_faces

    require_usable_faces(mesh)
    areas = face_areas(mesh)
    centre = np.average(mesh.vertices[mesh.faces].mean(axis=1), axis=0, weights=areas)
    return TriMesh((mesh.vertices - centre) / np.sqrt(areas.sum()), mesh.faces)


def _tau(mesh: TriMesh, config: PrepareConfig) -> float | FloatArray:
    from finsler.metric import curvature_strength, tau_of_strength

    if config.omega == "constant":
        return config.tau
    strength = curvature_strength(
        mesh, peak=config.peak, where=config.omega, smoothing=config.smoothing
    )
    return tau_of_strength(mesh, strength, alpha=config.alpha)


def _features(mesh: TriMesh, config: PrepareConfig) -> NDArray[np.float32]:
    if config.descriptor in ("shot", "shot_released"):
        from finsler.descriptors import shot

        released = config.descriptor == "shot_released"
        found = shot(mesh, radius=config.radius, bins=config.bins, as_released=released)
        return np.asarray(found, dtype=np.float32)
    if config.descriptor == "xyz":
        return mesh.vertices.astype(np.float32)
    if config.descriptor == "none":
        return np.zeros((mesh.n_vertices, 0), dtype=np.float32)
    raise InputError(
        f'descriptor must be "shot", "shot_released", "xyz" or "none", not {config.descriptor!r}'
    )


def key_of(shape: Shape, config: PrepareConfig) -> str:
    """Name of a shape's entry: a hash of its content and of everything that is done to it."""
    digest = hashlib.sha256()
    about = {"format": FORMAT, "name": shape.name, **dataclasses.asdict(config)}
    digest.update(json.dumps(about, sort_keys=True).encode())
    for array in (shape.mesh.vertices, shape.mesh.faces, shape.labels, shape.exact):
        digest.update(str((array.shape, array.dtype.str)).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class Store:
    """A folder of prepared shapes and the list of those that make up a collection.

    `entries/KEY.npz` holds one shape; `store.json` names the shapes, their keys, splits, reference
    and configuration. Entries are written whole or not at all, and the list last, so that a store
    that was interrupted is continued by preparing again. `failed` says of each shape that was left
    out why; it is in no split.
    """

    folder: Path
    name: str
    train: tuple[str, ...]
    test: tuple[str, ...]
    reference: str
    keys: dict[str, str]
    config: PrepareConfig
    failed: dict[str, str] = dataclasses.field(default_factory=dict)

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Store:
        """Read the list of a store, here or with `://` in an object store."""
        root = location(folder)
        path = root / "store.json"
        try:
            about = parse_json(read_bytes(path))
            if about["format"] != FORMAT:
                raise InputError(
                    f"format {repr(about['format'])[:20]}, this program reads {FORMAT}"
                )
            config = PrepareConfig(**about["config"])
            splits = tuple(about["train"]), tuple(about["test"])
            keys = {str(name): _checked_key(key) for name, key in about["keys"].items()}
            title, reference = str(about["name"]), str(about["reference"])
            failed = {str(name): str(why) for name, why in about.get("failed", {}).items()}
            # Lists of earlier releases have none.
            if about.get("checksum", _checksum(about)) != _checksum(about):
                raise InputError("its checksum does not fit")
            require_plain_names(title, (*splits[0], *splits[1], reference, *keys))
        except FileNotFoundError as error:
            raise InputError(
                f"{folder}: there is no finished store here (no store.json); run finsler prepare"
            ) from error
        except InputError as error:
            raise InputError(f"{path}: the list is damaged ({error}); prepare again") from error
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{path}: the list is damaged; prepare again") from error
        return cls(root, title, *splits, reference, keys, config, failed)

    @property
    def names(self) -> tuple[str, ...]:
        """All shapes: those of training, then those of testing."""
        return (*self.train, *self.test)

    def __getitem__(self, name: str) -> PreparedShape:
        """One prepared shape.

        Raises
        ------
        InputError
            The store has no such shape, or its entry is missing or damaged.
        """
        if name not in self.keys:
            raise InputError(f"{self.folder}: the store has no shape {name!r}")
        path = entry_path(self.folder, self.keys[name])
        try:
            return read_entry(path, name, self.config.support)
        except InputError as error:
            raise InputError(f"{error}; finsler prepare computes that entry anew") from error


def entry_path(folder: Path, key: str) -> Path:
    """Where the entry with a key lies in a store."""
    return folder / "entries" / f"{key}.npz"


def write_entry(path: Path, shape: PreparedShape, config: PrepareConfig) -> None:
    """Write an entry, whole or not at all."""
    arrays = {name: getattr(shape, name) for name in _ARRAYS}
    if shape.support is not None:
        arrays |= {f"support_{name}": getattr(shape.support, name) for name in _SUPPORT}
    write_npz(path, arrays, {"shape": shape.name, **dataclasses.asdict(config)})


def read_entry(path: Path, name: str, support: float = 0.0) -> PreparedShape:
    """Read an entry, prepared with supports of a radius if one is given.

    The archive's checksums and the shapes of its arrays are verified.
    """
    parts = tuple(f"support_{part}" for part in _SUPPORT) if support else ()
    # The record as well, so that damage anywhere is found.
    data = read_npz(path, (*_ARRAYS, *parts, "config"))
    del data["config"]
    around = {part: data.pop(f"support_{part}") for part in _SUPPORT if support}
    if any(array.ndim == 0 for array in (*data.values(), *around.values())):
        raise InputError(f"{path}: the arrays do not fit together; prepare the collection again")
    n, nnz, angles = len(data["vertices"]), len(data["indices"]), len(data["theta"])
    fits = (
        data["vertices"].shape == (n, 3)
        and data["faces"].shape[1:] == (3,)
        and _name_rows(data["faces"], n)
        and all(len(data[field]) == n for field in ("labels", "exact", "mass", "features"))
        and _is_pattern(data["indptr"], data["indices"], n)
        and data["values"].shape == data["stiffness"].shape == (angles, nnz)
        and data["eigenvectors"].shape == (n, len(data["eigenvalues"]))
    )
    if support:
        pairs = len(around["indices"])
        fits &= _is_pattern(around["indptr"], around["indices"], n)
        fits &= all(around[part].shape == (pairs,) for part in _SUPPORT[1:])
    if not fits:
        raise InputError(f"{path}: the arrays do not fit together")
    found = Support(**around, radius=support) if support else None
    return PreparedShape(name, **data, support=found)


def _is_pattern(indptr: NDArray[Any], indices: NDArray[Any], n: int) -> bool:
    """Whether these are the rows and columns of a sparse matrix (n, n): kernels trust them."""
    return (
        indptr.shape == (n + 1,)
        and indptr.dtype.kind == "i"
        and bool(indptr[0] == 0 and indptr[-1] == len(indices))
        and bool((np.diff(indptr) >= 0).all())
        and indices.ndim == 1
        and _name_rows(indices, n)
    )


def _name_rows(indices: NDArray[Any], n: int) -> bool:
    """Whether all are whole numbers from 0 to n - 1."""
    whole = indices.dtype.kind == "i"
    return whole and (indices.size == 0 or bool(0 <= indices.min() <= indices.max() < n))


def write_list(
    folder: Path,
    collection: Collection,
    keys: dict[str, str],
    config: PrepareConfig,
    failed: Mapping[str, str],
) -> None:
    """Write `store.json`: from now on the store counts as finished."""
    about: dict[str, Any] = {
        "format": FORMAT,
        "name": collection.name,
        "train": [name for name in collection.train if name in keys],
        "test": [name for name in collection.test if name in keys],
        "reference": collection.reference,
        "keys": keys,
        "failed": dict(failed),
        "config": dataclasses.asdict(config),
    }
    about["checksum"] = _checksum(about)
    write_bytes(folder / "store.json", (json.dumps(about, indent=1) + "\n").encode())


def _checksum(about: Mapping[str, Any]) -> str:
    """Of all else that a list says."""
    rest = {name: value for name, value in about.items() if name != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _checked_key(key: object) -> str:
    text = str(key)
    if len(text) != 64 or not set(text) <= set("0123456789abcdef"):
        raise InputError(f"the store's list holds {text[:20]!r} in place of a key")
    return text
