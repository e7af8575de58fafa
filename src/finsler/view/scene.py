"""From a panel to lit triangles and a fixed view: all that a renderer needs to know."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from finsler.errors import InputError
from finsler.mesh.measures import face_normals
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray
from finsler.view.colors import GREY
from finsler.view.panel import Camera, Panel

MARKER_COLOR = (0.93, 0.09, 0.56)
ARROW_COLOR = (0.10, 0.10, 0.12)

# With normal n, lamp l, eye e and r = 2⟨n,l⟩n - l, a colour c is drawn as
# (AMBIENT + DIFFUSE max(0,⟨n,l⟩)) c + SHEEN max(0,⟨r,e⟩)^SHEEN_POWER.
# The sheen is faint and wide: no glare, but shape stays readable where the colour is dark.
AMBIENT = 0.40
DIFFUSE = 0.58
SHEEN = 0.10
SHEEN_POWER = 2.0
# Towards the lamp, a little above and left of the eye: right, up, towards the eye.
LAMP = (-0.25, 0.35, 1.0)

# Lengths in units of the radius of the bounding sphere.
_MARGIN = 1.04
_MARKER_RADIUS = 0.04
_ARROW_LIFT = 0.02
_PATH_RADIUS = 0.015

# Where face and averaged normal differ by more, the corner is drawn sharp: the edges of a cube are,
# those of an icosahedron (37.4°) are not.
_SHARP_COSINE = np.cos(np.radians(40.0))


@dataclass(frozen=True, eq=False)
class DrawnSurface:
    """Triangles that share no corner.

    `corners` and `normals` are (m, 3 corners, 3). The colour is `color`, RGB in 0..1, or, where
    `levels` (m, 3) is given, a row of `table` (k, 3): the first at level 0, the last at level 1
    and beyond. Where `colors` (m, 3 corners, 3) is given, it is interpolated between the corners.
    """

    corners: FloatArray
    normals: FloatArray
    color: tuple[float, float, float] = GREY
    levels: FloatArray | None = None
    table: FloatArray | None = None
    colors: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Projection:
    """An orthographic projection onto `width` × `height` pixels.

    `axes` (3, 3) has the rows right, up, towards the eye; `center` (3,) is seen in the middle;
    `scale` is the length of one pixel in units of the mesh; `radius` bounds what is drawn.
    """

    axes: FloatArray
    center: FloatArray
    radius: float
    scale: float
    width: int
    height: int

    @property
    def light(self) -> FloatArray:
        """Unit vector towards the lamp."""
        light = np.array(LAMP) @ self.axes
        return np.asarray(light / np.linalg.norm(light))

    def pixels(self, points: FloatArray) -> FloatArray:
        """Column, row and depth (..., 3) of points (..., 3); larger depth is nearer.

        The pixel of column i and row j, counted from the top left, covers [i, i+1] × [j, j+1].
        """
        local = (points - self.center) @ self.axes.T / self.scale
        return local * [1.0, -1.0, 1.0] + [0.5 * self.width, 0.5 * self.height, 0.0]


def bounding_sphere(mesh: TriMesh) -> tuple[FloatArray, float]:
    """Centre of the bounding box of the faces, (3,), and the distance of the farthest vertex."""
    used = mesh.vertices[np.unique(mesh.faces)]
    center = 0.5 * (used.min(axis=0) + used.max(axis=0))
    radius = float(np.linalg.norm(used - center, axis=1).max())
    if radius == 0:
        raise InputError("all vertices of the mesh coincide; there is nothing to draw")
    return center, radius


def projection_of(mesh: TriMesh, camera: Camera, width: int, height: int) -> Projection:
    """The view that fits a mesh into a panel, with a margin of 4 %."""
    toward = np.asarray(camera.direction, dtype=np.float64)
    toward = toward / np.linalg.norm(toward)
    right = np.cross(camera.up, toward)
    right = right / np.linalg.norm(right)
    axes = np.stack([right, np.cross(toward, right), toward])
    center, radius = bounding_sphere(mesh)
    if camera.center is not None and camera.radius is not None:
        center, radius = np.asarray(camera.center, dtype=np.float64), camera.radius
    extent = 2 * radius / min(width, height)
    if camera.tight:
        seen = mesh.vertices[np.unique(mesh.faces)] @ axes.T
        low, high = seen.min(axis=0), seen.max(axis=0)
        center = 0.5 * (low + high) @ axes
        extent = float(((high - low)[:2] / [width, height]).max())
    return Projection(axes, center, radius, _MARGIN * extent / camera.zoom, width, height)


def scene_of(panel: Panel, view: Projection, table: FloatArray) -> list[DrawnSurface]:
    """The triangles of a panel: its mesh, then its marker, path and arrows.

    Scalars are coloured by the rows of `table` (k, 3), spread over the `clim` of the panel.
    """
    surfaces = [_mesh_surface(panel, table)]
    radius = view.radius
    if panel.marker is not None:
        ball = _ball()
        center = panel.mesh.vertices[panel.marker]
        surfaces.append(DrawnSurface(center + _MARKER_RADIUS * radius * ball, ball, MARKER_COLOR))
    if panel.path is not None and len(panel.path) > 0:
        surfaces.append(_tube(panel.path, _PATH_RADIUS * radius))
    if panel.arrows is not None:
        origins, vectors = panel.arrows
        # Moving towards the eye leaves an orthographic picture as it is, and keeps a tangent
        # arrow from drowning in the surface.
        lifted = origins + _ARROW_LIFT * radius * view.axes[2]
        surfaces.extend(_arrow_surface(lifted, vectors))
    return surfaces


def _mesh_surface(panel: Panel, table: FloatArray) -> DrawnSurface:
    mesh = panel.mesh
    flat = face_normals(mesh)
    smooth = _averaged_normals(mesh, flat)[mesh.faces]
    sharp = np.einsum("fci,fi->fc", smooth, flat) < _SHARP_COSINE
    normals = np.where(sharp[..., None], flat[:, None, :], smooth)
    corners = mesh.vertices[mesh.faces]
    if panel.colors is not None:
        return DrawnSurface(corners, normals, colors=panel.colors[mesh.faces])
    if panel.scalars is None or panel.clim is None:
        return DrawnSurface(corners, normals)
    low, high = panel.clim
    levels = (panel.scalars[mesh.faces] - low) / (high - low)
    return DrawnSurface(corners, normals, levels=levels, table=table)


def _averaged_normals(mesh: TriMesh, flat: FloatArray) -> FloatArray:
    """Unit normal of each vertex, (n, 3), faces weighted by their angle there.

    Unlike weights by area, these do not depend on how a flat side is cut into triangles.
    """
    corners = mesh.vertices[mesh.faces]
    ahead, behind = (np.roll(corners, shift, axis=1) - corners for shift in (-1, 1))
    sine = np.linalg.norm(np.cross(ahead, behind), axis=2)
    angle = np.arctan2(sine, np.einsum("fci,fci->fc", ahead, behind))
    weighted = (angle[:, :, None] * flat[:, None, :]).reshape(-1, 3)
    total = [np.bincount(mesh.faces.ravel(), w, mesh.n_vertices) for w in weighted.T]
    return _unit(np.stack(total, axis=1))


def _unit(vectors: FloatArray) -> FloatArray:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(length > 0, length, 1.0)


def _ball(rings: int = 12, sides: int = 24) -> FloatArray:
    """Triangles (m, 3, 3) of the unit sphere."""
    polar, around = np.linspace(0, np.pi, rings + 1), np.linspace(0, 2 * np.pi, sides + 1)
    profile = np.stack([np.cos(polar), np.sin(polar)], axis=1)
    return _turned(profile, around)


def _turned(profile: FloatArray, around: FloatArray) -> FloatArray:
    """Triangles (m, 3, 3) of the surface swept by (axis, radius) pairs turned about the x axis."""
    axis, radius = profile.T
    grid = np.stack(
        [
            np.broadcast_to(axis[:, None], (len(axis), len(around))),
            radius[:, None] * np.cos(around),
            radius[:, None] * np.sin(around),
        ],
        axis=2,
    )
    a, b, c, d = grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]
    halves = [np.stack(t, axis=2).reshape(-1, 3, 3) for t in ((a, b, c), (a, c, d))]
    return np.concatenate(halves)


def _frames_along(vectors: FloatArray) -> FloatArray:
    """Orthonormal frames (p, 3 axes, 3) whose first axis is the direction of a vector."""
    along = _unit(vectors)
    helper = np.eye(3)[np.argmin(np.abs(along), axis=1)]
    side = _unit(np.cross(along, helper))
    return np.stack([along, side, np.cross(along, side)], axis=1)


def _tube(points: FloatArray, radius: float) -> DrawnSurface:
    """A cylinder around each piece of a polyline and a ball at each of its corners."""
    steps = np.diff(points, axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    starts, steps, lengths = (a[lengths > 0] for a in (points[:-1], steps, lengths))
    frames = _frames_along(steps)
    unit = _turned(np.array([[1.0, 1.0], [0.0, 1.0]]), np.linspace(0, 2 * np.pi, 13))
    outward = np.einsum("tcj,pji->ptci", unit * [0.0, 1.0, 1.0], frames)
    along = np.einsum("tc,pi->ptci", unit[..., 0], steps)
    cylinders = starts[:, None, None, :] + along + radius * outward
    ball = _ball(6, 12)
    balls = points[:, None, None, :] + radius * ball
    normals = [outward.reshape(-1, 3, 3), np.tile(ball, (len(points), 1, 1))]
    corners = [cylinders.reshape(-1, 3, 3), balls.reshape(-1, 3, 3)]
    return DrawnSurface(np.concatenate(corners), np.concatenate(normals), MARKER_COLOR)


def _arrow_surface(origins: FloatArray, vectors: FloatArray) -> list[DrawnSurface]:
    lengths = np.linalg.norm(vectors, axis=1)
    origins, vectors, lengths = (a[lengths > 0] for a in (origins, vectors, lengths))
    if len(vectors) == 0:
        return []
    frame = _frames_along(vectors)
    profile = np.array([[0.0, 0.0], [0.0, 0.035], [0.66, 0.035], [0.66, 0.12], [1.0, 0.0]])
    unit = _turned(profile, np.linspace(0, 2 * np.pi, 13))
    corners = np.einsum("p,tcj,pji->ptci", lengths, unit, frame) + origins[:, None, None, :]
    corners = corners.reshape(-1, 3, 3)
    flat = _unit(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]))
    return [DrawnSurface(corners, np.repeat(flat[:, None, :], 3, axis=1), ARROW_COLOR)]
