"""Figures for paper and screen: rows of panels with colour bars."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from finsler.errors import InputError
from finsler.storage.files import write_bytes
from finsler.storage.outputs import mark
from finsler.view.layout import Sheet, compose
from finsler.view.panel import Camera, Panel, resolve_colors
from finsler.view.renderer import render_panel, require_matplotlib
from finsler.view.upright import Viewpoint

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Dates are left out, so that the same input gives the same file.
_METADATA: dict[str, dict[str, Any]] = {
    "png": {},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
_MAKER = {"png": "Software", "svg": "Creator", "pdf": "Creator"}

STYLE: dict[Any, Any] = {
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
    """Write a figure of rows of panels, and return its path.

    A row with one colour map and one range gets a colour bar at its right end; otherwise each
    panel gets its own below. A pointed end of a bar says that values lie beyond it.

    Parameters
    ----------
    path : str or Path
        Ends in .png, .svg or .pdf; a file there is replaced once the new one is complete.
    rows : sequence of sequences of Panel
        From the top; rows may differ in length.
    camera : Camera, optional
        For panels that bring none; by default each shape stands upright, its broad side seen.
    title, row_labels : str, sequence of str, optional
        Above the figure; one label per row, written upwards at its left.
    panel_size, dpi : (width, height), int
        Of each panel, in inches; pixels per inch, of which text is independent.
    share_range : bool
        The panels of a row that do not bring their own `clim` get one range together.
    colorbars : bool
        Whether to draw the colour bars.

    Raises
    ------
    InputError
        No panel, an unknown file type, no such folder, a colour map that does not exist, or
        matplotlib is not installed.
    """
    target = check_target(path)
    if len(rows) == 0 or any(len(row) == 0 for row in rows):
        raise InputError("a figure needs at least one row, and each row at least one panel")
    if row_labels is not None and len(row_labels) != len(rows):
        raise InputError(f"there are {len(row_labels)} row labels for {len(rows)} rows")
    check_size(panel_size, dpi)
    require_matplotlib()
    colored = [resolve_colors(row, share=share_range) for row in rows]
    sheet = Sheet(colored, panel_size, dpi, colorbars, title, row_labels)
    images = [[_drawn(panel, camera, sheet.panel) for panel in row] for row in colored]
    import matplotlib

    with matplotlib.rc_context(STYLE):
        content = encoded(compose(sheet, images), target, dpi)
    return write_bytes(target, content)


def _drawn(panel: Panel, camera: Camera | None, size: tuple[int, int]) -> NDArray[np.uint8]:
    return render_panel(panel, camera=camera or Viewpoint().camera(panel.mesh), size=size)


def encoded(figure: Figure, target: Path, dpi: int) -> bytes:
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


def check_target(path: str | os.PathLike[str]) -> Path:
    """The path of a figure that can be written."""
    target = Path(path)
    if target.suffix[1:].lower() not in _METADATA:
        raise InputError(f"{target} must end in .png, .svg or .pdf")
    if not target.parent.is_dir():
        raise InputError(f"the folder {target.parent} does not exist; create it first")
    if target.is_dir():
        raise InputError(f"{target} is a folder; give the name of a file")
    return target


def check_size(size: tuple[float, float], dpi: int) -> None:
    """Raise where a size in inches or the number of pixels per inch is not positive."""
    if not (min(size) > 0 and dpi > 0):
        raise InputError(f"the size is {size} inches at {dpi} dpi; all must be positive")
