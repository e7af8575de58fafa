"""SCAPE: one person in 71 poses, remeshed."""

from __future__ import annotations

import os

from finsler.data.collection import Collection
from finsler.data.sets.layout import ShapeFiles, full_set, present

_PATTERN = r"mesh\d{3}"
# The original set has no number 51.
_TRAIN = tuple(f"mesh{i:03d}" for i in range(51))
_TEST = tuple(f"mesh{i:03d}" for i in range(52, 72))
_SOURCE = (
    "the remeshed shapes of Ren et al. 2018, as used by Donati et al. 2020, are linked from"
    " github.com/llorz/SGA18_orientation_BCICP_dataset and github.com/LIX-shape-analysis/GeomFmaps"
    " (the scans are for research, see ai.stanford.edu/~drago/Projects/scape/scape.html); put"
    " mesh000.off to mesh071.off into SCAPE_r/off and mesh000.vts to mesh071.vts into"
    " SCAPE_r/corres, where 51 does not exist"
)
_ANISOTROPIC = (
    "the anisotropic remeshes of Donati et al. 2022 are linked from"
    " github.com/dongliangcao/Unsupervised-Learning-of-Robust-Spectral-Shape-Matching (the scans"
    " are for research); put their mesh052.off and so on into SCAPE_a/off and their .vts files into"
    " SCAPE_a/corres"
)


def scape_r(root: str | os.PathLike[str]) -> Collection:
    """The remeshed SCAPE shapes, about 5000 vertices each, every mesh different.

    mesh000 to mesh050 train (51), mesh052 to mesh071 test (20); the reference is mesh000. Labels
    come from the `.vts` files, see
    [`canonical_labels`][finsler.data.labels.canonical_labels].

    Parameters
    ----------
    root : path
        The folder with `off` and `corres`, or the one around it.

    Raises
    ------
    InputError
        A file is missing; the sentence says where to get the set.
    """
    return scape_r_files(root).collection()


def scape_a(root: str | os.PathLike[str]) -> Collection:
    """The SCAPE shapes remeshed anisotropically, in the layout of SCAPE_r; see `faust_a`.

    Parameters
    ----------
    root : path
        The folder with `off` and `corres`, or the one around it.

    Raises
    ------
    InputError
        A file is missing; the sentence says where to get the set.
    """
    return scape_a_files(root).collection()


def scape_r_files(root: str | os.PathLike[str]) -> ShapeFiles:
    """Files of SCAPE_r, complete or not."""
    inside = ("SCAPE_r", "SCAPE")
    return full_set(root, "SCAPE_r", _PATTERN, inside, _TRAIN, _TEST, source=_SOURCE)


def scape_a_files(root: str | os.PathLike[str]) -> ShapeFiles:
    """Files of SCAPE_a; a shape is one that has a mesh or a ground truth."""
    return present(
        full_set(root, "SCAPE_a", _PATTERN, ("SCAPE_a",), _TRAIN, _TEST, source=_ANISOTROPIC)
    )
