"""Maps between many meshes: which pairs there are, and each into a file of its own."""

from __future__ import annotations

import csv
import functools
import itertools
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from finsler.compute.batch import Row, ensure_result
from finsler.data.meshes import Meshes
from finsler.descriptors.learned import feature_models
from finsler.errors import InputError
from finsler.matching.descriptions import describe
from finsler.matching.match import Match, match
from finsler.matching.surfaces import LEAST_SIZE, DescribedSurface, describing_on
from finsler.matching.verdict import Verdict
from finsler.mesh import primitives
from finsler.mesh.arguments import takes_meshes
from finsler.mesh.health import collect_warnings
from finsler.mesh.trimesh import TriMesh
from finsler.operator import Laplacian
from finsler.spec import OperatorSpec
from finsler.storage.files import read_bytes
from finsler.storage.hashing import bytes_key, content_key
from finsler.typing import IntArray

# Meshes that are kept while their pairs are sent.
_KEPT = 8
_ARRAYS = (
    *("map_12", "map_21", "expected", "confidence", "cycle", "functional"),
    *("eigenvalues_1", "eigenvalues_2", "orientation"),
)
_MEASURES = ("distance_change", "torn_share", "features", "elsewhere", "rivals")
# What a file says of one map.
MATCH_ARRAYS = (*_ARRAYS, *_MEASURES, "probability")
COLUMNS = (
    *("mesh_1", "mesh_2", "outcome", "seconds", "expected_error", "confidence", "orientation"),
    *("distance_change", "torn_share", "features", "elsewhere"),
    *("probability", "doubtful", "verdict"),
    *("attempts", "error", "warnings", "file"),
)


@dataclass(frozen=True)
class Matcher:
    """How pairs are matched, the same for all of them.

    Attributes
    ----------
    k : int
        Functions in the largest basis.
    partial : bool
        The first mesh is a part of the second, in the same unit of length.
    model : str
        Whose features propose maps: "box", "none", or a file that `make model` has built.
    network : str or None
        Checkpoint of a trained network that finds the first map, in place of all proposals.
    refine : bool
        Refine the map of the network, or keep it.
    operator : OperatorSpec
    theta : float
        Angle of the operator, in radians.
    cache : str or None
        Folder in which descriptions of meshes are kept; it has no effect on results.
    device : str
        Where meshes are described; results are equal up to rounding.
    """

    k: int = 200
    partial: bool = False
    model: str = "box"
    network: str | None = None
    refine: bool = True
    operator: OperatorSpec = field(default_factory=lambda: OperatorSpec("lbo"))
    theta: float = 0.0
    cache: str | None = None
    device: str = "cpu"

    def record(self) -> dict[str, Any]:
        """The options that have an effect, for the record in a result."""
        spec = self.operator.record()
        unused = ("kind", "angles", "normalization")
        turned = {} if spec["kind"] == "lbo" else {"theta_degrees": math.degrees(self.theta)}
        return {
            "direction": "map_12 sends each vertex of mesh_1 to a vertex of mesh_2",
            "k": self.k,
            "partial": self.partial,
            "model": self.model if self.network is None else Path(self.network).name,
            "refine": self.refine,
            "operator": spec["kind"],
            **turned,
            **{name: value for name, value in spec.items() if name not in unused},
        }

    def check(self) -> None:
        """Raise for options that no mesh can take, and for a network that cannot be read."""
        if self.k < LEAST_SIZE:
            raise InputError(f"-k is {self.k}; it must be at least {LEAST_SIZE}")
        self.operator.metric(primitives.sphere(1), self.theta)
        describing_on(self.device)
        if self.network is not None:
            from finsler.nn.training import load_model

            load_model(self.network)
        else:
            feature_models(self.model)

    @takes_meshes
    def describe(self, mesh: TriMesh) -> DescribedSurface:
        """Describe a mesh that is matched often."""
        return describe(
            mesh,
            k=self.k,
            operator=self._laplacian,
            model=self.model,
            cache=self.cache,
            device=self.device,
        )

    def _laplacian(self, mesh: TriMesh) -> Laplacian:
        return self.operator.laplacian(mesh, self.theta)

    @takes_meshes
    def match(
        self,
        mesh_1: TriMesh | DescribedSurface,
        mesh_2: TriMesh | DescribedSurface,
        *,
        landmarks: IntArray | None = None,
        alternatives: int = 0,
        progress: Callable[[str], None] = lambda stage: None,
    ) -> Match:
        """Match two meshes, or without a network surfaces that `describe` has described.

        `landmarks`, `alternatives` and `progress` are those of [`match`][finsler.match].
        """
        start: dict[str, Any] = {}
        if self.network is not None:
            from finsler.matching.learned import learned_map

            if isinstance(mesh_1, DescribedSurface) or isinstance(mesh_2, DescribedSurface):
                raise InputError("a network takes meshes, not described surfaces; give the meshes")
            progress("network")
            learned = learned_map(Path(self.network), mesh_1, mesh_2)
            start = {"initial": learned.map_12, "trust": learned.trust, "keep": not self.refine}
        return match(
            mesh_1,
            mesh_2,
            k=self.k,
            operator=self._laplacian,
            model=self.model,
            landmarks=landmarks,
            alternatives=alternatives,
            partial=self.partial,
            cache=self.cache,
            device=self.device,
            progress=progress,
            **start,
        )


