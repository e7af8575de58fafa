"""Matching of two meshes: descriptors or a network, functional maps, ZoomOut, and a verdict."""

from finsler.matching.descriptions import (
    DescribedSurface,
    describe,
    read_described,
    write_described,
)
from finsler.matching.functional import functional_map, pull_back, vertex_map
from finsler.matching.learned import LearnedMap, learned_map
from finsler.matching.match import Match, match
from finsler.matching.nearest import nearest_rows
from finsler.matching.offers import OfferedMap, read_maps
from finsler.matching.pairs import Matcher, choose_pairs
from finsler.matching.points import Refined
from finsler.matching.quality import (
    confidence,
    cycle_distances,
    expected_errors,
    orientation_share,
)
from finsler.matching.refine import refine
from finsler.matching.verdict import Verdict, verdict

__all__ = [
    "DescribedSurface",
    "LearnedMap",
    "Match",
    "Matcher",
    "OfferedMap",
    "Refined",
    "Verdict",
    "choose_pairs",
    "confidence",
    "cycle_distances",
    "describe",
    "expected_errors",
    "functional_map",
    "learned_map",
    "match",
    "nearest_rows",
    "orientation_share",
    "pull_back",
    "read_described",
    "read_maps",
    "refine",
    "verdict",
    "vertex_map",
    "write_described",
]
