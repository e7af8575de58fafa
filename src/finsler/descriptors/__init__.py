"""Descriptors: numbers at each vertex that tell what the surface is like there."""

from finsler.descriptors.hks import hks
from finsler.descriptors.learned import vertex_features
from finsler.descriptors.shot import ShotFrames, shot, shot_frames, shot_radius
from finsler.descriptors.wks import wks

__all__ = [
    "ShotFrames",
    "hks",
    "shot",
    "shot_frames",
    "shot_radius",
    "vertex_features",
    "wks",
]
