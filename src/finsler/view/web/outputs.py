"""The files that a click on the page may write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from finsler.errors import InputError
from finsler.matching.landmarks import write_landmarks
from finsler.matching.offers import OfferedMap
from finsler.storage.npz import write_npz
from finsler.storage.outputs import require_outputs
from finsler.view.web.landmarks import Pair


@dataclass(frozen=True)
class Outputs:
    """Where chosen maps and landmarks go: whoever serves the page says so, a visitor cannot.

    Attributes
    ----------
    map, landmarks : Path or None
        An .npz and a text file; without one, its button is not there.
    overwrite : bool
        Replace files that the running command did not write.
    about : mapping
        What the record of a map says of it: the names of the meshes.
    """

    map: Path | None = None
    landmarks: Path | None = None
    overwrite: bool = False
    about: Mapping[str, Any] = field(default_factory=dict)

    def keep_map(self, offer: OfferedMap) -> Path:
        """Write a map as `finsler match` does.

        Raises
        ------
        InputError
            No file was named, or another program's file is there.
        """
        path = self._allowed(self.map, "--save")
        return write_npz(path, offer.arrays, {**self.about, "chosen": offer.name})

    def save_landmarks(self, pairs: Sequence[Pair]) -> Path:
        """Write pairs as `finsler match --landmarks` reads them.

        Raises
        ------
        InputError
            No file was named, another program's file is there, or there is no pair.
        """
        return write_landmarks(self._allowed(self.landmarks, "--landmarks"), pairs)

    def _allowed(self, path: Path | None, option: str) -> Path:
        if path is None:
            raise InputError(f"no file was named for this; serve the page with {option} FILE")
        require_outputs([path], overwrite=self.overwrite)
        return path
