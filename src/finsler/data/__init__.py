"""Shape collections with ground truth, and prepared stores of them."""

from finsler.data.check import Finding, SetReport, check_collection
from finsler.data.collection import Collection, Shape
from finsler.data.labels import Labels, canonical_labels, filled_labels
from finsler.data.partial import Partial, cut, holes, partial_collection
from finsler.data.sets.faust import faust_r, faust_registrations
from finsler.data.sets.folder import write_collection
from finsler.data.sets.opening import find_collections, open_collection
from finsler.data.sets.pack import pack, packed
from finsler.data.sets.scape import scape_r
from finsler.data.sets.shrec16 import shrec16
from finsler.data.sets.synthetic import Creature, make_creature, synthetic_collection
from finsler.data.sets.tosca import TOSCA_CATEGORIES, tosca_r
from finsler.data.store import (
    PreparationError,
    PrepareConfig,
    Prepared,
    PreparedShape,
    Store,
    prepare,
)

__all__ = [
    "TOSCA_CATEGORIES",
    "Collection",
    "Creature",
    "Finding",
    "Labels",
    "Partial",
    "PreparationError",
    "PrepareConfig",
    "Prepared",
    "PreparedShape",
    "SetReport",
    "Shape",
    "Store",
    "canonical_labels",
    "check_collection",
    "cut",
    "faust_r",
    "faust_registrations",
    "filled_labels",
    "find_collections",
    "holes",
    "make_creature",
    "open_collection",
    "pack",
    "packed",
    "partial_collection",
    "prepare",
    "scape_r",
    "shrec16",
    "synthetic_collection",
    "tosca_r",
    "write_collection",
]
