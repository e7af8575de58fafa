"""Principal curvature and tangent frames."""

from finsler.frames.curvature import Curvature, normal_cycle, principal_curvature
from finsler.frames.frames import FaceFrames, principal_frames

__all__ = ["Curvature", "FaceFrames", "normal_cycle", "principal_curvature", "principal_frames"]
