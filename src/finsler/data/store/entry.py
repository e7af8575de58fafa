"""What a network needs of a shape, computed once, and the key under which it is found again."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from finsler.analysis.log_maps import Support, vertex_support
from finsler.data.collection import Shape
from finsler.errors import InputError
from finsler.mesh.trimesh import TriMesh
from finsler.storage.hashing import content_key
from finsler.typing import FloatArray

# Part of every key: raise it when what is computed changes, and old entries are not found again.
FORMAT = 2


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

    @property
    def channels(self) -> int:
        """Features a vertex that the descriptor gives."""
        shot = 32 * (self.bins + 1)
        counts = {"shot": shot, "shot_released": shot, "xyz": 3, "none": 0}
        if self.descriptor not in counts:
            listed = ", ".join(f'"{name}"' for name in counts)
            raise InputError(f"descriptor must be one of {listed}, not {self.descriptor!r}")
        return counts[self.descriptor]


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
    return np.zeros((mesh.n_vertices, config.channels), dtype=np.float32)


def key_of(shape: Shape, config: PrepareConfig) -> str:
    """Name of a shape's entry: a hash of its content and of everything that is done to it."""
    about = {"format": FORMAT, "name": shape.name, **dataclasses.asdict(config)}
    return content_key(about, (shape.mesh.vertices, shape.mesh.faces, shape.labels, shape.exact))
