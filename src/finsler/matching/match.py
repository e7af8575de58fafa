"""Match two meshes of any scale, position and numbering, without training."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from finsler.analysis.spectrum import Spectrum, spectrum
from finsler.descriptors.learned import FeatureModels, feature_models
from finsler.errors import InputError
from finsler.matching.contenders import STEP, Contender, contenders
from finsler.matching.descriptions import described, read_described
from finsler.matching.functional import embeddings, pull_back
from finsler.matching.landmarks import checked_landmarks, with_landmarks
from finsler.matching.nearest import nearest_rows
from finsler.matching.points import Refined
from finsler.matching.quality import confidence, cycle_distances, expected_errors
from finsler.matching.refine import checked_trust, refine
from finsler.matching.rigid import exact_if_rigid
from finsler.matching.surfaces import (
    DescribedSurface,
    Describing,
    basis_size,
    comparable,
    describing_on,
    first_functions,
)
from finsler.matching.verdict import Verdict, verdict
from finsler.mesh.arguments import checked, checked_map, require_seed
from finsler.mesh.io import load_mesh
from finsler.mesh.summary import one_line
from finsler.mesh.trimesh import TriMesh
from finsler.mesh.unit import UnitSurface
from finsler.operator import Laplacian, lbo
from finsler.typing import FloatArray, IntArray

__all__ = ["Match", "match"]

# First size for maps that are given: they are worse than those from descriptors here and there, but
# right in the large.
_LEARNED = 40

Bases = tuple[Spectrum, Spectrum]


@one_line("verdict", "map_12", "map_21", "confidence")
@dataclass(frozen=True, eq=False)
class Match:
    """A correspondence from mesh 1 to mesh 2.

    Attributes
    ----------
    map_12 : (n_1,)
        Vertex of mesh 2 for each vertex of mesh 1.
    map_21 : (n_2,)
        Vertex of mesh 1 for each vertex of mesh 2, refined together with map_12; for maps that were
        kept, that of the adjoint of the same functional map.
    expected : (n_1,)
        Expected error in units of √area (of mesh 2 where mesh 1 is a part), see
        [`expected_errors`][finsler.matching.expected_errors].
    confidence : (n_1,)
        In [0, 1]: one half at an expected error of 0.025, times the probability of the whole map.
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
        How probable it is that the map is right as a whole, and what speaks against it.
    mesh_1, mesh_2 : TriMesh
        The repaired meshes in the middle and unit that they were matched in, vertices numbered as
        given: what [`show`][finsler.show] draws.
    alternatives : tuple of Match
        The next best maps that differ, if any were asked for: turned or mirrored ones, say.
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
    mesh_1: TriMesh
    mesh_2: TriMesh
    alternatives: tuple[Match, ...] = ()


