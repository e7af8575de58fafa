"""Wave kernel signature (Aubry, Schlickewei, Cremers 2011), isotropic and anisotropic."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from finsler.analysis.spectrum import Spectrum
from finsler.descriptors.hks import positive_eigenvalues, require_values, spectra_of
from finsler.errors import InputError
from finsler.mesh.arguments import checked
from finsler.typing import FloatArray

# Width of a band in units of the spacing of energies, as Aubry et al. choose it.
_WIDTH = 7.0


@checked
def wks(
    spectra: Spectrum | Sequence[Spectrum],
    energies: ArrayLike | None = None,
    *,
    count: int = 100,
    sigma: float | None = None,
) -> FloatArray:
    """Share of each band of frequencies at a vertex, with w_i(e) = exp(−(e − ln λ_i)²/2σ²).

    WKS_e(x) = Σ_i w_i(e) φ_i(x)² / Σ_i w_i(e), over the eigenvalues above zero (so a surface of
    several components needs no care). Unchanged by isometries; on a surface enlarged by s it is
    divided by s².

    Parameters
    ----------
    spectra : Spectrum, or one for each angle
    energies : (count,), optional
        Logarithms of eigenvalues. By default evenly spaced from ln λ_1 + 2σ to ln λ_k − 2σ, for
        each spectrum its own: they follow the size of the surface.
    count : int
        How many default energies.
    sigma : float, optional
        Width of a band. By default seven times (ln λ_k − ln λ_1)/(count + 28), the spacing that
        leaves 2σ free at both ends.

    Returns
    -------
    (n, count), or (n, angles · count) with the columns of one angle side by side.

    Raises
    ------
    InputError
        Energies that are not finite, a count outside 1..100000, a sigma that is not positive or so
        wide that no energies are left, no spectrum, fewer than two different eigenvalues above
        zero, or more memory is needed than is free.

    Examples
    --------
    >>> from finsler import lbo, primitives, spectrum
    >>> pairs = spectrum(lbo(primitives.sphere(8)), k=49)
    >>> wks(pairs).shape
    (642, 100)
    """
    columns = []
    given = spectra_of(spectra)
    require_values(given, count if energies is None else np.size(energies) or 1)
    for spectrum in given:
        above = positive_eigenvalues(spectrum)
        log = np.log(above)
        e = None if energies is None else _checked_energies(energies)
        width = _checked_sigma(sigma, log, count if e is None else len(e))
        e = _default_energies(log, width, count) if e is None else e
        exponent = -((e - log[:, None]) ** 2) / (2.0 * width**2)
        # Relative to the largest, so that a band far from every eigenvalue is not 0/0.
        weights = np.exp(exponent - exponent.max(axis=0))
        vectors = spectrum.eigenvectors[:, -len(above) :]
        columns.append(vectors**2 @ (weights / weights.sum(axis=0)))
    return np.concatenate(columns, axis=1)


def _checked_sigma(sigma: float | None, log: FloatArray, count: int) -> float:
    if sigma is None:
        sigma = _WIDTH * float(log[-1] - log[0]) / (count + 4.0 * _WIDTH)
        if not sigma > 0.0:
            raise InputError(
                "the eigenvalues above zero are all equal; compute more of them, or give sigma"
            )
    if not 0.0 < sigma < np.inf:
        raise InputError(f"sigma is {sigma}; it must be positive and finite")
    return sigma


def _default_energies(log: FloatArray, sigma: float, count: int) -> FloatArray:
    low, high = log[0] + 2.0 * sigma, log[-1] - 2.0 * sigma
    if low > high:
        raise InputError(
            f"sigma is {sigma:g}, but ln λ spans only {log[-1] - log[0]:g}; it must be at most a"
            " quarter of that, or give energies"
        )
    return np.linspace(low, high, count)


def _checked_energies(energies: ArrayLike) -> FloatArray:
    e = np.asarray(energies, dtype=np.float64)
    if e.ndim != 1 or e.size == 0 or not np.isfinite(e).all():
        raise InputError("energies must be a list of finite numbers, logarithms of eigenvalues")
    return e
