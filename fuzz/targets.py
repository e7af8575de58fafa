"""Every reader of the package as a function of bytes."""

from __future__ import annotations

from archive_targets import ARCHIVES
from mesh_targets import MESHES
from target import Target, outcome
from text_targets import TEXTS

__all__ = ["TARGETS", "outcome"]

TARGETS: dict[str, Target] = {**MESHES, **TEXTS, **ARCHIVES}