@checked
def match(
    mesh_1: TriMesh | DescribedSurface | str | os.PathLike[str],
    mesh_2: TriMesh | DescribedSurface | str | os.PathLike[str],
    *,
    k: int = 200,
    operator: Callable[[TriMesh], Laplacian] = lbo,
    model: str | os.PathLike[str] = "box",
    initial: ArrayLike | None = None,
    trust: ArrayLike | None = None,
    keep: bool = False,
    landmarks: ArrayLike | None = None,
    alternatives: int = 0,
    partial: bool = False,
    seed: int = 0,
    cache: str | os.PathLike[str] | None = None,
    device: str = "cpu",
    progress: Callable[[str], None] = lambda stage: None,
) -> Match:
    """Find the vertex of mesh 2 for each vertex of mesh 1; components and holes are allowed.

    The model in the box, descriptors and guesses propose functional maps; that of least energy is
    refined, bending mesh 1 along it. No training is needed.

    Parameters
    ----------
    mesh_1, mesh_2 : TriMesh, described surface, or path of either
        A surface that is matched often is best described once, by [`describe`][finsler.describe].
    k : int
        Size of the largest basis; at most a third of the vertices, or what is described, is used.
    operator : callable
        Gives the Laplacian whose eigenfunctions are the basis of surfaces not yet described.
    model : str or path
        Whose features propose maps: "box", "none", or a file; see [`describe`][finsler.describe].
    initial, trust : (n_1,), optional
        A vertex map to refine, such as a learned one, and how much each vertex counts at first.
    keep : bool
        Do not refine the initial map: only find its functional map and its confidence.
    landmarks : (p, 2), optional
        Pairs of a vertex of mesh 1 and one of mesh 2 that are known to correspond: a few are enough
        to turn a map that is turned about.
    alternatives : int
        How many of the next best different maps are refined too.
    partial : bool
        Mesh 1 is a part of mesh 2 in the same unit; both are divided by √area of mesh 2.
    seed, cache, progress : int, path, callable
        Of the samples; folder in which descriptions are kept; called with the name of each stage.
    device : str
        Where surfaces not yet described are, see [`describe`][finsler.describe].

    Raises
    ------
    InputError
        Too few vertices, k below 10, a map or trust that does not fit, a part that is too large.

    Examples
    --------
    >>> from finsler.mesh.primitives import bumpy_sphere
    >>> match(bumpy_sphere(8), bumpy_sphere(8)).verdict.doubtful
    False
    """
    require_seed(seed)
    if alternatives < 0:
        raise InputError(f"alternatives is {alternatives}; it must not be negative")
    pair = UnitPair.of(opened(mesh_1), opened(mesh_2), partial=partial)
    size = basis_size(k, pair.unit_1.mesh, pair.unit_2.mesh)
    if initial is None:
        if keep or trust is not None:
            raise InputError("keep and trust are for an initial map, and none is given")
        models = feature_models(model)
        if partial and models is not None:
            models = models.for_parts()
        place = describing_on(device)
        both = pair.described(k, operator, models, cache, place, progress)
        if landmarks is not None:
            both = with_landmarks(*both, pair.landmarks(landmarks))
        found = contenders(
            *both, alternatives=alternatives, partial=partial, seed=seed, progress=progress
        )
        bases = both[0].spectrum, both[1].spectrum
    else:
        if landmarks is not None or alternatives:
            raise InputError("landmarks and alternatives are for a match without an initial map")
        progress("basis and refinement")
        bases = pair.bases(size, operator)
        found = [_refine_initial(pair, *pair.between_units(initial, trust), bases, keep, seed)]
    progress("verdict")
    best, *others = (pair.as_given(_measure(pair, each, bases)) for each in found)
    return replace(best, alternatives=tuple(others))


@dataclass(frozen=True, eq=False)
class UnitPair:
    """Two surfaces in the unit that they are matched in, and their descriptions where given."""

    unit_1: UnitSurface
    unit_2: UnitSurface
    given: tuple[DescribedSurface | None, ...]
    partial: bool

    @classmethod
    def of(cls, *surfaces: TriMesh | DescribedSurface, partial: bool) -> UnitPair:
        given = [surface if isinstance(surface, DescribedSurface) else None for surface in surfaces]
        unit_1, unit_2 = (
            surface.unit
            if isinstance(surface, DescribedSurface)
            else UnitSurface.of(surface, fill=True)
            for surface in surfaces
        )
        if partial:
            # What is missing of a part stays missing.
            unit_1 = unit_1.unfilled()
        if unit_2.unit_area != unit_2.area:
            unit_2, given[1] = unit_2.in_unit(unit_2.area), None
        wanted = unit_2.area if partial else unit_1.area
        if partial and unit_1.area > 1.05 * unit_2.area:
            raise InputError(
                f"the part has area {unit_1.area:.4g} and the full surface {unit_2.area:.4g}; a"
                " part is smaller and in the same unit: exchange the meshes, or rescale one"
            )
        if unit_1.unit_area != wanted:
            # Descriptions depend on the unit.
            unit_1, given[0] = unit_1.in_unit(wanted), None
        return cls(unit_1, unit_2, tuple(given), partial)

    def described(
        self,
        k: int,
        operator: Callable[[TriMesh], Laplacian],
        model: FeatureModels | None,
        cache: str | os.PathLike[str] | None,
        place: Describing,
        progress: Callable[[str], None],
    ) -> tuple[DescribedSurface, DescribedSurface]:
        """Both with equally many functions and histograms of equal balls."""
        surfaces = []
        for number, unit in enumerate((self.unit_1, self.unit_2), start=1):
            known = self.given[number - 1]
            # Parts and what they are parts of are described by models that know parts.
            other = self.partial and known is not None and known.model != "none"
            if known is None or (other and model is not None and known.model != model.key):
                progress(f"basis and descriptors of mesh {number}")
                known = described(
                    unit, k=k, operator=operator, model=model, cache=cache, place=place
                )
            surfaces.append(known)
        return comparable(surfaces[0], surfaces[1], k)

    def bases(self, size: int, operator: Callable[[TriMesh], Laplacian]) -> Bases:
        """Both bases, with equally many functions."""
        first, second = (
            spectrum(operator(unit.mesh), size) if known is None else known.spectrum
            for unit, known in zip((self.unit_1, self.unit_2), self.given, strict=True)
        )
        size = min(size, len(first.eigenvalues), len(second.eigenvalues))
        return first_functions(first, size), first_functions(second, size)

    def between_units(
        self, initial: ArrayLike, trust: ArrayLike | None
    ) -> tuple[IntArray, FloatArray]:
        """A map of the meshes as given and its trust, between the repaired ones."""
        n_1, n_2 = len(self.unit_1.vertex_map), len(self.unit_2.vertex_map)
        start = checked_map(initial, n_1, n_2, "initial")
        source = self.unit_1.vertex_source
        return self.unit_2.vertex_map[start[source]], checked_trust(trust, n_1)[source]

    def landmarks(self, pairs: ArrayLike) -> IntArray:
        """Known pairs of the meshes as given, between the repaired ones."""
        sizes = (len(unit.vertex_map) for unit in (self.unit_1, self.unit_2))
        one, other = checked_landmarks(pairs, *sizes).T
        return np.stack([self.unit_1.vertex_map[one], self.unit_2.vertex_map[other]], axis=1)

    def as_given(self, result: Match) -> Match:
        """The same for the vertices as given; those that are left out follow the nearest one."""
        new_1, new_2 = self.unit_1.vertex_map, self.unit_2.vertex_map
        return replace(
            result,
            map_12=self.unit_2.vertex_source[result.map_12[new_1]],
            map_21=self.unit_1.vertex_source[result.map_21[new_2]],
            expected=result.expected[new_1],
            confidence=result.confidence[new_1],
            cycle=result.cycle[new_1],
            mesh_1=self.unit_1.as_given(),
            mesh_2=self.unit_2.as_given(),
        )


