"""Sets of several families, such as characters or species, each with points of its own."""

from __future__ import annotations

from collections.abc import Collection as Names
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from finsler.data.sets.layout import ShapeFiles


def pairs_within(
    files: ShapeFiles,
    name: str,
    *,
    bridges: Mapping[tuple[str, str], Path] | None = None,
    only: Names[str] | None = None,
) -> ShapeFiles:
    """A set whose pairs stay within a family, self-pairs included, or go along bridges.

    `only` names the families that are kept; by default all are.
    """
    family = files.families

    def kept(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(each for each in names if only is None or family[each] in only)

    train, test = kept(files.train), kept(files.test)
    names = (*train, *test)
    ends = {(f, f) for f in family.values()} if bridges is None else set(bridges)
    pairs = tuple((a, b) for a in names for b in names if (family[a], family[b]) in ends)
    return replace(
        files,
        name=name,
        train=train,
        test=test,
        reference=names[0] if names else files.reference,
        bridges=bridges or {},
        pairs=pairs,
    )


def whole_family(files: ShapeFiles, family: str, name: str) -> ShapeFiles:
    """The shapes of one family."""
    train, test = (
        tuple(each for each in names if files.families[each] == family)
        for names in (files.train, files.test)
    )
    return replace(files, name=name, train=train, test=test, reference=(*train, *test)[0])
