"""Curves as drawings inside a page: small, sharp, and in the colours of its theme."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finsler.errors import InputError
from finsler.typing import FloatArray
from finsler.view.report.blocks import Html, escaped

# Of the drawing and of the field of its curves, in units of the drawing.
_WIDTH, _HEIGHT = 640, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 66, 626, 12, 288

# The style sheet has so many colours, and dashes of another period, for curves.
_COLORS, _DASHES = 7, 4
# A curve of at most so many points shows them.
_MARKED = 40


@dataclass(frozen=True, eq=False)
class Curve:
    """Points (n,) joined in order, with a band between `low` and `high` (n,) where they are given.

    Points that are not finite are left out.
    """

    label: str
    x: NDArray[Any]
    y: NDArray[Any]
    low: NDArray[Any] | None = None
    high: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        arrays = {name: getattr(self, name) for name in ("x", "y", "low", "high")}
        given = {k: np.asarray(v, dtype=np.float64) for k, v in arrays.items() if v is not None}
        shapes = sorted({a.shape for a in given.values()})
        if len(shapes) > 1 or len(shapes[0]) != 1:
            raise InputError(
                f"curve {self.label!r} has arrays of shapes {shapes}; give equal vectors"
            )
        finite = np.isfinite(list(given.values())).all(axis=0)
        for name, values in given.items():
            object.__setattr__(self, name, values[finite])


@dataclass(frozen=True)
class _Field:
    """Where values lie in the drawing."""

    x: tuple[float, float]
    y: tuple[float, float]

    def points(self, x: FloatArray, y: FloatArray) -> str:
        across = _LEFT + (_RIGHT - _LEFT) * (x - self.x[0]) / (self.x[1] - self.x[0])
        down = _BOTTOM - (_BOTTOM - _TOP) * (y - self.y[0]) / (self.y[1] - self.y[0])
        return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, down, strict=True))


def line_chart(
    curves: Sequence[Curve],
    *,
    x_label: str,
    y_label: str,
    y_range: tuple[float, float] | None = None,
) -> Html:
    """A drawing of curves over common axes, with a legend below where there are several.

    Parameters
    ----------
    curves : sequence of Curve
        Those without a finite point are left out.
    x_label, y_label : str
        Plain text.
    y_range : (low, high), optional
        By default round numbers about the values.

    Raises
    ------
    InputError
        No curve has a finite point.
    """
    drawn = [curve for curve in curves if len(curve.x)]
    if not drawn:
        raise InputError("there is no curve to draw; give at least one with a finite point")
    xs = np.concatenate([curve.x for curve in drawn])
    ys = np.concatenate([v for c in drawn for v in (c.y, c.low, c.high) if v is not None])
    x_ticks, y_ticks = _ticks(xs), _ticks(ys) if y_range is None else _ticks(np.array(y_range))
    low, high = (y_ticks[0], y_ticks[-1]) if y_range is None else y_range
    span = (float(xs.min()), float(xs.max()))
    field = _Field(span if span[0] < span[1] else (x_ticks[0], x_ticks[-1]), (low, high))
    parts = [
        f'<figure class="chart"><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"'
        f' aria-label="{escaped(y_label)} against {escaped(x_label)}">',
        _axes(field, x_ticks, y_ticks, x_label, y_label),
        *(_drawn(curve, i, field) for i, curve in enumerate(drawn)),
        "</svg>",
        f"<figcaption>{''.join(_legend(c.label, i) for i, c in enumerate(drawn))}</figcaption>"
        if len(drawn) > 1
        else "",
        "</figure>",
    ]
    return Html("\n".join(parts))


def _drawn(curve: Curve, number: int, field: _Field) -> str:
    style, parts = _style(number), []
    if curve.low is not None and curve.high is not None:
        x = np.concatenate([curve.x, curve.x[::-1]])
        y = np.concatenate([curve.high, curve.low[::-1]])
        parts.append(f'<polygon class="band {style}" points="{field.points(x, y)}"/>')
    points = field.points(curve.x, curve.y)
    parts.append(f'<polyline class="{style}" points="{points}"/>')
    if len(curve.x) <= _MARKED:
        places = (point.split(",") for point in points.split())
        parts += [f'<circle class="{style}" cx="{x}" cy="{y}" r="2.6"/>' for x, y in places]
    return f"<g><title>{escaped(curve.label)}</title>{''.join(parts)}</g>"


def _style(number: int) -> str:
    return f"c{number % _COLORS} d{number % _DASHES}"


def _legend(label: str, number: int) -> str:
    line = f'<polyline class="{_style(number)}" points="0,5 28,5"/>'
    return f'<span><svg viewBox="0 0 28 10" class="key">{line}</svg>{escaped(label)}</span>'


def _axes(
    field: _Field, x_ticks: Sequence[float], y_ticks: Sequence[float], x_label: str, y_label: str
) -> str:
    parts = []
    for value in _inside(x_ticks, field.x):
        at = field.points(np.array([value]), np.array([field.y[0]])).split(",")[0]
        parts.append(f'<line class="grid" x1="{at}" x2="{at}" y1="{_TOP}" y2="{_BOTTOM}"/>')
        parts.append(f'<text class="x" x="{at}" y="{_BOTTOM + 18}">{value:g}</text>')
    for value in _inside(y_ticks, field.y):
        at = field.points(np.array([field.x[0]]), np.array([value])).split(",")[1]
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_RIGHT}" y1="{at}" y2="{at}"/>')
        parts.append(f'<text class="y" x="{_LEFT - 8}" y="{at}" dy="0.35em">{value:g}</text>')
    middle, half = (_LEFT + _RIGHT) / 2, (_TOP + _BOTTOM) / 2
    parts += [
        f'<text class="x label" x="{middle:g}" y="{_HEIGHT - 8}">{escaped(x_label)}</text>',
        f'<text class="x label" transform="translate(14 {half:g}) rotate(-90)">'
        f"{escaped(y_label)}</text>",
    ]
    return "\n".join(parts)


def _inside(ticks: Sequence[float], span: tuple[float, float]) -> list[float]:
    slack = 1e-9 * (span[1] - span[0])
    return [value for value in ticks if span[0] - slack <= value <= span[1] + slack]


def _ticks(values: FloatArray, count: int = 6) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten, about `count`, that enclose the values.

    >>> _ticks(np.array([0.0, 0.25]))
    [0.0, 0.05, 0.1, 0.15, 0.2, 0.25]
    """
    low, high = float(values.min()), float(values.max())
    if low == high:
        low, high = low - 0.5 * (abs(low) or 1.0), high + 0.5 * (abs(high) or 1.0)
    power = 10.0 ** math.floor(math.log10((high - low) / count))
    step = next(power * d for d in (1, 2, 5, 10) if power * d * count >= (high - low) * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(step * i, 12) for i in range(first, last + 1)]
