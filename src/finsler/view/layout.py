"""Where the panels, titles and colour bars of a figure go, in whole pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from finsler.view.colors import color_table
from finsler.view.panel import Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar
    from matplotlib.figure import Figure

# Inches.
_GAP = 0.05
_TITLE_LINE = 0.16
_HEADING_LINE = 0.22
_ROW_LABEL = 0.20
_BAR = 0.085
_BAR_GAP = 0.06
_SIDE_TICKS = 1.2
_BELOW_TICKS = 0.18

# A bar is this share of its panel long; upright ones leave room for a common factor of the ticks.
_SIDE_BAR_SHARE = 0.8
_BELOW_BAR_SHARE = 0.9


@dataclass(frozen=True, eq=False)
class Sheet:
    """What a figure shows and how large, in pixels from the top left.

    `rows` are panels whose colours are settled: `clim` and `cmap` set where there are scalars.
    `panel_size` is (width, height) in inches.
    """

    rows: Sequence[Sequence[Panel]]
    panel_size: tuple[float, float]
    dpi: int
    colorbars: bool = True
    title: str | None = None
    row_labels: Sequence[str] | None = None

    def px(self, inches: float) -> int:
        """A length in pixels."""
        return max(round(inches * self.dpi), 1) if inches > 0 else 0

    @property
    def panel(self) -> tuple[int, int]:
        """Width and height of every panel."""
        return self.px(self.panel_size[0]), self.px(self.panel_size[1])

    def has_side_bar(self, i: int) -> bool:
        """Whether one colour bar serves all of row i."""
        return self.colorbars and len(_scales(self.rows[i])) == 1

    def has_bars_below(self, i: int) -> bool:
        """Whether each coloured panel of row i has its own bar."""
        return self.colorbars and len(_scales(self.rows[i])) > 1

    @property
    def left(self) -> int:
        """Left end of the first column."""
        return self.px(_ROW_LABEL if self.row_labels else _GAP)

    @property
    def right(self) -> int:
        """Right end of the last column."""
        columns = max(len(row) for row in self.rows)
        return self.left + columns * (self.panel[0] + self.px(_GAP)) - self.px(_GAP)

    @cached_property
    def tops(self) -> list[int]:
        """Upper end of the pictures of each row, and at last the height of the figure."""
        lines = len(self.title.splitlines()) if self.title else 0
        position = self.px(_GAP) + self.px(lines * _HEADING_LINE)
        tops = []
        for i, row in enumerate(self.rows):
            position += self.px(_TITLE_LINE * max(len(p.title.splitlines()) for p in row))
            tops.append(position)
            position += self.panel[1] + self.px(_GAP)
            if self.has_bars_below(i):
                position += self.px(_BAR_GAP) + self.px(_BAR) + self.px(_BELOW_TICKS)
        return [*tops, position]

    @cached_property
    def size(self) -> tuple[int, int]:
        """Width and height of the figure, with more room for the ticks of side bars than needed."""
        beside = any(self.has_side_bar(i) for i in range(len(self.rows)))
        margin = _BAR_GAP + _BAR + _SIDE_TICKS if beside else _GAP
        return self.right + self.px(margin), self.tops[-1]

    def axes(self, figure: Figure, left: int, top: int, size: tuple[int, int]) -> Axes:
        """Axes on a rectangle."""
        width, height = self.size
        bottom = height - top - size[1]
        return figure.add_axes((left / width, bottom / height, size[0] / width, size[1] / height))


def compose(sheet: Sheet, images: Sequence[Sequence[NDArray[np.uint8]]]) -> Figure:
    """The figure of pictures (h, w, 3), each pixel of theirs on one of its own."""
    from matplotlib.figure import Figure

    width, height = sheet.size
    figure = Figure(figsize=(width / sheet.dpi, height / sheet.dpi), dpi=sheet.dpi)
    for i in range(len(sheet.rows)):
        _draw_row(sheet, figure, i, images[i])
    if sheet.title:
        middle = 0.5 * (sheet.left + sheet.right) / width
        top = 1 - sheet.px(_GAP) / height
        figure.text(middle, top, sheet.title, ha="center", va="top", fontsize=10)
    return figure


def _draw_row(sheet: Sheet, figure: Figure, i: int, images: Sequence[NDArray[np.uint8]]) -> None:
    (width, height), gap, top = sheet.panel, sheet.px(_GAP), sheet.tops[i]
    thickness, length = sheet.px(_BAR), round(_BELOW_BAR_SHARE * width)
    for j, (panel, image) in enumerate(zip(sheet.rows[i], images, strict=True)):
        left = sheet.left + j * (width + gap)
        axes = sheet.axes(figure, left, top, (width, height))
        axes.imshow(image, interpolation="none", aspect="auto")
        axes.set_axis_off()
        axes.set_title(panel.title, pad=2)
        if sheet.has_bars_below(i) and panel.clim is not None:
            corner = left + (width - length) // 2, top + height + sheet.px(_BAR_GAP)
            bar = sheet.axes(figure, *corner, (length, thickness))
            _draw_bar(figure, bar, [panel], "horizontal")
    if sheet.row_labels:
        middle = 1 - (top + 0.5 * height) / sheet.size[1]
        label = sheet.row_labels[i]
        x = 0.5 * sheet.left / sheet.size[0]
        figure.text(x, middle, label, rotation="vertical", ha="center", va="center")
    if sheet.has_side_bar(i):
        length = round(_SIDE_BAR_SHARE * height)
        corner = sheet.right + sheet.px(_BAR_GAP), top + (height - length) // 2
        bar = sheet.axes(figure, *corner, (thickness, length))
        _draw_bar(figure, bar, sheet.rows[i], "vertical")


def _draw_bar(
    figure: Figure,
    axes: Axes,
    panels: Sequence[Panel],
    orientation: Literal["vertical", "horizontal"],
) -> None:
    """Colour bar of panels with one scale; an end is pointed where values lie beyond it."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize
    from matplotlib.ticker import MaxNLocator

    shown, (low, high) = next((p, p.clim) for p in panels if p.clim is not None)
    values = np.concatenate([p.scalars for p in panels if p.scalars is not None])
    ends = (bool(values.min() < low), bool(values.max() > high))
    extend = {(False, False): "neither", (True, False): "min", (False, True): "max"}.get(
        ends, "both"
    )
    bar = figure.colorbar(
        ScalarMappable(Normalize(low, high), ListedColormap(color_table(shown))),
        cax=axes,
        orientation=orientation,
        extend=extend,
        ticks=MaxNLocator(nbins=5, steps=[1, 2, 5, 10]),
    )
    if orientation == "horizontal":
        _label_ends(bar, low, high)
    bar.outline.set_linewidth(0.4)
    bar.ax.yaxis.get_offset_text().set_horizontalalignment("left")
    bar.ax.tick_params(width=0.4, length=2, pad=2)


def _label_ends(bar: Colorbar, low: float, high: float) -> None:
    """Label the ends of a horizontal bar, inwards so that neighbours do not touch, and zero."""
    ticks = [low, 0.0, high] if low == -high else [low, high]
    bar.set_ticks(ticks, labels=[_short(tick, high - low) for tick in ticks])
    labels = bar.ax.get_xticklabels()
    labels[0].set_horizontalalignment("left")
    labels[-1].set_horizontalalignment("right")


def _short(value: float, span: float) -> str:
    """Three digits, e.g. -0.998 or 1.5e-7, with a proper minus sign; 0 for what a span drowns."""
    if abs(value) < 5e-4 * span:
        return "0"
    mantissa, _, exponent = f"{value:.3g}".partition("e")
    text = f"{mantissa}e{int(exponent)}" if exponent else mantissa
    return text.replace("-", "\N{MINUS SIGN}")


def _scales(panels: Sequence[Panel]) -> set[tuple[object, ...]]:
    """The different colour maps with their ranges, level lines and grey ends."""
    return {(p.cmap, p.clim, p.bands, p.grey_from) for p in panels if p.clim is not None}
