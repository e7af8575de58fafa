"""Chebyshev recurrences of operators that are not symmetric: sums and gradients."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from finsler import angle_stack, chebyshev_operators, primitives
from finsler.nn import OperatorStack
from finsler.nn.recurrence import chebyshev, clenshaw

BACKENDS = pytest.mark.parametrize("backend", ["compiled", "torch"])


@pytest.fixture(scope="module")
def skewed():
    """Operators with a skew part as large as the rest; they are not self-adjoint for any mass."""
    mesh = primitives.torus(5, 4)
    stack = OperatorStack.of(chebyshev_operators(angle_stack(mesh, angles=2)), dtype=torch.float64)
    noise = torch.from_numpy(np.random.default_rng(0).standard_normal(stack.values.shape))
    skew = noise - noise[:, stack.transpose]
    return replace(stack, values=stack.values + 0.3 * skew)


def dense(stack):
    rows = torch.arange(stack.n).repeat_interleave(stack.indptr.diff())
    matrices = torch.zeros(stack.angles, stack.n, stack.n, dtype=stack.values.dtype)
    matrices[:, rows, stack.indices.long()] = stack.values
    return matrices


def terms(matrix, x, orders):
    found = [x, matrix @ x]
    while len(found) < orders:
        found.append(2.0 * matrix @ found[-1] - found[-2])
    return found[:orders]


@BACKENDS
def test_gradients_of_features_use_the_transposed_values(skewed, backend):
    torch.manual_seed(0)
    x = torch.randn(skewed.n, 3, dtype=torch.float64, requires_grad=True)
    y = torch.randn(skewed.n, 4, 2, 3, dtype=torch.float64, requires_grad=True)
    target = torch.randn(skewed.n, 3, dtype=torch.float64)
    of_x = torch.autograd.grad(chebyshev(x, skewed, 4, backend=backend), x, y.detach())[0]
    of_y = torch.autograd.grad(clenshaw(y, skewed, backend=backend), y, target)[0]
    expected_x = torch.zeros_like(x)
    for angle, matrix in enumerate(dense(skewed)):
        # The adjoint of x ↦ T_s(L) x is T_s(Lᵀ), which differs from T_s(L) by far.
        assert (matrix - matrix.T).norm() > 0.5 * matrix.norm()
        for s in range(4):
            expected_x = expected_x + terms(matrix.T, y.detach()[:, s, angle], 4)[s]
            expected_y = terms(matrix.T, target, 4)[s]
            torch.testing.assert_close(of_y[:, s, angle], expected_y, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(of_x, expected_x, rtol=1e-10, atol=1e-10)


@BACKENDS
def test_gradients_are_those_of_finite_differences(skewed, backend):
    torch.manual_seed(0)
    values = skewed.values.clone().requires_grad_()
    y = torch.randn(skewed.n, 3, 2, 1, dtype=torch.float64, requires_grad=True)
    x = torch.randn(skewed.n, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda y, v: clenshaw(y, replace(skewed, values=v), backend=backend), (y, values)
    )
    assert torch.autograd.gradcheck(
        lambda x, v: chebyshev(x, replace(skewed, values=v), 3, backend=backend), (x, values)
    )
