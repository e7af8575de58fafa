"""Which way up a shape stands, and cameras that show it so."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from finsler.errors import InputError
from finsler.mesh.arguments import takes_meshes
from finsler.mesh.measures import vertex_normals
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray, IntArray
from finsler.view.panel import Camera
from finsler.view.standing import AXES, likely_ups

UPS = ("x", "y", "z", "-x", "-y", "-z")
# Degrees around the shape from its front, towards its right in the picture, and above it.
VIEWS = {
    "front": (19.0, 13.0),
    "right": (109.0, 13.0),
    "back": (199.0, 13.0),
    "left": (-71.0, 13.0),
    "top": (0.0, 89.0),
    "bottom": (0.0, -89.0),
}
# A shape thinner than this share of its length is seen from its flat side; one whose horizontal
# widths have a smaller ratio than _ROUND has no broad side.
_FLAT, _ROUND = 0.02, 1.2
# How far above the middle a source sits, as a share of the height: on the chest, on the flank.
_ABOVE = 0.12
# Directions whose cosine is above this are one way to stand.
_SAME = 0.9
# Less likely directions than this do not turn a shape off the axes of its file: round ones stay.
_SURE = 0.5

# Stances of meshes that still exist, by the axis that was said to be up.
_known: WeakKeyDictionary[TriMesh, dict[str | None, Stance]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Stance:
    """How a shape stands: unit vectors up and to the front (3,), the odds, and if it is flat."""

    up: FloatArray
    front: FloatArray
    odds: float = np.inf
    flat: bool = False

    def camera(self, view: str = "front") -> Camera:
        """The camera of a view, filling its panel."""
        around, above = np.radians(_angles(view, self.flat))
        right = np.cross(self.up, self.front)
        level = np.cos(around) * self.front + np.sin(around) * right
        toward = np.cos(above) * level + np.sin(above) * self.up
        return Camera(_triple(toward), _triple(self.up), tight=True)

    @property
    def turn(self) -> FloatArray:
        """The rotation (3, 3) that makes the shape stand along y and face z."""
        return np.stack([np.cross(self.up, self.front), self.up, self.front])

    def turned(self, rotation: FloatArray) -> Stance:
        """The same way to stand for a shape that a rotation (3, 3) turns into this one."""
        return Stance(self.up @ rotation, self.front @ rotation, self.odds, self.flat)


# How shapes stand in pages and in the viewer, once turned there: y is up, z is the front.
PAGE = Stance(np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0]))


@dataclass(frozen=True)
class Viewpoint:
    """Where a person wants to look from; by default a shape is upright and seen on its broad side.

    Parameters
    ----------
    up : {"x", "y", "z", "-x", "-y", "-z"}, optional
        Axis of the file that points up; by default a guess.
    view : str, optional
        front (the broad side), back, left, right, top or bottom, or two angles in degrees such as
        "40,10": around the shape from its front, and above it, less than 90.

    Raises
    ------
    InputError
        No such axis or view.

    Examples
    --------
    >>> from finsler.mesh import primitives
    >>> Viewpoint(up="z", view="0,0").camera(primitives.sphere(4)).direction
    (0.0, -1.0, 0.0)
    """

    up: str | None = None
    view: str | None = None

    def __post_init__(self) -> None:
        if self.up is not None and self.up not in UPS:
            raise InputError(f"up is {self.up!r}; it must be one of {', '.join(UPS)}")
        if self.view is not None:
            _angles(self.view, flat=False)

    @takes_meshes
    def stance(self, mesh: TriMesh) -> Stance:
        """How the shape stands."""
        return stance_of(mesh, self.up)

    @takes_meshes
    def camera(self, mesh: TriMesh) -> Camera:
        """The camera, which shows the shape as large as the panel."""
        return self.stance(mesh).camera(self.view or "front")

    @takes_meshes
    def facing(self, mesh: TriMesh, vertex: int, *, steepness: float = 0.5) -> Camera:
        """A camera that looks down on a vertex, unless the view was chosen.

        From the front where that does, else from another side, else straight above the vertex.
        `steepness` is the least cosine of the angle between its direction and the vertex normal.
        """
        stance, normal = self.stance(mesh), vertex_normals(mesh)[vertex]
        cameras = [stance.camera(view) for view in ("front", "left", "right", "back", "top")]
        steep = [float(normal @ camera.direction) for camera in cameras]
        if self.view is not None or not normal.any() or steep[0] > steepness:
            return self.camera(mesh)
        best = int(np.argmax(steep))
        if steep[best] > max(steepness, 0.8):
            return cameras[best]
        level = abs(normal @ stance.up) < 0.9
        return Camera(_triple(normal), _triple(stance.up if level else -stance.front), tight=True)

    @takes_meshes
    def nearest(self, mesh: TriMesh) -> int:
        """The vertex near the viewer and the middle: where a source sits unless one is chosen."""
        toward, up = np.asarray(self.camera(mesh).direction), self.stance(mesh).up
        used = np.unique(mesh.faces)
        points = mesh.vertices[used] - mesh.vertices[used].mean(axis=0)
        points = points - _ABOVE * np.ptp(points @ up) * up
        depth = points @ toward
        aside = np.linalg.norm(points - np.outer(depth, toward), axis=1)
        return int(used[np.argmax(depth - aside)])


def stance_of(mesh: TriMesh, up: str | None = None) -> Stance:
    """Guess how a shape stands, or take the axis of the file that points up: x, y, z, -x, -y, -z.

    The front is the broad side; of its two faces the one towards the file's usual front, which is z
    where y is up and -y where z is. A flat shape is seen straight on.

    Examples
    --------
    >>> from finsler.mesh import primitives
    >>> stance_of(primitives.plane(4, 4)).front.tolist()
    [0.0, 0.0, 1.0]
    """
    known = _known.setdefault(mesh, {})
    if up not in known:
        known[up] = _new_stance(mesh, up)
    return known[up]


def _new_stance(mesh: TriMesh, up: str | None) -> Stance:
    # Halved first, so that no difference of huge coordinates overflows.
    halves = 0.5 * mesh.vertices[np.unique(mesh.faces)]
    points = halves - halves.min(axis=0)
    points = points / (points.max() or 1.0)
    if up is not None:
        chosen = AXES[UPS.index(up)]
        return Stance(chosen, _front(points, chosen))
    own = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2]
    widths = np.ptp(points @ own.T, axis=0)
    if widths[2] < _FLAT * widths[0]:
        return _lying(own[2])
    likely = likely_ups(mesh)
    if likely is None:
        return Stance(AXES[1], _front(points, AXES[1]))
    axes, chances = likely
    best = axes[np.argmax(chances)]
    if chances[axes @ best >= _SAME].sum() < _SURE:
        best = AXES[np.argmax(chances[: len(AXES)])]
    others = float(chances[axes @ best < _SAME].sum())
    odds = (1.0 - others) / others if others > 0 else np.inf
    return Stance(best, _front(points, best), odds)


def pair_stances(
    mesh_1: TriMesh, mesh_2: TriMesh, map_12: IntArray | None, up: str | None = None
) -> tuple[Stance, Stance]:
    """The stances of two shapes, the surer one carried over by a map that can be trusted.

    Without a map each shape is guessed alone. The map gives the rotation that brings corresponding
    vertices together best.
    """
    first, second = stance_of(mesh_1, up), stance_of(mesh_2, up)
    if map_12 is None:
        return first, second
    rotation = _best_rotation(mesh_1.vertices, mesh_2.vertices[map_12])
    if second.odds >= first.odds:
        return second.turned(rotation), second
    return first, first.turned(rotation.T)


def _angles(view: str, flat: bool) -> tuple[float, float]:
    if flat and view in ("front", "back"):
        return (0.0 if view == "front" else 180.0), 0.0
    if view in VIEWS:
        return VIEWS[view]
    try:
        around, above = (float(number) for number in view.split(","))
    except ValueError:
        around = above = np.nan
    if not (abs(around) <= 360 and abs(above) < 90):
        raise InputError(
            f"the view is {view!r}; it must be one of {', '.join(VIEWS)}, or two angles in degrees"
            " such as 40,10: around from the front, and above, less than 90"
        )
    return around, above


def _triple(vector: FloatArray) -> tuple[float, float, float]:
    x, y, z = (float(c) for c in vector)
    return x, y, z


def _lying(normal: FloatArray) -> Stance:
    """A flat shape, seen from the side that faces along a positive axis."""
    front = normal * np.sign(normal[np.argmax(abs(normal))])
    up = np.array([0.0, 1.0, 0.0]) if abs(front[1]) < 0.9 else np.array([0.0, 0.0, -1.0])
    level = up - (up @ front) * front
    return Stance(level / np.linalg.norm(level), front, flat=True)


def _front(points: FloatArray, up: FloatArray) -> FloatArray:
    """The horizontal direction in which a shape is thinnest, towards the file's usual front."""
    usual = np.array([0.0, -1.0, 0.0] if abs(up[2]) > 0.7 else [0.0, 0.0, 1.0])
    level = np.linalg.svd(up[None])[2][1:]
    spread = (points - points.mean(axis=0)) @ level.T
    _, widths, axes = np.linalg.svd(spread, full_matrices=False)
    facing = (level.T @ level) @ usual
    front = axes[1] @ level if widths[0] > _ROUND * widths[1] else facing
    front = front if front @ facing >= 0 else -front
    return np.asarray(front / np.linalg.norm(front))


def _best_rotation(source: FloatArray, target: FloatArray) -> FloatArray:
    """The rotation R (3, 3) for which R x comes nearest to y, about the means of both (n, 3)."""
    left, _, right = np.linalg.svd(
        (target - target.mean(axis=0)).T @ (source - source.mean(axis=0))
    )
    flip = np.diag([1.0, 1.0, np.linalg.det(left @ right)])
    return np.asarray(left @ flip @ right)
