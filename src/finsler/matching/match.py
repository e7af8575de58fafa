"""Match two meshes of any scale, position and numbering, without training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree

from finsler.analysis.spectrum import Spectrum, spectrum
from finsler.errors import InputError
from finsler.matching.functional import embeddings, pull_back
from finsler.matching.nearest import nearest_rows
from finsler.matching.quality import (
    confidence,
    cycle_distances,
    expected_errors,
)
from finsler.matching.refine import (
    SAMPLES,
    Refined,
    basis_sizes,
    checked_map,
    checked_trust,
    finished,
    points_of,
    refine,
    sampled,
    zoom,
)
from finsler.matching.seeds import best_seed
from finsler.matching.surface import (
    Surface,
    basis_size,
    common_radius,
    describe_surface,
    mended,
    principal_features,
    rescaled,
    total_area,
)
from finsler.matching.verdict import Verdict, verdict
from finsler.mesh.repair import Repair
from finsler.mesh.trimesh import TriMesh
from finsler.operator import Laplacian, lbo
from finsler.typing import FloatArray, IntArray

# Directions of the histograms that are kept.
_FEATURES = 64
_STEP = 20
# First size for maps that are given: they are worse than those from descriptors here and there, but
# right in the large.
_LEARNED = 40


@dataclass(frozen=True, eq=False)
class Match:
    """A correspondence from mesh 1 to mesh 2.

    Attributes
    ----------
    map_12 : (n_1,)
        Vertex of mesh 2 for each vertex of mesh 1.
    map_21 : (n_2,)
        Vertex of mesh 1 for each vertex of mesh 2, refined for itself; for parts and maps that were
        kept, of the adjoint of the same functional map.
    expected : (n_1,)
        Expected error in units of √area (of mesh 2 where mesh 1 is a part), see
        [`expected_errors`][finsler.matching.expected_errors].
    confidence : (n_1,)
        In [0, 1], one half at an expected error of 0.025.
    cycle : (n_1,)
        Straight distance from each vertex of mesh 1 to where map_12 and map_21 bring it, divided
        by the square root of the area (of mesh 2 where mesh 1 is a part).
    functional : (k_1, k_2)
        Takes coefficients of functions on mesh 2 to those of their pull-back to mesh 1, in the
        eigenfunctions of the operator on the repaired meshes.
    eigenvalues_1, eigenvalues_2 : (k_1,), (k_2,)
        Of the two bases, times area.
    orientation : float
        Share of the surface that arrives right side up; near 0 for a mirror image.
    verdict : Verdict
        Whether the map as a whole is probably wrong, and why.
    """

    map_12: IntArray
    map_21: IntArray
    expected: FloatArray
    confidence: FloatArray
    cycle: FloatArray
    functional: FloatArray
    eigenvalues_1: FloatArray
    eigenvalues_2: FloatArray
    orientation: float
    verdict: Verdict


def match(
    mesh_1: TriMesh,
    mesh_2: TriMesh,
    *,
    k: int = 200,
    operator: Callable[[TriMesh], Laplacian] = lbo,
    initial: ArrayLike | None = None,
    trust: ArrayLike | None = None,
    keep: bool = False,
    partial: bool = False,
    seed: int = 0,
    progress: Callable[[str], None] = lambda stage: None,
) -> Match:
    """Find the vertex of mesh 2 that corresponds to each vertex of mesh 1.

    Meshes are mended and divided by √area; functional maps from descriptors (SHOT in two radii,
    wave kernel signatures of the isotropic and of anisotropic Laplacians at eight angles) are
    refined on samples of the vertices; the candidate of least energy is refined by ZoomOut.

    Parameters
    ----------
    mesh_1, mesh_2 : TriMesh
        Several components and holes are allowed.
    k : int
        Size of the largest basis; at most a third of the vertices is used.
    operator : callable
        Gives the Laplacian of a mesh whose eigenfunctions are the basis.
    initial : (n_1,), optional
        A vertex map to refine, e.g. one that was learned; no descriptors are computed then.
    trust : (n_1,), optional
        How much each vertex of the initial map counts at first.
    keep : bool
        Do not refine the initial map: find its functional map and its confidence alone.
    partial : bool
        Mesh 1 is a part of mesh 2, in the same unit of length; both are divided by the square
        root of the area of mesh 2.
    seed : int
        Of the samples.
    progress : callable
        Called with the name of each stage when it begins.

    Raises
    ------
    InputError
        A mesh without area or with fewer than 30 vertices, k below 10, an initial map or trust
        that does not fit, or a part that is larger than the full surface.

    Examples
    --------
    >>> from finsler import primitives
    >>> mesh = primitives.bumpy_sphere(8)
    >>> turned = TriMesh(1000.0 * mesh.vertices[:, [1, 2, 0]], mesh.faces)
    >>> bool((match(mesh, turned).map_12 == np.arange(642)).mean() > 0.95)
    True
    """
    if initial is None and (keep or trust is not None):
        raise InputError("keep and trust are for an initial map, and none is given")
    mended_1, mended_2 = mended(mesh_1), mended(mesh_2)
    area_1, area_2 = total_area(mended_1.mesh), total_area(mended_2.mesh)
    if partial and area_1 > 1.05 * area_2:
        raise InputError(
            f"the part has area {area_1:.4g} and the full surface {area_2:.4g}; a part is smaller"
            " and in the same unit: exchange the meshes, or rescale one"
        )
    unit_1 = rescaled(mended_1.mesh, area_2 if partial else area_1)
    unit_2 = rescaled(mended_2.mesh, area_2)
    size = basis_size(k, unit_1, unit_2)
    if initial is None:
        refined, bases = _from_descriptors(unit_1, unit_2, size, operator, partial, seed, progress)
    else:
        start, weights = _initial(initial, trust, mesh_2, mended_1, mended_2)
        progress("basis")
        bases = spectrum(operator(unit_1), size), spectrum(operator(unit_2), size)
        progress("refinement")
        refined = (
            _kept(start, *bases)
            if keep
            else refine(start, *bases, first=_LEARNED, trust=weights, partial=partial, seed=seed)
        )
    progress("way back")
    map_21 = _reverse(refined, *bases, adjoint=keep or partial, seed=seed)
    expected = expected_errors(unit_1, *bases, refined, map_21)
    said = verdict(unit_1, unit_2, refined.map_12, map_21, partial=partial)
    found = Match(
        map_12=refined.map_12,
        map_21=map_21,
        expected=expected,
        confidence=confidence(expected),
        cycle=cycle_distances(unit_1, refined.map_12, map_21),
        functional=refined.functional,
        eigenvalues_1=bases[0].eigenvalues[: refined.functional.shape[0]],
        eigenvalues_2=bases[1].eigenvalues[: refined.functional.shape[1]],
        orientation=said.orientation,
        verdict=said,
    )
    return _on_original(found, mesh_1, mesh_2, mended_1, mended_2)


def _from_descriptors(
    mesh_1: TriMesh,
    mesh_2: TriMesh,
    size: int,
    operator: Callable[[TriMesh], Laplacian],
    partial: bool,
    seed: int,
    progress: Callable[[str], None],
) -> tuple[Refined, tuple[Spectrum, Spectrum]]:
    radius = common_radius(max(mesh_1.n_vertices, mesh_2.n_vertices))
    surfaces: list[Surface] = []
    for number, mesh in enumerate((mesh_1, mesh_2), start=1):
        progress(f"basis and descriptors of mesh {number}")
        surfaces.append(describe_surface(mesh, k=size, radius=radius, operator=operator))
    first, second = surfaces
    progress("candidates")
    features = principal_features(first.features(), second.features(), _FEATURES)
    start = best_seed(first, second, *features, partial=partial, seed=seed).functional
    progress("refinement")
    whole_1, whole_2 = points_of(first.spectrum), points_of(second.spectrum)
    rng = np.random.default_rng(seed)
    steps = basis_sizes(
        first.spectrum, second.spectrum, first=start.shape[1], step=_STEP, partial=partial
    )
    some = sampled(whole_1, SAMPLES, rng), sampled(whole_2, SAMPLES, rng)
    refined = finished(zoom(start, *some, steps), whole_1, whole_2)
    return refined, (first.spectrum, second.spectrum)


def _kept(start: IntArray, spectrum_1: Spectrum, spectrum_2: Spectrum) -> Refined:
    bases = spectrum_1.eigenvectors, spectrum_2.eigenvectors
    return Refined(start, pull_back(start, *bases, np.asarray(spectrum_1.mass)))


def _reverse(
    refined: Refined, spectrum_1: Spectrum, spectrum_2: Spectrum, *, adjoint: bool, seed: int
) -> IntArray:
    """From 2 to 1: nearest in the same embedding, and from there refined for itself."""
    here, there = embeddings(refined.functional, spectrum_1.eigenvectors, spectrum_2.eigenvectors)
    found = nearest_rows(there, here)
    if adjoint:
        return found
    return refine(found, spectrum_2, spectrum_1, first=60, step=_STEP, seed=seed).map_12


def _initial(
    initial: ArrayLike,
    trust: ArrayLike | None,
    mesh_2: TriMesh,
    mended_1: Repair,
    mended_2: Repair,
) -> tuple[IntArray, FloatArray]:
    """A map of the meshes as given and its trust, between the mended ones."""
    n_1, n_2 = len(mended_1.vertex_map), len(mended_2.vertex_map)
    found, weights = checked_map(initial, n_1, n_2), checked_trust(trust, n_1)
    target = _new_vertices(mesh_2, mended_2)[found[mended_1.vertex_source]]
    return target, weights[mended_1.vertex_source]


def _on_original(
    found: Match, mesh_1: TriMesh, mesh_2: TriMesh, mended_1: Repair, mended_2: Repair
) -> Match:
    """The same for the vertices as given; those that are left out follow the nearest one."""
    new_1, new_2 = _new_vertices(mesh_1, mended_1), _new_vertices(mesh_2, mended_2)
    return replace(
        found,
        map_12=mended_2.vertex_source[found.map_12[new_1]],
        map_21=mended_1.vertex_source[found.map_21[new_2]],
        expected=found.expected[new_1],
        confidence=found.confidence[new_1],
        cycle=found.cycle[new_1],
    )


def _new_vertices(mesh: TriMesh, mended: Repair) -> IntArray:
    new = mended.vertex_map.copy()
    lost = np.flatnonzero(new < 0)
    if len(lost):
        new[lost] = cKDTree(mended.mesh.vertices).query(mesh.vertices[lost])[1]
    return new
