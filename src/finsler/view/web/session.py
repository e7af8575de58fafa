"""What one browser has chosen and sees: controls, and drawings that follow them."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from finsler.errors import ConvergenceError, InputError
from finsler.spec import OperatorSpec
from finsler.view.panel import Panel
from finsler.view.scene import ARROW_COLOR, MARKER_COLOR
from finsler.view.upright import Viewpoint
from finsler.view.web.controls import Controls
from finsler.view.web.drawing import as_glb
from finsler.view.web.scene import Picked, Scene
from finsler.view.web.settings import Settings

if TYPE_CHECKING:
    import viser

# Blue and vermilion of Okabe and Ito: the directions of maximal and of minimal curvature.
_DIRECTION_COLORS = ((0, 114, 178), (213, 94, 0))
_LINE_COLOR = (0.35, 0.38, 0.42)
_THICKNESS = 0.004
_MARKER_RADIUS = 0.012
# A drawing is taken away so many seconds after its successor was sent, which has arrived by then.
_OVERLAP = 0.5


@dataclass(frozen=True)
class Drawn:
    """What was drawn last, and the seconds that it took."""

    settings: Settings
    panels: tuple[Panel, ...]
    seconds: float


class Session:
    """One browser's choices and drawings.

    `submit` hands a job to the thread that computes; a job reads the choices when it begins, so
    one that waits serves all changes made until then.
    """

    def __init__(
        self,
        scene: Scene,
        client: viser.ClientHandle,
        submit: Callable[[Callable[[], None]], None],
    ) -> None:
        self.scene = scene
        self.drawn: Drawn | None = None
        self._client = client
        self._submit = submit
        self._shown: dict[str, tuple[Hashable, Any]] = {}
        self._drawings = 0
        self._selected = scene.select(Picked(0, _nearest_the_viewer(scene)))
        self._controls = Controls(client.gui, scene, changed=self._changed)
        self._controls.screenshot.on_click(lambda _: self._save_screenshot())
        client.scene.on_click()(self._clicked)
        self._changed()

    def _changed(self) -> None:
        self._submit(self._draw)

    def _clicked(self, event: viser.SceneClickEvent) -> None:
        picked = self.scene.pick(event.ray_origin, event.ray_direction)
        if picked is not None:
            self._selected = self.scene.select(picked)
            self._changed()

    def _draw(self) -> None:
        start = perf_counter()
        self._controls.say("**computing …**")
        try:
            settings = self._controls.settings(self._selected)
            panels = self.scene.panels(settings)
            self._draw_meshes(panels)
            self._draw_markers(settings)
            self._draw_directions(settings)
            self._draw_lines(settings)
        except (InputError, ConvergenceError) as error:
            self._controls.say(str(error))
            return
        self.drawn = Drawn(settings, tuple(panels), perf_counter() - start)
        self._controls.describe(settings, panels, self.drawn.seconds)

    def _draw_meshes(self, panels: list[Panel]) -> None:
        self._drawings += 1
        for i, panel in enumerate(panels):
            content = as_glb(panel, self.scene.to_page(i, panel.mesh.vertices))
            name = f"/mesh_{i}/{self._drawings}"
            handle = self._client.scene.add_glb(name, content, cast_shadow=False)
            _, before = self._shown.get(f"mesh_{i}", (None, None))
            self._shown[f"mesh_{i}"] = (self._drawings, handle)
            if before is not None:
                _later(before.remove)

    def _draw_markers(self, settings: Settings) -> None:
        for i, vertex in enumerate(settings.selected):
            self._show(f"/marker_{i}", vertex, self._marker, i, vertex)

    def _draw_directions(self, settings: Settings) -> None:
        operator, meant = settings.operator, (settings.operator, settings.theta)
        for i in range(len(self.scene.surfaces)):
            key = operator.smoothing if settings.directions else None
            for axis, color in zip(("max", "min"), _DIRECTION_COLORS, strict=True):
                self._show(f"/{axis}_{i}", key, self._direction, i, operator, axis, color)
            self._show(f"/omega_{i}", meant if settings.arrows else None, self._arrows, i, *meant)

    def _draw_lines(self, settings: Settings) -> None:
        key = settings.selected if settings.lines else None
        self._show("/lines", key, self._lines, settings.selected)

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

    def _marker(self, name: str, mesh: int, vertex: int) -> Any:
        point = self.scene.to_page(mesh, self.scene.surfaces[mesh].mesh.vertices[vertex])
        return self._client.scene.add_icosphere(
            name, radius=_MARKER_RADIUS, color=MARKER_COLOR, position=point, cast_shadow=False
        )

    def _direction(
        self, name: str, mesh: int, operator: OperatorSpec, axis: str, color: tuple[int, ...]
    ) -> Any:
        segments = self.scene.surfaces[mesh].direction_segments(operator, axis)
        return self._client.scene.add_line_segments(
            name, self.scene.to_page(mesh, segments), np.asarray(color), thickness=_THICKNESS
        )

    def _arrows(self, name: str, mesh: int, operator: OperatorSpec, theta: float) -> Any:
        arrows = self.scene.surfaces[mesh].omega_arrows(operator, theta)
        return self._client.scene.add_arrows(
            name,
            self.scene.to_page(mesh, arrows),
            ARROW_COLOR,
            shaft_radius=0.5 * _THICKNESS,
            head_radius=1.5 * _THICKNESS,
            head_length=3.0 * _THICKNESS,
        )

    def _lines(self, name: str, selected: tuple[int | None, ...]) -> Any:
        segments = self.scene.lines(selected)
        colors = np.tile(np.asarray(_LINE_COLOR), (*segments.shape[:2], 1))
        if len(segments) and None not in selected:
            colors[0] = MARKER_COLOR
        return self._client.scene.add_line_segments(name, segments, colors, thickness=_THICKNESS)

    def _save_screenshot(self) -> None:
        from PIL import Image

        camera = self._client.camera
        picture = self._client.get_render(
            camera.image_height, camera.image_width, transport_format="png", timeout=30.0
        )
        buffer = io.BytesIO()
        Image.fromarray(picture).save(buffer, format="png")
        self._client.send_file_download("finsler.png", buffer.getvalue(), save_immediately=True)


def _nearest_the_viewer(scene: Scene) -> int:
    return Viewpoint().nearest(scene.surfaces[0].mesh)


def _later(action: Callable[[], None]) -> None:
    timer = threading.Timer(_OVERLAP, action)
    timer.daemon = True
    timer.start()
