"""Kernels of all angles of a stack."""

import numpy as np
import pytest

import finsler
from finsler.analysis.angle_kernels import MOST_ORDER, KernelFilter, angle_kernels
from finsler.errors import InputError

STACK = finsler.angle_stack(finsler.primitives.bumpy_sphere(5), angles=2)


def test_heat_kernels_are_those_of_each_spectrum():
    kernels = angle_kernels(STACK, KernelFilter.parse("heat:0.01"), 7, k=40)
    for laplacian, kernel in zip(STACK, kernels, strict=True):
        basis = finsler.spectrum(laplacian, 40)
        expected = finsler.heat_kernel(basis, 0.01 * STACK.mass.sum(), 7)
        assert np.allclose(kernel, expected, atol=1e-9 * abs(expected).max())


def test_polynomials_and_all_eigenpairs_agree_on_constants():
    # T_n(−1) = (−1)^n is what a filter does to constants, however it is computed.
    for order in (4, 5):
        for k in (None, len(STACK.mass)):
            for kernel in angle_kernels(STACK, KernelFilter("chebyshev", order), 7, k=k):
                assert STACK.mass @ kernel == pytest.approx((-1) ** order, abs=1e-8)


@pytest.mark.parametrize(
    "text", ["heat", "heat:-1", "heat:inf", "chebyshev:2.5", f"chebyshev:{MOST_ORDER + 1}", "x:1"]
)
def test_other_filters_are_refused(text):
    with pytest.raises(InputError, match="must be chebyshev:ORDER"):
        KernelFilter.parse(text)


def test_heat_needs_eigenpairs():
    with pytest.raises(InputError, match="give their number k"):
        angle_kernels(STACK, KernelFilter("heat", 0.1), 7)
