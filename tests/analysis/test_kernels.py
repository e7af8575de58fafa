import numpy as np
import pytest
from numpy.polynomial.chebyshev import chebval

import finsler
from finsler import primitives
from finsler.analysis.heat import diffuse, heat_kernel
from finsler.analysis.kernels import (
    chebyshev_filter,
    chebyshev_polynomial,
    convolution_kernel,
    convolve,
)

MESH = primitives.bumpy_sphere(5)
STACK = finsler.angle_stack(MESH, alpha=5.0, tau=0.3, angles=3)
OPERATORS = finsler.chebyshev_operators(STACK, normalization="plain")
SPECTRA = [finsler.spectrum(laplacian, MESH.n_vertices) for laplacian in STACK]
MASS = STACK.mass
RNG = np.random.default_rng(0)
FUNCTIONS = RNG.standard_normal((MESH.n_vertices, 2))
COEFFICIENTS = RNG.standard_normal((3, 7))


def symbol(angle):
    """The Chebyshev series of one angle as a filter of eigenvalues."""
    scale = OPERATORS.lambda_max[angle]
    return lambda values: chebval(2 * values / scale - 1, COEFFICIENTS[angle])


class TestChebyshevFilter:
    @pytest.mark.parametrize("angle", [0, 1, 2])
    def test_agrees_with_the_spectral_form(self, angle):
        found = chebyshev_filter(OPERATORS[angle], FUNCTIONS, COEFFICIENTS[angle])
        assert np.allclose(found, convolve(SPECTRA[angle], FUNCTIONS, symbol(angle)))
        other = convolve(SPECTRA[(angle + 1) % 3], FUNCTIONS, symbol(angle))
        assert not np.allclose(found, other, rtol=0.01)

    def test_sum_over_angles(self):
        found = chebyshev_filter(OPERATORS, FUNCTIONS, COEFFICIENTS)
        assert np.allclose(found, convolve(SPECTRA, FUNCTIONS, [symbol(a) for a in range(3)]))
        alone = chebyshev_filter(OPERATORS, FUNCTIONS[:, 1], COEFFICIENTS)
        assert np.allclose(alone, found[:, 1])

    @pytest.mark.parametrize("normalization", ["acscnn", "reference", "plain"])
    def test_first_orders_and_recurrence(self, normalization):
        matrix = finsler.chebyshev_operators(STACK, normalization=normalization)[1]

        def term(order):
            return chebyshev_filter(matrix, FUNCTIONS, np.eye(order + 1)[order])

        assert np.array_equal(term(0), FUNCTIONS)
        assert np.allclose(term(1), matrix @ FUNCTIONS)
        for order in (1, 2, 6):
            assert np.allclose(term(order + 1), 2 * (matrix @ term(order)) - term(order - 1))
        # |T_s| ≤ 1 on the spectrum, so no energy is gained in the mass.
        assert (MASS @ term(15) ** 2 <= MASS @ FUNCTIONS**2).all()

    def test_linear_and_self_adjoint_in_the_mass(self):
        f, g = FUNCTIONS.T

        def filtered(values):
            return chebyshev_filter(OPERATORS, values, COEFFICIENTS)

        assert np.allclose(filtered(2 * f - 3 * g), 2 * filtered(f) - 3 * filtered(g))
        assert g @ (MASS * filtered(f)) == pytest.approx(f @ (MASS * filtered(g)))

    def test_reaches_no_further_than_its_order(self):
        matrix = OPERATORS[0]
        reached = chebyshev_filter(matrix, np.eye(MESH.n_vertices)[0], [0.1, 0.2, 0.3]) != 0.0
        two_rings = (abs(matrix) @ abs(matrix))[[0]].toarray()[0] != 0.0
        assert (reached == two_rings).all()

    def test_refusals(self):
        for operator, wrong in [
            (OPERATORS[0], COEFFICIENTS),
            (OPERATORS[0], []),
            (OPERATORS[0], 1.0),
            (OPERATORS, COEFFICIENTS[0]),
            (OPERATORS, COEFFICIENTS[:2]),
        ]:
            with pytest.raises(finsler.InputError, match="coefficients must have shape"):
                chebyshev_filter(operator, FUNCTIONS, wrong)
        with pytest.raises(finsler.InputError, match="not finite"):
            chebyshev_filter(OPERATORS[0], FUNCTIONS, [1.0, np.nan])
        with pytest.raises(finsler.InputError, match="one value for each"):
            chebyshev_filter(OPERATORS[0], FUNCTIONS[:5], [1.0])


