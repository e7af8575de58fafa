"""Where the camera of the page stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from finsler.view.web.scene import Scene

if TYPE_CHECKING:
    import viser

OPENING = float(np.radians(40.0))
# The least width of the picture beside its height, and the room about the shapes.
_ASPECT, _ROOM = 1.15, 1.1


def show_all(camera: viser.InitialCameraConfig | viser.CameraHandle, scene: Scene) -> None:
    """Place a camera so that it sees the meshes, and the copies that show several maps."""
    frame = scene.layout.frame(len(scene.maps) if len(scene.maps) > 1 else 0)
    distance = 0.3 + _ROOM * max(frame.width / _ASPECT, frame.height) / np.tan(0.5 * OPENING)
    camera.position = frame.center + distance * np.asarray(scene.layout.camera.direction)
    # Moving a camera moves what it looks at.
    camera.look_at = frame.center
