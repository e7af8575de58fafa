"""A drift and an anisotropy that are learned with the network."""

import dataclasses

import numpy as np
import pytest
import torch
from scipy import sparse

from finsler import OperatorSpec, primitives
from finsler.errors import InputError
from finsler.mesh.trimesh import TriMesh
from finsler.nn import OperatorStack
from finsler.nn.learned_drift import LearnedDrift, LearnedDriftNet


@pytest.fixture(scope="module")
def mesh():
    return primitives.bumpy_sphere(6)


def stack_of(mesh, dtype=torch.float64):
    return OperatorStack.of(OperatorSpec("mixed").chebyshev(mesh), dtype=dtype)


def random_drift(seed=0):
    torch.manual_seed(seed)
    drift = LearnedDrift(5, 8).double()
    torch.nn.init.normal_(drift.head[-1].weight)
    return drift


def dense(stack, k):
    numbers = (stack.values[k].detach(), stack.indices, stack.indptr)
    return sparse.csr_array(tuple(array.numpy() for array in numbers)).toarray()


def test_the_drift_stays_skew_and_the_rest_self_adjoint(mesh):
    stack = stack_of(mesh)
    learned = random_drift()(torch.randn(stack.n, 5, dtype=torch.float64), stack)
    # Ŵ is half of the sum of two opposite directions; what is added must be skew for the masses.
    diffusion = 0.5 * (dense(stack, 4) + dense(stack, 6))
    # L̂ = S⁻¹ A with A symmetric gives the masses up to a factor.
    mass = mesh_mass(diffusion)
    for k in range(4, 8):
        added = mass[:, None] * (dense(learned, k) - diffusion)
        assert np.abs(added).max() > 1e-3 * mass.max()
        np.testing.assert_allclose(added, -added.T, atol=1e-9 * np.abs(added).max())


def mesh_mass(operator):
    """Masses m with m_i L_ij = m_j L_ji, from any vertex on."""
    mass = np.zeros(len(operator))
    mass[0], todo = 1.0, [0]
    while todo:
        i = todo.pop()
        for j in np.flatnonzero(operator[i]):
            if mass[j] == 0.0:
                mass[j] = mass[i] * operator[i, j] / operator[j, i]
                todo.append(int(j))
    return mass


def test_eigenvalues_of_the_anisotropic_half_stay_within_one(mesh):
    stack = stack_of(mesh)
    drift = random_drift()
    torch.nn.init.normal_(drift.anisotropy)
    learned = drift(torch.randn(stack.n, 5, dtype=torch.float64), stack)
    for k in range(4):
        assert np.abs(np.linalg.eigvals(dense(learned, k))).max() <= 1.0 + 1e-9


def test_a_turned_shape_gets_the_same_operators(mesh):
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    rotation *= np.sign(np.linalg.det(rotation))
    turned = TriMesh(mesh.vertices @ rotation.T, mesh.faces)
    drift, features = random_drift(), torch.randn(mesh.n_vertices, 5, dtype=torch.float64)
    here, there = (drift(features, stack_of(m)).values for m in (mesh, turned))
    torch.testing.assert_close(here, there, rtol=0, atol=1e-7)


@pytest.mark.filterwarnings("ignore::finsler.frames.oriented.FieldWarning")
def test_gradients():
    stack = stack_of(primitives.bumpy_sphere(2))
    drift, features = random_drift(), torch.randn(stack.n, 5, dtype=torch.float64)
    weight = torch.randn_like(stack.values)

    def total(*parameters):
        names = [name for name, _ in drift.named_parameters()]
        made = torch.func.functional_call(
            drift, dict(zip(names, parameters, strict=True)), (features, stack)
        )
        return (made.values * weight).sum()

    assert torch.autograd.gradcheck(total, tuple(drift.parameters()))


def test_training_moves_drift_and_anisotropy(mesh):
    stack = stack_of(mesh, torch.float32)
    torch.manual_seed(0)
    network = LearnedDriftNet(5, 7, channels=4, layers=2, order=4, hidden=8)
    before = [p.clone() for p in network.drift.parameters()]
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-2)
    features, labels = torch.randn(stack.n, 5), torch.randint(7, (stack.n,))
    for _ in range(2):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(network(features, stack), labels).backward()
        optimiser.step()
    moved = [(a - b).abs().max() for a, b in zip(before, network.drift.parameters(), strict=True)]
    assert all(step > 0 for step in moved)


def test_other_stacks_are_refused(mesh):
    with pytest.raises(InputError, match="--operator mixed"):
        LearnedDrift(5, 6)
    spec = dataclasses.replace(OperatorSpec("mixed"), angles=16)
    assert (
        LearnedDrift(5, 16)(
            torch.zeros(mesh.n_vertices, 5), OperatorStack.of(spec.chebyshev(mesh))
        ).values.shape[0]
        == 16
    )
