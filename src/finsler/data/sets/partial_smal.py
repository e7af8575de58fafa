"""PartialSMAL: parts of two animals each, which overlap only in part."""

from __future__ import annotations

import os
import re
from pathlib import Path

from finsler.data.collection import Collection
from finsler.data.sets.files import files_in, folders_in, mesh_files, missing
from finsler.data.sets.layout import ShapeFiles

_SHAPE = r"(?:cuts|holes)_\d+_[a-z]+_\d+"
_SOURCE = (
    "PARTIALSMAL of Ehm et al. 2024 is part of github.com/vikiehm/gc-ppsm (SMAL is for research,"
    " see smal.is.tue.mpg.de); keep its folders train and test, each with shapes/*.off and"
    " maps/*.vts"
)


def partial_smal(root: str | os.PathLike[str]) -> Collection:
    """Parts of animals, matched in the pairs that have a file `maps/A_B.vts`.

    Line i is the vertex of B, from 0, of vertex i of A, or -1 where B lacks it: other than in all
    other sets, these `.vts` files count from 0. The shapes of the folders `train` (cows, dogs,
    foxes, lions, wolves) and `test` (cougars, hippos, horses) train and test; parts that no pair
    names are left out. There is no common reference: labels are not ground truth.

    Parameters
    ----------
    root : path
        The folder with `train` and `test`, or the one around it.

    Raises
    ------
    InputError
        A file is missing; the sentence says where to get the set.
    """
    return partial_smal_files(root).collection()


def partial_smal_files(root: str | os.PathLike[str]) -> ShapeFiles:
    """Files of PartialSMAL, complete or not."""
    for folder in folders_in(Path(root), ("PARTIALSMAL", "PartialSMAL")):
        meshes: dict[str, Path] = {}
        bridges: dict[tuple[str, str], Path] = {}
        splits = []
        for part in ("train", "test"):
            here = mesh_files(folder / part, _SHAPE)
            paths = {
                (known[1], known[2]): path
                for path in files_in(folder / part / "maps")
                if (known := re.fullmatch(rf"({_SHAPE})_({_SHAPE})", path.stem))
            }
            splits.append(tuple(sorted({name for pair in paths for name in pair})))
            meshes, bridges = {**meshes, **here}, {**bridges, **paths}
        names = (*splits[0], *splits[1])
        if meshes and bridges:
            return ShapeFiles(
                "PartialSMAL",
                folder,
                names[0],
                splits[0],
                splits[1],
                meshes,
                {},
                "pairs",
                source=_SOURCE,
                families={name: name for name in names},
                bridges=bridges,
                base=0,
                pairs=tuple(sorted(bridges)),
            )
    raise missing(root, "PartialSMAL", _SOURCE)
