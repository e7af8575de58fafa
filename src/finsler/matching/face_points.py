"""Points on the faces of a surface: partners that are finer than its vertices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from finsler.matching.nearest import row_products
from finsler.typing import FloatArray, IntArray

Rows = NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class FacePoints:
    """Points on faces, each by the corners of its face (n, 3) and weights (n, 3) that sum to 1."""

    corners: IntArray
    weights: FloatArray

    def values(self, functions: FloatArray) -> FloatArray:
        """Functions (m, c) on the vertices, interpolated at the points, (n, c)."""
        total = self.weights[:, :1] * functions[self.corners[:, 0]]
        for corner in (1, 2):
            total += self.weights[:, corner, None] * functions[self.corners[:, corner]]
        return total


@dataclass(frozen=True, eq=False)
class Fans:
    """The faces around each vertex.

    Attributes
    ----------
    faces : (m, 3)
    start : (n + 1,)
        Where the corners of each vertex begin in `corners`.
    corners : (3m,)
        Corners of faces, 3 · face + place, sorted by their vertex.
    """

    faces: IntArray
    start: IntArray
    corners: IntArray

    @classmethod
    def of(cls, faces: IntArray, n_vertices: int) -> Fans:
        """Of the faces of a mesh."""
        corners = np.argsort(faces, axis=None, kind="stable")
        start = np.searchsorted(faces.ravel()[corners], np.arange(n_vertices + 1))
        return cls(faces, start, corners)


def nearest_on_faces(queries: Rows, points: Rows, vertices: IntArray, fans: Fans) -> FacePoints:
    """The nearest point to each query on the faces around a vertex that is near.

    Between the corners of a face, rows of `points` are interpolated.

    Parameters
    ----------
    queries, points : (q, d), (n, d)
        Rows in any number of dimensions; `points` are those of the vertices.
    vertices : (q,)
        The vertex of each query; every one has a face.
    fans : Fans

    Examples
    --------
    >>> fans = Fans.of(np.array([[0, 1, 2]]), 3)
    >>> corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> nearest_on_faces(np.array([[0.25, -1.0]]), corners, np.array([0]), fans).weights
    array([[0.75, 0.25, 0.  ]])
    """
    count = np.diff(fans.start)[vertices]
    first = np.cumsum(count) - count
    query = np.repeat(np.arange(len(queries)), count)
    corner = fans.corners[np.arange(len(query)) + (fans.start[vertices] - first)[query]]
    face, place = np.divmod(corner, 3)
    a, b, c = (fans.faces[face, (place + i) % 3] for i in range(3))
    squares = np.einsum("nd,nd->n", points, points)
    sides = np.stack(
        [
            row_products(points, fans.faces[:, i], points, fans.faces[:, (i + 1) % 3])
            for i in range(3)
        ]
    )
    ab, bc, ca = (sides[(place + i) % 3, face] for i in range(3))
    along = row_products(queries, np.arange(len(queries)), points, vertices)[query]
    # With origin a and edges to b and c: inner products of the edges, and of them with the query.
    metric = (
        squares[b] - 2 * ab + squares[a],
        bc - ab - ca + squares[a],
        squares[c] - 2 * ca + squares[a],
    )
    towards = (
        row_products(queries, query, points, b) - ab - along + squares[a],
        row_products(queries, query, points, c) - ca - along + squares[a],
    )
    u, v, gain = _on_triangles(*metric, *towards)
    # The distance to the query is that of a, which all faces around it share, less the gain.
    best = np.maximum.reduceat(gain, first)
    hits = np.flatnonzero(gain == best[query])
    chosen = hits[np.searchsorted(query[hits], np.arange(len(queries)))]
    u, v = u[chosen], v[chosen]
    return FacePoints(
        np.stack([a[chosen], b[chosen], c[chosen]], axis=1),
        np.stack([1.0 - u - v, u, v], axis=1).astype(np.float64),
    )


def _on_triangles(
    bb: FloatArray, bc: FloatArray, cc: FloatArray, xb: FloatArray, xc: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weights (u, v) of b and c of the nearest point u·b + v·c of triangles with origin a.

    Given are inner products of the edges b, c and of the query x with them. Third comes the gain
    |x|² − |x − u·b − v·c|² over the origin.
    """
    tiny = 1e-12
    determinant = np.maximum(bb * cc - bc**2, tiny)
    # Cut off outside, where it does not count: in faces without area it may be beyond all bounds.
    inner = np.clip([cc * xb - bc * xc, bb * xc - bc * xb] / determinant, -1.0, 2.0)
    zero = np.zeros_like(xb)
    third = np.clip((xc - xb - bc + bb) / np.maximum(bb + cc - 2 * bc, tiny), 0.0, 1.0)
    u = np.stack([inner[0], np.clip(xb / np.maximum(bb, tiny), 0.0, 1.0), zero, 1.0 - third])
    v = np.stack([inner[1], zero, np.clip(xc / np.maximum(cc, tiny), 0.0, 1.0), third])
    gain = 2 * (u * xb + v * xc) - bb * u**2 - 2 * bc * u * v - cc * v**2
    outside = (u[0] < 0.0) | (v[0] < 0.0) | (u[0] + v[0] > 1.0)
    gain[0][outside] = -np.inf
    which = gain.argmax(axis=0)[None]
    u, v, gain = (np.take_along_axis(x, which, axis=0)[0] for x in (u, v, gain))
    return u, v, gain
