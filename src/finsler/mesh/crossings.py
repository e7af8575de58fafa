"""Where a surface passes through itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from finsler.mesh.arguments import checked
from finsler.mesh.trimesh import TriMesh


@checked
def crossing_faces(mesh: TriMesh) -> NDArray[np.bool_]:
    """Mask (m,) of the faces that pass through another one with which they share no vertex.

    An edge of one goes through the inside of the other; faces that merely touch, or lie in one
    plane, do not count.

    Examples
    --------
    >>> flat = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    >>> upright = [[0.2, 0.2, -1], [0.2, 0.2, 1], [9, 9, 0]]
    >>> crossing_faces(TriMesh(flat + upright, [[0, 1, 2], [3, 4, 5]])).tolist()
    [True, True]
    """
    from finsler.mesh._compiled_crossings import crossing

    corners = mesh.vertices[mesh.faces]
    # Along the longest axis the fewest boxes overlap.
    axes = np.argsort(-np.ptp(mesh.vertices, axis=0), kind="stable")
    order = np.argsort(corners[:, :, axes[0]].min(axis=1), kind="stable")
    boxes = corners[order][:, :, axes]
    lower, upper = boxes.min(axis=1), boxes.max(axis=1)
    # Slabs of about four faces; no more of them than keep the lists short.
    floor, width = lower[:, 1].min(), 4.0 * float((upper[:, 1] - lower[:, 1]).mean())
    width = max(width, float(upper[:, 1].max() - floor) / np.sqrt(mesh.n_faces))
    first, last = (
        ((side[:, 1] - floor) / (width or 1.0)).astype(np.int64) for side in (lower, upper)
    )
    crossed = np.zeros(mesh.n_faces, dtype=np.bool_)
    points = np.ascontiguousarray(mesh.vertices[:, axes])
    crossed[order] = crossing(points, mesh.faces[order], lower, upper, first, last)
    return crossed
