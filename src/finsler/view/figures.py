"""Figures for paper and screen: rows of panels with colour bars, and spectra as curves."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from finsler.errors import InputError
from finsler.storage.files import write_bytes
from finsler.storage.outputs import mark
from finsler.typing import FloatArray
from finsler.view.layout import Sheet, compose
from finsler.view.panel import Camera, Panel, resolve_colors
from finsler.view.renderer import render_panel, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Dates are left out, so that the same input gives the same file.
_METADATA: dict[str, dict[str, Any]] = {
    "png": {},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
_MAKER = {"png": "Software", "svg": "Creator", "pdf": "Creator"}

_STYLE: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "legend.fontsize": 7,
    "axes.formatter.use_mathtext": True,
    "axes.formatter.limits": (-3, 4),
    "pdf.fonttype": 42,
    "svg.hashsalt": "finsler",
}

# The palette of Okabe and Ito, told apart by colour-blind readers.
_LINE_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_LINE_STYLES = ("-", "--", ":", "-.")


def save_figure(
    path: str | os.PathLike[str],
    rows: Sequence[Sequence[Panel]],
    *,
    camera: Camera | None = None,
    title: str | None = None,
    row_labels: Sequence[str] | None = None,
    panel_size: tuple[float, float] = (1.8, 1.8),
    dpi: int = 200,
    share_range: bool = True,
    colorbars: bool = True,
) -> Path:
    """Write a figure of rows of panels, all seen by the same camera.

    A row whose coloured panels have one colour map and one range gets a colour bar at its right
    end; otherwise each of them gets its own bar below. A pointed end of a bar says that values lie
    beyond it.

    Parameters
    ----------
    path : str or Path
        Ends in .png, .svg or .pdf. The folder must exist; a file there is replaced only once the
        new one is complete.
    rows : sequence of sequences of Panel
        From the top; rows may differ in length.
    camera : Camera, optional
        By default from slightly right of and above the z axis, y up.
    title : str, optional
        Above the figure.
    row_labels : sequence of str, optional
        One label per row, written upwards at its left.
    panel_size : (width, height)
        Of each panel, in inches.
    dpi : int
        Pixels per inch; text keeps its size in points.
    share_range : bool
        The panels of a row that do not bring their own `clim` get one range together.
    colorbars : bool
        Whether to draw the colour bars.

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    InputError
        No panel, an unknown file type, no such folder, a colour map that does not exist, or
        matplotlib is not installed.
    """
    target = _checked_target(path)
    if len(rows) == 0 or any(len(row) == 0 for row in rows):
        raise InputError("a figure needs at least one row, and each row at least one panel")
    if row_labels is not None and len(row_labels) != len(rows):
        raise InputError(f"there are {len(row_labels)} row labels for {len(rows)} rows")
    _check_size(panel_size, dpi)
    require_matplotlib()
    colored = [resolve_colors(row, share=share_range) for row in rows]
    sheet = Sheet(colored, panel_size, dpi, colorbars, title, row_labels)
    images = [[render_panel(p, camera=camera, size=sheet.panel) for p in row] for row in colored]
    import matplotlib

    with matplotlib.rc_context(_STYLE):
        content = _encoded(compose(sheet, images), target, dpi)
    return write_bytes(target, content)


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
    """Write eigenvalues against their index, counted from 0, one curve per label.

    Parameters
    ----------
    path : str or Path
        Ends in .png, .svg or .pdf; replaced only once the new file is complete.
    spectra : mapping of str to (k,) array
        Legend label and eigenvalues of each curve; lengths may differ.
    title, x_label, y_label : str
        Mathematics between dollar signs.
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
        No curve, values that are not a finite vector, a path that cannot be used, or matplotlib is
        not installed.
    """
    target = _checked_target(path)
    curves = {label: _checked_curve(label, values) for label, values in spectra.items()}
    if not curves:
        raise InputError("there is no spectrum to plot; give at least one label with eigenvalues")

    def finish(axes: Axes) -> None:
        from matplotlib.ticker import MaxNLocator

        for line, values in zip(axes.get_lines(), curves.values(), strict=True):
            line.set(marker="o" if len(values) <= 40 else "", markersize=2.2)
        axes.set(xlabel=x_label, ylabel=y_label, title=title or "")
        axes.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))

    lines = {label: (np.arange(len(values)), values) for label, values in curves.items()}
    return write_lines(target, lines, finish, size=size, dpi=dpi)


def write_lines(
    path: str | os.PathLike[str],
    lines: Mapping[str, tuple[ArrayLike, ArrayLike]],
    finish: Callable[[Axes], None],
    *,
    size: tuple[float, float],
    dpi: int,
    legend: Literal["best", "lower right"] = "best",
) -> Path:
    """Write curves (x, y) in the common style; `finish` labels the axes, before the legend."""
    target = _checked_target(path)
    _check_size(size, dpi)
    require_matplotlib()
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.add_subplot()
        for i, (label, (x, y)) in enumerate(lines.items()):
            axes.plot(
                x,
                y,
                color=_LINE_COLORS[i % len(_LINE_COLORS)],
                linestyle=_LINE_STYLES[i % len(_LINE_STYLES)],
                linewidth=1.2,
                label=label,
            )
        finish(axes)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="0.9", linewidth=0.5)
        axes.set_axisbelow(True)
        axes.legend(frameon=False, loc=legend)
        content = _encoded(figure, target, dpi)
    return write_bytes(target, content)


def _encoded(figure: Figure, target: Path, dpi: int) -> bytes:
    """The figure as a file, cut on the right where its last tick label ends."""
    from matplotlib.transforms import Bbox

    file_type = target.suffix[1:].lower()
    width, height = figure.get_size_inches()
    figure.draw_without_rendering()
    # Only the right end moves, and by whole pixels, so that pictures keep theirs.
    extent = figure.get_tightbbox().x1 + 0.03
    right = min(width, np.ceil(extent * dpi) / dpi)
    buffer = io.BytesIO()
    figure.savefig(
        buffer,
        format=file_type,
        dpi=dpi,
        facecolor="white",
        bbox_inches=Bbox([[0.0, 0.0], [right, height]]),
        metadata=_METADATA[file_type] | ({_MAKER[file_type]: mark()} if mark() else {}),
    )
    return buffer.getvalue()


def _checked_target(path: str | os.PathLike[str]) -> Path:
    target = Path(path)
    if target.suffix[1:].lower() not in _METADATA:
        raise InputError(f"{target} must end in .png, .svg or .pdf")
    if not target.parent.is_dir():
        raise InputError(f"the folder {target.parent} does not exist; create it first")
    if target.is_dir():
        raise InputError(f"{target} is a folder; give the name of a file")
    return target


def _check_size(size: tuple[float, float], dpi: int) -> None:
    if not (min(size) > 0 and dpi > 0):
        raise InputError(f"the size is {size} inches at {dpi} dpi; all must be positive")


def _checked_curve(label: str, values: ArrayLike) -> FloatArray:
    try:
        curve = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"spectrum {label!r} must hold real numbers: {error}") from error
    if curve.ndim != 1 or len(curve) == 0 or not np.isfinite(curve).all():
        raise InputError(
            f"spectrum {label!r} has shape {curve.shape}; it must be a vector of finite numbers"
        )
    return curve
