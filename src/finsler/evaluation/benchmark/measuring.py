"""Measure a method on the pairs of a collection: each pair into a file, and a summary of all."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import finsler
from finsler.compute.batch import Row, ensure_result
from finsler.data.collection import Collection, Shape
from finsler.data.variants import require_variant, vary
from finsler.errors import InputError
from finsler.evaluation.maps import score_map
from finsler.matching.pairs import Matcher
from finsler.mesh.arguments import checked_map
from finsler.mesh.health import collect_warnings
from finsler.mesh.trimesh import TriMesh
from finsler.storage.files import exists, read_bytes
from finsler.storage.hashing import bytes_key, content_key
from finsler.storage.npz import read_npz
from finsler.typing import IntArray

# Part of every key: raise it when what is stored changes, and old files are not found again.
_FORMAT = 2
# Shapes that are held while their pairs are sent.
_KEPT = 128
_SAID = ("probability", "doubtful")
_SCORED = ("coverage", "dirichlet", "bijectivity")
_MEASURES = ("seconds", *_SAID, *_SCORED)
_ARRAYS = ("map_12", "map_21", "along_edges", "fast_marching", *_MEASURES)
# The name of the shapes as they are, beside those of the variants.
PLAIN = "plain"

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class PairSample:
    """The pairs that are measured, and how many there would be.

    Attributes
    ----------
    pairs : tuple of (str, str)
        Ordered; a shape with itself only where published tables count it.
    all_pairs, own_pairs : int
        Pairs of two different shapes, and of a shape with itself, that a table over everything
        would hold.
    """

    pairs: Pairs
    all_pairs: int
    own_pairs: int

    @property
    def complete(self) -> bool:
        """Whether nothing is left out."""
        return len(self.pairs) == self.all_pairs + self.own_pairs

    def weights(self, measured: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """How many pairs each measured one stands for: one if all are measured, else more."""
        own = np.array([a == b for a, b in measured], dtype=bool)
        others = self.all_pairs / max(int((~own).sum()), 1)
        return np.where(own, self.own_pairs / max(int(own.sum()), 1), others)


def choose_sample(
    collection: Collection, names: Sequence[str], pairs: int | None = None, *, seed: int = 0
) -> PairSample:
    """All ordered pairs of some shapes, or so many of them at random.

    Of pairs of a shape with itself, which are easy, a sample holds their share, at least one.

    Parameters
    ----------
    collection : Collection
    names : sequence of str
        The shapes, e.g. `collection.test`.
    pairs : int, optional
        How many pairs of two different shapes; by default all.
    seed : int

    Raises
    ------
    InputError
        There is no pair, fewer than one is asked for, or two would get one name.
    """
    every = collection.pairs_of(tuple(names))
    own, others = [p for p in every if p[0] == p[1]], [p for p in every if p[0] != p[1]]
    if not others:
        raise InputError(
            f"{collection.name} has no pair among the {len(names)} shapes that are asked for; take"
            " others of its shapes, e.g. --shapes all"
        )
    if len({"__".join(pair) for pair in every}) < len(every):
        raise InputError(
            f"two pairs of {collection.name} would both be called A__B alike, as names of shapes"
            " hold two underscores in a row; rename the shapes"
        )
    if pairs is None:
        return PairSample(every, len(others), len(own))
    if pairs < 1:
        raise InputError(f"pairs is {pairs}; it must be at least 1")
    rng = np.random.default_rng(seed)
    some = sorted(rng.permutation(len(others))[:pairs])
    count = -(-len(own) * len(some) // len(others)) if own else 0
    few = sorted(rng.permutation(len(own))[:count])
    chosen = (*(others[i] for i in some), *(own[i] for i in few))
    return PairSample(chosen, len(others), len(own))


@dataclass(frozen=True)
class MapSource:
    """Where maps come from: a matcher, or a folder that holds them.

    Attributes
    ----------
    matcher : Matcher
        With a network: its map, refined or not.
    folder : str or None
        Holds A__B.npz with `map_12` (as `finsler match --pairs` writes), A__B.npy or A__B.txt, a
        vertex of B from 0 for each vertex of A.
    """

    matcher: Matcher = field(default_factory=Matcher)
    folder: str | None = None

    @property
    def label(self) -> str:
        """The method in a few words."""
        if self.folder is not None:
            return f"maps in {Path(self.folder).name}"
        if self.matcher.network is None:
            basis, model = self.matcher.operator.kind, self.matcher.model
            words = ["match", *([] if basis == "lbo" else [basis.upper()])]
            words += [] if model == "box" else [f"model {_model_name(model)}"]
            return ", ".join(words)
        network = _model_name(self.matcher.network)
        return f"match, model {network}" if self.matcher.refine else f"model {network}"

    def record(self) -> dict[str, Any]:
        """What the maps depend on, for keys and records."""
        if self.folder is not None:
            return {"method": self.label}
        path = self.matcher.network
        network = None if path is None else bytes_key(read_bytes(path))
        return {
            "method": self.label,
            **self.matcher.record(),
            "network": network,
            "code": _code_key(path is not None),
        }

    def stored(
        self, pair: tuple[str, str], sizes: tuple[int, int]
    ) -> tuple[IntArray, IntArray | None] | None:
        """The map of a pair from the folder, and the one back if it fits; None for a matcher.

        `sizes` are the numbers of vertices.

        Raises
        ------
        InputError
            The folder lacks the map, or it cannot be read.
        """
        if self.folder is None:
            return None
        there = _read_map(self.folder, pair)
        if there is None:
            raise InputError(
                f"{self.folder}: there is no map from {pair[0]} to {pair[1]}; write"
                f" {pair[0]}__{pair[1]}.npz with map_12, or .npy or .txt with a vertex, from 0, for"
                f" each of its {sizes[0]} vertices"
            )
        try:
            back = _read_map(self.folder, (pair[1], pair[0]))
            return there, None if back is None else checked_map(back, sizes[1], sizes[0])
        except InputError:
            # The way back fails as a pair of its own.
            return there, None


@functools.cache
def _model_name(path: str | os.PathLike[str]) -> str:
    """That of a file, or of the run that left it: runs/first/last.safetensors is "first"."""
    where = Path(path)
    return (
        where.parent.name or where.stem if where.stem in ("model", "last", "best") else where.stem
    )


def _code_key(network: bool) -> str:
    """A hash of the code that matches: results of another version of it are not kept."""
    root = Path(finsler.__file__).parent
    folders = ("matching", "descriptors", *(["nn"] if network else []))
    paths = [path for name in folders for path in sorted((root / name).rglob("*.py"))]
    paths += sorted((root / "descriptors").glob("*.npz"))
    return bytes_key(b"".join(path.read_bytes() for path in paths))[:16]


def _read_map(folder: str, pair: tuple[str, str]) -> IntArray | None:
    base = f"{folder}/{pair[0]}__{pair[1]}"
    if exists(f"{base}.npz"):
        return read_npz(f"{base}.npz", ("map_12",))["map_12"]
    try:
        if exists(f"{base}.npy"):
            return np.asarray(np.load(f"{base}.npy", allow_pickle=False))
        if exists(f"{base}.txt"):
            return np.array([int(word) for word in read_bytes(f"{base}.txt").split()])
    except (ValueError, OSError, EOFError) as error:
        raise InputError(f"{base}: this is no vector of whole numbers ({error})") from error
    return None


@dataclass(frozen=True)
class Trial:
    """One collection, variant and sample, with the folder of its results."""

    collection: Collection
    sample: PairSample
    folder: str
    variant: str = PLAIN
    seed: int = 0

    def __post_init__(self) -> None:
        if self.variant != PLAIN:
            require_variant(self.variant)

    @functools.cached_property
    def shape(self) -> Any:
        """Name and whether it is the second of its pair, to the shape, changed by the variant."""
        return functools.lru_cache(maxsize=_KEPT)(self._shape)

    def _shape(self, name: str, second: bool) -> Shape:
        shape = self.collection[name]
        if self.variant == PLAIN or (require_variant(self.variant).second_only and not second):
            return shape
        return vary(shape, self.variant, seed=self.seed)

    def shape_tasks(self, source: MapSource) -> Iterator[tuple[str, tuple[Any, ...] | Exception]]:
        """Tasks that describe each shape once; none where nothing is shared between pairs."""
        if source.folder is not None or source.matcher.network is not None:
            return
        one_sided = self.variant != PLAIN and require_variant(self.variant).second_only
        sides = {(pair[k], k == 1 and one_sided) for pair in self.sample.pairs for k in (0, 1)}
        for name, second in sorted(sides):
            path = f"{self.folder}/shapes/{name}{'_2' * second}.npz"
            try:
                mesh = self.shape(name, second).mesh
                yield f"{name}{'_2' * second}", (path, mesh, source.matcher)
            except (InputError, OSError) as error:
                yield name, error

    def pair_tasks(self, source: MapSource) -> Iterator[tuple[str, tuple[Any, ...] | Exception]]:
        """Tasks that match and measure each pair; what cannot be read fails its own pairs."""
        for pair in self.sample.pairs:
            name = "__".join(pair)
            try:
                first, second = self.shape(pair[0], False), self.shape(pair[1], True)
                truth = self.collection.truth(first, second)
                maps = source.stored(pair, (first.mesh.n_vertices, second.mesh.n_vertices))
                path = f"{self.folder}/{name}.npz"
                yield name, (path, pair, (first.mesh, second.mesh), truth, source, maps)
            except (InputError, OSError) as error:
                yield name, error


def describe_shape(path: str, mesh: TriMesh, matcher: Matcher) -> Row:
    """Describe a mesh into the cache of the matcher; how long it took is kept in a file."""
    config = {"format": _FORMAT, **matcher.record(), "code": _code_key(False)}
    key = content_key(config, (mesh.vertices, mesh.faces))

    def compute() -> tuple[dict[str, Any], list[str]]:
        start = time.perf_counter()
        _, notes = collect_warnings(matcher.describe, mesh)
        return {"seconds": np.array(time.perf_counter() - start)}, notes

    arrays, row = ensure_result(path, key, config, ("seconds",), compute)
    return {**row, "seconds": float(arrays["seconds"])}


def measure_pair(
    path: str | os.PathLike[str],
    names: tuple[str, str],
    meshes: tuple[TriMesh, TriMesh],
    truth: IntArray,
    source: MapSource,
    maps: tuple[IntArray, IntArray | None] | None = None,
) -> Row:
    """Match a pair, measure the map and write both, unless that was done before.

    A row of the table, with the errors of all points under `along_edges` and `fast_marching`.
    """
    config = {"shape_1": names[0], "shape_2": names[1], "format": _FORMAT, **source.record()}
    parts = [array for mesh in meshes for array in (mesh.vertices, mesh.faces)]
    given = [each for each in maps or () if each is not None]
    key = content_key(config, (*parts, truth, *given))

    def compute() -> tuple[dict[str, Any], list[str]]:
        start = time.perf_counter()
        if maps is None:
            match, notes = collect_warnings(source.matcher.match, *meshes)
            there, back = match.map_12, match.map_21
            said = {name: np.array(float(getattr(match.verdict, name))) for name in _SAID}
        else:
            (there, back), notes, said = maps, [], dict.fromkeys(_SAID, np.array(np.nan))
        seconds = time.perf_counter() - start
        score = score_map(*meshes, truth, there, back)
        measures = {name: getattr(score, name) for name in _SCORED}
        errors = {name: getattr(score, name).astype(np.float32) for name in _ARRAYS[2:4]}
        kept = {"map_12": there, "map_21": np.empty(0, np.int64) if back is None else back}
        whole = {name: np.asarray(array).astype(np.int32) for name, array in kept.items()}
        figures = {"seconds": np.array(seconds), **said, **measures}
        return {**whole, **errors, **figures}, [*notes, *score.notes]

    arrays, row = ensure_result(path, key, config, _ARRAYS, compute)
    figures = {name: float(arrays[name]) for name in _MEASURES}
    return {**row, **figures, **{name: arrays[name] for name in _ARRAYS[2:4]}}


def pair_rows(trial: Trial, rows: Mapping[str, Row]) -> list[Row]:
    """The rows of a trial in the order of its pairs, with names, means and files for the table."""
    table = []
    for a, b in trial.sample.pairs:
        row = rows[f"{a}__{b}"]
        ok = row["outcome"] != "failed"
        means = {
            "error_edges": float(row["along_edges"].mean()) if ok else None,
            "error_strict": float(row["fast_marching"].mean()) if ok else None,
        }
        about = {"variant": trial.variant, "shape_1": a, "shape_2": b, "name": f"{a}__{b}"}
        table.append({**about, **means, "file": f"{trial.variant}/{a}__{b}.npz", **row})
    return table
