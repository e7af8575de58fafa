"""What a picture shows: one mesh with its colours, and the direction it is seen from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from finsler.errors import InputError
from finsler.mesh.conversion import as_mesh
from finsler.mesh.summary import one_line
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray

SEQUENTIAL = "viridis"
DIVERGING = "coolwarm"

# A function counts as signed when its smaller side reaches this share of the larger one, so that
# the roundoff below zero of a heat kernel does not turn its picture into a diverging one.
_SIGNED_SHARE = 0.01


@one_line("mesh", "title", "scalars", "colors", "marker")
@dataclass(frozen=True, eq=False)
class Panel:
    """One mesh of a figure.

    Parameters
    ----------
    mesh : TriMesh
    scalars : (n,) array, optional
        Value at each vertex, interpolated linearly, then coloured. Without it the mesh is grey.
    title : str
        Written above the panel; mathematics between dollar signs.
    cmap : str, optional
        Name of a matplotlib colour map. By default coolwarm where the colour range is symmetric
        about zero, else viridis.
    clim : (low, high), optional
        Values at the two ends of the colour map; what lies outside takes the end colour. By default
        the range of the values, symmetric about zero where they are signed, that is where their
        smaller side reaches 1 % of the larger one.
    arrows : ((p, 3) origins, (p, 3) vectors), optional
        Drawn in units of the mesh; vectors of length zero are left out.
    marker : int, optional
        Index of a vertex that gets a small ball.
    path : (p, 3) array, optional
        Corners of a polyline, drawn as a tube.
    bands : int, optional
        Cut the colour range into this many equal parts with dark lines: level sets of the scalars.
    grey_from : float, optional
        Scalars from here on are drawn grey, as if there were none; the end of `clim` greys only
        what lies beyond it.
    colors : (n, 3) array, optional
        Red, green and blue of each vertex, in 0..1, instead of scalars; there is no colour bar.
    camera : Camera, optional
        Instead of the one of the figure.

    Raises
    ------
    InputError
        Both scalars and colours, a shape that does not fit the mesh, a value that is not finite, a
        colour outside 0..1, an empty colour range.

    Examples
    --------
    >>> mesh = TriMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    >>> [panel] = resolve_colors([Panel(mesh, scalars=[-1.0, 0.0, 3.0])])
    >>> panel.cmap, panel.clim
    ('coolwarm', (-3.0, 3.0))
    """

    mesh: TriMesh
    scalars: FloatArray | None = None
    title: str = ""
    cmap: str | None = None
    clim: tuple[float, float] | None = None
    arrows: tuple[FloatArray, FloatArray] | None = None
    marker: int | None = None
    path: FloatArray | None = None
    bands: int | None = None
    grey_from: float | None = None
    colors: FloatArray | None = None
    camera: Camera | None = None

    def __post_init__(self) -> None:
        if self.scalars is not None and self.colors is not None:
            raise InputError("a panel has scalars or colours of its vertices, not both")
        checks: dict[str, Callable[[Any], Any]] = {
            "mesh": as_mesh,
            "scalars": lambda values: _checked_scalars(self.mesh, values),
            "clim": _checked_clim,
            "arrows": lambda both: _checked_arrows(*both),
            "marker": lambda vertex: _checked_marker(self.mesh, vertex),
            "path": _checked_path,
            "bands": _checked_bands,
            "colors": lambda values: _checked_colors(self.mesh, values),
        }
        for name, check in checks.items():
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, check(given))

    def _repr_html_(self) -> str:
        from finsler.view.notebook import show

        return show(self)._repr_html_()


@dataclass(frozen=True)
class Camera:
    """An orthographic view.

    Parameters
    ----------
    direction : (3,) tuple
        From the shape towards the eye; its length does not matter.
    up : (3,) tuple
        What points up in the picture; not parallel to `direction`.
    zoom : float
        2 shows the shape twice as large.
    tight : bool
        Fit the outline of the shape as seen from here, instead of its bounding sphere. The sphere
        keeps the scale when the camera turns; the outline fills the panel.
    center, radius : (3,) tuple and float, optional
        The sphere to fit, in units of the mesh: pass both to see several meshes at one scale. By
        default the one about the bounding box of each mesh.

    Raises
    ------
    InputError
        Directions that are zero or parallel; a zoom or radius that is not positive.
    """

    direction: tuple[float, float, float] = (0.35, 0.25, 1.0)
    up: tuple[float, float, float] = (0.0, 1.0, 0.0)
    zoom: float = 1.0
    tight: bool = False
    center: tuple[float, float, float] | None = None
    radius: float | None = None

    def __post_init__(self) -> None:
        lengths = np.linalg.norm(self.direction) * np.linalg.norm(self.up)
        sine = np.linalg.norm(np.cross(self.direction, self.up))
        if not sine > 1e-6 * lengths:
            raise InputError(
                f"camera direction {self.direction} and up {self.up} must be finite, not zero and"
                " not parallel; change up"
            )
        if not 0 < self.zoom < np.inf:
            raise InputError(f"camera zoom is {self.zoom}; it must be positive")
        if (self.center is None) != (self.radius is None):
            raise InputError("camera center and radius go together; give both or neither")
        if self.radius is not None and not 0 < self.radius < np.inf:
            raise InputError(f"camera radius is {self.radius}; it must be positive")


def resolve_colors(panels: Sequence[Panel], *, share: bool = True) -> list[Panel]:
    """The same panels with `clim` and `cmap` filled in where there are scalars.

    With `share`, the panels that do not bring their own `clim` get one range together.
    """
    open_panels = [p for p in panels if p.scalars is not None and p.clim is None]
    resolved = []
    for panel in panels:
        if panel.scalars is not None:
            clim = panel.clim or _range(open_panels if share else [panel])
            cmap = panel.cmap or (DIVERGING if clim[0] == -clim[1] else SEQUENTIAL)
            panel = replace(panel, clim=clim, cmap=cmap)
        resolved.append(panel)
    return resolved


def _range(panels: Sequence[Panel]) -> tuple[float, float]:
    """Range of the scalars of some panels, symmetric about zero where they are signed.

    A constant c is put in the middle of a range of width max(|c|, 1).
    """
    values = np.concatenate([p.scalars for p in panels if p.scalars is not None])
    low, high = float(values.min()), float(values.max())
    bound = max(-low, high)
    if low < 0 < high and min(-low, high) >= _SIGNED_SHARE * bound:
        return -bound, bound
    if low == high:
        half = 0.5 * max(abs(low), 1.0)
        return low - half, high + half
    return low, high


def _checked_scalars(mesh: TriMesh, values: ArrayLike) -> FloatArray:
    scalars = _float_array("scalars", values)
    if scalars.shape != (mesh.n_vertices,):
        raise InputError(
            f"scalars have shape {scalars.shape}, but the mesh has {mesh.n_vertices} vertices;"
            f" give one value per vertex, shape ({mesh.n_vertices},)"
        )
    bad = ~np.isfinite(scalars)
    if bad.any():
        raise InputError(
            f"the scalar of vertex {int(np.argmax(bad))} is {scalars[bad][0]}"
            f" ({int(bad.sum())} such values); replace what is not finite before drawing"
        )
    return scalars


def _checked_colors(mesh: TriMesh, values: ArrayLike) -> FloatArray:
    colors = _float_array("colors", values)
    if colors.shape != (mesh.n_vertices, 3):
        raise InputError(
            f"colors have shape {colors.shape}; they must be ({mesh.n_vertices}, 3), red, green and"
            " blue of each vertex"
        )
    if not ((colors >= 0) & (colors <= 1)).all():
        raise InputError("colors must lie in 0..1; divide bytes by 255")
    return colors


def _checked_clim(clim: tuple[float, float]) -> tuple[float, float]:
    low, high = (float(end) for end in clim)
    if not (np.isfinite([low, high]).all() and low < high):
        raise InputError(f"clim is ({low}, {high}); it must be finite with low < high")
    return low, high


def _checked_arrows(origins: ArrayLike, vectors: ArrayLike) -> tuple[FloatArray, FloatArray]:
    starts, shafts = _float_array("arrow origins", origins), _float_array("arrow vectors", vectors)
    if starts.ndim != 2 or starts.shape[1] != 3 or starts.shape != shafts.shape:
        raise InputError(
            f"arrow origins and vectors have shapes {starts.shape} and {shafts.shape};"
            " both must be (p, 3)"
        )
    bad = ~(np.isfinite(starts) & np.isfinite(shafts)).all(axis=1)
    if bad.any():
        raise InputError(f"arrow {int(np.argmax(bad))} is not finite ({int(bad.sum())} in all)")
    return starts, shafts


def _checked_marker(mesh: TriMesh, marker: int) -> int:
    if not 0 <= marker < mesh.n_vertices:
        raise InputError(f"marker is vertex {marker}; it must lie in 0..{mesh.n_vertices - 1}")
    return int(marker)


def _checked_path(path: ArrayLike) -> FloatArray:
    points = _float_array("path", path)
    if points.ndim != 2 or points.shape[1] != 3 or not np.isfinite(points).all():
        raise InputError(f"path has shape {points.shape}; it must be (p, 3) and finite")
    return points


def _checked_bands(bands: int) -> int:
    if bands < 1:
        raise InputError(f"bands is {bands}; it must be at least 1")
    return int(bands)


def _float_array(name: str, values: ArrayLike) -> FloatArray:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be real numbers: {error}") from error
    array.setflags(write=False)
    return array
