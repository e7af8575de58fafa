"""`finsler match --pairs`: maps between many meshes; and what matching one pair needs."""

from __future__ import annotations

import csv
import functools
import hashlib
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finsler.cli.batch import (
    Meshes,
    Row,
    check_folder,
    check_operator,
    compute,
    ensured,
    finish,
    key_of,
    meshes_at,
)
from finsler.cli.options import operator_record
from finsler.operator import OperatorSpec

if TYPE_CHECKING:
    from finsler.compute.cluster import Workers
    from finsler.matching import Match
    from finsler.mesh import TriMesh
    from finsler.operator import Laplacian

# Meshes that are kept while their pairs are sent.
_KEPT = 8
_ARRAYS = (
    *("map_12", "map_21", "expected", "confidence", "cycle", "functional"),
    *("eigenvalues_1", "eigenvalues_2", "orientation"),
)
_MEASURES = ("distance_change", "torn_share")
_COLUMNS = (
    *("mesh_1", "mesh_2", "outcome", "seconds", "expected_error", "confidence", "orientation"),
    *("distance_change", "torn_share", "probably_wrong", "verdict"),
    *("attempts", "error", "warnings", "file"),
)


@dataclass(frozen=True)
class MatchChoice:
    """The matching that the options of `finsler match` ask for."""

    k: int
    partial: bool
    model: str | None
    refine: bool
    operator: OperatorSpec
    theta: float

    def config(self) -> dict[str, Any]:
        """The options that matter, for the record in a result."""
        return {
            "direction": "map_12 sends each vertex of mesh_1 to a vertex of mesh_2",
            "k": self.k,
            "partial": self.partial,
            "model": None if self.model is None else Path(self.model).name,
            "refine": self.refine,
            **operator_record(self.operator, self.theta),
        }

    def check(self) -> None:
        """Raise for options that no mesh can take, and for a network that cannot be read."""
        from finsler.errors import InputError
        from finsler.matching.surfaces import LEAST_SIZE

        if self.k < LEAST_SIZE:
            raise InputError(f"-k is {self.k}; it must be at least {LEAST_SIZE}")
        check_operator(self.operator, self.theta)
        if self.model is not None:
            from finsler.nn.training import load_model

            load_model(self.model)

    def matched(
        self,
        mesh_1: TriMesh,
        mesh_2: TriMesh,
        show: Callable[[str], None] = lambda stage: None,
    ) -> Match:
        """Match two meshes."""
        from finsler.matching import match

        def operator(mesh: TriMesh) -> Laplacian:
            return self.operator.laplacian(mesh, math.radians(self.theta))

        given = {} if self.model is None else self._learned(mesh_1, mesh_2, show)
        return match(
            mesh_1,
            mesh_2,
            k=self.k,
            operator=operator,
            partial=self.partial,
            progress=show,
            **given,
        )

    def _learned(
        self, mesh_1: TriMesh, mesh_2: TriMesh, show: Callable[[str], None]
    ) -> dict[str, Any]:
        """What a network found, as arguments of `match`."""
        from finsler.matching import learned_map

        assert self.model is not None
        show("network")
        learned = learned_map(Path(self.model), mesh_1, mesh_2)
        return {"initial": learned.map_12, "trust": learned.trust, "keep": not self.refine}


def arrays_of(match: Match) -> dict[str, Any]:
    """What is written of a match."""
    arrays = {name: getattr(match, name) for name in _ARRAYS}
    return arrays | {name: getattr(match.verdict, name) for name in _MEASURES}


