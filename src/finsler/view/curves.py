"""Curves in the style of the figures: spectra, and cumulative errors of correspondences."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from finsler.errors import InputError
from finsler.storage.files import write_bytes
from finsler.typing import FloatArray
from finsler.view.figures import STYLE, check_size, check_target, encoded
from finsler.view.renderer import require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The palette of Okabe and Ito, told apart by colour-blind readers.
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_STYLES = ("-", "--", ":", "-.")
# Curves of at most so many points show them.
_MARKED = 40


def plot_spectrum(
    path: str | os.PathLike[str],
    spectra: Mapping[str, ArrayLike],
    *,
    title: str | None = None,
    x_label: str = "index $k$",
    y_label: str = r"eigenvalue $\lambda_k$",
    size: tuple[float, float] = (3.4, 2.4),
    dpi: int = 200,
) -> Path:
    """Write eigenvalues against their index from 0, one curve per label; return the path.

    Parameters
    ----------
    path : str or Path
        Ends in .png, .svg or .pdf; replaced only once the new file is complete.
    spectra : mapping of str to (k,) array
        Legend label and eigenvalues of each curve; lengths may differ.
    title, x_label, y_label : str
        Mathematics between dollar signs.
    size, dpi : (width, height), int
        In inches; pixels per inch.

    Raises
    ------
    InputError
        No curve, values that are not a finite vector, a path that cannot be used, or matplotlib is
        not installed.
    """
    curves = {label: _checked_spectrum(label, values) for label, values in spectra.items()}
    if not curves:
        raise InputError("there is no spectrum to plot; give at least one label with eigenvalues")

    def finish(axes: Axes) -> None:
        from matplotlib.ticker import MaxNLocator

        for line, values in zip(axes.get_lines(), curves.values(), strict=True):
            line.set(marker="o" if len(values) <= _MARKED else "", markersize=2.2)
        axes.set(xlabel=x_label, ylabel=y_label, title=title or "")
        axes.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))

    lines = {label: (np.arange(len(values)), values) for label, values in curves.items()}
    return _write_lines(path, lines, finish, size, dpi, "best")


def plot_error_curves(
    path: str | os.PathLike[str],
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    title: str | None = None,
    x_label: str = r"geodesic error $r$ / $\sqrt{\mathrm{area}}$",
    y_label: str = r"vertices with error $\leq r$, %",
    end: float | None = None,
    size: tuple[float, float] = (3.4, 2.4),
    dpi: int = 200,
) -> Path:
    """Write the share of vertices within a radius, one curve per label; return the path.

    Parameters
    ----------
    path : str or Path
        Ends in .png, .svg or .pdf; replaced only once the new file is complete.
    curves : mapping of str to ((g,) radii, (g,) shares)
        Legend label, radii that increase, and shares from 0 to 1 that do not decrease, as in
        `Score.grid` and `Score.curve`.
    title, x_label, y_label : str
        Mathematics between dollar signs. The default x_label is that of errors divided by √area.
    end : float, optional
        Of the x axis; by default the largest radius.
    size, dpi : (width, height), int
        In inches; pixels per inch.

    Raises
    ------
    InputError
        No curve, one that is not a cumulative curve, a path that cannot be used, or matplotlib is
        not installed.
    """
    lines = {label: _checked_errors(label, *curve) for label, curve in curves.items()}
    if not lines:
        raise InputError("there is no error curve to plot; give at least one label with a curve")
    last = max(float(x[-1]) for x, _ in lines.values()) if end is None else end
    if not 0.0 < last < np.inf:
        raise InputError(f"the x axis ends at {last}; it must end at a positive radius")

    def finish(axes: Axes) -> None:
        axes.set(xlabel=x_label, ylabel=y_label, title=title or "")
        axes.set(xlim=(0.0, last), ylim=(0.0, 102.0), yticks=range(0, 101, 20))

    return _write_lines(path, lines, finish, size, dpi, "lower right")


def _write_lines(
    path: str | os.PathLike[str],
    lines: Mapping[str, tuple[ArrayLike, ArrayLike]],
    finish: Callable[[Axes], None],
    size: tuple[float, float],
    dpi: int,
    legend: Literal["best", "lower right"],
) -> Path:
    """Write curves (x, y) in the common style; `finish` labels the axes, before the legend."""
    target = check_target(path)
    check_size(size, dpi)
    require_matplotlib()
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.add_subplot()
        for i, (label, (x, y)) in enumerate(lines.items()):
            color, style = _COLORS[i % len(_COLORS)], _STYLES[i % len(_STYLES)]
            axes.plot(x, y, color=color, linestyle=style, linewidth=1.2, label=label)
        finish(axes)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="0.9", linewidth=0.5)
        axes.set_axisbelow(True)
        axes.legend(frameon=False, loc=legend)
        content = encoded(figure, target, dpi)
    return write_bytes(target, content)


def _real_numbers(what: str, values: ArrayLike) -> FloatArray:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must hold real numbers: {error}") from error


def _checked_spectrum(label: str, values: ArrayLike) -> FloatArray:
    curve = _real_numbers(f"spectrum {label!r}", values)
    if curve.ndim != 1 or len(curve) == 0 or not np.isfinite(curve).all():
        raise InputError(
            f"spectrum {label!r} has shape {curve.shape}; it must be a vector of finite numbers"
        )
    return curve


def _checked_errors(label: str, x: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Radii, and shares in per cent."""
    radii, shares = (_real_numbers(f"error curve {label!r}", values) for values in (x, y))
    if radii.ndim != 1 or len(radii) < 2 or radii.shape != shares.shape:
        raise InputError(
            f"error curve {label!r} has radii {radii.shape} and shares {shares.shape}; both must be"
            " vectors of one length, at least 2"
        )
    # Means of curves rise up to roundoff.
    slack = 1e-12
    rises = (np.diff(radii) > 0.0).all() and (np.diff(shares) >= -slack).all()
    inside = shares[0] >= 0.0 and shares[-1] <= 1.0 + slack
    if not (rises and inside and np.isfinite(radii).all()):
        raise InputError(
            f"error curve {label!r} is not cumulative: radii must increase, and shares rise within"
            " 0..1"
        )
    return radii, 100.0 * shares
