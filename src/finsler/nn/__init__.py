"""Learning with torch: descriptors of batches of shapes."""

from finsler.nn.shot import shot_torch

__all__ = ["shot_torch"]
