"""The map that a trained network finds between two meshes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from finsler.data import Shape
from finsler.data.store import prepare_shape
from finsler.errors import InputError
from finsler.matching.quality import cycle_distances
from finsler.mesh.arguments import takes_meshes
from finsler.mesh.measures import surface_area
from finsler.mesh.summary import one_line
from finsler.mesh.trimesh import TriMesh
from finsler.mesh.unit import repaired
from finsler.typing import FloatArray, IntArray

# Products of probabilities that are held at once.
_CELLS = 2**24
# A round trip of this length, in units of √area, halves the trust.
_ROUND_TRIP = 0.05


@one_line()
@dataclass(frozen=True, eq=False)
class LearnedMap:
    """A vertex of mesh 2 for each of mesh 1, (n_1,), and how far it can be trusted, (n_1,)."""

    map_12: IntArray
    trust: FloatArray


@takes_meshes
def learned_map(
    checkpoint: str | os.PathLike[str], mesh_1: TriMesh, mesh_2: TriMesh, *, tune: int = 0
) -> LearnedMap:
    """Find the map of a trained network; `match(..., initial=…, trust=…)` refines it.

    A network that learned maps (objective "maps") describes the vertices of both meshes: the map is
    read from that in several ways, see `finsler.nn.training.map_prediction.read_out`, and the one
    of least energy is taken. Its trust is the cosine of the features of x and y, 0 where negative.

    Of a network that names vertices of a reference, vertex x goes to the y of largest
    Σ_r p(r | x) p(r | y): the probability that both are the same vertex r of the reference, which
    itself is not needed. Its trust is that sum. Where its classes are points, p(x | r), over the
    vertices, takes the place of p(r | x).

    Trust is divided by 1 + (d/0.05)² with d the straight distance, in √area, between x and where
    the same rule brings y. The meshes are prepared as those that the network was trained on.

    Parameters
    ----------
    checkpoint : str or Path
        A .safetensors file of `finsler train`; reading it needs torch (`finsler[learn]`).
    mesh_1, mesh_2 : TriMesh
    tune : int
        Steps that adapt a network that learned maps to this pair, without labels.

    Raises
    ------
    InputError
        The checkpoint cannot be read, or a mesh cannot be prepared; or another network is to be
        tuned.
    """
    from finsler.nn.training import load_model

    network, about = load_model(checkpoint)
    whole = repaired(mesh_1), repaired(mesh_2)
    if about.config.objective == "maps":
        there, back, agreement = _from_features(checkpoint, whole[0].mesh, whole[1].mesh, tune)
    elif tune:
        raise InputError("only a network that learned maps is tuned; leave tune at 0")
    else:
        first, second = (_probabilities(network, about, part.mesh) for part in whole)
        there, agreement = best_agreement(first, second)
        back, _ = best_agreement(second, first)
    unit = np.sqrt(surface_area(whole[0].mesh))
    round_trip = cycle_distances(whole[0].mesh, there, back) / unit
    trust = agreement / (1.0 + (round_trip / _ROUND_TRIP) ** 2)
    # Vertices that are left out are given any partner, and no trust.
    new = whole[0].vertex_map
    lost = new < 0
    return LearnedMap(
        whole[1].vertex_source[np.where(lost, 0, there[new])],
        np.where(lost, 0.0, trust[new]),
    )


def best_agreement(
    first: NDArray[np.float32], second: NDArray[np.float32]
) -> tuple[IntArray, NDArray[np.float32]]:
    """The row of `second` (n_2, c) with the largest product for each of `first` (n_1, c)."""
    rows = np.empty(len(first), dtype=np.int64)
    largest = np.empty(len(first), dtype=np.float32)
    block = max(1, _CELLS // len(second))
    for start in range(0, len(first), block):
        product = first[start : start + block] @ second.T
        rows[start : start + block] = product.argmax(axis=1)
        largest[start : start + block] = product.max(axis=1)
    return rows, largest


def _from_features(
    checkpoint: str | os.PathLike[str], mesh_1: TriMesh, mesh_2: TriMesh, tune: int
) -> tuple[IntArray, IntArray, NDArray[np.float32]]:
    """The maps of a network that learned maps, there and back, and cosines of features."""
    from finsler.nn.training.map_prediction import MapModel, choose_map, map_array, read_out

    model = MapModel.load(checkpoint)
    prepared = (prepare_shape(_unknown(mesh), model.about.prepare) for mesh in (mesh_1, mesh_2))
    one, other = (model.shape(shape) for shape in prepared)
    pair = model.tune(one, other, steps=tune)
    maps = read_out(*pair)
    best = maps[choose_map(maps)]
    there, back = map_array(best.map_12), map_array(best.map_21)
    first, second = (side.features.cpu().numpy() for side in pair)
    cosines = np.einsum("nc,nc->n", first, second[there])
    return there.astype(np.int64), back.astype(np.int64), np.maximum(cosines, 0.0)


def _unknown(mesh: TriMesh) -> Shape:
    """A mesh as a shape without ground truth."""
    n = mesh.n_vertices
    return Shape("mesh", mesh, np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.bool_))


def _probabilities(network: Any, about: Any, mesh: TriMesh) -> NDArray[np.float32]:
    """Of each class at each vertex of a mesh, (n, classes)."""
    from finsler.nn.training import Sample
    from finsler.nn.training.models import model_named

    prepared = prepare_shape(_unknown(mesh), about.prepare)
    sample = Sample.of(prepared, model_named(about.config.model).domain)
    logits = network.requires_grad_(False)(sample.features, sample.domain)
    axis = 0 if about.config.classes == "points" else 1
    return np.asarray(softmax(logits.numpy(), axis=axis))
