"""What the page shows: one or two meshes side by side, as panels, segments and a marker.

Nothing here knows of a browser. Points are in the units of the page, in which every mesh fits a
sphere of radius 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from finsler.errors import InputError
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray, IntArray
from finsler.view.colors import GREY
from finsler.view.panel import Panel, resolve_colors
from finsler.view.scene import bounding_sphere
from finsler.view.surfaces import kernel_range, position_colors, without_peak
from finsler.view.upright import PAGE, Stance, Viewpoint, pair_stances
from finsler.view.web.functions import MeshFunctions
from finsler.view.web.settings import AT_A_VERTEX, DISTANCES, Settings, Shown

_GAP = 0.3
_BANDS = 20
_LINES = 60


@dataclass(frozen=True)
class Picked:
    """A vertex under the pointer."""

    mesh: int
    vertex: int


class Scene:
    """One or two meshes, with what is known of them.

    Parameters
    ----------
    meshes : one or two TriMesh
    map_12 : (n_1,) of int, optional
        The partner of each vertex on the second mesh; -1 where it has none.
    error : (n_1,), optional
        A value for each vertex of the first mesh; NaN where there is none.
    viewpoint : Viewpoint, optional
        Which axis of the files is up, and the side to look from; by default both shapes stand
        upright, and a map that most vertices have a partner in makes both face the same way.

    Raises
    ------
    InputError
        Not one or two meshes, or a map or an error that does not fit them.

    Examples
    --------
    >>> from finsler.mesh import primitives
    >>> scene = Scene(primitives.sphere(4))
    >>> scene.pick((0.0, 0.0, 5.0), (0.0, 0.0, -1.0)).mesh
    0
    """

    def __init__(
        self,
        *meshes: TriMesh,
        map_12: ArrayLike | None = None,
        error: ArrayLike | None = None,
        viewpoint: Viewpoint | None = None,
    ) -> None:
        if len(meshes) not in (1, 2):
            raise InputError(f"there are {len(meshes)} meshes; the page shows one or two")
        self.surfaces = tuple(MeshFunctions(mesh) for mesh in meshes)
        self.map_12 = None if map_12 is None else _checked_map(map_12, meshes)
        self.error = None if error is None else _checked_error(error, meshes[0])
        spheres = [bounding_sphere(mesh) for mesh in meshes]
        self._centers = [center for center, _ in spheres]
        self._scales = [1.0 / radius for _, radius in spheres]
        self._turns = [stance.turn for stance in self._stances(viewpoint or Viewpoint())]
        self.camera = PAGE.camera((viewpoint or Viewpoint()).view or "front")
        self._right = np.cross(self.camera.up, self.camera.direction)
        self._right = self._right / np.linalg.norm(self._right)
        self._offsets = [np.zeros(3) for _ in meshes]
        if len(meshes) == 2:
            half = 0.5 * self._room() * self._right
            self._offsets = [-half, half]

    @property
    def choices(self) -> list[Shown]:
        """What this scene has colours for."""
        missing = {Shown.partners: self.map_12 is None, Shown.error: self.error is None}
        return [shown for shown in Shown if not missing.get(shown, False)]

    def to_page(self, mesh: int, points: FloatArray) -> FloatArray:
        """Points (..., 3) of a mesh in units of the page."""
        scaled = (points - self._centers[mesh]) @ self._turns[mesh].T * self._scales[mesh]
        return np.asarray(scaled + self._offsets[mesh])

    def extent(self) -> tuple[float, float]:
        """Half the width and half the height of all meshes as the first camera sees them."""
        points = [self.to_page(i, s.mesh.vertices) for i, s in enumerate(self.surfaces)]
        up = np.cross(self.camera.direction, self._right)
        seen = np.abs(np.concatenate(points) @ np.stack([self._right, up], axis=1))
        return float(seen[:, 0].max()), float(seen[:, 1].max())

    def pick(self, origin: ArrayLike, direction: ArrayLike) -> Picked | None:
        """The vertex nearest to where a ray first meets a mesh, or None."""
        start, way = np.asarray(origin, dtype=float), np.asarray(direction, dtype=float)
        best, picked = np.inf, None
        for i, surface in enumerate(self.surfaces):
            faces = surface.mesh.faces
            corners = self.to_page(i, surface.mesh.vertices)[faces]
            reach = _ray_lengths(corners, start, way)
            face = int(np.argmin(reach))
            if reach[face] < best:
                best = float(reach[face])
                apart = np.linalg.norm(corners[face] - (start + best * way), axis=1)
                picked = Picked(i, int(faces[face, np.argmin(apart)]))
        return picked

    def select(self, picked: Picked) -> tuple[int | None, ...]:
        """The chosen vertex of each mesh: the one picked, and its partner where there is one.

        Of several vertices that are sent to one, the first is its partner.
        """
        if len(self.surfaces) == 1:
            return (picked.vertex,)
        partner = self._partner(picked)
        return (picked.vertex, partner) if picked.mesh == 0 else (partner, picked.vertex)

    def panels(self, settings: Settings) -> list[Panel]:
        """Each mesh with its colours, on one scale; grey where there is nothing to show."""
        if settings.shown is Shown.partners:
            panels = self._partner_panels()
        elif settings.shown is Shown.error:
            panels = self._error_panels()
        elif settings.shown in AT_A_VERTEX:
            panels = self._vertex_panels(settings)
        else:
            panels = [Panel(surface.mesh) for surface in self.surfaces]
        return resolve_colors(panels)

    def lines(self, selected: tuple[int | None, ...] = ()) -> FloatArray:
        """Segments (p, 2, 3) between some vertices and their partners; between the chosen first."""
        if self.map_12 is None:
            return np.empty((0, 2, 3))
        sent = np.flatnonzero(self.map_12 >= 0)
        starts = sent[np.unique(np.linspace(0, len(sent) - 1, _LINES).astype(int))]
        if selected and selected[0] is not None and self.map_12[selected[0]] >= 0:
            starts = np.concatenate([[selected[0]], starts])
        ends = self.map_12[starts]
        first, second = (surface.mesh.vertices for surface in self.surfaces)
        return np.stack([self.to_page(0, first[starts]), self.to_page(1, second[ends])], axis=1)

    def _stances(self, viewpoint: Viewpoint) -> list[Stance]:
        meshes = [surface.mesh for surface in self.surfaces]
        known = None if self.map_12 is None else self.map_12 >= 0
        if known is None or not known.all():
            return [viewpoint.stance(mesh) for mesh in meshes]
        return list(pair_stances(meshes[0], meshes[1], self.map_12, viewpoint.up))

    def _room(self) -> float:
        """How far apart two meshes stand, so that the viewer sees a gap between them."""
        first, second = (
            self.to_page(i, surface.mesh.vertices) @ self._right
            for i, surface in enumerate(self.surfaces)
        )
        return float(first.max() - second.min()) + _GAP

    def _partner(self, picked: Picked) -> int | None:
        if self.map_12 is None:
            return None
        if picked.mesh == 0:
            partner = int(self.map_12[picked.vertex])
            return None if partner < 0 else partner
        sent_here = np.flatnonzero(self.map_12 == picked.vertex)
        return int(sent_here[0]) if len(sent_here) else None

    def _vertex_panels(self, settings: Settings) -> list[Panel]:
        chosen = settings.selected or (None,) * len(self.surfaces)
        fields = [
            None if vertex is None else surface.values(settings, vertex)
            for surface, vertex in zip(self.surfaces, chosen, strict=True)
        ]
        if settings.shown in DISTANCES:
            clim, bands = _distance_range(fields, settings.shown), _BANDS
        else:
            clim, bands = self._without_peaks(fields, chosen), None
        panels = self._colored(fields, clim, bands=bands)
        return [replace(panel, marker=v) for panel, v in zip(panels, chosen, strict=True)]

    def _without_peaks(
        self, fields: list[FloatArray | None], chosen: Sequence[int | None]
    ) -> tuple[float, float] | None:
        """The range of kernels without the values at their vertices, which are smoothed away."""
        known = [(i, g, v) for i, (g, v) in enumerate(zip(fields, chosen, strict=True))]
        sat = [(i, g, v) for i, g, v in known if g is not None and v is not None]
        if not sat:
            return None
        clim = kernel_range([g for _, g, _ in sat], [v for _, _, v in sat])
        for i, kernel, vertex in sat:
            fields[i] = without_peak(self.surfaces[i].mesh, kernel, vertex)
        return clim

    def _partner_panels(self) -> list[Panel]:
        """The second mesh coloured by position, the first in the colours of where it is sent."""
        if self.map_12 is None:
            raise InputError("there is no map between two meshes; give one")
        first, second = (surface.mesh for surface in self.surfaces)
        colors = position_colors(second)
        carried = np.where((self.map_12 >= 0)[:, None], colors[self.map_12], GREY)
        return [Panel(first, colors=carried), Panel(second, colors=colors)]

    def _error_panels(self) -> list[Panel]:
        if self.error is None:
            raise InputError("there are no errors to show; give a file of them")
        largest = float(np.nanmax(self.error))
        clim = (min(0.0, float(np.nanmin(self.error))), largest if largest > 0 else 1.0)
        others = [None] * (len(self.surfaces) - 1)
        return self._colored([self.error, *others], clim, bands=None)

    def _colored(
        self,
        fields: Sequence[FloatArray | None],
        clim: tuple[float, float] | None,
        *,
        bands: int | None,
    ) -> list[Panel]:
        """Panels with values (n,) on one range; grey without values and where not finite."""
        known = [values is None or bool(np.isfinite(values).all()) for values in fields]
        if clim is not None and not all(known):
            # The last colour is grey then, and no value has it.
            clim = (clim[0], clim[1] + 0.01 * (clim[1] - clim[0]))
        panels = []
        for surface, values, whole in zip(self.surfaces, fields, known, strict=True):
            if values is None:
                panels.append(Panel(surface.mesh))
            elif whole or clim is None:
                panels.append(Panel(surface.mesh, values, clim=clim, bands=bands))
            else:
                filled = np.where(np.isfinite(values), values, clim[1])
                panels.append(
                    Panel(surface.mesh, filled, clim=clim, bands=bands, grey_from=clim[1])
                )
        return panels


def _distance_range(
    fields: Sequence[FloatArray | None], shown: Shown
) -> tuple[float, float] | None:
    """From 0, or about 0, to the largest finite value of all; None where there are no values."""
    finite = [np.abs(values[np.isfinite(values)]) for values in fields if values is not None]
    if not finite:
        return None
    largest = float(max(values.max() for values in finite)) or 1.0
    return (-largest, largest) if shown is Shown.difference else (0.0, largest)


def _ray_lengths(corners: FloatArray, start: FloatArray, way: FloatArray) -> FloatArray:
    """How far along a ray each triangle (m, 3, 3) is met, (m,); infinite where it is not."""
    first, second = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    normal = np.cross(way, second)
    volume = np.einsum("fi,fi->f", first, normal)
    crossed = volume != 0.0
    inverse = 1.0 / np.where(crossed, volume, 1.0)
    offset = start - corners[:, 0]
    u = np.einsum("fi,fi->f", offset, normal) * inverse
    side = np.cross(offset, first)
    v = side @ way * inverse
    reach = np.einsum("fi,fi->f", second, side) * inverse
    inside = crossed & (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (reach > 0.0)
    return np.where(inside, reach, np.inf)


def _checked_map(map_12: ArrayLike, meshes: tuple[TriMesh, ...]) -> IntArray:
    if len(meshes) != 2:
        raise InputError("a map needs two meshes; give the second one too")
    given = np.asarray(map_12)
    n_1, n_2 = (mesh.n_vertices for mesh in meshes)
    if given.shape != (n_1,) or not np.issubdtype(given.dtype, np.integer):
        raise InputError(
            f"the map holds {given.dtype} of shape {given.shape}; it must be one vertex number for"
            f" each of the {n_1} vertices of the first mesh"
        )
    if given.min() < -1 or given.max() >= n_2:
        raise InputError(
            f"the map names vertices {given.min()} to {given.max()}, but the second mesh has {n_2};"
            " are the meshes in the order of the map?"
        )
    return np.asarray(given, dtype=np.int64)


def _checked_error(error: ArrayLike, mesh: TriMesh) -> FloatArray:
    given = np.asarray(error)
    if given.shape != (mesh.n_vertices,) or given.dtype.kind not in "fiu":
        raise InputError(
            f"the errors are {given.dtype} of shape {given.shape}; give one number for each of the"
            f" {mesh.n_vertices} vertices of the first mesh"
        )
    values = np.asarray(given, dtype=np.float64)
    if np.isinf(values).any() or np.isnan(values).all():
        raise InputError("the errors must be finite, or NaN where there is none, but not all NaN")
    return values
