"""The picture in one browser: meshes, markers, segments and words, drawn anew where they change."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from finsler.spec import OperatorSpec
from finsler.view.panel import Panel
from finsler.view.scene import ARROW_COLOR, MARKER_COLOR
from finsler.view.web.drawing import as_glb
from finsler.view.web.landmarks import Landmarks, Pair, pair_color
from finsler.view.web.picking import Picked
from finsler.view.web.scene import Scene
from finsler.view.web.settings import Settings

if TYPE_CHECKING:
    import viser

Color = tuple[float, float, float] | tuple[int, int, int]

# Blue and vermilion of Okabe and Ito: the directions of maximal and of minimal curvature.
_DIRECTION_COLORS = ((0, 114, 178), (213, 94, 0))
_LINE_COLOR = (0.35, 0.38, 0.42)
_THICKNESS = 0.004
_MARKER_RADIUS, _LANDMARK_RADIUS = 0.012, 0.025
# A drawing is taken away so many seconds after its successor was sent, which has arrived by then.
_OVERLAP = 0.5


class Canvas:
    """What is drawn of a scene."""

    def __init__(self, target: viser.SceneApi) -> None:
        self._target = target
        self._shown: dict[str, tuple[Hashable, Any]] = {}
        self._drawings = 0

    def draw(self, scene: Scene, settings: Settings, panels: Sequence[Panel]) -> None:
        """Show the panels, and all that the settings ask for."""
        self._draw_meshes(scene, panels)
        for i, vertex in enumerate(settings.selected):
            spot = None if vertex is None else Picked(i, vertex)
            self._show(f"/marker_{i}", spot, self._marker, scene, spot)
        self._draw_directions(scene, settings)
        key = (settings.selected, settings.chosen, scene.maps) if settings.lines else None
        self._show("/lines", key, self._lines, scene, settings)
        self._draw_maps(scene, settings)
        self._draw_landmarks(scene, settings.landmarks)

    def _draw_meshes(self, scene: Scene, panels: Sequence[Panel]) -> None:
        self._drawings += 1
        for i, panel in enumerate(panels):
            content = as_glb(panel, scene.to_page(i, panel.mesh.vertices))
            name = f"/mesh_{i}/{self._drawings}"
            handle = self._target.add_glb(name, content, cast_shadow=False)
            _, before = self._shown.get(f"mesh_{i}", (None, None))
            self._shown[f"mesh_{i}"] = (self._drawings, handle)
            if before is not None:
                _later(before.remove)

    def _draw_directions(self, scene: Scene, settings: Settings) -> None:
        operator, meant = settings.operator, (settings.operator, settings.theta)
        for i in range(len(scene.surfaces)):
            key = operator.smoothing if settings.directions else None
            for axis, color in zip(("max", "min"), _DIRECTION_COLORS, strict=True):
                self._show(f"/{axis}_{i}", key, self._direction, scene, i, operator, axis, color)
            arrows = meant if settings.arrows else None
            self._show(f"/omega_{i}", arrows, self._arrows, scene, i, *meant)

    def _draw_maps(self, scene: Scene, settings: Settings) -> None:
        """What each map does, on a copy of the first mesh with its name below."""
        count = len(scene.maps) if settings.side_by_side else 0
        panels = scene.map_panels() if count else []
        for i, panel in enumerate(panels):
            self._show(f"/copy_{i}", scene.maps, self._copy, scene, i, panel)
            chosen = i == settings.chosen
            self._show(f"/copy_{i}_name", (scene.maps, chosen), self._title, scene, i, chosen)
        self._clear("/copy_", count)

    def _draw_landmarks(self, scene: Scene, landmarks: Landmarks) -> None:
        for i, pair in enumerate(landmarks.pairs):
            spots = (Picked(mesh, vertex) for mesh, vertex in enumerate(pair))
            for name, spot in zip("ab", spots, strict=True):
                self._show(f"/landmark_{i}_{name}", spot, self._landmark, scene, spot, i)
            self._show(f"/landmark_{i}_line", pair, self._landmark_line, scene, pair, i)
        count = len(landmarks.pairs)
        self._clear("/landmark_", count)
        waiting = None if landmarks.waiting is None else (landmarks.waiting, count)
        self._show("/waiting", waiting, self._landmark, scene, landmarks.waiting, count)

    def _show(
        self, name: str, key: Hashable | None, draw: Callable[..., Any], *arguments: Any
    ) -> None:
        """Draw, in place of what had this name, where the key is another; nothing for None."""
        old_key, handle = self._shown.get(name, (None, None))
        if key == old_key:
            return
        if key is None:
            handle.remove()
        self._shown[name] = (key, None if key is None else draw(name, *arguments))

    def _clear(self, prefix: str, count: int) -> None:
        """Take away what is numbered after a prefix from `count` on."""
        for name in list(self._shown):
            number = name.removeprefix(prefix).partition("_")[0]
            if name.startswith(prefix) and int(number) >= count:
                self._show(name, None, lambda *_: None)

    def _marker(
        self,
        name: str,
        scene: Scene,
        spot: Picked,
        color: Color = MARKER_COLOR,
        radius: float = _MARKER_RADIUS,
    ) -> Any:
        point = scene.to_page(spot.mesh, scene.surfaces[spot.mesh].mesh.vertices[spot.vertex])
        return self._target.add_icosphere(
            name, radius=radius, color=color, position=point, cast_shadow=False
        )

    def _landmark(self, name: str, scene: Scene, spot: Picked, number: int) -> Any:
        return self._marker(name, scene, spot, pair_color(number), _LANDMARK_RADIUS)

    def _landmark_line(self, name: str, scene: Scene, pair: Pair, number: int) -> Any:
        return self._target.add_line_segments(
            name, scene.segments([pair]), np.array(pair_color(number)), thickness=_THICKNESS
        )

    def _copy(self, name: str, scene: Scene, number: int, panel: Panel) -> Any:
        content = as_glb(panel, scene.to_copy(panel.mesh.vertices, number))
        return self._target.add_glb(name, content, cast_shadow=False)

    def _title(self, name: str, scene: Scene, number: int, chosen: bool) -> Any:
        words = f"✓ {scene.maps[number].title}" if chosen else scene.maps[number].title
        place = scene.layout.below_copy(number, len(scene.maps))
        return self._target.add_label(name, words, position=place, anchor="top-center")

    def _direction(
        self,
        name: str,
        scene: Scene,
        mesh: int,
        operator: OperatorSpec,
        axis: str,
        color: tuple[int, ...],
    ) -> Any:
        segments = scene.surfaces[mesh].direction_segments(operator, axis)
        return self._target.add_line_segments(
            name, scene.to_page(mesh, segments), np.asarray(color), thickness=_THICKNESS
        )

    def _arrows(
        self, name: str, scene: Scene, mesh: int, operator: OperatorSpec, theta: float
    ) -> Any:
        arrows = scene.surfaces[mesh].omega_arrows(operator, theta)
        return self._target.add_arrows(
            name,
            scene.to_page(mesh, arrows),
            ARROW_COLOR,
            shaft_radius=0.5 * _THICKNESS,
            head_radius=1.5 * _THICKNESS,
            head_length=3.0 * _THICKNESS,
        )

    def _lines(self, name: str, scene: Scene, settings: Settings) -> Any:
        segments = scene.lines(settings.selected, settings.chosen)
        colors = np.tile(np.asarray(_LINE_COLOR), (*segments.shape[:2], 1))
        if len(segments) and None not in settings.selected:
            colors[0] = MARKER_COLOR
        return self._target.add_line_segments(name, segments, colors, thickness=_THICKNESS)


def _later(action: Callable[[], None]) -> None:
    timer = threading.Timer(_OVERLAP, action)
    timer.daemon = True
    timer.start()