def match_pairs(
    where: str,
    pairs: str,
    out: str,
    choice: MatchChoice,
    crew: Callable[[int], Workers],
    *,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Match pairs of meshes, each into a file of its own; what is there is not computed again."""
    from finsler.storage.files import lasting_location, shared_folder

    choice.check()
    lasting_location(out)
    meshes = meshes_at([where])
    chosen = named_pairs(wanted_pairs(pairs, meshes.names))
    check_folder(out, "pairs.csv", _COLUMNS, chosen, overwrite=overwrite)
    count = len(chosen)
    workers = crew(count)
    tasks = _tasks(meshes, chosen, shared_folder(out), choice)
    rows = compute(match_pair, tasks, workers, title="matching", total=count)
    table = {
        name: {"mesh_1": a, "mesh_2": b, "file": f"{name}.npz", **rows[name]}
        for name, (a, b) in chosen.items()
    }
    finish(out, "pairs.csv", _COLUMNS, table, as_json=as_json)


def wanted_pairs(pairs: str, names: tuple[str, ...]) -> list[tuple[str, str]]:
    """Every two of the names, or those that a file lists: two on each line.

    Raises
    ------
    InputError
        There is no pair, a line does not hold two names, or one is unknown.
    """
    from finsler.errors import InputError
    from finsler.storage.files import read_bytes

    if pairs == "all":
        chosen = list(itertools.combinations(names, 2))
    else:
        try:
            text = read_bytes(pairs).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InputError(f"{pairs}: this is no text with two names on each line") from error
        chosen = []
        known = set(names)
        for number, line in enumerate(text.splitlines(), start=1):
            if not line.strip():
                continue
            pair = _cells(line)
            if len(pair) != 2 or not known.issuperset(pair):
                raise InputError(
                    f"{pairs}: line {number} must hold the names of two meshes, such as"
                    f" {', '.join(names[:2])}; it is {line.strip()[:60]!r}"
                )
            chosen.append((pair[0], pair[1]))
    if not chosen:
        raise InputError("there is no pair to match; give at least two meshes")
    return chosen


def named_pairs(pairs: list[tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """Pairs by the name of their file, A__B; one that is given twice is there once.

    Raises
    ------
    InputError
        Two pairs would get the same name.
    """
    from finsler.errors import InputError

    named: dict[str, tuple[str, str]] = {}
    for pair in pairs:
        name = "__".join(pair)
        other = named.setdefault(name, pair)
        if other != pair:
            raise InputError(
                f"the pairs {' and '.join(other)}, {' and '.join(pair)} would both be called"
                f" {name!r}; rename a mesh, or match them into different folders"
            )
    return named


def _cells(line: str) -> list[str]:
    """What stands between commas, or between blanks; nothing where quotes or length forbid it."""
    try:
        cells = next(csv.reader([line])) if "," in line else line.split()
    except csv.Error:
        return []
    return [cell.strip() for cell in cells]


def _tasks(
    meshes: Meshes, pairs: dict[str, tuple[str, str]], target: str, choice: MatchChoice
) -> Iterator[tuple[str, tuple[Any, ...] | Exception]]:
    from finsler.errors import InputError

    load = functools.lru_cache(maxsize=_KEPT)(meshes.load)
    for name, (a, b) in pairs.items():
        try:
            yield name, (f"{target}/{name}.npz", (a, b), (load(a), load(b)), choice)
        except (InputError, OSError) as error:
            yield name, error


def match_pair(
    path: str, names: tuple[str, str], meshes: tuple[TriMesh, TriMesh], choice: MatchChoice
) -> Row:
    """Match one pair and write it, unless that was done before."""
    from finsler.matching import Verdict

    config = {"mesh_1": names[0], "mesh_2": names[1], **choice.config()}
    key = key_of(meshes, {**config, "network": _checksum(choice.model)})
    kept = (*_ARRAYS, *_MEASURES)
    arrays, how = ensured(path, key, config, kept, lambda: arrays_of(choice.matched(*meshes)))
    said = Verdict(*(float(arrays[name]) for name in (*_MEASURES, "orientation")))
    return {
        **how,
        "expected_error": float(arrays["expected"].mean()),
        "confidence": float(arrays["confidence"].mean()),
        **{name: getattr(said, name) for name in ("orientation", *_MEASURES, "probably_wrong")},
        "verdict": said.sentence,
    }


@functools.lru_cache(maxsize=1)
def _checksum(model: str | None) -> str | None:
    from finsler.storage.files import read_bytes

    return None if model is None else hashlib.sha256(read_bytes(model)).hexdigest()
