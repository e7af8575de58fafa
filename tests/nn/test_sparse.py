import numpy as np
import pytest

torch = pytest.importorskip("torch")

import finsler  # noqa: E402
from finsler import primitives  # noqa: E402
from finsler.nn import laplacian_to_torch, matrix_to_torch  # noqa: E402

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
MESH = primitives.bumpy_sphere(6)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_same_numbers_as_scipy(device, dtype):
    laplacian = finsler.flbo(MESH, theta=0.4)
    made = laplacian_to_torch(laplacian, dtype=dtype, device=device)
    assert made.stiffness.dtype == made.mass.dtype == dtype
    assert made.stiffness.device.type == device
    functions = np.random.default_rng(0).standard_normal((MESH.n_vertices, 3))
    found = made.apply(torch.as_tensor(functions, dtype=dtype, device=device)).cpu().numpy()
    expected = laplacian.apply(functions)
    tolerance = 1e-3 if dtype == torch.float32 else 1e-10
    assert np.abs(found - expected).max() < tolerance * np.abs(expected).max()
    assert np.allclose(made.mass.cpu().numpy(), laplacian.mass, rtol=1e-6)


def test_operators_of_a_stack_share_their_indices():
    operators = finsler.chebyshev_operators(finsler.angle_stack(MESH, angles=2))
    first, second = (matrix_to_torch(operators[angle], dtype=torch.float64) for angle in (0, 1))
    assert first.is_coalesced() and torch.equal(first.indices(), second.indices())
    assert np.array_equal(second.values().numpy(), operators.values[1])


def test_gradients_reach_the_functions():
    made = laplacian_to_torch(finsler.lbo(MESH), dtype=torch.float64)
    functions = torch.randn(MESH.n_vertices, 2, dtype=torch.float64, requires_grad=True)
    energy = (functions * (made.mass[:, None] * made.apply(functions))).sum()
    energy.backward()
    expected = 2 * torch.sparse.mm(made.stiffness, functions.detach())
    assert torch.allclose(functions.grad, expected)


def test_dense_input_is_refused():
    with pytest.raises(finsler.InputError, match="sparse matrix is needed"):
        matrix_to_torch(np.eye(3))
