"""How far out a point is: the size of its global point signature (Rustamov 2007)."""

from __future__ import annotations

import numpy as np

from finsler.analysis.spectrum import Spectrum
from finsler.errors import InputError
from finsler.mesh.arguments import checked
from finsler.typing import FloatArray


@checked
def gps(spectrum: Spectrum) -> FloatArray:
    """Σ_k φ_k(x)²/λ_k over the eigenvalues above zero, (n,), in units of nothing.

    Small in the middle of a shape and large at the ends of its limbs; unchanged by isometries and
    by scale. With all eigenpairs it is the Green's function at (x, x); some 60 pairs of the LBO
    make it smooth. Its gradient is an oriented field: [`oriented_field`][finsler.oriented_field].

    Raises
    ------
    InputError
        No eigenvalue is above zero.

    Examples
    --------
    >>> from finsler import lbo, primitives, spectrum
    >>> outward = gps(spectrum(lbo(primitives.bumpy_sphere(8)), k=30))
    >>> outward.shape, bool((outward > 0.0).all())
    ((642,), True)
    """
    above = spectrum.eigenvalues > 1e-9 * float(spectrum.eigenvalues[-1])
    if not above.any():
        raise InputError("the spectrum has no eigenvalue above zero; compute more eigenpairs")
    return np.asarray(spectrum.eigenvectors[:, above] ** 2 @ (1.0 / spectrum.eigenvalues[above]))
