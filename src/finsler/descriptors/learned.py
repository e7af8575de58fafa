"""The model in the box: features of vertices that are alike where surfaces correspond.

Two networks were trained on people and animals that this package makes itself; their weights are
part of the package. Here they are evaluated with numpy alone. Training, cards and the command that
rebuilds them: docs/model.md.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from finsler.analysis.spectrum import Spectrum, spectrum
from finsler.descriptors.directed import (
    BORDER,
    FUNCTIONS,
    INTRINSIC,
    LENGTH,
    DirectedDomain,
    border_inputs,
    intrinsic_inputs,
)
from finsler.descriptors.shot import shot
from finsler.errors import InputError
from finsler.mesh.arguments import checked
from finsler.mesh.io import load_mesh
from finsler.mesh.measures import vertex_normals
from finsler.mesh.summary import one_line
from finsler.mesh.trimesh import TriMesh
from finsler.mesh.unit import UnitSurface
from finsler.operator import lbo
from finsler.storage.hashing import content_key
from finsler.storage.npz import read_npz, write_npz
from finsler.typing import IntArray

# Radius of the larger ball of the histograms that the model reads, in √area.
RADIUS = 0.18
# Vertices above which a mesh is clustered first: a ball of the larger radius holds 1,000 then.
_MOST = 9824
# Fewest eigenfunctions that features are computed with.
LEAST_FUNCTIONS = 10
_HISTOGRAM = ("middle", "axes", "scale")

Array = NDArray[np.float32]


Shot = Callable[[TriMesh, float], Array]


def shot_single(mesh: TriMesh, radius: float) -> Array:
    """SHOT in single precision, (n, 352)."""
    return np.asarray(shot(mesh, radius=radius, dtype=np.float32))


@one_line("version", "size")
@dataclass(frozen=True, eq=False)
class FeatureModel:
    """A trained network as plain arrays.

    Attributes
    ----------
    weights : mapping
        Parameters of `finsler.nn.maps.DirectedNet` by name.
    middle, axes, scale : (704,), (704, d), (d,)
        Mean of the histograms, the directions in which they are read, and their spread.
    card : mapping
        What the model was trained on, by which command, and how good it is.
    """

    weights: Mapping[str, Array]
    middle: Array
    axes: Array
    scale: Array
    card: Mapping[str, Any]

    @property
    def version(self) -> str:
        """The name that the builder gave the weights."""
        return str(self.card["version"])

    @cached_property
    def key(self) -> str:
        """A hash of all arrays: features of models with other keys cannot be compared."""
        arrays = (*self.weights.values(), *(getattr(self, name) for name in _HISTOGRAM))
        return content_key({"names": list(self.weights)}, arrays)

    @property
    def knows_parts(self) -> bool:
        """Whether it has learned from parts of shapes too."""
        return bool(self.card.get("parts", False))

    @property
    def reads_border(self) -> bool:
        """Whether it is told how near the border is."""
        return self._extra == BORDER

    @property
    def _extra(self) -> int:
        """Inputs beside those that every model has."""
        return int(self.weights["first.weight"].shape[1]) - INTRINSIC - int(self.axes.shape[1])

    @property
    def size(self) -> int:
        """Features at a vertex."""
        return len(self.weights["last.bias"])

    @property
    def blocks(self) -> int:
        """Blocks of the network."""
        return sum(name.endswith(".log_time") for name in self.weights)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> FeatureModel:
        """Read a model from an .npz file.

        Raises
        ------
        InputError
            The file is missing or damaged, or holds something else.
        """
        arrays = read_npz(path, ("card", *_HISTOGRAM, "names"))
        names = tuple(str(name) for name in np.ravel(arrays["names"]))
        weights = read_npz(path, names)
        try:
            parts = {name: arrays[name].astype(np.float32) for name in _HISTOGRAM}
            model = cls(
                weights={name: array.astype(np.float32) for name, array in weights.items()},
                card=json.loads(str(arrays["card"])),
                **parts,
            )
            fits = model._extra in (0, BORDER)
            complete = bool(model.version) and model.size > 0 and model.blocks > 0
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise InputError(f"{path}: this is not a model that `make model` has built") from error
        if not (fits and complete):
            raise InputError(f"{path}: the weights of this model do not fit its inputs")
        return model

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the model as .npz, weights in half precision."""
        arrays: dict[str, Any] = {
            name: array.astype(np.float16) for name, array in self.weights.items()
        }
        arrays |= {name: getattr(self, name).astype(np.float16) for name in _HISTOGRAM}
        arrays |= {"names": np.array(list(self.weights)), "card": np.array(json.dumps(self.card))}
        return write_npz(path, arrays, {"model": self.version}, compressed=True)

    def features(self, mesh: TriMesh, spectrum: Spectrum, histograms: Array) -> Array:
        """Features (n, size), rows of length 1, of a mesh of area 1.

        `spectrum` is that of its LBO; `histograms` (n, 704) is that of `two_histograms`.
        """
        domain = DirectedDomain.of(mesh, spectrum)
        derivative = domain.derivative()
        x = self._linear("first", self.inputs(mesh, spectrum, histograms, domain))
        for number in range(self.blocks):
            x = x + self._block(f"blocks.{number}", x, domain, derivative)
        out = self._linear("last", x)
        return np.asarray(out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-12))

    def inputs(
        self, mesh: TriMesh, spectrum: Spectrum, histograms: Array, domain: DirectedDomain
    ) -> Array:
        """What the network reads at each vertex, (n, c)."""
        read = (histograms - self.middle) @ (self.axes / self.scale)
        parts = [intrinsic_inputs(mesh, spectrum), read]
        if self.reads_border:
            parts.append(border_inputs(mesh.vertices, domain))
        return np.hstack(parts)

    def _block(self, name: str, x: Array, domain: DirectedDomain, derivative: Any) -> Array:
        """What a block adds; see `finsler.nn.maps.directed_net.DirectedBlock`."""
        basis, times = domain.eigenvectors, np.exp(self.weights[f"{name}.log_time"])
        decay = np.exp(-np.outer(domain.eigenvalues, times))
        spread = basis @ (decay * (basis.T @ (domain.mass[:, None] * x)))
        along, across = np.split(LENGTH * (derivative @ spread), 2)
        a, b = (self.weights[f"{name}.{part}.weight"].T for part in ("real", "imaginary"))
        products = along * (along @ a - across @ b) + across * (across @ a + along @ b)
        strength = domain.strength[:, None]
        read = [x, spread, np.tanh(products), strength * along, strength * across]
        hidden = self._linear(f"{name}.perceptron.0", np.hstack(read))
        return self._linear(f"{name}.perceptron.2", np.maximum(hidden, 0.0))

    def _linear(self, name: str, x: Array) -> Array:
        return np.asarray(x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"])


@one_line("members")
@dataclass(frozen=True, eq=False)
class FeatureModels:
    """Models whose features stand side by side: together they err less than each by itself."""

    members: tuple[FeatureModel, ...]

    @property
    def key(self) -> str:
        """That of the only member, or a hash of all of them."""
        keys = [member.key for member in self.members]
        return keys[0] if len(keys) == 1 else content_key({"members": keys}, ())

    def for_parts(self) -> FeatureModels:
        """The members that have learned from parts of shapes, or all where none has."""
        some = tuple(member for member in self.members if member.knows_parts)
        return FeatureModels(some or self.members)

    def features(
        self,
        mesh: TriMesh,
        spectrum: Spectrum,
        histograms: Array,
        *,
        evaluate: Callable[..., Array] = FeatureModel.features,
    ) -> Array:
        """Features (n, sum of sizes), rows of length 1; of `FeatureModel.features` by default."""
        found = [evaluate(member, mesh, spectrum, histograms) for member in self.members]
        return np.asarray(np.hstack(found) / np.float32(np.sqrt(len(found))))


def two_histograms(mesh: TriMesh, shot: Shot = shot_single) -> Array:
    """SHOT of a mesh of area 1 in the balls that the model reads, side by side, (n, 704).

    Balls of a fine mesh hold thousands of vertices and tell no more than those of a coarse one: of
    more than 9,824 vertices, those of a cluster share the histograms of its middle.
    """
    if mesh.n_vertices > _MOST:
        coarse, cluster = _clustered(mesh)
        rows = two_histograms(coarse, shot)
        known = np.flatnonzero(rows.any(axis=1))
        # A cluster that no face is left of has no normal, and takes the rows of the nearest one.
        nearest = known[cKDTree(coarse.vertices[known]).query(coarse.vertices)[1]]
        return np.asarray(rows[nearest][cluster])
    return shot_twice(mesh, RADIUS, shot)


def shot_twice(mesh: TriMesh, radius: float, shot: Shot = shot_single) -> Array:
    """SHOT in balls of half a radius and of the whole, side by side, (n, 704)."""
    return np.hstack([shot(mesh, r) for r in (0.5 * radius, radius)])


def _clustered(mesh: TriMesh) -> tuple[TriMesh, IntArray]:
    """The middles of vertices that share a cube and a side of the surface, and which is whose.

    Cubes grow until at most 9,824 clusters are left. The two sides of an ear share no cluster: the
    largest component of their normals has another sign.
    """
    normals = vertex_normals(mesh)
    axis = np.abs(normals).argmax(axis=1)
    side = 2 * axis + (np.take_along_axis(normals, axis[:, None], axis=1)[:, 0] > 0.0)
    width = 1.0 / np.sqrt(_MOST)
    while True:
        cube = np.floor((mesh.vertices - mesh.vertices.min(axis=0)) / width).astype(np.int64)
        keys = np.column_stack([cube, side])
        _, cluster = np.unique(keys, axis=0, return_inverse=True)
        count = int(cluster.max()) + 1
        if count <= _MOST:
            break
        width *= 1.1
    size = np.bincount(cluster)
    middles = np.stack([np.bincount(cluster, x) / size for x in mesh.vertices.T], axis=1)
    faces = cluster[mesh.faces]
    whole = (faces != np.roll(faces, 1, axis=1)).all(axis=1)
    return TriMesh(middles, np.unique(faces[whole], axis=0)), cluster


@cache
def shipped_model(name: str = "model") -> FeatureModel:
    """A model that comes with the package: "model", of whole shapes, or "model_parts"."""
    return FeatureModel.read(str(files("finsler.descriptors").joinpath(f"{name}.npz")))


def feature_models(name: str | os.PathLike[str]) -> FeatureModels | None:
    """The models of a name: "box", "none" or a path of .npz.

    Raises
    ------
    InputError
        It is something else, or the file cannot be read.
    """
    if name == "none":
        return None
    if name == "box":
        return FeatureModels((shipped_model(), shipped_model("model_parts")))
    if not str(name).endswith(".npz"):
        raise InputError(
            f"model is {str(name)!r}; it must be box, none, or the .npz file of a model"
        )
    return FeatureModels((FeatureModel.read(name),))


@checked
def vertex_features(
    mesh: TriMesh | str | os.PathLike[str], *, model: str | os.PathLike[str] = "box"
) -> NDArray[np.float32]:
    """Numbers at each vertex that are alike where two surfaces correspond, (n, 256), of length 1.

    They are found by the model that comes with the package, which has learned from people and
    animals; on other shapes they are a descriptor like others. Scale, position, rotation and
    numbering do not matter, and the triangulation little.

    Parameters
    ----------
    mesh : TriMesh or path
        Repaired first; vertices that are left out get the features of the nearest one.
    model : str or path
        "box", or the .npz file of a model that `make model` has built.

    Raises
    ------
    InputError
        A mesh without area or with fewer than 30 vertices, or a model that cannot be read.

    Examples
    --------
    >>> from finsler import primitives
    >>> vertex_features(primitives.bumpy_sphere(6)).shape
    (362, 256)
    """
    chosen = feature_models(model)
    if chosen is None:
        raise InputError("features come from a model; give box, or the .npz file of one")
    given = mesh if isinstance(mesh, TriMesh) else load_mesh(mesh)
    unit = UnitSurface.of(given, fill=True)
    size = min(FUNCTIONS, unit.mesh.n_vertices // 3)
    if size < LEAST_FUNCTIONS:
        raise InputError(
            f"the mesh has {unit.mesh.n_vertices} vertices; features need at least"
            f" {3 * LEAST_FUNCTIONS}"
        )
    pairs = spectrum(lbo(unit.mesh), size)
    return chosen.features(unit.mesh, pairs, two_histograms(unit.mesh))[unit.vertex_map]
