"""Principal curvature and tangent frames."""

from finsler.frames.curvature import Curvature, normal_cycle, principal_curvature
from finsler.frames.frames import FaceFrames, principal_frames
from finsler.frames.oriented import FieldWarning, OrientedField, oriented_field

__all__ = [
    "Curvature",
    "FaceFrames",
    "FieldWarning",
    "OrientedField",
    "normal_cycle",
    "oriented_field",
    "principal_curvature",
    "principal_frames",
]
