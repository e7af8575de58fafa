"""What matching needs to know of one surface: a basis of functions, and descriptors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from finsler.analysis.spectrum import Spectrum, spectrum
from finsler.descriptors.directed import FUNCTIONS
from finsler.descriptors.learned import (
    RADIUS,
    FeatureModel,
    FeatureModels,
    shot_single,
    shot_twice,
    two_histograms,
)
from finsler.errors import InputError
from finsler.matching.distances import HeatDistances
from finsler.matching.summaries import (
    Histograms,
    Signatures,
    span_size,
    summarise_histograms,
    summarise_signatures,
)
from finsler.mesh.summary import one_line
from finsler.mesh.topology import vertex_components
from finsler.mesh.trimesh import TriMesh
from finsler.mesh.unit import UnitSurface
from finsler.operator import Laplacian, lbo
from finsler.typing import FloatArray

# Neighbours at which the radius of SHOT is made smaller than that of the model.
_NEIGHBORS = 1000

# Smallest basis that a map is worth computing in.
LEAST_SIZE = 10


@one_line("mesh", "spectrum")
@dataclass(frozen=True, eq=False)
class DescribedSurface:
    """A surface with what is needed to match it; made by [`describe`][finsler.describe].

    Attributes
    ----------
    unit : UnitSurface
        The repaired mesh, divided by √area.
    spectrum : Spectrum
        The basis of functions.
    histograms : Histograms
        SHOT in two balls, reduced.
    signatures : Signatures
        Wave kernel signatures, reduced.
    features : (n, d) float32
        Of the model in the box, rows of length 1; without a model d = 0.
    model : str
        Key of that model, or "none".
    """

    unit: UnitSurface
    spectrum: Spectrum
    histograms: Histograms
    signatures: Signatures
    features: NDArray[np.float32]
    model: str

    @property
    def mesh(self) -> TriMesh:
        """The repaired mesh, of area 1."""
        return self.unit.mesh

    @property
    def mass(self) -> FloatArray:
        """Areas of the vertices, (n,)."""
        return np.asarray(self.spectrum.mass)

    @cached_property
    def distances(self) -> HeatDistances:
        """Along the surface."""
        return HeatDistances(self.mesh)


def comparable(
    first: DescribedSurface, second: DescribedSurface, k: int
) -> tuple[DescribedSurface, DescribedSurface]:
    """Both with equally many functions, at most k, and with descriptors of equal kind."""
    both = first, second
    size = min(k, *(len(surface.spectrum.eigenvalues) for surface in both))
    radius = min(surface.histograms.radius for surface in both)
    one, other = (_reduced(surface, size, radius) for surface in both)
    if one.model != other.model:
        one, other = _without_model(one), _without_model(other)
    return one, other


def _without_model(surface: DescribedSurface) -> DescribedSurface:
    """The same without features: those of two models cannot be compared."""
    return replace(surface, features=surface.features[:, :0], model="none")


def _reduced(surface: DescribedSurface, size: int, radius: float) -> DescribedSurface:
    """The same with fewer functions, and histograms of other balls."""
    if size < len(surface.spectrum.eigenvalues):
        surface = replace(surface, spectrum=first_functions(surface.spectrum, size))
    if surface.signatures.span != span_size(surface.spectrum):
        signatures = summarise_signatures(surface.mesh, surface.spectrum)
        surface = replace(surface, signatures=signatures)
    if surface.histograms.radius != radius:
        both = shot_twice(surface.mesh, radius)
        histograms = summarise_histograms(both, surface.spectrum, radius)
        surface = replace(surface, histograms=histograms)
    return surface


class Describing(Protocol):
    """Where basis, histograms and features are computed."""

    def spectrum(self, laplacian: Laplacian, k: int) -> Spectrum:
        """The k smallest eigenpairs."""
        ...

    def shot(self, mesh: TriMesh, radius: float) -> NDArray[np.float32]:
        """SHOT of a mesh, (n, 352)."""
        ...

    def features(
        self,
        model: FeatureModel,
        mesh: TriMesh,
        spectrum: Spectrum,
        histograms: NDArray[np.float32],
    ) -> NDArray[np.float32]:
        """Features of a model."""
        ...


class Processor:
    """With numpy and compiled code."""

    spectrum = staticmethod(spectrum)
    shot = staticmethod(shot_single)
    features = staticmethod(FeatureModel.features)


def describing_on(device: str) -> Describing:
    """On the processor, or on a device of torch.

    Raises
    ------
    InputError
        Torch is missing or finds no such device.
    """
    if device == "cpu":
        return Processor()
    try:
        from finsler.nn.describing import Accelerator
    except ImportError as error:
        raise InputError(
            f"device is {device!r}, which takes torch: pip install 'finsler[learn]'"
        ) from error
    return Accelerator(device)


def describe_unit(
    unit: UnitSurface,
    laplacian: Laplacian,
    k: int,
    model: FeatureModels | None,
    place: Describing,
) -> DescribedSurface:
    """Basis of k eigenfunctions of a Laplacian, and descriptors, of a surface in its unit."""
    mesh, pairs = unit.mesh, place.spectrum(laplacian, k)
    radius = histogram_radius(mesh.n_vertices)
    histograms = shot_twice(mesh, radius, place.shot)
    features = np.empty((mesh.n_vertices, 0), dtype=np.float32)
    if model is not None:
        read = histograms if radius == RADIUS else two_histograms(mesh, place.shot)
        plain = _spectrum_of_lbo(mesh, laplacian, pairs, place)
        features = model.features(mesh, plain, read, evaluate=place.features)
    return DescribedSurface(
        unit=unit,
        spectrum=pairs,
        histograms=summarise_histograms(histograms, pairs, radius),
        signatures=summarise_signatures(mesh, pairs),
        features=features,
        model="none" if model is None else model.key,
    )


def _spectrum_of_lbo(
    mesh: TriMesh, laplacian: Laplacian, pairs: Spectrum, place: Describing
) -> Spectrum:
    """What the model reads: some 128 pairs of the LBO, of which these may be."""
    plain = lbo(mesh)
    same = len(plain.stiffness.data) == len(laplacian.stiffness.data) and np.allclose(
        plain.stiffness.data, laplacian.stiffness.data, rtol=1e-9, atol=1e-9
    )
    if same and len(pairs.eigenvalues) >= FUNCTIONS:
        return pairs
    return place.spectrum(plain, min(FUNCTIONS, mesh.n_vertices // 3))


def first_functions(spectrum: Spectrum, k: int) -> Spectrum:
    """The k smallest eigenpairs of a spectrum."""
    return replace(
        spectrum,
        eigenvalues=spectrum.eigenvalues[:k],
        eigenvectors=spectrum.eigenvectors[:, :k],
        residuals=spectrum.residuals[:k],
    )


def histogram_radius(n_vertices: int) -> float:
    """Radius of SHOT in √area: 0.18, or with more than 9,824 vertices a smaller one.

    It is the largest 0.18 · 2^(−j/2) at which a ball holds at most about 1,000 vertices: few
    values, so that most surfaces share theirs. Two surfaces are compared at the smaller one.

    Examples
    --------
    >>> [round(histogram_radius(n), 4) for n in (5_000, 15_000, 30_000)]
    [0.18, 0.1273, 0.09]
    """
    halvings = np.log2(np.pi * n_vertices * RADIUS**2 / _NEIGHBORS)
    return float(RADIUS * 2.0 ** (-0.5 * max(np.ceil(halvings), 0.0)))


def basis_size(k: int, *meshes: TriMesh) -> int:
    """k, or a third of the vertices of the smallest mesh.

    Raises
    ------
    InputError
        Fewer than 10 are left, or no more than there are components.
    """
    smallest = min(mesh.n_vertices for mesh in meshes)
    size = min(k, smallest // 3)
    if size < LEAST_SIZE:
        raise InputError(
            f"a basis of {size} functions (k is {k}, the smaller mesh has {smallest} vertices) is"
            f" too small to match with; it takes k of at least {LEAST_SIZE} and"
            f" {3 * LEAST_SIZE} vertices"
        )
    parts = max(int(vertex_components(mesh).max()) + 1 for mesh in meshes)
    if size <= parts:
        raise InputError(
            f"a basis of {size} functions (k is {k}) holds nothing but the constants of {parts}"
            " components; raise k, take a finer mesh, or match the components one by one"
        )
    return size
