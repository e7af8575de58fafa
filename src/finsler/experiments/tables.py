"""The tables that can be reproduced: their collections, labels and published figures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from finsler.data import TOSCA_CATEGORIES, Collection, open_collection, partial_collection
from finsler.errors import InputError
from finsler.experiments.methods import read_tables

TABLES = ("faust", "scape", "cuts", "holes", "custom")
# By table and method: exact matches and matches within 0.01, in per cent.
PUBLISHED: dict[str, dict[str, tuple[float, float]]] = read_tables()["published"]

_SETS = {"faust": "FAUST_r", "scape": "SCAPE_r"}
_PARTIAL = ("cuts", "holes")
# With two parts of each shape of TOSCA_r there are about as many as in SHREC'16.
_PARTS_OF_A_SHAPE = 2
_MADE = "Made from TOSCA_r with the rules of this package: not the official SHREC'16 set."
_VTS_RULE = (
    "A vertex that a .vts file names takes the reference's vertex for its canonical point; every"
    " other vertex takes the label of the nearest named one along edges, and is no ground truth."
)
_OTHER_RULE = "Labels, and which of them are ground truth, are those that the collection gives."


def open_parts(table: str, where: str) -> dict[str, Collection]:
    """The collections of a table, each with networks of its own: one called "", or categories.

    Parameters
    ----------
    table : str
        One of `TABLES`.
    where : str
        As for `open_collection`; for cuts and holes tosca_r:PATH (partial shapes are made),
        shrec16:PATH, or a folder with one packed file for each category.

    Raises
    ------
    InputError
        There is no such table, the collection does not fit it, or it has no shapes to test.
    """
    if table not in TABLES:
        raise InputError(f"there is no table {table!r}; it must be one of {', '.join(TABLES)}")
    parts = _categories(table, where) if table in _PARTIAL else {"": open_collection(where)}
    for collection in parts.values():
        wanted = _SETS.get(table, "")
        if not collection.name.startswith(wanted):
            raise InputError(
                f"the table {table} is about {wanted}, but {where} is {collection.name}; use the"
                " table custom"
            )
        if not collection.train or not collection.test:
            raise InputError(f"{collection.name} has no shapes to train on, or none to test")
    return parts


def _categories(kind: str, where: str) -> dict[str, Collection]:
    loader, _, rest = where.partition(":")
    path, _, last = rest.rpartition(":")
    one = last in TOSCA_CATEGORIES and path != ""
    folder, categories = (path, (last,)) if one else (rest, TOSCA_CATEGORIES)
    if loader == "shrec16":
        return {c: open_collection(f"shrec16:{folder}:{kind}:{c}") for c in categories}
    if loader == "tosca_r":
        full = {c: open_collection(f"tosca_r:{folder}:{c}") for c in categories}
        return {category: _as_partial(kind, shapes) for category, shapes in full.items()}
    packs = sorted(Path(where).glob("*.npz"))
    if not packs:
        raise InputError(
            f"{where}: the table {kind} takes tosca_r:PATH, shrec16:PATH, or a folder with one"
            " packed file (.npz) for each category"
        )
    return {path.stem: _as_partial(kind, open_collection(f"pack:{path}")) for path in packs}


def _as_partial(kind: str, shapes: Collection) -> Collection:
    """The collection itself where its shapes are partial already."""
    if shapes.names and all(name.startswith(kind) for name in shapes.names):
        return shapes
    return partial_collection(shapes, kind, per_shape=_PARTS_OF_A_SHAPE)


def label_rule(table: str, parts: Mapping[str, Collection]) -> str:
    """How labels came about, and partial shapes where they were made, in one or two sentences."""
    official = any(shapes.name.startswith("SHREC'16") for shapes in parts.values())
    if table == "custom" or official:
        return _OTHER_RULE
    return f"{_MADE} {_VTS_RULE}" if table in _PARTIAL else _VTS_RULE
