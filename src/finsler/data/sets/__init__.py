"""Data sets: a module each, and the table that lists them."""

from finsler.data.sets.creature import Creature, make_creature
from finsler.data.sets.dt4d import dt4d_r
from finsler.data.sets.faust import faust_a, faust_r, faust_registrations
from finsler.data.sets.folder import write_collection
from finsler.data.sets.opening import DATA_SETS, find_collections, open_collection
from finsler.data.sets.pack import pack, packed
from finsler.data.sets.partial_smal import partial_smal
from finsler.data.sets.scape import scape_a, scape_r
from finsler.data.sets.shrec16 import shrec16
from finsler.data.sets.shrec19 import shrec19_r
from finsler.data.sets.smal import smal_r
from finsler.data.sets.synthetic import load_all, synthetic_collection
from finsler.data.sets.topkids import topkids
from finsler.data.sets.tosca import TOSCA_CATEGORIES, tosca_r

__all__ = [
    "DATA_SETS",
    "TOSCA_CATEGORIES",
    "Creature",
    "dt4d_r",
    "faust_a",
    "faust_r",
    "faust_registrations",
    "find_collections",
    "load_all",
    "make_creature",
    "open_collection",
    "pack",
    "packed",
    "partial_smal",
    "scape_a",
    "scape_r",
    "shrec16",
    "shrec19_r",
    "smal_r",
    "synthetic_collection",
    "topkids",
    "tosca_r",
    "write_collection",
]
