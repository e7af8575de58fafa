"""Shapes that the model in the box learns from: made here, described once, kept in a folder."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from finsler.analysis.spectrum import spectrum
from finsler.compute.batch import ensure_result
from finsler.compute.cluster import Workers, run
from finsler.data.collection import Shape
from finsler.data.partial import Partial, cut, holes
from finsler.data.sets.creature import make_creature
from finsler.data.sets.synthetic import REFERENCE, synthetic_collection
from finsler.descriptors.directed import (
    FUNCTIONS,
    DirectedDomain,
    border_inputs,
    intrinsic_inputs,
)
from finsler.descriptors.learned import two_histograms
from finsler.errors import ConvergenceError, InputError
from finsler.mesh.measures import surface_area
from finsler.mesh.trimesh import TriMesh
from finsler.mesh.unit import UnitSurface
from finsler.nn.maps.directed_net import DirectedTensors
from finsler.operator import lbo
from finsler.storage.hashing import content_key

SPECIES = ("person", "animal")
# Of the collections: poses of an individual, vertices of the reference, seed of everything.
_POSES, _VERTICES, _SEED = 2, 2500, 7
# Share of the shapes of which only a part is kept, and the range of its area.
_PARTS, _SHARES = 0.2, (0.4, 0.9)
# Changes whenever the arrays of a shape do.
_VERSION = 3
_DOMAIN = ("eigenvalues", "eigenvectors", "mass", "rows", "columns", "gradient", "strength")
_ARRAYS = ("inputs", "histograms", "points", "vertices", "share", *_DOMAIN)


@dataclass(frozen=True, eq=False)
class BoxShape:
    """One shape as the network sees it.

    Attributes
    ----------
    inputs : (n, c)
        Numbers of no histogram, those of histograms, and how near the border is.
    domain : DirectedTensors
    points : (p,)
        Vertex at each point of the reference, −1 where it is missing.
    vertices : (n, 3)
        In a unit in which the whole has area 1.
    part : bool
        Whether it is only a part.
    """

    inputs: Tensor
    domain: DirectedTensors
    points: Tensor
    vertices: Tensor
    part: bool


@dataclass(frozen=True, eq=False)
class HistogramAxes:
    """Mean of histograms, the directions in which they vary most, and how much they do."""

    middle: NDArray[np.float32]
    axes: NDArray[np.float32]
    scale: NDArray[np.float32]

    @classmethod
    def of(cls, rows: NDArray[np.float32], size: int) -> HistogramAxes:
        """The principal directions of some histograms (s, 704)."""
        middle = rows.mean(axis=0, dtype=np.float64)
        centred = rows - middle
        values, vectors = np.linalg.eigh(centred.T @ centred / len(rows))
        parts = middle, vectors[:, ::-1][:, :size], np.sqrt(values[::-1][:size])
        return cls(*(part.astype(np.float32) for part in parts))


def make_shapes(
    folder: Path,
    species: str,
    count: int,
    workers: Workers | None = None,
    *,
    parts: bool = False,
    progress: Callable[[str], None] = lambda name: None,
) -> list[Path]:
    """Make and describe so many shapes of a species, unless that was done; their files.

    A shape for which no pose is found is left out. With `parts` a part is kept of every shape.
    """
    names = synthetic_collection(species, **_collection(count)).train
    tasks = ((name, (folder / f"{name}.npz", species, count, name, parts)) for name in names)
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for done in run(_make_shape, tasks, workers):
        if not isinstance(done.error, ConvergenceError):
            done.required()
            made.append(folder / f"{done.name}.npz")
        progress(done.name)
    return made


def kept_shapes(folder: Path, species: str) -> list[Path]:
    """The files of all shapes of a species in a folder, by the numbers in their names."""
    return sorted(folder.glob(f"{species}_*.npz"), key=lambda path: (len(path.name), path.name))


def _collection(count: int) -> dict[str, int]:
    return {"train": count, "test": 0, "poses": _POSES, "vertices": _VERTICES, "seed": _SEED}


def _make_shape(path: Path, species: str, count: int, name: str, parts: bool) -> None:
    about = {"box shape": _VERSION, "name": name, **_collection(0)}
    if parts:
        about["parts"] = 1
    compute = functools.partial(_describe_shape, species, count, name, parts)
    ensure_result(path, content_key(about, ()), about, _ARRAYS, lambda: (compute(), []))


def _describe_shape(
    species: str, count: int, name: str, parts: bool
) -> dict[str, NDArray[np.generic]]:
    whole = synthetic_collection(species, **_collection(count)).load(name)
    # The parts of shapes of which there is a part already are others.
    rng = np.random.default_rng([_SEED, zlib.crc32(name.encode()), *([1] if parts else [])])
    shape, share = part_of(whole, rng, often=1.0 if parts else _PARTS)
    area = surface_area(shape.mesh) / share if share < 1.0 else None
    unit = UnitSurface.of(shape.mesh, area)
    pairs = spectrum(lbo(unit.mesh), min(FUNCTIONS, unit.mesh.n_vertices // 3))
    domain = DirectedDomain.of(unit.mesh, pairs)
    points = np.asarray(shape.points)
    return {
        "inputs": intrinsic_inputs(unit.mesh, pairs),
        "histograms": two_histograms(unit.mesh).astype(np.float16),
        "points": np.where(points >= 0, unit.vertex_map[points], -1),
        "vertices": unit.mesh.vertices.astype(np.float32),
        "share": np.array(share),
        **{part: getattr(domain, part) for part in _DOMAIN},
    }


def part_of(
    whole: Shape, rng: np.random.Generator, *, often: float = _PARTS
) -> tuple[Shape, float]:
    """A part of some shapes, of others the whole, and the share of the area that is left.

    As often as asked, by default one in five loses what a plane cuts off or several discs eat away.
    """
    chance, share, seed = rng.random(), rng.uniform(*_SHARES), int(rng.integers(2**31))
    if chance >= often:
        return whole, 1.0
    try:
        if chance < 0.5 * often:
            part = cut(whole.mesh, share=share, seed=seed)
        else:
            part = holes(whole.mesh, share=share, seed=seed, seeds=int(rng.integers(3, 16)))
    except InputError:
        # No plane or set of discs leaves such a share of this shape.
        return whole, 1.0
    return _kept(whole, part), part.share


def _kept(whole: Shape, part: Partial) -> Shape:
    """The part with labels and points of the whole; points that are gone are −1."""
    number = np.full(whole.mesh.n_vertices + 1, -1)
    number[part.vertex_map] = np.arange(len(part.vertex_map))
    labels, named = whole.labels[part.vertex_map], whole.named[part.vertex_map]
    points = number[np.asarray(whole.points)]
    return Shape(whole.name, part.mesh, labels, named, points, whole.family)


def sample_histograms(paths: list[Path], rows: int = 300) -> NDArray[np.float32]:
    """Some histograms of each shape, (len(paths) · rows, 704)."""
    rng, chosen = np.random.default_rng(0), []
    for path in paths:
        with np.load(path) as arrays:
            histograms = arrays["histograms"]
        chosen.append(histograms[rng.choice(len(histograms), rows)].astype(np.float32))
    return np.concatenate(chosen)


def load_shapes(paths: list[Path], axes: HistogramAxes, border: bool) -> Iterator[BoxShape]:
    """The shapes of files as tensors; `border` tells whether their inputs tell of borders."""
    for path in paths:
        with np.load(path) as arrays:
            domain = DirectedDomain(*(arrays[part] for part in _DOMAIN))
            read = (arrays["histograms"] - axes.middle) @ (axes.axes / axes.scale)
            inputs = [arrays["inputs"], read]
            if border:
                inputs.append(border_inputs(arrays["vertices"], domain))
            yield BoxShape(
                torch.from_numpy(np.hstack(inputs).astype(np.float32)),
                DirectedTensors.of(domain),
                torch.from_numpy(arrays["points"]),
                torch.from_numpy(arrays["vertices"]),
                bool(arrays["share"] < 1.0),
            )


def reference_points(species: str) -> Tensor:
    """The points that all shapes of a species list, on the template at rest, of area 1, (p, 3)."""
    reference = make_creature(species, vertices=_VERTICES, seed=[_SEED, REFERENCE, 0, 0])
    rest = TriMesh(reference.rest_points(), reference.mesh.faces)
    return torch.from_numpy((rest.vertices / np.sqrt(surface_area(rest))).astype(np.float32))