def match_arrays(match: Match) -> dict[str, Any]:
    """What is written of a match; of its alternatives the maps, a row each, and probabilities."""
    arrays = {name: getattr(match, name) for name in _ARRAYS}
    arrays |= {name: getattr(match.verdict, name) for name in (*_MEASURES, "probability")}
    if match.alternatives:
        arrays |= {
            f"alternatives_{way}": np.stack([getattr(m, f"map_{way}") for m in match.alternatives])
            for way in ("12", "21")
        }
        chances = [other.verdict.probability for other in match.alternatives]
        arrays["alternatives_probability"] = np.array(chances)
    return arrays


def match_to_file(
    path: str | os.PathLike[str],
    names: tuple[str, str],
    meshes: tuple[TriMesh, TriMesh],
    matcher: Matcher,
) -> Row:
    """Match a pair and write it, unless that was done before; a row of the table of a batch."""
    config = {"mesh_1": names[0], "mesh_2": names[1], **matcher.record()}
    key = content_key(
        {**config, "network": _checksum(matcher.network), "features": _model_key(matcher.model)},
        (array for mesh in meshes for array in (mesh.vertices, mesh.faces)),
    )
    arrays, row = ensure_result(
        path,
        key,
        config,
        (*_ARRAYS, *_MEASURES),
        lambda: collect_warnings(lambda: match_arrays(matcher.match(*meshes))),
    )
    measures = ("orientation", *_MEASURES)
    verdict = Verdict(**{name: float(arrays[name]) for name in measures})
    return {
        **row,
        "expected_error": float(arrays["expected"].mean()),
        "confidence": float(arrays["confidence"].mean()),
        **{name: getattr(verdict, name) for name in (*measures, "probability", "doubtful")},
        "verdict": verdict.sentence,
    }


@functools.lru_cache(maxsize=1)
def _checksum(network: str | None) -> str | None:
    return None if network is None else bytes_key(read_bytes(network))


@functools.lru_cache(maxsize=1)
def _model_key(model: str) -> str:
    found = feature_models(model)
    return "none" if found is None else found.key


def split_model(given: str) -> dict[str, Any]:
    """The fields `model` and `network` of a `Matcher` for what a user calls a model.

    Examples
    --------
    >>> split_model("box")
    {'model': 'box', 'network': None}
    >>> split_model("/runs/last.safetensors")
    {'model': 'none', 'network': '/runs/last.safetensors'}
    """
    if given in ("box", "none"):
        return {"model": given, "network": None}
    path = str(Path(given).absolute())
    if given.endswith(".npz"):
        return {"model": path, "network": None}
    return {"model": "none", "network": path}


def choose_pairs(pairs: str, names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Pairs of meshes by the name of their file, A__B; one that is given twice is there once.

    Parameters
    ----------
    pairs : str
        "all" for every two of the names, or a file that lists pairs, two names on each line.
    names : sequence of str

    Raises
    ------
    InputError
        There is no pair, a line does not hold two names, one is unknown, or two pairs would get
        the same name.

    Examples
    --------
    >>> choose_pairs("all", ("cat", "dog"))
    {'cat__dog': ('cat', 'dog')}
    """
    wanted = list(itertools.combinations(names, 2)) if pairs == "all" else _listed(pairs, names)
    if not wanted:
        raise InputError("there is no pair to match; give at least two meshes")
    by_name: dict[str, tuple[str, str]] = {}
    for pair in wanted:
        name = "__".join(pair)
        other = by_name.setdefault(name, pair)
        if other != pair:
            raise InputError(
                f"the pairs {' and '.join(other)}, {' and '.join(pair)} would both be called"
                f" {name!r}; rename a mesh, or match them into different folders"
            )
    return by_name


def _listed(path: str, names: Sequence[str]) -> list[tuple[str, str]]:
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: this is no text with two names on each line") from error
    wanted, known = [], set(names)
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        pair = _cells(line)
        if len(pair) != 2 or not known.issuperset(pair):
            raise InputError(
                f"{path}: line {number} must hold the names of two meshes, such as"
                f" {', '.join(names[:2])}; it is {line.strip()[:60]!r}"
            )
        wanted.append((pair[0], pair[1]))
    return wanted


def _cells(line: str) -> list[str]:
    """What stands between commas, or between blanks; nothing where quotes or length forbid it."""
    try:
        cells = next(csv.reader([line])) if "," in line else line.split()
    except csv.Error:
        return []
    return [cell.strip() for cell in cells]


def pair_tasks(
    meshes: Meshes, pairs: Mapping[str, tuple[str, str]], folder: str, matcher: Matcher
) -> Iterator[tuple[str, tuple[Any, ...] | Exception]]:
    """Tasks for `match_to_file`, each into A__B.npz; a mesh that cannot be read fails its pairs."""
    load = functools.lru_cache(maxsize=_KEPT)(meshes.load)
    for name, (a, b) in pairs.items():
        try:
            yield name, (f"{folder}/{name}.npz", (a, b), (load(a), load(b)), matcher)
        except (InputError, OSError) as error:
            yield name, error
