"""Functional maps, soft maps and losses: exact cases, laws and gradients."""

import numpy as np
import pytest
import torch

from finsler import primitives
from finsler.data import PrepareConfig, Shape, prepare_shape
from finsler.errors import InputError
from finsler.matching import functional_map
from finsler.mesh.trimesh import TriMesh
from finsler.nn import OperatorStack
from finsler.nn.maps import (
    FeatureNet,
    MapBasis,
    MapLoss,
    functional_maps,
    losses,
    nearest,
    pair_terms,
    resolvent_mask,
    soft_maps,
)

K = 12
TERMS = ("bijectivity", "orthogonality", "coupling", "resolution", "dirichlet", "diffusion")


def prepared(mesh, **settings):
    n = mesh.n_vertices
    shape = Shape("bumps", mesh, np.arange(n), np.ones(n, dtype=bool))
    config = PrepareConfig(kind="albo", angles=2, descriptor="none", eigenpairs=K, **settings)
    return prepare_shape(shape, config)


@pytest.fixture(scope="module")
def mesh():
    return primitives.bumpy_sphere(4, amplitude=0.3)


@pytest.fixture(scope="module")
def order(mesh):
    return np.random.default_rng(1).permutation(mesh.n_vertices)


@pytest.fixture(scope="module")
def bases(mesh, order):
    """The same surface with two numberings; vertex i of the second is order[i] of the first."""
    first = MapBasis.of(prepared(mesh), K)
    place = np.argsort(order)
    return first, MapBasis.of(prepared(TriMesh(mesh.vertices[order], place[mesh.faces])), K)


@pytest.fixture
def features(bases, order):
    """Features that tell vertices apart, the same on both."""
    rows = torch.randn(len(order), 64, generator=torch.Generator().manual_seed(0))
    return rows, rows[order]


def true_map(bases, order):
    """C that pulls functions of the second numbering back to the first."""
    first, second = bases
    return first.coefficients(second.vectors[np.argsort(order)])


def test_the_basis_is_inverted_at_all_and_at_some_vertices(mesh):
    shape = prepared(mesh)
    for points in (0, 100):
        basis = MapBasis.of(shape, K, points=points)
        assert len(basis.points) == (points or mesh.n_vertices)
        assert torch.allclose(basis.inverse @ basis.there, torch.eye(K), atol=1e-5)
        assert basis.weights.sum() == pytest.approx(1.0, abs=1e-5)
    with pytest.raises(InputError, match="--eigenpairs 13"):
        MapBasis.of(shape, K + 1)


def test_the_solver_is_that_of_matching_where_masks_agree():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 6, 20))
    values_1, values_2 = np.sort(rng.random((2, 6)))
    mask = (values_1[:, None] - values_2) ** 2 / max(values_1[-1], values_2[-1]) ** 2
    known = functional_map(a, b, values_1, values_2, commutativity=0.5)
    solved = functional_maps(
        torch.tensor(a), torch.tensor(b), torch.tensor(mask), weight=0.5 * 20 / 6
    )
    assert np.allclose(solved.numpy(), known, atol=1e-6)


def test_gradients_of_the_solver():
    generator = torch.Generator().manual_seed(0)
    a, b = torch.randn(2, 2, 4, 7, generator=generator, dtype=torch.float64)
    mask = torch.rand(2, 4, 4, generator=generator, dtype=torch.float64)
    a.requires_grad_()
    b.requires_grad_()
    assert torch.autograd.gradcheck(
        lambda x, y: functional_maps(x, y, mask, weight=2.0), (a, b), atol=1e-5
    )
    one = functional_maps(a[0], b[0], mask[0], weight=2.0)
    assert torch.allclose(functional_maps(a, b, mask, weight=2.0)[0], one)


def test_the_resolvent_mask_grows_with_the_gap():
    values = torch.linspace(0.0, 9.0, 5)
    mask = resolvent_mask(values, values)
    assert torch.equal(mask, mask.T) and not mask.diagonal().any()
    assert (mask[0].diff() > 0).all() and (mask[-1].diff() < 0).all()
    assert torch.allclose(mask, resolvent_mask(7.0 * values, 7.0 * values))


