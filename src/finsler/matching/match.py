"""Match two meshes of any scale, position and numbering, without training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree

from finsler.analysis.spectrum import Spectrum, spectrum
from finsler.errors import InputError
from finsler.matching.candidates import candidates
from finsler.matching.functional import embeddings, pull_back
from finsler.matching.nearest import nearest_rows
from finsler.matching.quality import confidence, cycle_distances, expected_errors
from finsler.matching.refine import (
    SAMPLES,
    Refined,
    basis_sizes,
    checked_trust,
    last_step,
    points_of,
    refine,
    sampled,
    zoom,
)
from finsler.matching.surfaces import (
    DescribedSurface,
    basis_size,
    common_radius,
    describe_surface,
    principal_features,
    repaired,
    rescaled,
    total_area,
)
from finsler.matching.verdict import Verdict, verdict
from finsler.mesh.arguments import checked, checked_map, require_seed
from finsler.mesh.repair import Repair
from finsler.mesh.trimesh import TriMesh
from finsler.operator import Laplacian, lbo
from finsler.typing import FloatArray, IntArray

__all__ = ["Match", "match"]

# Directions of the histograms that are kept.
_FEATURES = 64
_STEP = 20
# First size for maps that are given: they are worse than those from descriptors here and there, but
# right in the large.
_LEARNED = 40

Bases = tuple[Spectrum, Spectrum]


@dataclass(frozen=True, eq=False)
class Match:
    """A correspondence from mesh 1 to mesh 2.

    Attributes
    ----------
    map_12 : (n_1,)
        Vertex of mesh 2 for each vertex of mesh 1.
    map_21 : (n_2,)
        Vertex of mesh 1 for each vertex of mesh 2, refined separately; for parts and maps that were
        kept, that of the adjoint of the same functional map.
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


@checked
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
    """Find the vertex of mesh 2 for each vertex of mesh 1; components and holes are allowed.

    Functional maps from descriptors are candidates; ZoomOut refines the one of least energy.

    Parameters
    ----------
    mesh_1, mesh_2 : TriMesh
    k : int
        Size of the largest basis; at most a third of the vertices is used.
    operator : callable
        Gives the Laplacian of a mesh whose eigenfunctions are the basis.
    initial, trust : (n_1,), optional
        A vertex map to refine, such as a learned one, and how much each vertex counts at first.
    keep : bool
        Do not refine the initial map: only find its functional map and its confidence.
    partial : bool
        Mesh 1 is a part of mesh 2 in the same unit; both are divided by √area of mesh 2.
    seed, progress : int, callable
        Of the samples; called with the name of each stage.

    Raises
    ------
    InputError
        Too few vertices, k below 10, a map or trust that does not fit, a part that is too large.

    Examples
    --------
    >>> from finsler import primitives
    >>> mesh = primitives.bumpy_sphere(8)
    >>> match(mesh, mesh).verdict.probably_wrong
    False
    """
    pair = _Pair.of(mesh_1, mesh_2, partial)
    size = basis_size(k, pair.unit_1, pair.unit_2)
    require_seed(seed)
    if initial is None:
        if keep or trust is not None:
            raise InputError("keep and trust are for an initial map, and none is given")
        refined, bases = _match_descriptors(pair, size, operator, seed, progress)
    else:
        progress("basis")
        bases = spectrum(operator(pair.unit_1), size), spectrum(operator(pair.unit_2), size)
        progress("refinement")
        refined = _refine_initial(pair, *pair.between_units(initial, trust), bases, keep, seed)
    progress("way back")
    map_21 = _reverse(refined, *bases, adjoint=keep or partial, seed=seed)
    return pair.as_given(_measure(pair, refined, map_21, bases))


