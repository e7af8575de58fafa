"""What the page shows: one or two meshes side by side, as panels, segments and a marker.

Nothing here knows of a browser. Points are in the units of the page, in which every mesh fits a
sphere of radius 1.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from finsler.errors import InputError
from finsler.matching.offers import OfferedMap
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray, IntArray
from finsler.view.colors import GREY
from finsler.view.panel import Panel, resolve_colors
from finsler.view.surfaces import kernel_range, position_colors, without_peak
from finsler.view.upright import Viewpoint
from finsler.view.web.checks import checked_error, checked_map, checked_pairs
from finsler.view.web.functions import MeshFunctions
from finsler.view.web.layout import Layout
from finsler.view.web.picking import Picked, ray_lengths
from finsler.view.web.settings import AT_A_VERTEX, DISTANCES, Settings, Shown

_BANDS = 20
_LINES = 60


class Scene:
    """One or two meshes, with what is known of them.

    Parameters
    ----------
    meshes : one or two TriMesh
    map_12 : (n_1,) of int, optional
        The partner of each vertex on the second mesh; -1 where it has none.
    maps : sequence of OfferedMap
        More maps to choose from, such as those of `read_maps`.
    error : (n_1,), optional
        A value for each vertex of the first mesh; NaN where there is none.
    landmarks : (p, 2), optional
        Known pairs of a vertex of the first mesh and one of the second.
    viewpoint : Viewpoint, optional
        Which axis of the files is up, and the side to look from; by default both shapes stand
        upright, and a first map that gives each vertex a partner makes both face the same way.

    Raises
    ------
    InputError
        Not one or two meshes, or a map, an error or landmarks that do not fit them.

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
        maps: Sequence[OfferedMap] = (),
        error: ArrayLike | None = None,
        landmarks: ArrayLike = (),
        viewpoint: Viewpoint | None = None,
    ) -> None:
        if len(meshes) not in (1, 2):
            raise InputError(f"there are {len(meshes)} meshes; the page shows one or two")
        self.surfaces = tuple(MeshFunctions(mesh) for mesh in meshes)
        first = () if map_12 is None else (OfferedMap("map", {"map_12": map_12}),)
        self.maps = tuple(checked_map(offer, meshes) for offer in (*first, *maps))
        self.error = None if error is None else checked_error(error, meshes[0])
        self.landmarks = checked_pairs(landmarks, meshes)
        self.layout = Layout(meshes, self.map_12, viewpoint or Viewpoint())

    @property
    def map_12(self) -> IntArray | None:
        """The first map, (n_1,), if there is any."""
        return self.maps[0].map_12 if self.maps else None

    def with_map(self, offer: OfferedMap) -> Scene:
        """The same meshes in the same places, with a map more, or in place of one of its name."""
        meshes = tuple(surface.mesh for surface in self.surfaces)
        scene = copy.copy(self)
        others = (known for known in self.maps if known.name != offer.name)
        scene.maps = (*others, checked_map(offer, meshes))
        return scene

    @property
    def choices(self) -> list[Shown]:
        """What this scene has colours for."""
        missing = {Shown.partners: not self.maps, Shown.error: self.error is None}
        return [shown for shown in Shown if not missing.get(shown, False)]

    def to_page(self, mesh: int, points: FloatArray) -> FloatArray:
        """Points (..., 3) of a mesh in units of the page."""
        return self.layout.to_page(mesh, points)

    def pick(self, origin: ArrayLike, direction: ArrayLike) -> Picked | None:
        """The vertex nearest to where a ray first meets a mesh, or None."""
        start, way = np.asarray(origin, dtype=float), np.asarray(direction, dtype=float)
        best, picked = np.inf, None
        for i, surface in enumerate(self.surfaces):
            faces = surface.mesh.faces
            corners = self.to_page(i, surface.mesh.vertices)[faces]
            reach = ray_lengths(corners, start, way)
            face = int(np.argmin(reach))
            if reach[face] < best:
                best = float(reach[face])
                apart = np.linalg.norm(corners[face] - (start + best * way), axis=1)
                picked = Picked(i, int(faces[face, np.argmin(apart)]))
        return picked

    def pick_map(self, origin: ArrayLike, direction: ArrayLike) -> int | None:
        """The map whose copy of the first mesh a ray meets first, or None."""
        start, way = np.asarray(origin, dtype=float), np.asarray(direction, dtype=float)
        mesh = self.surfaces[0].mesh
        reach = [
            ray_lengths(self.to_copy(mesh.vertices, number)[mesh.faces], start, way).min()
            for number in range(len(self.maps))
        ]
        return int(np.argmin(reach)) if np.isfinite(reach).any() else None

    def to_copy(self, points: FloatArray, number: int) -> FloatArray:
        """Points (..., 3) of the first mesh on the copy that shows a map beside the others."""
        return self.layout.to_copy(points, number, len(self.maps))

    def select(self, picked: Picked, chosen: int = 0) -> tuple[int | None, ...]:
        """The selected vertex of each mesh: the one picked, and its partner in the chosen map.

        Of several vertices that are sent to one, the first is its partner.
        """
        if len(self.surfaces) == 1:
            return (picked.vertex,)
        partner = self._partner(picked, chosen)
        return (picked.vertex, partner) if picked.mesh == 0 else (partner, picked.vertex)

    def panels(self, settings: Settings) -> list[Panel]:
        """Each mesh with its colours, on one scale; grey where there is nothing to show."""
        if settings.shown is Shown.partners:
            panels = self._partner_panels(settings.chosen)
        elif settings.shown is Shown.error:
            panels = self._error_panels()
        elif settings.shown in AT_A_VERTEX:
            panels = self._vertex_panels(settings)
        else:
            panels = [Panel(surface.mesh) for surface in self.surfaces]
        return resolve_colors(panels)

    def map_panels(self) -> list[Panel]:
        """For each map the first mesh in the colours of where it is sent."""
        return [self._partner_panels(number)[0] for number in range(len(self.maps))]

    def lines(self, selected: tuple[int | None, ...] = (), chosen: int = 0) -> FloatArray:
        """Segments (p, 2, 3) between some vertices and partners; between the selected first."""
        if not self.maps:
            return np.empty((0, 2, 3))
        map_12 = self.maps[chosen].map_12
        sent = np.flatnonzero(map_12 >= 0)
        starts = sent[np.unique(np.linspace(0, len(sent) - 1, _LINES).astype(int))]
        if selected and selected[0] is not None and map_12[selected[0]] >= 0:
            starts = np.concatenate([[selected[0]], starts])
        return self.segments(np.stack([starts, map_12[starts]], axis=1))

    def segments(self, pairs: ArrayLike) -> FloatArray:
        """Segments (p, 2, 3) from vertices of the first mesh to vertices of the second."""
        ends = np.asarray(pairs, dtype=np.int64).reshape(-1, 2).T
        points = (
            self.to_page(i, surface.mesh.vertices[vertices])
            for i, (surface, vertices) in enumerate(zip(self.surfaces, ends, strict=True))
        )
        return np.stack(list(points), axis=1)

    def _partner(self, picked: Picked, chosen: int) -> int | None:
        if not self.maps:
            return None
        map_12 = self.maps[chosen].map_12
        if picked.mesh == 0:
            partner = int(map_12[picked.vertex])
            return None if partner < 0 else partner
        sent_here = np.flatnonzero(map_12 == picked.vertex)
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

    def _partner_panels(self, chosen: int) -> list[Panel]:
        """The second mesh coloured by position, the first in the colours of where it is sent."""
        if not self.maps:
            raise InputError("there is no map between two meshes; give one")
        map_12 = self.maps[chosen].map_12
        first, second = (surface.mesh for surface in self.surfaces)
        colors = position_colors(second)
        carried = np.where((map_12 >= 0)[:, None], colors[map_12], GREY)
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
