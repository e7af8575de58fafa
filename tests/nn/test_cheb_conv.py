"""The anisotropic convolution: against dense polynomials, spectra, and itself."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from finsler import TriMesh, angle_stack, chebyshev_operators, primitives
from finsler.errors import InputError
from finsler.nn import AnisotropicChebConv, CorrespondenceNet, OperatorStack, SmallNet
from finsler.nn.recurrence import chebyshev, clenshaw

ANGLES, ORDER = 3, 6
CUDA = pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="GPU"))
DEVICES = pytest.mark.parametrize("device", ["cpu", CUDA])
# Fewer outputs than inputs, more of them, and a width that is no power of two.
SIZES = pytest.mark.parametrize(("channels", "out"), [(7, 5), (5, 7), (20, 20)])


def bumpy_torus(*size):
    mesh = primitives.torus(*size)
    rng = np.random.default_rng(0)
    return TriMesh(mesh.vertices + 0.02 * rng.standard_normal(mesh.vertices.shape), mesh.faces)


def operators_of(mesh, angles=ANGLES):
    return chebyshev_operators(angle_stack(mesh, angles=angles, tau=0.5))


@pytest.fixture(scope="module")
def dense_operators():
    return operators_of(bumpy_torus(11, 7))


def layer_and_input(stack, channels, out, order=ORDER, dtype=torch.float64):
    torch.manual_seed(1)
    layer = AnisotropicChebConv(channels, out, stack.angles, order).to(dtype)
    torch.nn.init.normal_(layer.bias)
    return layer, torch.randn(stack.n, channels, dtype=dtype)


def polynomial(operators, x, weight):
    """Σ T_s(L̂_θ) X C by the trigonometric form of T_s on eigenvalues, in double precision."""
    total = 0.0
    for angle in range(len(operators)):
        values, vectors = np.linalg.eig(operators[angle].toarray())
        assert np.abs(values.imag).max() < 1e-10
        acos = np.arccos(np.clip(values.real, -1.0, 1.0))
        coefficients = np.linalg.solve(vectors, x)
        for s in range(weight.shape[1]):
            part = vectors @ (np.cos(s * acos)[:, None] * coefficients)
            total = total + part.real @ weight[:, s, angle]
    return total


@SIZES
@pytest.mark.parametrize("order", [1, 2, 3, 16])
@pytest.mark.parametrize("backend", ["compiled", "torch"])
def test_layer_is_the_spectral_form_with_all_eigenpairs(
    dense_operators, channels, out, order, backend
):
    stack = OperatorStack.of(dense_operators, dtype=torch.float64)
    layer, x = layer_and_input(stack, channels, out, order)
    layer.backend = backend
    with torch.no_grad():
        found = layer(x, stack) - layer.bias
    expected = polynomial(dense_operators, x.numpy(), layer.weight.detach().numpy())
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-10)


@SIZES
@DEVICES
def test_layer_is_the_dense_polynomial_in_single_precision(dense_operators, channels, out, device):
    stack = OperatorStack.of(dense_operators).to(device)
    layer, x = layer_and_input(stack, channels, out, dtype=torch.float32)
    with torch.no_grad():
        found = layer.to(device)(x.to(device), stack).cpu()
        terms = []
        for angle in range(ANGLES):
            matrix = torch.tensor(dense_operators[angle].toarray())
            own = [x.double(), matrix @ x.double()]
            while len(own) < ORDER:
                own.append(2.0 * matrix @ own[-1] - own[-2])
            terms += [own[s] @ layer.weight[:, s, angle].cpu().double() for s in range(ORDER)]
        expected = sum(terms) + layer.bias.cpu()
    torch.testing.assert_close(found.double(), expected, rtol=0.0, atol=1e-5)


@pytest.mark.parametrize("backend", ["compiled", "torch"])
def test_gradients_of_features_weights_and_operators(backend):
    stack = OperatorStack.of(operators_of(bumpy_torus(4, 3), 2), dtype=torch.float64)
    values = stack.values.clone().requires_grad_()
    torch.manual_seed(0)
    y = torch.randn(stack.n, 4, 2, 2, dtype=torch.float64, requires_grad=True)
    x = torch.randn(stack.n, 2, dtype=torch.float64, requires_grad=True)

    def sum_of_terms(y, values):
        return clenshaw(y, replace(stack, values=values), backend=backend)

    def terms(x, values):
        return chebyshev(x, replace(stack, values=values), 4, backend=backend)

    assert torch.autograd.gradcheck(sum_of_terms, (y, values))
    assert torch.autograd.gradcheck(terms, (x, values))


def test_two_threads_find_what_one_does():
    """In a process of its own: tests that run side by side have one thread each."""
    script = """
