"""SMAL: four-legged animals of eight species, fitted to toys and photographs, remeshed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from finsler.data.collection import Collection
from finsler.data.sets.files import folders_in, listed_names, mesh_files, missing, truth_files
from finsler.data.sets.layout import ShapeFiles
from finsler.errors import InputError

# The 32 shapes that train in the split 32/17 of Donati et al. 2022, for folders without its lists.
_TRAIN = (
    *("00047093_ferrari", "00049424_ferrari", "00211799_ferrari"),
    *("450-122410176-lions-natural-habitat", "Davis_cow_00000", "Hippo_for_Nat"),
    *("NORTHERN-INUIT-DOG-3", "cougar", "cow_alph", "cow_alph4", "dog2", "dog_alph", "fox-05"),
    *("fox-06", "grazing", "hippo5", "hippo_alpha_mouthopen2", "hippo_walking", "lion3", "lion6"),
    *("muybridge_014_01", "muybridge_030_02", "muybridge_074_01", "muybridge_075_04"),
    *("muybridge_087_04", "muybridge_097_01", "muybridge_101_03", "muybridge_102_03"),
    *("muybridge_107_110_03", "muybridge_132_133_07", "timthumb", "wolf_alph2"),
)
_SOURCE = (
    "the remeshed animals of Donati et al. 2022 are linked from"
    " github.com/dongliangcao/Unsupervised-Learning-of-Robust-Spectral-Shape-Matching (SMAL is for"
    " research, see smal.is.tue.mpg.de); put the 49 meshes into SMAL_r/off, their .vts files into"
    " SMAL_r/corres, and train.txt, test.txt, train_cat.txt, test_cat.txt into SMAL_r"
)


def smal_r(root: str | os.PathLike[str], *, split: str = "shapes") -> Collection:
    """The remeshed SMAL animals, about 5000 vertices each, every mesh different.

    Two splits are in use. "shapes", 32/17, by Donati et al. 2022: species are in both parts; it is
    read from `train.txt` and `test.txt`, or, without these, 32 known names train and all others
    test. "categories", 29/20, by Cao et al. 2023 and most tables since: cows, dogs, foxes, lions
    and wolves train; cougars, hippos and horses test; read from `train_cat.txt` and `test_cat.txt`.
    Labels come from the `.vts` files, see
    [`canonical_labels`][finsler.data.labels.canonical_labels].

    Parameters
    ----------
    root : path
        The folder with `off` and `corres`, or the one around it.
    split : {"shapes", "categories"}

    Raises
    ------
    InputError
        A file is missing; the sentence says where to get the set.
    """
    return smal_r_files(root, split=split).collection()


def smal_r_files(root: str | os.PathLike[str], *, split: str = "shapes") -> ShapeFiles:
    """Files of SMAL_r, complete or not."""
    if split not in ("shapes", "categories"):
        raise InputError(f"split is {split!r}; it must be one of shapes, categories")
    ending = "_cat" if split == "categories" else ""
    for folder, meshes in _folders(Path(root)):
        train = listed_names(folder / f"train{ending}.txt")
        test = listed_names(folder / f"test{ending}.txt")
        if ending and not (train and test):
            raise InputError(
                f"{folder}: the split by categories needs train_cat.txt and test_cat.txt; {_SOURCE}"
            )
        if not train and not test:
            train = tuple(name for name in _TRAIN if name in meshes)
            test = tuple(sorted(set(meshes) - set(_TRAIN)))
        reference = (*train, *test)[0]
        truths = truth_files(folder, ".+")
        title = "SMAL_r" if split == "shapes" else "SMAL_r by categories"
        return ShapeFiles(
            title, folder, reference, train, test, meshes, truths, "canonical", source=_SOURCE
        )
    raise missing(root, "SMAL_r", _SOURCE)


def smal_r_category_files(root: str | os.PathLike[str]) -> ShapeFiles:
    """Files of SMAL_r, split by categories."""
    return smal_r_files(root, split="categories")


def _folders(root: Path) -> Iterator[tuple[Path, dict[str, Path]]]:
    """Folders that hold at least one of the known animals, with their meshes."""
    for folder in folders_in(root, ("SMAL_r", "SMAL")):
        meshes = mesh_files(folder, ".+")
        # TOSCA has shapes called dog2 and wolf2 too.
        if any(name in meshes for name in _TRAIN if "_" in name or "-" in name):
            yield folder, meshes
