"""Matching of two meshes without training: descriptors, functional maps, ZoomOut."""

from finsler.matching.functional import functional_map, pull_back, vertex_map
from finsler.matching.match import Match, match
from finsler.matching.nearest import nearest_rows
from finsler.matching.quality import (
    confidence,
    cycle_distances,
    expected_errors,
    orientation_share,
)
from finsler.matching.refine import Refined, refine
from finsler.matching.verdict import Verdict, verdict

__all__ = [
    "Match",
    "Refined",
    "Verdict",
    "confidence",
    "cycle_distances",
    "expected_errors",
    "functional_map",
    "match",
    "nearest_rows",
    "orientation_share",
    "pull_back",
    "refine",
    "verdict",
    "vertex_map",
]
