"""Cumulative error curves of correspondences."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from finsler.errors import InputError
from finsler.typing import FloatArray
from finsler.view.figures import write_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    """Write the share of vertices within a radius against the radius, one curve per label.

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
    size : (width, height)
        In inches.
    dpi : int
        Pixels per inch.

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    InputError
        No curve, one that is not a cumulative curve, a path that cannot be used, or matplotlib is
        not installed.
    """
    lines = {label: _checked_curve(label, *curve) for label, curve in curves.items()}
    if not lines:
        raise InputError("there is no error curve to plot; give at least one label with a curve")
    last = max(float(x[-1]) for x, _ in lines.values()) if end is None else end
    if not 0.0 < last < np.inf:
        raise InputError(f"the x axis ends at {last}; it must end at a positive radius")

    def finish(axes: Axes) -> None:
        axes.set(xlabel=x_label, ylabel=y_label, title=title or "")
        axes.set(xlim=(0.0, last), ylim=(0.0, 102.0), yticks=range(0, 101, 20))

    return write_lines(path, lines, finish, size=size, dpi=dpi, legend="lower right")


def _checked_curve(label: str, x: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Radii, and shares in per cent."""
    try:
        radii, shares = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"error curve {label!r} must hold real numbers: {error}") from error
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
