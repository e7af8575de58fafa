"""Descriptors of a surface, reduced to what matching uses of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from finsler.analysis.spectrum import Spectrum
from finsler.descriptors import wks
from finsler.mesh.trimesh import TriMesh
from finsler.operator import angle_stack, lbo
from finsler.typing import FloatArray

# Wave kernel signatures: eigenpairs, logarithms of eigenvalues times area, width of a band.
_PAIRS = 60
_ENERGIES = np.linspace(np.log(20.0), np.log(2500.0), 40)
_SIGMA = 0.35
_ANGLES = 8
_ALPHA = 10.0
# Functions in whose span the eigenpairs of the signatures are sought.
_SPAN = 120
# Coefficients that are kept of each descriptor: more than the largest first functional map has.
COEFFICIENTS = 64
# Directions of the histograms that are kept, and vertices by which they are chosen.
DIRECTIONS = 128
_SAMPLES = 1500


@dataclass(frozen=True, eq=False)
class Histograms:
    """SHOT in a small and a large ball, in the directions in which it varies most.

    Attributes
    ----------
    radius : float
        Of the large ball, in √area; the small one has half of it.
    middle, axes : (704,), (704, d) float32
        Mean of the two histograms side by side, and the directions.
    scores : (n, d) float32
        Histograms less their mean, along the directions.
    coefficients : (c, 704) float32
        Of the histograms in the first functions of the basis.
    squares : (2,)
        Mean squares of the two histograms.
    """

    radius: float
    middle: NDArray[np.float32]
    axes: NDArray[np.float32]
    scores: NDArray[np.float32]
    coefficients: NDArray[np.float32]
    squares: FloatArray


@dataclass(frozen=True, eq=False)
class Signatures:
    """Wave kernel signatures: isotropic, and mean and deviation over angles of anisotropic ones.

    The latter need no common zero of the angle nor a sign.

    Attributes
    ----------
    coefficients : (c, 120) float32
        In the first functions of the basis.
    square : float
        Mean square.
    span : int
        Functions in whose span eigenpairs were sought.
    """

    coefficients: NDArray[np.float32]
    square: float
    span: int


def summarise_histograms(
    both: NDArray[np.float32], spectrum: Spectrum, radius: float
) -> Histograms:
    """What is kept of the histograms of `shot_twice`."""
    middle = both.mean(axis=0)
    step = max(1, len(both) // _SAMPLES)
    some = both[::step] - middle
    count = min(DIRECTIONS, len(middle))
    top = (len(middle) - count, len(middle) - 1)
    axes = linalg.eigh(some.T @ some, subset_by_index=top)[1][:, ::-1]
    means = np.asarray(spectrum.mass) @ both**2 / np.sum(spectrum.mass)
    coefficients = _coefficients(spectrum, both)
    scores = (both - middle) @ axes
    return Histograms(radius, middle, axes, scores, coefficients, means.reshape(2, -1).mean(axis=1))


def span_size(spectrum: Spectrum) -> int:
    """Functions in whose span signatures are sought: 120, or all."""
    return min(_SPAN, len(spectrum.eigenvalues))


def summarise_signatures(mesh: TriMesh, spectrum: Spectrum) -> Signatures:
    """Signatures of a mesh of area 1 from operators projected to the span of a basis.

    Isotropic, and anisotropic at eight angles: by Rayleigh and Ritz, small dense problems instead
    of sparse ones. The stiffness at angle θ is W_0 + cos 2θ W_1 + sin 2θ W_2, so that three
    projections serve for all angles.
    """
    span = span_size(spectrum)
    basis = np.ascontiguousarray(spectrum.eigenvectors[:, :span])
    stack = angle_stack(mesh, alpha=_ALPHA, tau=0.0, angles=_ANGLES)
    waves = np.stack([np.ones(_ANGLES), np.cos(2 * stack.theta), np.sin(2 * stack.theta)])
    weights = waves * np.array([[1.0], [2.0], [2.0]]) / _ANGLES
    shape = (len(basis), len(basis))
    parts = [
        basis.T @ (sparse.csr_array((values, stack.indices, stack.indptr), shape) @ basis)
        for values in weights @ stack.values
    ]
    isotropic = _signature(basis.T @ (lbo(mesh).stiffness @ basis), basis, spectrum)
    turned = np.stack(
        [_signature(np.tensordot(wave, parts, axes=1), basis, spectrum) for wave in waves.T]
    )
    values = np.hstack([isotropic, turned.mean(axis=0), turned.std(axis=0)])
    square = float((np.asarray(spectrum.mass) @ values**2).mean() / np.sum(spectrum.mass))
    return Signatures(_coefficients(spectrum, values), square, span)


def _signature(projected: FloatArray, basis: FloatArray, spectrum: Spectrum) -> FloatArray:
    """Wave kernel signatures (n, 40) of an operator that is given in the span of a basis."""
    last = min(_PAIRS, len(projected)) - 1
    values, turn = linalg.eigh(0.5 * (projected + projected.T), subset_by_index=(0, last))
    pairs = Spectrum(values, basis @ turn, spectrum.mass, np.zeros(len(values)))
    return wks(pairs, _ENERGIES, sigma=_SIGMA)


def _coefficients(spectrum: Spectrum, functions: NDArray[np.floating]) -> NDArray[np.float32]:
    """Of functions (n, c) in the first functions of a basis, in single precision."""
    few = spectrum.eigenvectors[:, :COEFFICIENTS] * np.asarray(spectrum.mass)[:, None]
    return np.asarray(few.T.astype(np.float32) @ functions.astype(np.float32))


def principal_features(
    first: Histograms, second: Histograms, size: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Both histograms in the `size` directions in which they vary most together, (n, size)."""
    apart = (first.middle - second.middle) / np.sqrt(2.0)
    spread = [h.axes * np.sqrt((h.scores**2).mean(axis=0)) for h in (first, second)]
    # The largest left singular vectors of a tall matrix whose square is the common covariance.
    tall = np.column_stack([*spread, apart]).astype(np.float64)
    values, turn = np.linalg.eigh(tall.T @ tall)
    size = min(size, int((values > 1e-12 * values[-1]).sum()))
    axes = (tall @ turn[:, ::-1][:, :size] / np.sqrt(values[::-1][:size])).astype(np.float32)
    middle = 0.5 * (first.middle + second.middle)
    one, other = (
        h.scores @ (h.axes.T @ axes) + (h.middle - middle) @ axes for h in (first, second)
    )
    return one, other
