"""Data sets: a module each, and the table that lists them."""

from finsler.data.sets.faust import faust_r, faust_registrations
from finsler.data.sets.folder import write_collection
from finsler.data.sets.opening import DATA_SETS, find_collections, open_collection
from finsler.data.sets.pack import pack, packed
from finsler.data.sets.scape import scape_r
from finsler.data.sets.shrec16 import shrec16
from finsler.data.sets.synthetic import Creature, make_creature, synthetic_collection
from finsler.data.sets.tosca import TOSCA_CATEGORIES, tosca_r

__all__ = [
    "DATA_SETS",
    "TOSCA_CATEGORIES",
    "Creature",
    "faust_r",
    "faust_registrations",
    "find_collections",
    "make_creature",
    "open_collection",
    "pack",
    "packed",
    "scape_r",
    "shrec16",
    "synthetic_collection",
    "tosca_r",
    "write_collection",
]
