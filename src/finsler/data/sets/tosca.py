"""TOSCA: animals and people in many poses, remeshed; one collection a category."""

from __future__ import annotations

import os
from dataclasses import replace

from finsler.data.collection import Collection
from finsler.data.sets.families import pairs_within
from finsler.data.sets.files import number_of
from finsler.data.sets.layout import ShapeFiles, full_set
from finsler.errors import InputError

TOSCA_CATEGORIES = ("cat", "centaur", "david", "dog", "horse", "michael", "victoria", "wolf")
_INSIDE = ("TOSCA_r", "TOSCA_Isometric", "TOSCA")
_SOURCE = (
    "the remeshed shapes of Ren et al. 2018 are linked from"
    " github.com/llorz/SGA18_orientation_BCICP_dataset, TOSCA_Isometric (TOSCA is for research,"
    " see tosca.cs.technion.ac.il); put cat0.off and so on into TOSCA_r/off and cat0.vts and so on"
    " into TOSCA_r/corres"
)


def tosca_r(root: str | os.PathLike[str], category: str) -> Collection:
    """One category of the remeshed TOSCA shapes, about 5000 vertices each, every mesh different.

    The shapes are ordered by their number; the last fifth of them, rounded up, tests, and the
    others train. The reference is number 0. Labels come from the `.vts` files, see
    [`canonical_labels`][finsler.data.labels.canonical_labels].

    Parameters
    ----------
    root : path
        The folder with `off` and `corres`, or the one around it.
    category : {"cat", "centaur", "david", "dog", "horse", "michael", "victoria", "wolf"}

    Raises
    ------
    InputError
        Another category, or a file is missing; the sentence says where to get the set.
    """
    return tosca_r_files(root, category).collection()


def tosca_r_files(root: str | os.PathLike[str], category: str) -> ShapeFiles:
    """Files of a category of TOSCA_r; a shape is one that has a mesh or a ground truth."""
    require_category(category)
    reference = f"{category}0"
    whole = full_set(
        root, f"{category} of TOSCA_r", rf"{category}\d+", _INSIDE, (reference,), (), source=_SOURCE
    )
    names = tuple(sorted({*whole.meshes, *whole.truths, reference}, key=number_of))
    n_test = -(-len(names) // 5)
    return replace(whole, name=f"TOSCA_r {category}", train=names[:-n_test], test=names[-n_test:])


def tosca_r_within_files(root: str | os.PathLike[str]) -> ShapeFiles:
    """All categories of TOSCA_r in one set that is matched within categories, every shape a test.

    Only shapes of the reference's category have labels.
    """
    pattern = rf"({'|'.join(TOSCA_CATEGORIES)})\d+"
    whole = full_set(root, "TOSCA_r", pattern, _INSIDE, ("cat0",), (), source=_SOURCE)
    family = {name: name.rstrip("0123456789") for name in whole.meshes}
    names = tuple(sorted(family, key=lambda name: (family[name], number_of(name))))
    everything = replace(whole, train=(), test=names, families=family)
    return pairs_within(everything, "TOSCA_r within categories")


def require_category(category: str) -> None:
    """Raise where there is no such category."""
    if category not in TOSCA_CATEGORIES:
        raise InputError(
            f"category is {category!r}; it must be one of {', '.join(TOSCA_CATEGORIES)}"
        )
