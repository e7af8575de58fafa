"""What a visitor of the page has chosen."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from finsler.spec import OperatorSpec
from finsler.view.web.landmarks import Landmarks


class Shown(StrEnum):
    """What colours the surface; the values are the words on the page."""

    plain = "nothing"
    kernel = "convolution kernel"
    wide = "kernel of 200 eigenpairs"
    heat = "heat kernel"
    directed = "directed heat"
    there = "distance there"
    back = "distance back"
    difference = "distance there less back"
    partners = "correspondence"
    error = "error"


# What needs a vertex to start from.
AT_A_VERTEX = (
    Shown.kernel,
    Shown.wide,
    Shown.heat,
    Shown.directed,
    Shown.there,
    Shown.back,
    Shown.difference,
)
DISTANCES = (Shown.there, Shown.back, Shown.difference)
_USUAL = OperatorSpec(tau=0.5)
_NO_PAIRS = Landmarks()


@dataclass(frozen=True)
class Settings:
    """One state of the page.

    Attributes
    ----------
    shown : Shown
    selected : tuple of (int or None)
        The chosen vertex of each mesh.
    operator : OperatorSpec
        Which metric and operators are meant.
    theta : float
        Angle of the metric, or of a drift from forwards, in degrees.
    order : int
        Of the Chebyshev polynomial of the convolution kernels.
    time : float
        Of the heat kernel, as a share of the surface's area.
    directions, arrows, lines : bool
        Whether to draw the principal directions, ω and lines between partners.
    chosen : int
        Which of the maps says who corresponds.
    side_by_side : bool
        Whether to draw what all maps do, below the meshes.
    landmarks : Landmarks
        Pairs that were clicked.
    """

    shown: Shown = Shown.plain
    selected: tuple[int | None, ...] = ()
    operator: OperatorSpec = _USUAL
    theta: float = 0.0
    order: int = 5
    time: float = 0.01
    directions: bool = False
    arrows: bool = False
    lines: bool = False
    chosen: int = 0
    side_by_side: bool = False
    landmarks: Landmarks = _NO_PAIRS
