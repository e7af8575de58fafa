"""Prepared shapes on disk: one file each, named by its content, and a list of them."""

from finsler.data.store.catalog import Store
from finsler.data.store.config import PrepareConfig, key_of
from finsler.data.store.entry import PreparedShape, normalised, prepare_shape
from finsler.data.store.preparation import PreparationError, Prepared, prepare

__all__ = [
    "PreparationError",
    "PrepareConfig",
    "Prepared",
    "PreparedShape",
    "Store",
    "key_of",
    "normalised",
    "prepare",
    "prepare_shape",
]