class TestConvolution:
    def test_kernel_is_symmetric_and_convolution_integrates_it(self):
        every = convolution_kernel(SPECTRA[0], symbol(0), range(MESH.n_vertices))
        assert np.allclose(every, every.T)
        assert np.allclose(every[:, 9], convolution_kernel(SPECTRA[0], symbol(0), 9))
        integrated = every.T @ (MASS[:, None] * FUNCTIONS)
        assert np.allclose(integrated, convolve(SPECTRA[0], FUNCTIONS, symbol(0)))

    def test_commutes_with_the_operator(self):
        filtered = convolve(SPECTRA[1], FUNCTIONS, symbol(1))
        swapped = convolve(SPECTRA[1], STACK[1].apply(FUNCTIONS), symbol(1))
        assert np.allclose(STACK[1].apply(filtered), swapped)

    def test_filters_compose_by_multiplication(self):
        twice = convolve(SPECTRA[0], convolve(SPECTRA[0], FUNCTIONS, symbol(0)), np.exp)
        assert np.allclose(
            twice, convolve(SPECTRA[0], FUNCTIONS, lambda v: np.exp(v) * symbol(0)(v)), rtol=1e-6
        )

    def test_heat_is_a_filter(self):
        def heat(values):
            return np.exp(-0.1 * values)

        basis = SPECTRA[2]
        assert np.allclose(convolution_kernel(basis, heat, [3, 5]), heat_kernel(basis, 0.1, [3, 5]))
        assert np.allclose(convolve(basis, FUNCTIONS, heat), diffuse(basis, FUNCTIONS, 0.1))
        summed = sum(diffuse(s, FUNCTIONS, 0.1) for s in SPECTRA)
        assert np.allclose(convolve(SPECTRA, FUNCTIONS, heat), summed)

    def test_identity_filter_projects(self):
        basis = finsler.spectrum(STACK[0], 20)
        once = convolve(basis, FUNCTIONS, np.ones_like)
        assert np.allclose(convolve(basis, once, np.ones_like), once)
        assert np.allclose(convolve(SPECTRA[0], FUNCTIONS, np.ones_like), FUNCTIONS)

    def test_refusals(self):
        with pytest.raises(finsler.InputError, match="2 filters for 3 spectra"):
            convolve(SPECTRA, FUNCTIONS, [np.exp, np.exp])
        with pytest.raises(finsler.InputError, match="at least one"):
            convolve([], FUNCTIONS, [])
        with pytest.raises(finsler.InputError, match="finite weights"):
            convolve(SPECTRA[0], FUNCTIONS, lambda values: 1.0)
        with pytest.raises(finsler.InputError, match="1 that are not finite"):
            convolution_kernel(SPECTRA[0], lambda v: np.where(v == v[4], np.nan, v), 0)
        with pytest.raises(finsler.InputError, match=r"must lie in 0\.\.251"):
            convolution_kernel(SPECTRA[0], np.exp, 252)
        with pytest.raises(finsler.InputError, match="at least one vertex"):
            convolution_kernel(SPECTRA[0], np.exp, [])


class TestChebyshevPolynomial:
    @pytest.mark.parametrize("order", [0, 1, 5, 15])
    def test_is_a_cosine(self, order):
        values = np.linspace(0.0, 8.0, 50)
        expected = np.cos(order * np.arccos(values / 4.0 - 1.0))
        assert np.allclose(chebyshev_polynomial(order, 8.0)(values), expected)

    def test_kernel_equals_the_polynomial_of_the_operator(self):
        filter = chebyshev_polynomial(5, OPERATORS.lambda_max[0])
        spike = np.eye(MESH.n_vertices)[40] / MASS[40]
        expected = chebyshev_filter(OPERATORS[0], spike, np.eye(6)[5])
        assert np.allclose(convolution_kernel(SPECTRA[0], filter, 40), expected)

    def test_refusals(self):
        with pytest.raises(finsler.InputError, match="order is -1"):
            chebyshev_polynomial(-1, 1.0)
        for bound in (0.0, -1.0, np.nan, np.inf):
            with pytest.raises(finsler.InputError, match="lambda_max is"):
                chebyshev_polynomial(2, bound)
