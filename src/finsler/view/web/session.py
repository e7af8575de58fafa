"""What one browser has chosen and sees: controls, and a picture that follows them."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from finsler.errors import ConvergenceError, InputError
from finsler.view.panel import Panel
from finsler.view.upright import Viewpoint
from finsler.view.web.camera import show_all
from finsler.view.web.canvas import Canvas
from finsler.view.web.controls import Controls
from finsler.view.web.landmarks import Landmarks
from finsler.view.web.outputs import Outputs
from finsler.view.web.pair_controls import PairControls
from finsler.view.web.picking import Picked
from finsler.view.web.rematch import match_again
from finsler.view.web.scene import Scene
from finsler.view.web.settings import Settings

if TYPE_CHECKING:
    import viser

_COMPUTING = "**computing …**"


class _EndedError(Exception):
    """Nobody waits for the result any more."""


@dataclass(frozen=True)
class Drawn:
    """What was drawn last, and the seconds that it took."""

    settings: Settings
    panels: tuple[Panel, ...]
    seconds: float


class Session:
    """One browser's choices and drawings.

    `submit` hands a job to the thread that computes, in place of one of the same kind that waits; a
    job reads the choices when it begins, so one that waits serves all changes made until then.
    """

    def __init__(
        self,
        scene: Scene,
        client: viser.ClientHandle,
        submit: Callable[[str, Callable[[], None]], None],
        outputs: Outputs,
    ) -> None:
        self.scene = scene
        self.drawn: Drawn | None = None
        self._client = client
        self._submit = submit
        self._outputs = outputs
        self._ended = False
        self._picked = Picked(0, Viewpoint().nearest(scene.surfaces[0].mesh))
        self._chosen = 0
        self._landmarks = Landmarks(scene.landmarks)
        self._canvas = Canvas(client.scene)
        self._controls = Controls(client.gui, scene, changed=self._changed)
        self._controls.screenshot.on_click(lambda _: self._save_screenshot())
        self._pair = PairControls(
            client.gui, scene, outputs, choose=self._choose, changed=self._changed
        )
        self._pair.keep.on_click(lambda _: self._keep_map())
        self._pair.save.on_click(lambda _: self._save_landmarks())
        self._pair.remove.on_click(lambda _: self._mark(self._landmarks.without_last()))
        self._pair.match.on_click(lambda _: self._ask_for_match())
        client.scene.on_click()(self._clicked)
        self._changed()

    def end(self) -> None:
        """Stop at the next occasion what is computed for this browser."""
        self._ended = True

    def _changed(self) -> None:
        self._submit("draw", self._draw)

    def _choose(self, number: int) -> None:
        self._chosen = number
        self._changed()

    def _mark(self, landmarks: Landmarks) -> None:
        self._landmarks = landmarks
        self._changed()

    def _clicked(self, event: viser.SceneClickEvent) -> None:
        ray = event.ray_origin, event.ray_direction
        picked = self.scene.pick(*ray)
        if picked is None:
            number = self.scene.pick_map(*ray) if self._pair.side_by_side else None
            if number is not None:
                self._choose(number)
        elif self._pair.clicking:
            self._mark(self._landmarks.clicked(picked))
        else:
            self._picked = picked
            self._changed()

    def _settings(self) -> Settings:
        return replace(
            self._controls.settings(self.scene.select(self._picked, self._chosen)),
            chosen=self._chosen,
            side_by_side=self._pair.side_by_side,
            landmarks=self._landmarks,
        )

    def _draw(self) -> None:
        start = perf_counter()
        self._controls.say(_COMPUTING)
        try:
            settings = self._settings()
            panels = self.scene.panels(settings)
            self._canvas.draw(self.scene, settings, panels)
        except (InputError, ConvergenceError) as error:
            self._controls.say(str(error))
            return
        self.drawn = Drawn(settings, tuple(panels), perf_counter() - start)
        self._controls.describe(settings, panels, self.drawn.seconds)
        self._pair.describe(settings.chosen, settings.landmarks)

    def _ask_for_match(self) -> None:
        self._pair.match.disabled = True
        self._controls.say(_COMPUTING)
        self._submit("match", self._match)

    def _match(self) -> None:
        """Find a map with the landmarks, and show it."""
        try:
            offer = match_again(self.scene.surfaces, self._landmarks.pairs, self._progress)
        except _EndedError:
            return
        except (InputError, ConvergenceError) as error:
            self._controls.say(str(error))
            return
        finally:
            self._pair.match.disabled = False
        known = len(self.scene.maps)
        self.scene = self.scene.with_map(offer)
        self._chosen = len(self.scene.maps) - 1
        self._controls.offer(self.scene)
        self._pair.offer(self.scene)
        if known == 1 and len(self.scene.maps) > 1:
            show_all(self._client.camera, self.scene)
        self._draw()

    def _progress(self, stage: str) -> None:
        if self._ended:
            raise _EndedError
        self._controls.say(f"{_COMPUTING} {stage}")

    def _keep_map(self) -> None:
        if self.scene.maps:
            offer = self.scene.maps[self._chosen]
            self._submit("keep", lambda: self._write(lambda: self._outputs.keep_map(offer)))

    def _save_landmarks(self) -> None:
        pairs = self._landmarks.pairs
        self._submit("save", lambda: self._write(lambda: self._outputs.save_landmarks(pairs)))

    def _write(self, write: Callable[[], Path]) -> None:
        """Write a file, and say that it is there or why it is not."""
        try:
            self._pair.say(f"Wrote {write().name}")
        except InputError as error:
            self._pair.say(str(error))
        except OSError as error:
            self._pair.say(f"{error.filename}: {error.strerror}")

    def _save_screenshot(self) -> None:
        from PIL import Image

        camera = self._client.camera
        picture = self._client.get_render(
            camera.image_height, camera.image_width, transport_format="png", timeout=30.0
        )
        buffer = io.BytesIO()
        Image.fromarray(picture).save(buffer, format="png")
        self._client.send_file_download("finsler.png", buffer.getvalue(), save_immediately=True)