import numba, torch
from finsler import angle_stack, chebyshev_operators, primitives
from finsler.nn import OperatorStack
from finsler.nn.recurrence import chebyshev, clenshaw
operators = chebyshev_operators(angle_stack(primitives.torus(20, 12), angles=3, tau=0.5))
stack = OperatorStack.of(operators, dtype=torch.float64)
torch.manual_seed(0)
x, y = torch.randn(stack.n, 130).double(), torch.randn(stack.n, 5, 3, 130).double()
found = []
for threads in (1, 2):
    numba.set_num_threads(threads)
    terms = chebyshev(x, stack, 5, backend="compiled")
    found += [terms, clenshaw(y, stack, backend="compiled")]
assert torch.equal(found[0], found[2]) and torch.equal(found[1], found[3])
"""
    environment = {**os.environ, "NUMBA_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment)


@SIZES
@DEVICES
def test_gradients_do_not_depend_on_the_backend(dense_operators, channels, out, device):
    stack = OperatorStack.of(dense_operators).to(device)
    layer, x = layer_and_input(stack, channels, out, dtype=torch.float32)
    layer.to(device)
    target = torch.randn(stack.n, out).to(device)
    found = {}
    for backend in ("auto", "torch"):
        layer.backend = backend
        values = stack.values.clone().requires_grad_()
        features = x.to(device).requires_grad_()
        loss = (layer(features, replace(stack, values=values)) * target).sum()
        found[backend] = torch.autograd.grad(loss, (features, layer.weight, layer.bias, values))
    for one, other in zip(found["auto"], found["torch"], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="GPU")
@pytest.mark.parametrize("learned", [False, True])
def test_storage_in_half_precision_is_close(dense_operators, learned):
    stack = OperatorStack.of(dense_operators).to("cuda")
    stack = replace(stack, values=stack.values.requires_grad_(learned))
    layer, x = layer_and_input(stack, 20, 20, 16, torch.float32)
    layer.cuda(), x.requires_grad_()
    exact = layer(x.cuda(), stack)
    exact.square().sum().backward()
    slope, x.grad = x.grad, None
    layer.storage = torch.bfloat16
    rough = layer(x.cuda(), stack)
    rough.square().sum().backward()
    assert (rough - exact).norm() < 0.02 * exact.norm()
    assert (x.grad - slope).norm() < 0.04 * slope.norm()


@DEVICES
def test_relabelling_moves_the_result_with_the_vertices(device):
    mesh = bumpy_torus(11, 7)
    order = np.random.default_rng(3).permutation(mesh.n_vertices)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    relabelled = TriMesh(mesh.vertices[order], place[mesh.faces])
    layer = AnisotropicChebConv(4, 6, ANGLES, ORDER).to(device)
    x = torch.randn(mesh.n_vertices, 4, generator=torch.Generator().manual_seed(0)).to(device)
    with torch.no_grad():
        one = layer(x, OperatorStack.of(operators_of(mesh)).to(device))
        other = layer(x[order], OperatorStack.of(operators_of(relabelled)).to(device))
    torch.testing.assert_close(other, one[order], rtol=0.0, atol=2e-5)


@DEVICES
@pytest.mark.parametrize("size", [(6, 4), (4, 6)])
def test_batched_is_unbatched(device, size):
    stacks = [OperatorStack.of(operators_of(bumpy_torus(*s))) for s in ((11, 7), (5, 9), (6, 6))]
    stacks = [stack.to(device) for stack in stacks]
    both = OperatorStack.batch(stacks)
    assert both.sizes == (77, 45, 36)
    layer = AnisotropicChebConv(*size, ANGLES, ORDER).to(device)
    x = torch.randn(both.n, size[0], device=device)
    target = torch.randn(both.n, size[1], device=device)
    whole = layer(x, both)
    slope = torch.autograd.grad((whole * target).sum(), layer.weight)[0]
    first, total = 0, torch.zeros_like(slope)
    for stack in stacks:
        rows = slice(first, first + stack.n)
        part = layer(x[rows], stack)
        torch.testing.assert_close(part, whole[rows], rtol=1e-5, atol=1e-5)
        total += torch.autograd.grad((part * target[rows]).sum(), layer.weight)[0]
        first += stack.n
    torch.testing.assert_close(slope, total, rtol=1e-4, atol=1e-4)


def test_transpose_names_the_mirrored_entries(dense_operators):
    stack = OperatorStack.of(dense_operators, dtype=torch.float64)
    n = stack.n
    for angle in range(ANGLES):
        shape = (dense_operators.values[angle], dense_operators.indices, dense_operators.indptr)
        matrix = type(dense_operators[0])(shape, shape=(n, n))
        mirrored = type(matrix)((stack.values[angle, stack.transpose], *shape[1:]), shape=(n, n))
        assert abs(matrix.T - mirrored).max() == 0.0


@pytest.mark.parametrize("kind", [CorrespondenceNet, SmallNet])
def test_networks_have_a_logit_for_each_class(dense_operators, kind):
    stack = OperatorStack.of(dense_operators)
    network = kind(9, 12, channels=8, angles=ANGLES, order=4)
    logits = network(torch.randn(stack.n, 9), stack)
    assert logits.shape == (stack.n, 12)
    logits.sum().backward()
    assert all(parameter.grad is not None for parameter in network.parameters())


def test_published_sizes():
    network = CorrespondenceNet(352, 6890)
    shapes = [tuple(layer.weight.shape) for layer in network.convolutions]
    assert shapes == [(352, 16, 8, 64), *[(64, 16, 8, 64)] * 5]
    small = SmallNet(352, 6890)
    assert [tuple(layer.weight.shape)[::3] for layer in small.convolutions] == [
        (16, 32),
        (32, 64),
        (64, 128),
    ]


def test_wrong_input_is_one_sentence(dense_operators):
    stack = OperatorStack.of(dense_operators)
    layer = AnisotropicChebConv(4, 6, ANGLES + 1, ORDER)
    with pytest.raises(InputError, match="made for 4 angles, the operators have 3"):
        layer(torch.zeros(stack.n, 4), stack)
    layer = AnisotropicChebConv(4, 6, ANGLES, ORDER)
    with pytest.raises(InputError, match=r"features must be \(77, 4\) here, not \(77, 5\)"):
        layer(torch.zeros(stack.n, 5), stack)
    with pytest.raises(InputError, match="backend must be one of"):
        clenshaw(torch.zeros(stack.n, 2, ANGLES, 2), stack, backend="fast")
    with pytest.raises(InputError, match="does not work on the device cpu"):
        clenshaw(torch.zeros(stack.n, 2, ANGLES, 2), stack, backend="triton")
    with pytest.raises(InputError, match="same angles"):
        OperatorStack.batch([stack, replace(stack, values=stack.values[:2])])
    with pytest.raises(InputError, match="not symmetric"):
        OperatorStack.from_pattern(np.array([0, 1, 1]), np.array([1]), torch.ones(1, 1))
