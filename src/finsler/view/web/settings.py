"""What a visitor of the page has chosen."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Shown(StrEnum):
    """What colours the surface; the values are the words on the page."""

    plain = "nothing"
    kernel = "convolution kernel"
    wide = "kernel of 200 eigenpairs"
    heat = "heat kernel"
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
    Shown.there,
    Shown.back,
    Shown.difference,
)
DISTANCES = (Shown.there, Shown.back, Shown.difference)


@dataclass(frozen=True)
class Anisotropy:
    """The metric of `RandersMetric.from_curvature`: what an operator is cached by.

    Attributes
    ----------
    alpha : float
    tau : float
        Length of ω where `omega` is "constant".
    theta : float
        In degrees.
    omega : {"constant", "curved", "flat"}
        How the strength of ω is spread over the surface.
    peak : float
        Largest strength where it follows curvature.
    """

    alpha: float = 10.0
    tau: float = 0.5
    theta: float = 0.0
    omega: str = "constant"
    peak: float = 0.9


@dataclass(frozen=True)
class Settings:
    """One state of the page.

    Attributes
    ----------
    shown : Shown
    selected : tuple of (int or None)
        The chosen vertex of each mesh.
    metric : Anisotropy
    order : int
        Of the Chebyshev polynomial of the convolution kernels.
    time : float
        Of the heat kernel, as a share of the surface's area.
    directions, omega, lines : bool
        Whether to draw the principal directions, ω and lines between partners.
    """

    shown: Shown = Shown.plain
    selected: tuple[int | None, ...] = ()
    metric: Anisotropy = Anisotropy()
    order: int = 5
    time: float = 0.01
    directions: bool = False
    omega: bool = False
    lines: bool = False
