"""Heat on a surface, from its spectrum."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from finsler.analysis.spectrum import Spectrum
from finsler.errors import InputError
from finsler.mesh.trimesh import FloatArray


def heat_kernel(spectrum: Spectrum, t: float, sources: ArrayLike) -> FloatArray:
    """Heat kernel k_t(x, y) = Σ_i e^{−λ_i t} φ_i(x) φ_i(y) at time t ≥ 0.

    `sources` is a vertex or several; returns (n,) for one, (n, s) for several. The sum is cut off
    after the eigenpairs at hand, so a short time needs many of them.
    """
    if not t >= 0.0:
        raise InputError(f"t is {t}; time must be 0 or more")
    points = np.asarray(sources)
    n = len(spectrum.eigenvectors)
    if not np.issubdtype(points.dtype, np.integer) or points.ndim > 1:
        raise InputError("sources must be a vertex index or a list of them")
    if ((points < 0) | (points >= n)).any():
        raise InputError(f"sources must lie in 0..{n - 1}, not {points.tolist()}")
    phi = spectrum.eigenvectors
    return np.asarray((phi * np.exp(-t * spectrum.eigenvalues)) @ phi[points].T)
