"""Directed operators in torch: the numbers of numpy, and gradients for everything in them."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from finsler import InputError, chebyshev_operators, primitives  # noqa: E402
from finsler.frames import oriented_field  # noqa: E402
from finsler.nn import AnisotropicChebConv, OperatorStack  # noqa: E402
from finsler.nn.directed import FieldGeometry, directed_operators, oriented_field_torch  # noqa: E402
from finsler.nn.geometry import MeshGeometry  # noqa: E402
from finsler.operator import directed_stack  # noqa: E402

DOUBLE = {"dtype": torch.float64}


@pytest.fixture(scope="module")
def shape():
    mesh = primitives.bumpy_sphere(5)
    scalar = mesh.vertices @ [0.3, 0.5, 1.0]
    geometry = MeshGeometry.from_mesh(mesh, **DOUBLE)
    return mesh, scalar, geometry, FieldGeometry.from_mesh(mesh, **DOUBLE)


def test_numbers_are_those_of_numpy(shape):
    mesh, scalar, geometry, sides = shape
    field = oriented_field(mesh, scalar)
    learned = oriented_field_torch(geometry, sides, torch.from_numpy(scalar))
    assert np.allclose(learned.numpy(), field.coordinates, rtol=0, atol=1e-12)
    expected = chebyshev_operators(directed_stack(field, peclet=0.4, alpha=2.0, directions=5))
    values = directed_operators(geometry, learned, peclet=0.4, alpha=2.0, directions=5)
    assert np.allclose(values.numpy(), expected.values, rtol=0, atol=1e-10)


def test_gradients_for_the_scalar_p_and_alpha(shape):
    _, scalar, geometry, sides = shape
    weights = torch.from_numpy(np.random.default_rng(0).standard_normal(len(geometry.indices)))

    def total(f, p, a):
        field = oriented_field_torch(geometry, sides, f)
        options = {"directions": [0.3, 2.0], "lambda_max": 2.0}
        values = directed_operators(geometry, field, peclet=p, alpha=a, **options)
        return values @ weights

    f = torch.tensor(scalar, requires_grad=True)
    p = torch.tensor([0.2, 0.4], requires_grad=True, **DOUBLE)
    a = torch.tensor([0.5, 3.0], requires_grad=True, **DOUBLE)
    assert torch.autograd.gradcheck(total, (f, p, a), fast_mode=True)


def test_a_field_can_be_learned_through_a_convolution(shape):
    # From the answers of a layer the scalar behind its operators is recovered in direction.
    mesh, scalar, geometry, sides = shape
    torch.manual_seed(0)
    layer = AnisotropicChebConv(2, 3, angles=2, order=4).double()
    x = torch.from_numpy(np.random.default_rng(1).standard_normal((mesh.n_vertices, 2)))
    pattern = OperatorStack.of(
        chebyshev_operators(directed_stack(oriented_field(mesh, scalar), directions=2)), **DOUBLE
    )

    def answer(f):
        field = oriented_field_torch(geometry, sides, f)
        return layer(x, replace(pattern, values=directed_operators(geometry, field, directions=2)))

    with torch.no_grad():
        goal = answer(torch.from_numpy(scalar))
    direction = torch.tensor([1.0, 0.0, 0.2], requires_grad=True, **DOUBLE)
    optimizer = torch.optim.Adam([direction], lr=0.1)
    losses = []
    for _ in range(40):
        optimizer.zero_grad()
        loss = (answer(torch.from_numpy(mesh.vertices.copy()) @ direction) - goal).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.05 * losses[0]


def test_wrong_shapes_are_refused(shape):
    mesh, _, geometry, sides = shape
    with pytest.raises(InputError, match="one number a vertex"):
        oriented_field_torch(geometry, sides, torch.ones(3, **DOUBLE))
    with pytest.raises(InputError, match="field must have shape"):
        directed_operators(geometry, torch.ones(3, 2, **DOUBLE))
    field = torch.zeros(mesh.n_faces, 2, **DOUBLE)
    with pytest.raises(InputError, match="one for each of the 8 directions"):
        directed_operators(geometry, field, peclet=torch.ones(3))
