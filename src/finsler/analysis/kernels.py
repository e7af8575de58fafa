"""Convolution on surfaces: filters of a Laplacian's spectrum, and polynomials without it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy import sparse

from finsler.analysis.spectrum import Spectrum, scaled_rows
from finsler.compute.memory import require
from finsler.errors import InputError
from finsler.mesh.arguments import checked, vertex_functions, vertex_indices
from finsler.operator.rescale import ChebyshevOperators
from finsler.typing import FloatArray

Filter = Callable[[FloatArray], ArrayLike]


@checked
def convolution_kernel(spectrum: Spectrum, filter: Filter, vertex: ArrayLike) -> FloatArray:
    """The kernel centred at a vertex x: g_x(y) = Σ_i ĝ(λ_i) φ_i(x) φ_i(y) (paper Eq. 10).

    The sum is cut off after the eigenpairs at hand. g_x(y) = g_y(x), and convolving with ĝ is
    integrating against the kernel: (f * g)(x) = Σ_y S_y g_x(y) f(y).

    Parameters
    ----------
    spectrum : Spectrum
        Of the operator at one angle θ; it carries the kernel's anisotropy.
    filter : callable
        ĝ: eigenvalues (k,) to weights (k,), e.g. from
        [`chebyshev_polynomial`][finsler.analysis.kernels.chebyshev_polynomial].
    vertex : int or (s,) of int
        Where the kernel sits.

    Returns
    -------
    (n,) for one vertex, (n, s) for several; unit 1/length² for a filter without unit.

    Raises
    ------
    InputError
        A vertex that does not exist, none, or a filter that does not give k finite weights.

    Examples
    --------
    >>> from finsler import lbo, primitives, spectrum
    >>> pairs = spectrum(lbo(primitives.sphere(8)), k=50)
    >>> kernel = convolution_kernel(pairs, lambda eigenvalue: np.exp(-0.2 * eigenvalue), 7)
    >>> int(kernel.argmax()), round(float(pairs.mass @ kernel), 6)
    (7, 1.0)
    """
    points = vertex_indices(vertex, len(spectrum.eigenvectors), "vertex")
    return spectrum.synthesise(
        scaled_rows(_weights(filter, spectrum), spectrum.eigenvectors[points].T)
    )


@checked
def convolve(
    spectra: Spectrum | Sequence[Spectrum],
    functions: ArrayLike,
    filters: Filter | Sequence[Filter],
) -> FloatArray:
    """f * g = Σ_i ĝ(λ_i) ⟨f, φ_i⟩_S φ_i, summed over angles where there are several (Eq. 8 to 11).

    Parameters
    ----------
    spectra : Spectrum, or one for each angle
    functions : (n,) or (n, c)
    filters : callable, or one for each angle
        Eigenvalues (k,) to weights (k,); a single one serves all angles.

    Returns
    -------
    The shape of `functions`. What lies outside the span of the eigenvectors is lost.

    Raises
    ------
    InputError
        Not as many filters as spectra, functions of wrong shape, or as for `convolution_kernel`.
    """
    bases = [spectra] if isinstance(spectra, Spectrum) else list(spectra)
    symbols = [filters] * len(bases) if callable(filters) else list(filters)
    if len(bases) == 0 or len(symbols) != len(bases):
        raise InputError(
            f"there are {len(symbols)} filters for {len(bases)} spectra; give one for each angle,"
            " and at least one"
        )
    parts = [
        basis.synthesise(scaled_rows(_weights(symbol, basis), basis.coefficients(functions)))
        for basis, symbol in zip(bases, symbols, strict=True)
    ]
    return np.asarray(sum(parts[1:], start=parts[0]))


@checked
def chebyshev_polynomial(order: int, lambda_max: float) -> Filter:
    """The filter λ ↦ T_order(2λ/λ_max − 1), for 0 ≤ λ ≤ λ_max.

    The paper shows its kernels for T_5. Beyond λ_max the polynomial grows like λ^order.

    Raises
    ------
    InputError
        A negative order, or λ_max that is not positive and finite.

    Examples
    --------
    >>> chebyshev_polynomial(2, 4.0)(np.array([0.0, 2.0, 4.0])).tolist()
    [1.0, -1.0, 1.0]
    """
    if order < 0:
        raise InputError(f"order is {order}; a Chebyshev polynomial has order 0 or more")
    if not 0.0 < lambda_max < np.inf:
        raise InputError(f"lambda_max is {lambda_max}; it must be positive and finite")
    unit = np.zeros(order + 1)
    unit[order] = 1.0

    def polynomial(eigenvalues: FloatArray) -> FloatArray:
        x = 2.0 * np.asarray(eigenvalues, dtype=np.float64) / lambda_max - 1.0
        return np.asarray(np.polynomial.chebyshev.chebval(x, unit))

    return polynomial


@checked
def chebyshev_filter(
    operator: sparse.csr_array | ChebyshevOperators,
    functions: ArrayLike,
    coefficients: ArrayLike,
    *,
    dtype: DTypeLike = np.float64,
) -> NDArray[Any]:
    """Σ_s c_s T_s(L̂) f without eigenvectors, summed over angles where there are several.

    Clenshaw's recurrence, b_s = c_s f + 2 L̂ b_{s+1} − b_{s+2}: one product with L̂ for each
    coefficient after the first, and the answer c_0 f + L̂ b_1 − b_2.

    Parameters
    ----------
    operator : (n, n) sparse, or ChebyshevOperators
        L̂ with spectrum in [−1, 1]: `chebyshev_operators(stack)[angle]`, or all angles.
    functions : (n,) or (n, c)
    coefficients : (order,), or (angles, order) for ChebyshevOperators
        Of T_0, T_1, …
    dtype : numpy float type
        In which the recurrence runs. float32 halves memory and time; on operators with spectrum in
        [−1, 1] rounding grows only linearly with the order, and 16 terms are right to 1e-6.

    Returns
    -------
    The shape of `functions`, in `dtype`.

    Raises
    ------
    InputError
        Shapes that do not fit, values that are not finite, or more memory is needed than is free.
    """
    c = np.asarray(coefficients, dtype=np.float64)
    if isinstance(operator, ChebyshevOperators):
        n, fits = len(operator.indptr) - 1, c.ndim == 2 and len(c) == len(operator)
        wanted = f"({len(operator)}, order)"
    else:
        n, fits, wanted = operator.shape[0], c.ndim == 1, "(order,)"
    if c.size == 0 or not fits:
        raise InputError(f"coefficients must have shape {wanted}, not {c.shape}")
    if not np.isfinite(c).all():
        raise InputError("coefficients holds values that are not finite")
    channels, itemsize = int(np.prod(np.shape(functions)[1:])), np.dtype(dtype).itemsize
    require("filter", n, channels=channels, itemsize=itemsize)
    f = vertex_functions(functions, n).astype(dtype, copy=False)
    if not isinstance(operator, ChebyshevOperators):
        return _clenshaw(operator.astype(dtype, copy=False), f, c)
    total = np.zeros_like(f)
    for angle, row in enumerate(c):
        total += _clenshaw(operator[angle].astype(dtype, copy=False), f, row)
    return total


def _clenshaw(matrix: sparse.csr_array, f: NDArray[Any], c: FloatArray) -> NDArray[Any]:
    after, current = np.zeros_like(f), np.zeros_like(f)
    for coefficient in c[:0:-1].tolist():
        later = matrix @ current
        later *= 2.0
        later -= after
        later += coefficient * f
        after, current = current, later
    total = matrix @ current
    total -= after
    total += float(c[0]) * f
    return np.asarray(total)


def _weights(filter: Filter, spectrum: Spectrum) -> FloatArray:
    weights = np.asarray(filter(spectrum.eigenvalues), dtype=np.float64)
    k = len(spectrum.eigenvalues)
    if weights.shape != (k,) or not np.isfinite(weights).all():
        raise InputError(
            f"the filter must turn {k} eigenvalues into {k} finite weights; it gave shape"
            f" {weights.shape} with {int((~np.isfinite(weights)).sum())} that are not finite"
        )
    return weights
