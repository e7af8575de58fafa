"""FAUST: a hundred human bodies, ten people in ten poses."""

from __future__ import annotations

import os

from finsler.data.collection import Collection
from finsler.data.sets.layout import ShapeFiles, full_set, present

_PATTERN = r"tr_reg_\d{3}"
_NAMES = tuple(f"tr_reg_{i:03d}" for i in range(100))
_LICENCE = "accept the FAUST licence for research at faust-leaderboard.is.tuebingen.mpg.de first"
_REMESHED = (
    "the remeshed shapes of Ren et al. 2018, as used by Donati et al. 2020, are linked from"
    " github.com/llorz/SGA18_orientation_BCICP_dataset and"
    f" github.com/LIX-shape-analysis/GeomFmaps ({_LICENCE}); put tr_reg_000.off to tr_reg_099.off"
    " into FAUST_r/off and tr_reg_000.vts to tr_reg_099.vts into FAUST_r/corres"
)
_ANISOTROPIC = (
    "the anisotropic remeshes of Donati et al. 2022 are linked from"
    " github.com/dongliangcao/Unsupervised-Learning-of-Robust-Spectral-Shape-Matching"
    f" ({_LICENCE}); put their tr_reg_080.off and so on into FAUST_a/off and their .vts files into"
    " FAUST_a/corres"
)
_ORIGINAL = (
    f"{_LICENCE}, then unpack MPI-FAUST.zip, so that tr_reg_000.ply to tr_reg_099.ply lie in"
    " MPI-FAUST/training/registrations"
)


def faust_r(root: str | os.PathLike[str]) -> Collection:
    """The remeshed FAUST shapes, about 5000 vertices each, every mesh different.

    tr_reg_000 to tr_reg_079 train, tr_reg_080 to tr_reg_099 test; the reference is tr_reg_000.
    Labels come from the `.vts` files, see
    [`canonical_labels`][finsler.data.labels.canonical_labels]: 69% of the vertices are named.

    Parameters
    ----------
    root : path
        The folder with `off` and `corres`, or the one around it.

    Raises
    ------
    InputError
        A file is missing; the sentence says where to get the set.
    """
    return faust_r_files(root).collection()


def faust_a(root: str | os.PathLike[str]) -> Collection:
    """The FAUST shapes remeshed anisotropically, as Donati et al. 2022 and Cao et al. 2023 do.

    Layout, names and `.vts` files are those of FAUST_r; the shapes that are there take their part,
    as some copies hold only the twenty that test. A few meshes have edges with three faces.

    Parameters
    ----------
    root : path
        The folder with `off` and `corres`, or the one around it.

    Raises
    ------
    InputError
        A file is missing; the sentence says where to get the set.
    """
    return faust_a_files(root).collection()


def faust_registrations(root: str | os.PathLike[str]) -> Collection:
    """The original FAUST registrations: 6890 vertices, numbered alike in all shapes.

    Labels are the identity, all named. Split and reference as in `faust_r`.

    Parameters
    ----------
    root : path
        The folder with `tr_reg_000.ply`, or MPI-FAUST, or the folder around it.

    Raises
    ------
    InputError
        A file is missing; the sentence says where to get the set.
    """
    return faust_registration_files(root).collection()


def faust_r_files(root: str | os.PathLike[str]) -> ShapeFiles:
    """Files of FAUST_r, complete or not."""
    inside = ("FAUST_r", "FAUST")
    return full_set(root, "FAUST_r", _PATTERN, inside, _NAMES[:80], _NAMES[80:], source=_REMESHED)


def faust_a_files(root: str | os.PathLike[str]) -> ShapeFiles:
    """Files of FAUST_a; a shape is one that has a mesh or a ground truth."""
    splits = _NAMES[:80], _NAMES[80:]
    return present(full_set(root, "FAUST_a", _PATTERN, ("FAUST_a",), *splits, source=_ANISOTROPIC))


def faust_registration_files(root: str | os.PathLike[str]) -> ShapeFiles:
    """Files of the FAUST registrations, complete or not."""
    inside = ("registrations", "training/registrations", "MPI-FAUST/training/registrations")
    splits = _NAMES[:80], _NAMES[80:]
    return full_set(
        root, "FAUST registrations", _PATTERN, inside, *splits, source=_ORIGINAL, truth="identity"
    )
