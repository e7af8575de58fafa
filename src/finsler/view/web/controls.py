"""The controls beside the picture, and the words and colours that explain it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from finsler.errors import InputError
from finsler.operator import OperatorSpec
from finsler.operator.spec import OMEGAS
from finsler.view.panel import Panel
from finsler.view.web.drawing import colors_and_levels
from finsler.view.web.scene import Scene
from finsler.view.web.settings import AT_A_VERTEX, Settings, Shown

if TYPE_CHECKING:
    import viser

_BAR = (14, 256)
# Least, largest and step of the sliders; what a browser sends is compared with them.
_RANGES = {
    "alpha": (0.0, 50.0, 0.5),
    "theta": (0.0, 180.0, 2.5),
    "tau": (0.0, 5.0, 0.05),
    "peak": (0.0, 0.95, 0.05),
    "order": (0, 30, 1),
    "log10 time": (-4.0, 0.0, 0.1),
}


class Controls:
    """Sliders and boxes of one browser; `changed` is called whenever one of them moves."""

    def __init__(self, gui: viser.GuiApi, scene: Scene, *, changed: Callable[[], None]) -> None:
        usual = Settings()
        choices = scene.choices
        first = next(s for s in (Shown.error, Shown.partners, Shown.heat) if s in choices)
        self._shown = gui.add_dropdown("Show", [str(c) for c in choices], initial_value=str(first))
        self._bar = gui.add_image(np.full((*_BAR, 3), 255, np.uint8), label="Colours")
        self._words = gui.add_markdown("")

        def slider(name: str, value: float, hint: str) -> Any:
            return gui.add_slider(name, *_RANGES[name], value, hint=hint)

        meant = usual.operator
        self._alpha = slider("alpha", meant.alpha, "anisotropy")
        self._theta = slider("theta", usual.theta, "degrees")
        self._omega = gui.add_dropdown("omega", OMEGAS, hint="where ω is strong")
        self._tau = slider("tau", meant.tau, "length of ω, if constant; below √(1 + alpha)")
        self._peak = slider("peak", meant.peak, "largest strength of ω, if not constant")
        self._order = slider("order", usual.order, "of the kernel's T_order")
        self._time = slider("log10 time", float(np.log10(usual.time)), "as a share of the area")
        self._directions = gui.add_checkbox("principal directions", False)
        self._arrows = gui.add_checkbox("omega as arrows", False)
        self._lines = gui.add_checkbox("lines to partners", False, visible=scene.map_12 is not None)
        self.screenshot = gui.add_button("Screenshot")
        inputs = (self._shown, self._alpha, self._theta, self._omega, self._tau, self._peak)
        boxes = (self._directions, self._arrows, self._lines)
        for control in (*inputs, self._order, self._time, *boxes):
            control.on_update(lambda _: changed())

    def settings(self, selected: tuple[int | None, ...]) -> Settings:
        """What is chosen now.

        Raises
        ------
        InputError
            A value that the page does not offer; a client need not be the page.
        """
        operator = OperatorSpec(
            alpha=_within("alpha", self._alpha.value),
            tau=_within("tau", self._tau.value),
            omega=_offered(self._omega.value, OMEGAS),
            peak=_within("peak", self._peak.value),
        )
        return Settings(
            shown=Shown(_offered(self._shown.value, tuple(Shown))),
            selected=selected,
            operator=operator,
            theta=_within("theta", self._theta.value),
            order=int(_within("order", self._order.value)),
            time=10.0 ** _within("log10 time", self._time.value),
            directions=self._directions.value,
            arrows=self._arrows.value,
            lines=self._lines.value,
        )

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
        bends = settings.arrows or shown in AT_A_VERTEX
        for control, matters in (
            (self._alpha, bends),
            (self._theta, bends),
            (self._omega, bends),
            (self._tau, bends and constant),
            (self._peak, bends and not constant),
            (self._order, shown in (Shown.kernel, Shown.wide)),
            (self._time, shown is Shown.heat),
        ):
            if control.visible != matters:
                control.visible = matters

    def say(self, text: str) -> None:
        """Show a text below the colours."""
        self._words.content = text


def _within(name: str, value: float) -> float:
    least, largest, _ = _RANGES[name]
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
