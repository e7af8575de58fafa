"""Figures of functions on surfaces: kernels, eigenfunctions, heat, distances, correspondences.

Each writes one file, .png, .svg or .pdf, from the same cameras and in the same colours, and returns
its path. What is wrong with a path or an array raises `InputError`, as in
[`save_figure`][finsler.view.save_figure].
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from finsler.analysis.spectrum import Spectrum
from finsler.errors import InputError
from finsler.mesh.arguments import checked_map, takes_meshes
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray, IntArray
from finsler.view.figures import save_figure
from finsler.view.level_sets import distance_panels
from finsler.view.panel import DIVERGING, Camera, Panel
from finsler.view.upright import Viewpoint

# Of what is never negative: heat, errors.
_HEAT = "OrRd"
# Values below this share of the largest are neither cold nor part of a kernel.
_SMALL = 0.02
# A kernel reaches where it is above this share of its largest value; a picture of it ends where it
# falls below another share of its range.
_REACHED, _NEAR = 0.005, 0.05
_ROW = 4
_BANDS = 16
_USUAL = Viewpoint()


@takes_meshes
def figure_kernels(
    path: str | os.PathLike[str],
    mesh: TriMesh,
    kernels: Sequence[ArrayLike],
    vertex: int,
    degrees: Sequence[float] = (),
    *,
    viewpoint: Viewpoint = _USUAL,
) -> Path:
    """The kernels at a vertex, one for each angle, seen from near where they are small.

    The vertex is marked; its own value, often far above all others, is not drawn.

    Parameters
    ----------
    path : str or Path
    mesh : TriMesh
    kernels : sequence of (n,)
        As `convolution_kernel` or `heat_kernel` gives them.
    vertex : int
        Where they sit: the camera looks down on it.
    degrees : sequence of float
        The angle of each, for its title; none for an isotropic operator.
    viewpoint : Viewpoint
    """
    values = [np.asarray(kernel, dtype=np.float64) for kernel in kernels]
    titles = [rf"$\theta$ = {angle:g}°" for angle in degrees] or [""] * len(values)
    if len(titles) != len(values):
        raise InputError(f"there are {len(titles)} angles for {len(values)} kernels")
    clim = kernel_range(values, [vertex] * len(values))
    cmap = DIVERGING if clim[0] < 0 else _HEAT
    panels = [
        Panel(mesh, without_peak(mesh, g, vertex), title, cmap=cmap, clim=clim, marker=vertex)
        for g, title in zip(values, titles, strict=True)
    ]
    camera = _camera_near(mesh, vertex, values, clim[1], viewpoint)
    return save_figure(path, in_rows(panels), camera=camera, panel_size=(2.2, 2.2))


def without_peak(mesh: TriMesh, kernel: FloatArray, vertex: int) -> FloatArray:
    """A kernel (n,) with the mean of the neighbours' values at the vertex where it sits.

    Between vertices colours are interpolated, so that a peak would paint over its neighbourhood.
    """
    around = np.setdiff1d(mesh.faces[(mesh.faces == vertex).any(axis=1)], [vertex])
    flat = kernel.copy()
    flat[vertex] = kernel[around].mean() if len(around) else kernel[vertex]
    return flat


def kernel_range(kernels: Sequence[FloatArray], vertices: Sequence[int]) -> tuple[float, float]:
    """A range of colours for kernels (n,) that shows more than their peaks.

    The value at the vertex where a kernel sits is left out, and so are the largest fiftieth of the
    values that it reaches. About zero where a kernel has both signs, else from zero.
    """
    others = [np.delete(g, vertex) for g, vertex in zip(kernels, vertices, strict=True)]
    tops = [float(abs(g).max(initial=0.0)) for g in others]
    reached = [abs(g)[abs(g) > _REACHED * top] for g, top in zip(others, tops, strict=True) if top]
    bound = float(max((np.quantile(g, 0.98) for g in reached), default=1.0))
    lowest = min(float(g.min(initial=0.0)) for g in others)
    return (-bound if lowest < -_SMALL * bound else 0.0), bound


@takes_meshes
def figure_eigenfunctions(
    path: str | os.PathLike[str],
    mesh: TriMesh,
    spectrum: Spectrum,
    indices: Sequence[int] = range(8),
    *,
    viewpoint: Viewpoint = _USUAL,
) -> Path:
    """Eigenfunctions with their eigenvalues; indices beyond the last are left out."""
    panels = [
        Panel(
            mesh,
            spectrum.eigenvectors[:, i],
            rf"$\lambda_{{{i}}}$ = {spectrum.eigenvalues[i]:.4g}",
        )
        for i in indices
        if i < len(spectrum.eigenvalues)
    ]
    return save_figure(path, in_rows(panels), camera=viewpoint.camera(mesh))


@takes_meshes
def figure_heat(
    path: str | os.PathLike[str],
    mesh: TriMesh,
    functions: Sequence[ArrayLike],
    times: Sequence[float],
    source: int,
    *,
    viewpoint: Viewpoint = _USUAL,
) -> Path:
    """Heat at several times, each with its own range of colours."""
    titles = [f"$t$ = {t:g}" for t in times]
    panels = heat_panels(mesh, functions, titles, source)
    return save_figure(path, in_rows(panels), camera=viewpoint.facing(mesh, source))


def heat_panels(
    mesh: TriMesh, functions: Sequence[ArrayLike], titles: Sequence[str], marker: int | None
) -> list[Panel]:
    """Each from 0 to its hottest point, or all around 0 where one of them is cold somewhere."""
    values = [np.asarray(u, dtype=np.float64) for u in functions]
    if len(titles) != len(values):
        raise InputError(f"there are {len(titles)} titles or times for {len(values)} functions")
    tops = [float(abs(u).max()) or 1.0 for u in values]
    signed = any(float(u.min()) < -_SMALL * top for u, top in zip(values, tops, strict=True))
    cmap = DIVERGING if signed else _HEAT
    return [
        Panel(mesh, u, title, cmap=cmap, clim=(-top if signed else 0.0, top), marker=marker)
        for u, title, top in zip(values, titles, tops, strict=True)
    ]


@takes_meshes
def figure_distances(
    path: str | os.PathLike[str],
    mesh: TriMesh,
    distances: Mapping[str, ArrayLike],
    source: int,
    *,
    paths: Sequence[ArrayLike | None] | None = None,
    camera: Camera | None = None,
) -> Path:
    """Level sets of a distance; of two, the way there and the way back, also their difference.

    Parameters
    ----------
    path : str or Path
    mesh : TriMesh
    distances : mapping of str to (n,)
        By title; parts that are not reached, where it is infinite, are grey.
    source : int
        Vertex with a marker, which the camera looks down on unless one is given.
    paths : sequence of (p, 3), optional
        Corners of a shortest path for each distance, or None.
    camera : Camera, optional
    """
    panels = distance_panels(mesh, distances, source, paths)
    return save_figure(path, [panels], camera=camera or Viewpoint().facing(mesh, source))


@takes_meshes
def figure_correspondence(
    path: str | os.PathLike[str],
    target: TriMesh,
    shapes: Sequence[TriMesh],
    maps: Mapping[str, Sequence[IntArray]],
    *,
    function: ArrayLike | None = None,
    titles: Sequence[str] | None = None,
    camera: Camera | None = None,
) -> Path:
    """Colours of one mesh carried to others: its own row, then a row for each method.

    Parameters
    ----------
    path : str or Path
    target : TriMesh
        The mesh that the maps end on, coloured in the first row.
    shapes : sequence of TriMesh
        One column each.
    maps : mapping of str to sequence of (n,)
        By the label of a row: for each shape, the vertex of the target for each of its vertices.
    function : (n,), optional
        On the target, to be carried with level lines, which all readers tell apart; by default its
        three coordinates as red, green and blue, which show also left and right.
    titles : sequence of str, optional
        Of the shapes.
    camera : Camera, optional

    Raises
    ------
    InputError
        A row with another number of maps than shapes, or a map that does not fit.
    """
    for label, row in maps.items():
        if len(row) != len(shapes):
            raise InputError(f"{label!r} has {len(row)} maps for {len(shapes)} shapes")
    names = [""] * len(shapes) if titles is None else list(titles)
    rows = [[_carried(target, target, np.arange(target.n_vertices), function, "")]]
    for number, row in enumerate(maps.values()):
        shown = names if number == 0 else [""] * len(shapes)
        rows.append(
            [
                _carried(mesh, target, np.asarray(vertex_map), function, title)
                for mesh, vertex_map, title in zip(shapes, row, shown, strict=True)
            ]
        )
    return save_figure(path, rows, camera=camera, row_labels=["source", *maps])


def _carried(
    mesh: TriMesh, target: TriMesh, vertex_map: IntArray, function: ArrayLike | None, title: str
) -> Panel:
    """A mesh in the colours of its partners."""
    checked_map(vertex_map, mesh.n_vertices, target.n_vertices, "a map")
    if function is None:
        return Panel(mesh, title=title, colors=position_colors(target)[vertex_map])
    values = np.asarray(function, dtype=np.float64)
    clim = (float(values.min()), float(values.max()) + 1e-12)
    return Panel(mesh, values[vertex_map], title, clim=clim, bands=_BANDS)


def position_colors(mesh: TriMesh) -> FloatArray:
    """Red, green and blue (n, 3) along the three axes of the bounding box, none of them black."""
    return np.asarray((30 + 225 * box_shares(mesh)) / 255)


def side_and_height(mesh: TriMesh) -> FloatArray:
    """A function (n,) of the position whose level lines tell sides and heights apart."""
    return np.asarray(box_shares(mesh) @ [0.6, 1.0, 0.3])


def box_shares(mesh: TriMesh) -> FloatArray:
    """Position (n, 3) in the bounding box, each coordinate from 0 to 1."""
    size = np.ptp(mesh.vertices, axis=0)
    shifted = mesh.vertices - mesh.vertices.min(axis=0)
    return np.asarray(shifted / np.where(size > 0, size, 1.0))


def in_rows(panels: Sequence[Panel], length: int = _ROW) -> list[Sequence[Panel]]:
    """Panels in rows of a figure."""
    return [panels[i : i + length] for i in range(0, len(panels), length)]


def _camera_near(
    mesh: TriMesh, centre: int, kernels: Sequence[FloatArray], bound: float, viewpoint: Viewpoint
) -> Camera:
    """Faces the vertex, and comes near where the kernels are small beside the surface."""
    distance = np.linalg.norm(mesh.vertices - mesh.vertices[centre], axis=1)
    radius = 1.5 * max(float(distance[abs(g) > _NEAR * bound].max(initial=0.0)) for g in kernels)
    whole = 0.5 * float(np.linalg.norm(np.ptp(mesh.vertices, axis=0)))
    if not 0.0 < radius < 0.7 * whole:
        return viewpoint.facing(mesh, centre)
    x, y, z = (float(c) for c in mesh.vertices[centre])
    above = viewpoint.facing(mesh, centre, steepness=0.95)
    return replace(above, center=(x, y, z), radius=radius, tight=False)