@dataclass(frozen=True, eq=False)
class _Pair:
    """Two meshes as given, repaired, and repaired in the unit that they are matched in."""

    mesh_1: TriMesh
    mesh_2: TriMesh
    repaired_1: Repair
    repaired_2: Repair
    unit_1: TriMesh
    unit_2: TriMesh
    partial: bool

    @classmethod
    def of(cls, mesh_1: TriMesh, mesh_2: TriMesh, partial: bool) -> _Pair:
        repaired_1, repaired_2 = repaired(mesh_1), repaired(mesh_2)
        area_1, area_2 = total_area(repaired_1.mesh), total_area(repaired_2.mesh)
        if partial and area_1 > 1.05 * area_2:
            raise InputError(
                f"the part has area {area_1:.4g} and the full surface {area_2:.4g}; a part is"
                " smaller and in the same unit: exchange the meshes, or rescale one"
            )
        unit_1 = rescaled(repaired_1.mesh, area_2 if partial else area_1)
        unit_2 = rescaled(repaired_2.mesh, area_2)
        return cls(mesh_1, mesh_2, repaired_1, repaired_2, unit_1, unit_2, partial)

    def between_units(
        self, initial: ArrayLike, trust: ArrayLike | None
    ) -> tuple[IntArray, FloatArray]:
        """A map of the meshes as given and its trust, between the repaired ones."""
        n_1 = self.mesh_1.n_vertices
        start = checked_map(initial, n_1, self.mesh_2.n_vertices, "initial")
        source = self.repaired_1.vertex_source
        target = _new_vertices(self.mesh_2, self.repaired_2)[start[source]]
        return target, checked_trust(trust, n_1)[source]

    def as_given(self, result: Match) -> Match:
        """The same for the vertices as given; those that are left out follow the nearest one."""
        new_1 = _new_vertices(self.mesh_1, self.repaired_1)
        new_2 = _new_vertices(self.mesh_2, self.repaired_2)
        return replace(
            result,
            map_12=self.repaired_2.vertex_source[result.map_12[new_1]],
            map_21=self.repaired_1.vertex_source[result.map_21[new_2]],
            expected=result.expected[new_1],
            confidence=result.confidence[new_1],
            cycle=result.cycle[new_1],
        )


def _new_vertices(mesh: TriMesh, repair: Repair) -> IntArray:
    """Vertex of the repaired mesh for each as given; the nearest for those that are left out."""
    new = repair.vertex_map.copy()
    lost = np.flatnonzero(new < 0)
    if len(lost):
        new[lost] = cKDTree(repair.mesh.vertices).query(mesh.vertices[lost])[1]
    return new


def _match_descriptors(
    pair: _Pair,
    size: int,
    operator: Callable[[TriMesh], Laplacian],
    seed: int,
    progress: Callable[[str], None],
) -> tuple[Refined, Bases]:
    radius = common_radius(max(pair.unit_1.n_vertices, pair.unit_2.n_vertices))
    surfaces: list[DescribedSurface] = []
    for number, mesh in enumerate((pair.unit_1, pair.unit_2), start=1):
        progress(f"basis and descriptors of mesh {number}")
        surfaces.append(describe_surface(mesh, k=size, radius=radius, operator=operator))
    first, second = surfaces
    bases = first.spectrum, second.spectrum
    progress("candidates")
    features = principal_features(first.features(), second.features(), _FEATURES)
    ranked = candidates(first, second, *features, partial=pair.partial, seed=seed)
    start = ranked[0].functional
    progress("refinement")
    whole_1, whole_2 = points_of(bases[0]), points_of(bases[1])
    rng = np.random.default_rng(seed)
    steps = basis_sizes(*bases, first=start.shape[1], step=_STEP, partial=pair.partial)
    some = sampled(whole_1, SAMPLES, rng), sampled(whole_2, SAMPLES, rng)
    return last_step(zoom(start, *some, steps), whole_1, whole_2), bases


def _refine_initial(
    pair: _Pair, start: IntArray, weights: FloatArray, bases: Bases, keep: bool, seed: int
) -> Refined:
    if not keep:
        return refine(start, *bases, first=_LEARNED, trust=weights, partial=pair.partial, seed=seed)
    vectors = bases[0].eigenvectors, bases[1].eigenvectors
    return Refined(start, pull_back(start, *vectors, np.asarray(bases[0].mass)))


def _reverse(
    refined: Refined, spectrum_1: Spectrum, spectrum_2: Spectrum, *, adjoint: bool, seed: int
) -> IntArray:
    """From 2 to 1: nearest in the same embedding, and from there refined separately."""
    here, there = embeddings(refined.functional, spectrum_1.eigenvectors, spectrum_2.eigenvectors)
    start = nearest_rows(there, here)
    if adjoint:
        return start
    return refine(start, spectrum_2, spectrum_1, first=60, step=_STEP, seed=seed).map_12


def _measure(pair: _Pair, refined: Refined, map_21: IntArray, bases: Bases) -> Match:
    """The maps between the repaired meshes with all that is said about them."""
    expected = expected_errors(pair.unit_1, *bases, refined, map_21)
    said = verdict(pair.unit_1, pair.unit_2, refined.map_12, map_21, partial=pair.partial)
    k_1, k_2 = refined.functional.shape
    return Match(
        map_12=refined.map_12,
        map_21=map_21,
        expected=expected,
        confidence=confidence(expected),
        cycle=cycle_distances(pair.unit_1, refined.map_12, map_21),
        functional=refined.functional,
        eigenvalues_1=bases[0].eigenvalues[:k_1],
        eigenvalues_2=bases[1].eigenvalues[:k_2],
        orientation=said.orientation,
        verdict=said,
    )
