"""Shape collections with ground truth."""

from finsler.data.collection import Collection, Shape

__all__ = ["Collection", "Shape"]
