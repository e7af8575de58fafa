"""SHOT, signature of histograms of orientations (Tombari, Salti, Di Stefano 2010; 2014).

The ball of the radius is cut into 32 volumes, 8 sectors × 2 shells × 2 halves. Each neighbour
at p with normal n votes in its volume for the level (1 + n·z) bins/2, rounded, of which there
are bins + 1. Its vote Σ_k (1 − |t_k|) counts for its own bin, and |t_k| for the next bin in
dimension k, where t_k in −1/2..1/2 is how far the neighbour is from the middle of its bin
along the level, the distance, the elevation and the azimuth, each in units of a bin. There is
no bin beyond the innermost and outermost shell, nor beyond the poles. This sum over dimensions
is what implementations mean by quadrilinear interpolation. The histogram is divided by its
Euclidean norm.

Column ((sector · 2 + shell) · 2 + half)(bins + 1) + level: sector 0 begins at azimuth −π and
each includes its end; shell 1 is the outer, half 1 that with z > 0. A vertex without a normal
(no face with area) describes nothing and is nobody's neighbour; nor are coincident vertices
each other's. What is nearer to a border than 1e-9 of a bin, or of the radius, lies on it.

`as_released` follows the C++ code in circulation in what it does beside this definition: frames
weighted by radius − distance² (not independent of the unit), normals that are plain means of face
normals (here weighted by area), neighbours of sectors counted modulo 7 and those of levels modulo
`bins`, and the sign that an eigensolver happens to return for an axis on whose sides equally many
neighbours lie.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from finsler.compute.memory import require
from finsler.errors import InputError
from finsler.mesh.arguments import checked
from finsler.mesh.health import warn_of
from finsler.mesh.measures import face_normals, surface_area, vertex_normals
from finsler.mesh.summary import one_line
from finsler.mesh.topology import inconsistent_edges
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from finsler.descriptors._compiled_cells import Cells

# Shares of the radius, of a bin or of a sector below which a number counts as zero, so that
# rounding does not decide on which side of a border a point of a regular mesh lies.
CLOSE = 1e-9
# Share of the trace below which an entry of a covariance counts as zero.
ROUNDING = 1e-14
# How many points around the median distance decide where all neighbours are undecided.
MEDIAN_POINTS = 5
# Of Jacobi rotations.
SWEEPS = 6
# Cubes a point, at most: a small radius must not ask for more memory than the mesh itself.
_CELLS = 16
# Far above what tells normals apart, and low enough that nothing is computed for hours.
MOST_BINS = 1000


@one_line()
@dataclass(frozen=True, eq=False)
class ShotFrames:
    """The local frame of each vertex: `axes` (n, 3, 3), rows x, y, z; `neighbors` (n,), how many.

    The axes are zero where there are too few neighbours.
    """

    axes: FloatArray
    neighbors: IntArray


@checked
def shot(
    mesh: TriMesh,
    *,
    radius: float,
    bins: int = 10,
    min_neighbors: int = 5,
    frames: ShotFrames | None = None,
    as_released: bool = False,
    dtype: DTypeLike = np.float64,
) -> NDArray[Any]:
    """Histograms of the normals around each vertex, seen from a frame that turns with the surface.

    Each neighbour votes in one of 32 volumes of the ball, and less in those beside it, for one of
    bins + 1 levels of the angle of its normal; `finsler.descriptors.shot` has the definition.

    Parameters
    ----------
    radius : float
        Of the ball, in the unit of the mesh; see [`shot_radius`][finsler.shot_radius].
    bins : int
        Gives bins + 1 levels; 10 gives the usual 352 values.
    min_neighbors : int
        A vertex with fewer neighbours gets zeros.
    frames : ShotFrames, optional
        Orthonormal; by default those of [`shot_frames`][finsler.descriptors.shot_frames].
    as_released : bool
        Follow the C++ code in circulation in what it does beside the definition.
    dtype : float64 or float32
        Of the result; the computation is in float64.

    Returns
    -------
    (n, 32 (bins + 1)), not negative, each row of norm 1 or zero.

    Raises
    ------
    InputError
        A number out of its range, frames of another mesh, another dtype, no face with area, or more
        memory is needed than is free.

    Examples
    --------
    >>> from finsler import primitives
    >>> mesh = primitives.bumpy_sphere(8)
    >>> shot(mesh, radius=shot_radius(mesh)).shape
    (642, 352)
    """
    from finsler.descriptors import _compiled

    _check(mesh, bins, frames, np.dtype(dtype))
    if frames is None:
        frames = shot_frames(
            mesh, radius=radius, min_neighbors=min_neighbors, as_released=as_released
        )
    cells, vertices = _cells(mesh, radius, min_neighbors, as_released)
    out = np.zeros((mesh.n_vertices, 32 * (bins + 1)))
    rings = bin_rings(bins, as_released=as_released)
    axes = frames.axes[vertices]
    _compiled.describe(cells, axes, radius, bins, min_neighbors, rings, vertices, out)
    return out.astype(dtype, copy=False)


def bin_rings(bins: int, *, as_released: bool) -> tuple[int, int]:
    """Numbers of sectors and of levels after which neighbouring bins start again."""
    return (7, bins) if as_released else (8, bins + 1)


def require_neighbors(min_neighbors: int) -> None:
    """Raise where frames could be made of too few neighbours."""
    if min_neighbors < 3:
        raise InputError(f"min_neighbors is {min_neighbors}; a frame needs at least 3")


def _check(mesh: TriMesh, bins: int, frames: ShotFrames | None, dtype: np.dtype[Any]) -> None:
    """Raise for arguments that cannot be, and for more memory than is free."""
    if dtype not in (np.float64, np.float32):
        raise InputError(f"dtype is {dtype}; it must be float64 or float32")
    if not 1 <= bins <= MOST_BINS:
        raise InputError(f"bins is {bins}; it must lie between 1 and {MOST_BINS}")
    if frames is not None and frames.axes.shape != (mesh.n_vertices, 3, 3):
        raise InputError(
            f"the frames have shape {frames.axes.shape}, but the mesh has {mesh.n_vertices}"
            " vertices; give frames (n, 3, 3) of this mesh"
        )
    require("shot", mesh.n_vertices, channels=32 * (bins + 1), itemsize=dtype.itemsize)


@checked
def shot_frames(
    mesh: TriMesh, *, radius: float, min_neighbors: int = 5, as_released: bool = False
) -> ShotFrames:
    """Local frames of SHOT: axes of the weighted covariance of the neighbours p_j of p.

    C = Σ_j (R − d_j)(p_j − p)(p_j − p)ᵀ over 0 < d_j = |p_j − p| ≤ R. The axis x belongs to its
    largest eigenvalue, z to the smallest, and y = z × x. Each of x and z points to the side where
    most neighbours lie; where that is undecided, to the side of most of the five neighbours around
    the median distance (and those as far as the outer ones of the five). Where this does not
    decide either, z takes the side of the vertex normal, and the component of x of largest
    magnitude is positive. That last rule, and the order of eigenvalues that agree to 1e-14 of
    their sum (by coordinate), depend on the coordinates; all else turns with the surface.

    Parameters, errors and `as_released` are those of [`shot`][finsler.shot].

    Examples
    --------
    >>> from finsler import primitives
    >>> frames = shot_frames(primitives.plane(10, 20), radius=0.2)
    >>> frames.axes[120, 2].tolist()
    [0.0, 0.0, 1.0]
    """
    # Each is compiled where it is used for the first time.
    if as_released:
        from finsler.descriptors._compiled_qr import frames_as_released as fill
    else:
        from finsler.descriptors._compiled import frames as fill

    cells, vertices = _cells(mesh, radius, min_neighbors, as_released)
    axes = np.zeros((mesh.n_vertices, 3, 3))
    neighbors = np.zeros(mesh.n_vertices, dtype=np.int64)
    sorted_axes, counts = np.zeros((len(vertices), 3, 3)), np.zeros(len(vertices), np.int32)
    fill(cells, radius, min_neighbors, sorted_axes, counts)
    axes[vertices], neighbors[vertices] = sorted_axes, counts
    return ShotFrames(axes, neighbors)


@checked
def shot_radius(mesh: TriMesh, share: float = 0.09) -> float:
    """A radius for [`shot`][finsler.shot] that follows the size of the surface: share · √area.

    >>> from finsler import primitives
    >>> round(shot_radius(primitives.plane(4, 4)), 12)
    0.09
    """
    if not 0.0 < share < np.inf:
        raise InputError(f"share is {share}; it must be positive and finite")
    return share * float(np.sqrt(surface_area(mesh)))


def _cells(
    mesh: TriMesh, radius: float, min_neighbors: int, as_released: bool
) -> tuple[Cells, IntArray]:
    """The vertices that have a normal, sorted into cells, and their numbers in the mesh."""
    from finsler.descriptors._compiled_cells import Cells, sort_into_cells

    if not 0.0 < radius < np.inf:
        raise InputError(f"radius is {radius}; it must be positive and finite")
    require_neighbors(min_neighbors)
    warn_of({"inconsistent_edges": len(inconsistent_edges(mesh))})
    normals = _mean_normals(mesh) if as_released else vertex_normals(mesh)
    present = np.flatnonzero(normals.any(axis=1))
    if len(present) == 0:
        raise InputError("no face of the mesh has area, so it has no normals; repair it first")
    points = mesh.vertices[present]
    lower, extent = points.min(axis=0), np.ptp(points, axis=0)
    # A little wider than the radius, so that rounding cannot hide a neighbour two cells away.
    width = max(1.001 * radius, float(extent.max()) / np.cbrt(_CELLS * len(points)))
    shape = 1 + (extent / width).astype(np.int64)
    order, start = sort_into_cells(points, lower, shape, width)
    vertices = present[order]
    cells = Cells(mesh.vertices[vertices], normals[vertices], start, lower, shape, width)
    return cells, vertices


def _mean_normals(mesh: TriMesh) -> FloatArray:
    """Unit vertex normals as plain means of the unit normals of the faces around."""
    total = np.zeros((mesh.n_vertices, 3))
    np.add.at(total, mesh.faces, face_normals(mesh)[:, None, :])
    length = np.linalg.norm(total, axis=1, keepdims=True)
    return np.asarray(np.divide(total, length, out=np.zeros_like(total), where=length > 0))
