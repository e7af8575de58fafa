"""Descriptors: numbers at each vertex that tell what the surface is like there."""

from finsler.descriptors.hks import hks
from finsler.descriptors.wks import wks

__all__ = ["hks", "wks"]
