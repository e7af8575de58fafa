"""SHREC'19: people from many sources with different connectivity, remeshed; a list of pairs."""

from __future__ import annotations

import os
from pathlib import Path

from finsler.data.collection import Collection
from finsler.data.sets.files import files_in, folders_in, mesh_files, missing
from finsler.data.sets.layout import ShapeFiles

# A part of a body, which tables of whole shapes leave out.
_PARTIAL = "40"
_SOURCE = (
    "the remeshed shapes of SHREC'19 Matching Humans with Different Connectivity are linked from"
    " github.com/LIX-shape-analysis/GeomFmaps and"
    " github.com/dongliangcao/Unsupervised-Learning-of-Robust-Spectral-Shape-Matching (for"
    " research); put 1.off to 44.off into SHREC19_r/off and the 430 files A_B.map into"
    " SHREC19_r/corres"
)


def shrec19_r(root: str | os.PathLike[str]) -> Collection:
    """The remeshed people of SHREC'19: all test, and the pairs are those with a file.

    Line i of `corres/A_B.map` is the vertex of B, from 1, of vertex i of A: 430 files. Shape 40 is
    a part of a body and left out with its pairs, as by Donati et al. 2020 and all tables since;
    407 pairs are left. There is no common reference: labels are not ground truth.

    Parameters
    ----------
    root : path
        The folder with `off` and `corres`, or the one around it.

    Raises
    ------
    InputError
        A file is missing; the sentence says where to get the set.
    """
    return shrec19_r_files(root).collection()


def shrec19_r_files(root: str | os.PathLike[str]) -> ShapeFiles:
    """Files of SHREC'19_r, complete or not."""
    for folder in folders_in(Path(root), ("SHREC19_r", "SHREC_r", "SHREC19")):
        meshes = mesh_files(folder, r"\d+")
        bridges = {}
        for path in files_in(folder / "corres"):
            a, _, b = path.stem.partition("_")
            if path.suffix == ".map" and a.isdecimal() and b.isdecimal() and _PARTIAL not in (a, b):
                bridges[a, b] = path
        if meshes and bridges:
            names = {name for pair in bridges for name in pair}
            test = tuple(sorted(names, key=int))
            return ShapeFiles(
                *("SHREC'19_r", folder, test[0], (), test, meshes, {}, "pairs"),
                source=_SOURCE,
                families={name: name for name in test},
                bridges=bridges,
                pairs=tuple(sorted(bridges, key=lambda pair: (int(pair[0]), int(pair[1])))),
            )
    raise missing(root, "SHREC'19_r", _SOURCE)
