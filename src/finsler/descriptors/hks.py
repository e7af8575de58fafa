"""Heat kernel signature (Sun, Ovsjanikov, Guibas 2009), isotropic and anisotropic."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from finsler.analysis.spectrum import Spectrum
from finsler.compute.memory import require
from finsler.errors import InputError
from finsler.mesh.arguments import checked
from finsler.typing import FloatArray

# Values of each spectrum, at most: far more than there are eigenvalues.
MOST_VALUES = 100_000


@checked
def hks(
    spectra: Spectrum | Sequence[Spectrum], times: ArrayLike | None = None, *, count: int = 16
) -> FloatArray:
    """Heat that stays where it was put: h_t(x) = k_t(x, x) = Σ_i e^{−λ_i t} φ_i(x)².

    Unchanged by isometries; on a surface enlarged by s, h_{s²t} is h_t / s². For anisotropic
    operators pass one spectrum for each angle.

    Parameters
    ----------
    spectra : Spectrum, or one for each angle
    times : (count,), optional
        Unit length², the same for all angles. By default spaced evenly in the logarithm from
        4 ln 10/λ_k to 4 ln 10/λ_1, with λ_1 and λ_k the smallest eigenvalue above zero and the
        largest at hand, for each spectrum its own: they follow the size of the surface.
    count : int
        How many default times.

    Returns
    -------
    (n, count), or (n, angles · count) with the columns of one angle side by side.

    Raises
    ------
    InputError
        Times that are negative or not finite, a count outside 1..100000, no spectrum, none of its
        eigenvalues above zero, or more memory is needed than is free.

    Examples
    --------
    >>> from finsler import lbo, primitives, spectrum
    >>> pairs = spectrum(lbo(primitives.sphere(8)), k=50)
    >>> hks(pairs).shape, hks([pairs, pairs], times=[0.1, 0.2]).shape
    ((642, 16), (642, 4))
    """
    columns = []
    given = spectra_of(spectra)
    require_values(given, count if times is None else np.size(times) or 1)
    for spectrum in given:
        t = _default_times(spectrum, count) if times is None else _checked_times(times)
        decay = np.exp(-np.outer(np.maximum(spectrum.eigenvalues, 0.0), t))
        columns.append(spectrum.eigenvectors**2 @ decay)
    return np.concatenate(columns, axis=1)


def _default_times(spectrum: Spectrum, count: int) -> FloatArray:
    above = positive_eigenvalues(spectrum)
    return np.asarray(np.geomspace(4 * np.log(10) / above[-1], 4 * np.log(10) / above[0], count))


def _checked_times(times: ArrayLike) -> FloatArray:
    t = np.asarray(times, dtype=np.float64)
    if t.ndim != 1 or t.size == 0 or not ((t >= 0.0) & np.isfinite(t)).all():
        raise InputError("times must be a list of finite numbers, each 0 or more")
    return t


def require_values(spectra: Sequence[Spectrum], count: int) -> None:
    """Raise where so many values of each spectrum are none, or do not fit into memory."""
    if not 1 <= count <= MOST_VALUES:
        raise InputError(f"count is {count}; it must lie between 1 and {MOST_VALUES}")
    n, k = spectra[0].eigenvectors.shape
    require("signature", n, k=k, channels=count * len(spectra))


def spectra_of(spectra: Spectrum | Sequence[Spectrum]) -> list[Spectrum]:
    """One spectrum or several on the same vertices as a list that is not empty."""
    given = [spectra] if isinstance(spectra, Spectrum) else list(spectra)
    if not given:
        raise InputError("spectra is empty: there is no spectrum; give one, or one for each angle")
    sizes = sorted({len(spectrum.eigenvectors) for spectrum in given})
    if len(sizes) > 1:
        raise InputError(f"the spectra have {sizes} vertices; all must belong to one surface")
    return given


def positive_eigenvalues(spectrum: Spectrum) -> FloatArray:
    """Eigenvalues above zero, ascending.

    Each connected component brings one zero, exact only up to rounding: what is below 1e-9 of the
    largest eigenvalue, or of 1/area where that is larger, counts as zero.
    """
    values = spectrum.eigenvalues
    above = values[values > 1e-9 * max(float(values[-1]), 1.0 / float(spectrum.mass.sum()))]
    if len(above) == 0:
        raise InputError(
            f"none of the {len(values)} eigenvalues is above zero; compute more of them"
        )
    return np.asarray(above)
