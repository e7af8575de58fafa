"""ZoomOut: a map that is refined by asking it to explain more and more functions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from finsler.analysis.spectrum import Spectrum
from finsler.errors import InputError
from finsler.matching.bending import Ground, bend_and_zoom
from finsler.matching.functional import embeddings, pull_back, vertex_map
from finsler.matching.nearest import nearest_rows
from finsler.matching.points import Points, Refined, Step, points_of, sampled
from finsler.mesh.arguments import checked_map, real_array, takes_meshes
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray

# Vertices of each surface that take part before the last step.
SAMPLES = 5000


@takes_meshes
def refine(
    map_12: ArrayLike,
    spectrum_1: Spectrum,
    spectrum_2: Spectrum,
    *,
    first: int = 20,
    step: int = 20,
    trust: ArrayLike | None = None,
    partial: bool = False,
    samples: int = SAMPLES,
    seed: int = 0,
    meshes: tuple[TriMesh, TriMesh] | None = None,
) -> Refined:
    """Refine a vertex map, from wherever it comes, by ZoomOut (Melzi et al. 2019).

    In turn, C = Φ_1⁺ Φ_2[map_12] in growing bases, and nearest neighbours of its embedding. With
    meshes, surface 1 is bent along the map, and partners are near in position and normal too.

    Parameters
    ----------
    map_12 : (n_1,)
        Vertex of surface 2 for each vertex of surface 1.
    spectrum_1, spectrum_2 : Spectrum
        Bases of the same operator; all of their functions are used in the end.
    first, step : int
        Size of the first functional map, large for a map that is right already, and its growth.
    trust : (n_1,), optional
        Weight of each vertex in the first functional map, times its area; equal by default.
    partial : bool
        Surface 1 is a part of surface 2, in the same unit: see `basis_sizes`.
    samples, seed : int
        Vertices of each surface that take part before the last step, and seed of their draw.
    meshes : (TriMesh, TriMesh), optional
        The two surfaces, in the unit of the bases.

    Raises
    ------
    InputError
        A map or a mesh that does not fit the bases, trust below 0 or all 0, or sizes below 1.

    Examples
    --------
    >>> from finsler import lbo, primitives, spectrum
    >>> basis = spectrum(lbo(primitives.bumpy_sphere(8)), 40)
    >>> bool((refine(np.roll(np.arange(642), 1), basis, basis).map_12 == range(642)).mean() > 0.99)
    True
    """
    _require_sizes(first, step, samples)
    start = checked_map(map_12, len(spectrum_1.eigenvectors), len(spectrum_2.eigenvectors))
    sizes = basis_sizes(spectrum_1, spectrum_2, first=first, step=step, partial=partial)
    whole_1, whole_2 = points_of(spectrum_1), points_of(spectrum_2)
    bases = whole_1.basis[:, : sizes[0].size_1], whole_2.basis[:, : sizes[0].size_2]
    functional = pull_back(start, *bases, whole_1.weights * checked_trust(trust, len(start)))
    rng = np.random.default_rng(seed)
    if meshes is not None:
        _require_meshes(meshes, len(whole_1.weights), len(whole_2.weights))
        ground = Ground.of(meshes, (whole_1, whole_2), partial=partial)
        return bend_and_zoom(ground, functional, elastic_steps(sizes), rng).polished()
    some_1, some_2 = sampled(whole_1, samples, rng), sampled(whole_2, samples, rng)
    return last_step(zoom(functional, some_1, some_2, sizes), whole_1, whole_2)


def _require_sizes(first: int, step: int, samples: int) -> None:
    if min(first, step, samples) < 1:
        raise InputError(
            f"first, step and samples are {first}, {step}, {samples}; all must be >= 1"
        )


def elastic_steps(sizes: Sequence[Step]) -> list[Step]:
    """The first and the last size once more: the surface is bent before the map grows."""
    return [sizes[0], *sizes, sizes[-1]]


def _require_meshes(meshes: tuple[TriMesh, TriMesh], n_1: int, n_2: int) -> None:
    given = tuple(mesh.n_vertices for mesh in meshes)
    if given != (n_1, n_2):
        raise InputError(
            f"the meshes have {given[0]} and {given[1]} vertices, the bases {n_1} and {n_2}; give"
            " the meshes that the bases belong to"
        )


def zoom(
    functional: FloatArray, points_1: Points, points_2: Points, steps: Sequence[Step]
) -> FloatArray:
    """The functional map after the steps, each a vertex map and the functional map of it."""
    for step in steps:
        bases, features = (points_1.basis, points_2.basis), (points_1.features, points_2.features)
        images = nearest_rows(*embeddings(functional, *bases, *features, step.weight))
        smaller = bases[0][:, : step.size_1], bases[1][:, : step.size_2]
        functional = pull_back(images, *smaller, points_1.weights)
    return functional


def last_step(functional: FloatArray, whole_1: Points, whole_2: Points) -> Refined:
    """The last step: the vertex map of all vertices, and the functional map of that."""
    images = vertex_map(functional, whole_1.basis, whole_2.basis)
    k_1, k_2 = functional.shape
    exact = pull_back(images, whole_1.basis[:, :k_1], whole_2.basis[:, :k_2], whole_1.weights)
    return Refined(images, exact)


def basis_sizes(
    spectrum_1: Spectrum,
    spectrum_2: Spectrum,
    *,
    first: int,
    step: int,
    partial: bool = False,
) -> list[Step]:
    """Sizes of the functional maps, the last one as large as the bases.

    Of a part, only the functions up to the frequency of the full surface's are used: their number
    is that of the eigenvalues λ_1 ≤ λ_2[k_2 − 1], about k_2 times the share of the area. So the map
    is a slanted rectangle (Rodolà et al. 2017).
    """
    limit = len(spectrum_2.eigenvalues)
    if not partial:
        limit = min(limit, len(spectrum_1.eigenvalues))
    full = [*range(min(first, limit), limit, step), limit]
    if not partial:
        return [Step(k, k) for k in full]
    top = spectrum_2.eigenvalues[np.array(full) - 1]
    ranks = np.searchsorted(spectrum_1.eigenvalues, top, side="right")
    return [Step(max(int(r), 2), k) for r, k in zip(ranks, full, strict=True)]


def checked_trust(trust: ArrayLike | None, n_1: int) -> FloatArray:
    """Weights (n_1,) of the vertices of a map; 1 where none are given."""
    if trust is None:
        return np.ones(n_1)
    given = real_array(trust, "trust", finite=False)
    if given.shape != (n_1,) or not (np.isfinite(given).all() and given.min() >= 0 < given.max()):
        raise InputError(
            f"trust has shape {given.shape}; it must be a finite number >= 0 for each of the {n_1}"
            " vertices of surface 1, and not 0 for all"
        )
    return given