def opened(
    surface: TriMesh | DescribedSurface | str | os.PathLike[str],
) -> TriMesh | DescribedSurface:
    """A mesh or described surface, read where a path is given: .npz holds a described one."""
    if isinstance(surface, TriMesh | DescribedSurface):
        return surface
    described_file = str(surface).lower().endswith(".npz")
    return read_described(surface) if described_file else load_mesh(surface)


def _refine_initial(
    pair: UnitPair, start: IntArray, weights: FloatArray, bases: Bases, keep: bool, seed: int
) -> Contender:
    meshes = pair.unit_1.mesh, pair.unit_2.mesh
    if keep:
        vectors = bases[0].eigenvectors, bases[1].eigenvectors
        refined = Refined(start, pull_back(start, *vectors, np.asarray(bases[0].mass)))
    else:
        refined = refine(
            start,
            *bases,
            first=_LEARNED,
            step=STEP,
            trust=weights,
            partial=pair.partial,
            seed=seed,
            meshes=meshes,
        )
    refined = replace(refined, map_21=_way_back(refined, *bases))
    assert refined.map_21 is not None
    said = verdict(*meshes, refined.map_12, refined.map_21, partial=pair.partial)
    return Contender(refined, said)


def _way_back(refined: Refined, spectrum_1: Spectrum, spectrum_2: Spectrum) -> IntArray:
    """From 2 to 1: that of the refinement, or for a map that is kept nearest in its embedding."""
    if refined.map_21 is not None:
        return refined.map_21
    here, there = embeddings(refined.functional, spectrum_1.eigenvectors, spectrum_2.eigenvectors)
    return nearest_rows(there, here)


def _measure(pair: UnitPair, found: Contender, bases: Bases) -> Match:
    """The maps between the repaired meshes with all that is said about them."""
    said, refined = found.verdict, found.refined
    if not pair.partial:
        refined = exact_if_rigid(pair.unit_1.mesh, pair.unit_2.mesh, refined)
    map_21 = _way_back(refined, *bases)
    expected = expected_errors(pair.unit_1.mesh, *bases, refined, map_21)
    k_1, k_2 = refined.functional.shape
    return Match(
        map_12=refined.map_12,
        map_21=map_21,
        expected=expected,
        confidence=said.probability * confidence(expected),
        cycle=cycle_distances(pair.unit_1.mesh, refined.map_12, map_21),
        functional=refined.functional,
        eigenvalues_1=bases[0].eigenvalues[:k_1],
        eigenvalues_2=bases[1].eigenvalues[:k_2],
        orientation=said.orientation,
        verdict=said,
        mesh_1=pair.unit_1.mesh,
        mesh_2=pair.unit_2.mesh,
    )
