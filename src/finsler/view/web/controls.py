"""The controls beside the picture, and the words and colours that explain it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from finsler.errors import InputError
from finsler.spec import OMEGAS, OperatorSpec
from finsler.view.panel import Panel
from finsler.view.web.drawing import colors_and_levels
from finsler.view.web.scene import Scene
from finsler.view.web.settings import AT_A_VERTEX, Settings, Shown

if TYPE_CHECKING:
    import viser

_BAR = (14, 256)
# Least, largest and step of the sliders, with what a visitor is told; what a browser sends is
# compared with them.
_SLIDERS = {
    "alpha": (0.0, 50.0, 0.5, "anisotropy"),
    "theta": (0.0, 360.0, 5.0, "degrees"),
    "tau": (0.0, 5.0, 0.05, "length of ω, if constant; below √(1 + alpha)"),
    "peak": (0.0, 0.95, 0.05, "largest strength of ω, if not constant"),
    "peclet": (0.0, 1.0, 0.05, "drift of directed heat against diffusion"),
    "order": (0, 30, 1, "of the kernel's T_order"),
    "log10 time": (-4.0, 0.0, 0.1, "as a share of the area"),
}
_BOXES = ("principal directions", "omega as arrows", "lines to partners")


class Controls:
    """Sliders and boxes of one browser; `changed` is called whenever one of them moves."""

    def __init__(self, gui: viser.GuiApi, scene: Scene, *, changed: Callable[[], None]) -> None:
        usual = Settings()
        choices = [str(choice) for choice in scene.choices]
        first = next(s for s in (Shown.error, Shown.partners, Shown.heat) if s in choices)
        self._inputs: dict[str, Any] = {
            "Show": gui.add_dropdown("Show", choices, initial_value=str(first))
        }
        self._bar = gui.add_image(np.full((*_BAR, 3), 255, np.uint8), label="Colours")
        self._words = gui.add_markdown("")
        start = {**dataclasses.asdict(usual.operator), "theta": usual.theta, "order": usual.order}
        start["log10 time"] = float(np.log10(usual.time))
        for name, (least, largest, step, hint) in _SLIDERS.items():
            slider = gui.add_slider(name, least, largest, step, start[name], hint=hint)
            self._inputs[name] = slider
            if name == "theta":
                self._inputs["omega"] = gui.add_dropdown("omega", OMEGAS, hint="where ω is strong")
        for name in _BOXES:
            visible = name != _BOXES[-1] or bool(scene.maps)
            self._inputs[name] = gui.add_checkbox(name, False, visible=visible)
        self.screenshot = gui.add_button("Screenshot")
        for control in self._inputs.values():
            control.on_update(lambda _: changed())

    def settings(self, selected: tuple[int | None, ...]) -> Settings:
        """What is chosen now.

        Raises
        ------
        InputError
            A value that the page does not offer; a client need not be the page.
        """
        numbers = {name: _within(name, self._inputs[name].value) for name in _SLIDERS}
        directions, arrows, lines = (self._inputs[name].value for name in _BOXES)
        return Settings(
            shown=Shown(_offered(self._inputs["Show"].value, tuple(Shown))),
            selected=selected,
            operator=OperatorSpec(
                alpha=numbers["alpha"],
                tau=numbers["tau"],
                omega=_offered(self._inputs["omega"].value, OMEGAS),
                peak=numbers["peak"],
                peclet=numbers["peclet"],
            ),
            theta=numbers["theta"],
            order=int(numbers["order"]),
            time=10.0 ** numbers["log10 time"],
            directions=directions,
            arrows=arrows,
            lines=lines,
        )

    def offer(self, scene: Scene) -> None:
        """Offer and show the correspondence of a scene that has a new map."""
        self._inputs["Show"].options = [str(choice) for choice in scene.choices]
        self._inputs["Show"].value = str(Shown.partners)
        self._inputs[_BOXES[-1]].visible = True

    def describe(self, settings: Settings, panels: list[Panel], seconds: float) -> None:
        """Say what is drawn and what its colours mean, with the controls that matter for it."""
        self._show_controls(settings)
        lines = []
        ranges = [(panel, panel.clim) for panel in panels if panel.clim is not None]
        self._bar.visible = bool(ranges)
        for panel, (low, high) in ranges[:1]:
            self._bar.image = _bar_of(panel)
            lines.append(f"{low:.3g} to {high:.3g}, left to right")
        if settings.shown is Shown.partners:
            lines = ["partners have one colour"]
        if settings.shown in AT_A_VERTEX:
            names = [f"{v}" for v in settings.selected if v is not None]
            lines.append(f"vertex {' and '.join(names)} (click another)")
        lines.append(f"{1000 * seconds:.0f} ms")
        self.say("  \n".join(lines))

    def _show_controls(self, settings: Settings) -> None:
        constant = settings.operator.omega == "constant"
        shown = settings.shown
        drifts = shown is Shown.directed
        bends = settings.arrows or (shown in AT_A_VERTEX and not drifts)
        matters = {
            **dict.fromkeys(("alpha", "omega"), bends),
            "theta": bends or drifts,
            "tau": bends and constant,
            "peak": bends and not constant,
            "peclet": drifts,
            "order": shown in (Shown.kernel, Shown.wide),
            "log10 time": shown in (Shown.heat, Shown.directed),
        }
        for name, visible in matters.items():
            if self._inputs[name].visible != visible:
                self._inputs[name].visible = visible

    def say(self, text: str) -> None:
        """Show a text below the colours."""
        self._words.content = text


def _within(name: str, value: float) -> float:
    least, largest, *_ = _SLIDERS[name]
    if not least <= value <= largest:
        raise InputError(f"{name} is {value:g}; it must lie in {least:g} to {largest:g}")
    return value


def _offered(value: str, choices: Sequence[str]) -> str:
    if value not in choices:
        raise InputError(f"{value[:40]!r} is not among {', '.join(choices)}")
    return value


def _bar_of(panel: Panel) -> NDArray[np.uint8]:
    """The colours of a panel from left to right."""
    table, _ = colors_and_levels(panel)
    rows = table[np.linspace(0, len(table) - 1, _BAR[1]).astype(int)]
    return np.broadcast_to(np.round(255 * rows).astype(np.uint8), (*_BAR, 3))