def test_an_isometry_costs_nothing(bases, features, order):
    loss = MapLoss(dict.fromkeys(TERMS, 1.0), temperature=1e-3, commutativity=0.0)
    terms = pair_terms(features, bases, loss)
    assert set(terms) == set(TERMS)
    assert all(float(value) < 1e-4 for value in terms.values()), terms
    soft = soft_maps(*features, *bases, temperature=1e-3)
    assert torch.allclose(soft.functional_12, true_map(bases, order), atol=1e-4)


def test_a_wrong_map_costs(bases, features):
    mixed = features[0], features[1].flip(0)
    loss = MapLoss(dict.fromkeys(TERMS, 1.0), temperature=1e-3)
    terms = pair_terms(mixed, bases, loss)
    assert all(float(value) > 0.01 for value in terms.values()), terms


def test_terms_do_not_depend_on_the_order_of_shapes_or_vertices(mesh, bases, features, order):
    loss = MapLoss(dict.fromkeys(TERMS, 1.0))
    here = pair_terms(features, bases, loss)
    swapped = pair_terms(features[::-1], bases[::-1], loss)
    # The second numbering stands for the first one: the same pair, other numbers.
    renumbered = pair_terms((features[1], features[1]), (bases[1], bases[1]), loss)
    same = pair_terms((features[0], features[0]), (bases[0], bases[0]), loss)
    for name in TERMS:
        assert float(swapped[name]) == pytest.approx(float(here[name]), rel=1e-3, abs=1e-5)
        assert float(renumbered[name]) == pytest.approx(float(same[name]), rel=1e-3, abs=1e-5)


def test_every_term_has_a_gradient(bases, features):
    loss = MapLoss(dict.fromkeys((*TERMS, "truth"), 1.0))
    rows = [each.clone().requires_grad_() for each in features]
    known = torch.arange(len(rows[0]))
    terms = pair_terms(rows, bases, loss, partners=(known, known))
    for name, value in terms.items():
        grads = torch.autograd.grad(value, rows, retain_graph=True)
        assert all(bool(g.isfinite().all()) and float(g.abs().max()) > 0 for g in grads), name
    assert loss.total(terms).item() == pytest.approx(
        sum(float(v.detach()) for v in terms.values()), rel=1e-5
    )


def test_truth_counts_only_what_is_known():
    logits = torch.tensor([[5.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    known = torch.tensor([0, -1]), torch.tensor([0, -1, -1])
    there = torch.log_softmax(logits[0], 0)[0]
    back = torch.log_softmax(logits[:, 0], 0)[0]
    assert losses.truth(logits, known) == pytest.approx(float(-0.5 * (there + back)))
    nothing = torch.full((2,), -1), torch.full((3,), -1)
    assert float(losses.truth(logits, nothing)) == 0.0


def test_nearest_in_blocks(monkeypatch):
    rows = torch.randn(50, 3, generator=torch.Generator().manual_seed(0))
    expected = torch.cdist(rows[:20], rows[20:]).argmin(dim=1)
    for cells in (2**20, 40):
        monkeypatch.setattr("finsler.nn.maps.soft._CELLS", cells)
        assert torch.equal(nearest(rows[:20], rows[20:]), expected)


def test_a_batch_of_shapes_is_described_as_each_of_them(mesh):
    other = primitives.bumpy_sphere(3)
    stacks = [OperatorStack.of(prepared(each)) for each in (mesh, other)]
    net = FeatureNet(5, 9, channels=4, layers=2, angles=2, order=3, hidden=8)
    inputs = [torch.randn(stack.n, 5) for stack in stacks]
    together = net(torch.cat(inputs), OperatorStack.batch(stacks))
    apart = [net(x, stack) for x, stack in zip(inputs, stacks, strict=True)]
    assert torch.allclose(together, torch.cat(apart), atol=1e-5)
    with pytest.raises(InputError, match="layers 0"):
        FeatureNet(5, 9, layers=0)
