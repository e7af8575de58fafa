"""Matching from within the page, with the pairs that a visitor has clicked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from finsler.matching.match import match
from finsler.matching.offers import OfferedMap
from finsler.matching.pairs import match_arrays
from finsler.view.web.functions import MeshFunctions
from finsler.view.web.landmarks import Pair


def match_again(
    surfaces: Sequence[MeshFunctions], pairs: Sequence[Pair], progress: Callable[[str], None]
) -> OfferedMap:
    """Match two meshes with landmarks, or without where there are none; descriptions are kept.

    Raises
    ------
    InputError
        Meshes or landmarks that cannot be matched.
    """
    described = []
    for number, surface in enumerate(surfaces, start=1):
        progress(f"basis and descriptors of mesh {number}")
        described.append(surface.described)
    marks = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    first, second = described
    found = match(first, second, landmarks=marks if len(marks) else None, progress=progress)
    name = "with landmarks" if len(marks) else "without landmarks"
    return OfferedMap(name, {**match_arrays(found), "landmarks": marks})
