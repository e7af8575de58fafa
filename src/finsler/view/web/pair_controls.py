"""The controls for two meshes: which map is shown, and landmarks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from finsler.view.web.landmarks import Landmarks, pair_color
from finsler.view.web.outputs import Outputs
from finsler.view.web.scene import Scene

if TYPE_CHECKING:
    import viser

_CHOSEN, _OTHER = "blue", "gray"


class PairControls:
    """Two folders of the panel of one browser; a mesh alone has neither.

    `choose` is called with the number of the map whose button is clicked, `changed` when a box is.
    The buttons `keep`, `remove`, `match` and `save` are for the session to listen to.
    """

    def __init__(
        self,
        gui: viser.GuiApi,
        scene: Scene,
        outputs: Outputs,
        *,
        choose: Callable[[int], None],
        changed: Callable[[], None],
    ) -> None:
        self._gui, self._choose = gui, choose
        self._maps = gui.add_folder("Maps")
        with self._maps:
            self._room = gui.add_folder(None)
            self._beside = gui.add_checkbox("side by side", True)
            hint = "write it to the file of --save"
            named = outputs.map is not None
            self.keep = gui.add_button("Keep this map", visible=named, hint=hint)
        with gui.add_folder("Landmarks", visible=len(scene.surfaces) == 2):
            hint = "a vertex of A and the one of B that corresponds, in turn"
            self._clicking = gui.add_checkbox("click pairs", False, hint=hint)
            self._list = gui.add_html("")
            self.remove = gui.add_button("Remove the last", visible=False)
            self.match = gui.add_button("Match again", hint="with these pairs")
            hint = "to the file of --landmarks"
            named = outputs.landmarks is not None
            self.save = gui.add_button("Save the pairs", visible=named, hint=hint)
        self._words = gui.add_markdown("")
        self._buttons: list[Any] = []
        self.offer(scene)
        for box in (self._beside, self._clicking):
            box.on_update(lambda _: changed())

    @property
    def side_by_side(self) -> bool:
        """Whether all maps are drawn."""
        return bool(self._beside.value) and len(self._buttons) > 1

    @property
    def clicking(self) -> bool:
        """Whether a click is half of a pair."""
        return bool(self._clicking.value)

    def offer(self, scene: Scene) -> None:
        """Have a button for each map."""
        for button in self._buttons:
            button.remove()
        with self._room:
            self._buttons = [self._gui.add_button(offer.title) for offer in scene.maps]
        for number, button in enumerate(self._buttons):
            button.on_click(lambda _, number=number: self._choose(number))
        self._beside.visible = len(self._buttons) > 1
        self._maps.visible = bool(self._buttons)

    def describe(self, chosen: int, landmarks: Landmarks) -> None:
        """Say which map is shown, and list the pairs."""
        for number, button in enumerate(self._buttons):
            button.color = _CHOSEN if number == chosen else _OTHER
        self._list.content = _listed(landmarks, clicking=self.clicking)
        self.remove.visible = landmarks != Landmarks()

    def say(self, text: str) -> None:
        """Show a text below the folders."""
        self._words.content = text


def _listed(landmarks: Landmarks, *, clicking: bool) -> str:
    """The pairs in their colours, and what to click next, as HTML."""
    rows = [
        f'<span style="color:rgb{pair_color(i)}">●</span> A {one} – B {other}'
        for i, (one, other) in enumerate(landmarks.pairs)
    ]
    waiting = landmarks.waiting
    if waiting is not None:
        here, there = "AB" if waiting.mesh == 0 else "BA"
        dot = f'<span style="color:rgb{pair_color(len(rows))}">●</span>'
        rows.append(f"{dot} {here} {waiting.vertex} – now click {there}")
    elif clicking:
        rows.append("click a vertex of A, on the left")
    return f'<div style="padding:0 1em 0.5em;font-size:0.875em">{"<br>".join(rows)}</div>'
