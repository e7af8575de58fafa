"""The triangle mesh: two arrays that never change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from finsler.errors import InputError
from finsler.mesh.arguments import real_array
from finsler.typing import FloatArray, IntArray

__all__ = ["TriMesh"]


@dataclass(frozen=True, eq=False)
class TriMesh:
    """A triangle mesh in space.

    The arrays are converted, checked and made read-only; what was passed in is not touched.
    Degenerate, duplicate or badly oriented faces are allowed here, so that
    [`health`][finsler.mesh.health] can report them and [`repair`][finsler.mesh.repair] remove them.

    Parameters
    ----------
    vertices : (n, 3) array
        Positions, converted to float64.
    faces : (m, 3) array
        Corners of each triangle, 0-based, counter-clockwise seen from outside; int64.

    Raises
    ------
    InputError
        Wrong shape, no vertex or face, a coordinate that is not finite, an index out of range.

    Examples
    --------
    >>> mesh = TriMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    >>> mesh.n_vertices, mesh.n_faces
    (3, 1)
    """

    vertices: FloatArray
    faces: IntArray

    def __init__(self, vertices: ArrayLike, faces: ArrayLike) -> None:
        object.__setattr__(self, "vertices", _frozen(_checked_vertices(vertices)))
        object.__setattr__(self, "faces", _frozen(_checked_faces(faces, len(self.vertices))))

    @property
    def n_vertices(self) -> int:
        """Number of vertices."""
        return len(self.vertices)

    @property
    def n_faces(self) -> int:
        """Number of faces."""
        return len(self.faces)

    def to_trimesh(self) -> Any:
        """The same mesh as a `trimesh.Trimesh`, vertices and faces in the same order."""
        import trimesh

        return trimesh.Trimesh(self.vertices, self.faces, process=False)

    def to_pyvista(self) -> Any:
        """The same mesh as a PyVista `PolyData`, vertices and faces in the same order.

        Raises
        ------
        InputError
            PyVista is not installed.
        """
        try:
            import pyvista
        except ImportError as error:
            raise InputError("PyVista is not installed: pip install pyvista") from error
        padded = np.insert(self.faces, 0, 3, axis=1)
        return pyvista.PolyData(np.array(self.vertices), padded.ravel())

    def __repr__(self) -> str:
        faces = f"{self.n_faces} face" + "s" * (self.n_faces != 1)
        size = " × ".join(f"{side:.3g}" for side in np.ptp(self.vertices, axis=0))
        return f"TriMesh({self.n_vertices} vertices, {faces}, size {size})"


def require_same_mesh(own: TriMesh, mesh: TriMesh, what: str) -> None:
    """Raise unless what belongs to `own` belongs to `mesh`: equal vertices and faces will do."""
    if own is mesh:
        return
    if not (np.array_equal(own.faces, mesh.faces) and np.array_equal(own.vertices, mesh.vertices)):
        raise InputError(
            f"the {what} belong to another mesh ({own.n_vertices} vertices, {own.n_faces} faces;"
            f" this one has {mesh.n_vertices} and {mesh.n_faces}); make them from this one"
        )


def _checked_vertices(values: ArrayLike) -> FloatArray:
    vertices = np.array(real_array(values, "vertices", finite=False))
    if vertices.ndim != 2 or vertices.shape[1] != 3:
        raise InputError(f"vertices must have shape (n, 3), not {vertices.shape}")
    if len(vertices) == 0:
        raise InputError("the mesh has no vertices")
    bad = ~np.isfinite(vertices).all(axis=1)
    if bad.any():
        raise InputError(
            f"vertex {int(np.argmax(bad))} is not finite ({int(bad.sum())} in all);"
            " remove or replace these vertices"
        )
    return vertices


def _checked_faces(values: ArrayLike, n_vertices: int) -> IntArray:
    try:
        raw = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise InputError(f"faces must be an (m, 3) array of whole numbers: {error}") from error
    if raw.ndim != 2 or raw.shape[1] != 3:
        raise InputError(f"faces must have shape (m, 3), not {raw.shape}")
    if len(raw) == 0:
        raise InputError("the mesh has no faces; a point cloud cannot be used")
    if raw.dtype.kind not in "iuf" or (
        raw.dtype.kind == "f" and not (np.isfinite(raw) & (raw == np.floor(raw))).all()
    ):
        raise InputError(f"faces must hold whole numbers, not {raw.dtype} values")
    faces = np.array(raw, dtype=np.int64)
    bad = ((faces < 0) | (faces >= n_vertices)).any(axis=1)
    if bad.any():
        face = int(np.argmax(bad))
        raise InputError(
            f"face {face} names vertices {faces[face].tolist()}, but indices must lie in"
            f" 0..{n_vertices - 1} ({int(bad.sum())} such faces); is the file 1-based or cut short?"
        )
    return faces


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array
