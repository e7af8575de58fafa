"""Defects of meshes that are told while many are computed, kept with the result of each."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from finsler.mesh.health import MeshWarning


def noticed(function: Callable[..., Any], *args: Any) -> tuple[Any, list[str]]:
    """What a function returns, and the sentences of the warnings that it gave, each once.

    None of them is shown. In a process that computes in several threads a sentence may be kept
    with the result of another thread.

    Examples
    --------
    >>> from finsler import TriMesh, lbo
    >>> corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]
    >>> fan = TriMesh(corners, [[0, 1, 2], [0, 1, 3], [0, 1, 4]])
    >>> laplacian, notes = noticed(lbo, fan)
    >>> [note.partition(":")[0] for note in notes]
    ['the mesh has 1 edge with more than two faces', ...]
    """
    with warnings.catch_warnings(record=True) as caught:
        # Python shows a sentence once in a process; here each mesh is to be named.
        warnings.simplefilter("always", MeshWarning)
        value = function(*args)
    return value, list(dict.fromkeys(str(warning.message) for warning in caught))
