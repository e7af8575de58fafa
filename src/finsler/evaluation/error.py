"""The error of a correspondence, vertex by vertex: the Princeton protocol."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from finsler.errors import InputError
from finsler.evaluation.distances import Distances
from finsler.typing import FloatArray, IntArray

# What errors are divided by, and how that is said.
UNITS = {"sqrt_area": "√area", "diameter": "the geodesic diameter"}


def geodesic_errors(
    predicted: ArrayLike,
    truth: ArrayLike,
    distances: Distances,
    *,
    unit: str = "sqrt_area",
) -> FloatArray:
    """Distance on the reference between predicted and true vertex, as a share of its size.

    e_i = d(predicted_i, truth_i) / √area, or divided by the geodesic diameter. The diameter of a
    human body is about 1.8 √area, so that a figure means nothing without its unit.

    Parameters
    ----------
    predicted, truth : (n,)
        Vertex of the reference, for each vertex of a shape.
    distances : ReferenceDistances or DistancesOnDemand
    unit : {"sqrt_area", "diameter"}
        What distances are divided by.

    Returns
    -------
    (n,)
        Zero exactly where the two are the same vertex; infinite where they lie on two parts of a
        reference that is not connected.

    Raises
    ------
    InputError
        Another unit, lengths that differ, or what is not a vertex of the reference.

    Examples
    --------
    >>> from finsler.evaluation import reference_distances
    >>> from finsler.mesh import primitives
    >>> strip = reference_distances(primitives.plane(4, 1, size=(4.0, 1.0)), method="exact")
    >>> geodesic_errors([0, 4, 8], [0, 0, 0], strip).tolist()
    [0.0, 1.0, 2.0]
    """
    if unit not in UNITS:
        raise InputError(f'unit must be "sqrt_area" or "diameter", not {unit!r}')
    guess = reference_vertices(predicted, distances.n_vertices)
    right = reference_vertices(truth, distances.n_vertices)
    if len(guess) != len(right):
        raise InputError(
            f"there are {len(guess)} predicted and {len(right)} true vertices; give one of each for"
            " every vertex of the shape"
        )
    size = np.sqrt(distances.area) if unit == "sqrt_area" else distances.diameter
    return distances.between(guess, right) / size


def reference_vertices(values: ArrayLike, n: int) -> IntArray:
    """Vertices (k,) of a reference with n, checked; the error names the first that is not one."""
    array: NDArray[np.generic] = np.asarray(values)
    if array.ndim != 1 or len(array) == 0 or array.dtype.kind not in "iu":
        raise InputError(
            f"a correspondence must be a vector of whole numbers, not {array.dtype} values of shape"
            f" {array.shape}"
        )
    vertices = array.astype(np.int64)
    bad = (vertices < 0) | (vertices >= n)
    if bad.any():
        first = int(np.argmax(bad))
        raise InputError(
            f"vertex {first} is sent to {array[first]}, but the vertices of the reference are"
            f" 0..{n - 1} ({int(bad.sum())} such values); count from 0"
        )
    return vertices
