"""Convolution kernels of a filter for all angles of a stack, by polynomials or by eigenpairs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import expm_multiply

from finsler.analysis.heat import heat_kernel
from finsler.analysis.kernels import chebyshev_filter, chebyshev_polynomial, convolution_kernel
from finsler.analysis.spectrum import spectrum
from finsler.errors import InputError
from finsler.mesh.arguments import checked, require_field_types
from finsler.operator.angles import AngleStack
from finsler.operator.rescale import chebyshev_operators
from finsler.typing import FloatArray

# Far above what is of use, and low enough that nothing runs for hours.
MOST_ORDER = 10_000


@dataclass(frozen=True)
class KernelFilter:
    """A filter by its name: `chebyshev` with an order, or `heat` with a time as a share of area.

    Raises
    ------
    InputError
        Another name, a number that is negative or not finite, or an order that is no whole number
        or too large.
    """

    name: str
    number: float

    def __post_init__(self) -> None:
        require_field_types(self)
        heat = self.name == "heat" and 0.0 <= self.number < math.inf
        if not heat and not (self.name == "chebyshev" and self.number in range(MOST_ORDER + 1)):
            raise InputError(
                f"the filter is {f'{self.name}:{self.number}'!r}; it must be chebyshev:ORDER with a"
                f" whole number of at most {MOST_ORDER}, or heat:TIME with a number that is 0 or"
                " more"
            )

    @classmethod
    @checked
    def parse(cls, text: str) -> KernelFilter:
        """Read "chebyshev:5" or "heat:0.01".

        Raises
        ------
        InputError
            As for the filter itself, or no number.
        """
        name, _, number = text.partition(":")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        return cls(name, value)


@checked
def angle_kernels(
    stack: AngleStack,
    filter: KernelFilter,
    vertex: int,
    *,
    k: int | None = None,
    solver: str = "auto",
) -> list[FloatArray]:
    """The kernel (n,) at a vertex for each angle, in 1/area.

    Without `k` a Chebyshev filter is applied as a polynomial of the operator, which spans all
    eigenvalues; with it, the sum runs over the first k eigenpairs, and the polynomial spans those.
    Operators with a drift have no orthogonal eigenvectors: heat is e^{−tG} of a unit at the vertex.

    Raises
    ------
    InputError
        A vertex that does not exist, a heat filter without k, or k for operators with a drift.

    Examples
    --------
    >>> from finsler import angle_stack, primitives
    >>> stack = angle_stack(primitives.sphere(6), angles=2)
    >>> [kernel.shape for kernel in angle_kernels(stack, KernelFilter("chebyshev", 3), 0)]
    [(362,), (362,)]
    """
    if stack.drift is not None:
        if k is not None:
            raise InputError("operators with a drift have no orthogonal eigenpairs; leave out k")
        if filter.name == "heat":
            return _drifting_heat(stack, filter.number * float(stack.mass.sum()), vertex)
    if k is None:
        if filter.name != "chebyshev":
            raise InputError("a heat kernel is a sum over eigenpairs; give their number k")
        return _polynomial_kernels(stack, int(filter.number), vertex)
    kernels = []
    for laplacian in stack:
        basis = spectrum(laplacian, k, solver=solver)
        if filter.name == "heat":
            time = filter.number * float(stack.mass.sum())
            kernels.append(heat_kernel(basis, time, vertex))
        else:
            top = float(basis.eigenvalues[-1])
            polynomial = chebyshev_polynomial(int(filter.number), top)
            kernels.append(convolution_kernel(basis, polynomial, vertex))
    return kernels


def _polynomial_kernels(stack: AngleStack, order: int, vertex: int) -> list[FloatArray]:
    """T_order(L̂) applied to a unit of heat at the vertex, without eigenpairs."""
    operators = chebyshev_operators(stack, normalization="plain")
    spike = _unit_of_heat(stack, vertex)
    coefficients = np.zeros(order + 1)
    coefficients[order] = 1.0
    return [chebyshev_filter(operators[i], spike, coefficients) for i in range(len(operators))]


def _drifting_heat(stack: AngleStack, time: float, vertex: int) -> list[FloatArray]:
    """e^{−tG} of a unit of heat at the vertex, G = S⁻¹(W + C)."""
    inverse = sparse.diags_array(-time / stack.mass)
    spike = _unit_of_heat(stack, vertex)
    return [
        np.asarray(expm_multiply(inverse @ (stack[i].stiffness + stack.drift_matrix(i)), spike))
        for i in range(len(stack))
    ]


def _unit_of_heat(stack: AngleStack, vertex: int) -> FloatArray:
    spike = np.zeros(len(stack.mass))
    spike[vertex] = 1.0 / stack.mass[vertex]
    return spike
