"""TOPKIDS (SHREC'16 Topology): a child whose limbs merge where they touch."""

from __future__ import annotations

import os
import re
from pathlib import Path

from finsler.data.collection import Collection
from finsler.data.sets.files import files_in, folders_in, mesh_files, missing
from finsler.data.sets.layout import ShapeFiles

_REFERENCE = "kid00"
_SOURCE = (
    "SHREC'16 Matching of Deformable Shapes with Topological Noise is offered for research at"
    " cvg.cit.tum.de/data/datasets/topkids; put kid00.off to kid25.off of the low resolution into"
    " TOPKIDS/off and kid01_ref.txt and so on, or kid01.vts and so on, into TOPKIDS/corres"
)


def topkids(root: str | os.PathLike[str]) -> Collection:
    """The children of TOPKIDS: all test, each matched to the reference `kid00`.

    Line i of `corres/kid01_ref.txt` (or `.vts`) is the vertex of kid00, from 1, of vertex i of
    kid01. Pairs are those of Cao et al. 2023: every other child to kid00.

    Parameters
    ----------
    root : path
        The folder with `off` and `corres`, or the one around it.

    Raises
    ------
    InputError
        A file is missing; the sentence says where to get the set.
    """
    return topkids_files(root).collection()


def topkids_files(root: str | os.PathLike[str]) -> ShapeFiles:
    """Files of TOPKIDS, complete or not."""
    for folder in folders_in(Path(root), ("TOPKIDS", "TopKids", "topkids")):
        meshes = mesh_files(folder, r"kid\d+")
        truths = {}
        for path in (*files_in(folder), *files_in(folder / "corres")):
            known = re.fullmatch(r"(kid\d+)(_ref)?", path.stem)
            if known and path.suffix in (".vts", ".txt"):
                truths[known[1]] = path
        if meshes and truths:
            test = tuple(sorted({*meshes, *truths} - {_REFERENCE}))
            return ShapeFiles(
                *("TOPKIDS", folder, _REFERENCE, (), (_REFERENCE, *test), meshes, truths, "vertex"),
                source=_SOURCE,
                pairs=tuple((name, _REFERENCE) for name in test),
            )
    raise missing(root, "TOPKIDS", _SOURCE)
