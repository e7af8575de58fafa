"""The colours of a panel as a table: level lines and grey included, so that renderers see none."""

from __future__ import annotations

import numpy as np

from finsler.errors import InputError
from finsler.typing import FloatArray
from finsler.view.panel import Panel

# The colour of what has no colour of its own.
GREY = (0.80, 0.82, 0.85)

_ROWS = 256
# A level line takes two of these rows, one on each side of its level.
_ROWS_OF_BAND = 24
_LINE_SHADE = 0.55


def color_table(panel: Panel) -> FloatArray:
    """RGB rows (k, 3) in 0..1, spread evenly over the `clim` of a panel with settled colours.

    Empty without scalars.

    Raises
    ------
    InputError
        matplotlib knows no colour map of this name.
    """
    import matplotlib

    if panel.cmap is None or panel.clim is None:
        return np.empty((0, 3))
    if panel.cmap not in matplotlib.colormaps:
        raise InputError(f"there is no colour map {panel.cmap!r}; use a name that matplotlib knows")
    size = _ROWS if panel.bands is None else _ROWS_OF_BAND * panel.bands
    rgba = matplotlib.colormaps[panel.cmap](np.linspace(0, 1, size))
    table = np.array(rgba[:, :3], dtype=np.float64)
    if panel.bands is not None:
        above = _ROWS_OF_BAND * np.arange(1, panel.bands)
        table[np.concatenate([above - 1, above])] *= _LINE_SHADE
    if panel.grey_from is not None:
        low, high = panel.clim
        ends = np.linspace(low, high, size + 1)[1:]
        table[ends >= panel.grey_from] = GREY
    return table
