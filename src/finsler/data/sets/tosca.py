"""TOSCA: animals and people in many poses, remeshed; one collection a category."""

from __future__ import annotations

import os
from dataclasses import replace

from finsler.data.collection import Collection
from finsler.data.sets.layout import ShapeFiles, full_set, number_of
from finsler.errors import InputError

TOSCA_CATEGORIES = ("cat", "centaur", "david", "dog", "horse", "michael", "victoria", "wolf")
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
    inside = ("TOSCA_r", "TOSCA_Isometric", "TOSCA")
    whole = full_set(
        root, f"{category} of TOSCA_r", rf"{category}\d+", inside, (reference,), (), source=_SOURCE
    )
    names = tuple(sorted({*whole.meshes, *whole.truths, reference}, key=number_of))
    n_test = -(-len(names) // 5)
    return replace(whole, name=f"TOSCA_r {category}", train=names[:-n_test], test=names[-n_test:])


def require_category(category: str) -> None:
    """Raise where there is no such category."""
    if category not in TOSCA_CATEGORIES:
        raise InputError(
            f"category is {category!r}; it must be one of {', '.join(TOSCA_CATEGORIES)}"
        )
