"""DiffusionNet: its parts against closed forms, and the laws that make it intrinsic."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from finsler import InputError, TriMesh, lbo, primitives, spectrum  # noqa: E402
from finsler.analysis import diffuse  # noqa: E402
from finsler.baselines.diffusion_net import (  # noqa: E402
    DiffusionNet,
    GradientFeatures,
    LearnedTimeDiffusion,
    SpectralDomain,
    vertex_gradients,
)
from finsler.data import PrepareConfig, Shape  # noqa: E402
from finsler.data.store.entry import prepare_shape  # noqa: E402


def domain_of(mesh, k=40):
    pairs = spectrum(lbo(mesh), k=k)
    rows, columns, gradient = vertex_gradients(mesh)
    return SpectralDomain(
        (torch.tensor(pairs.eigenvalues),),
        (torch.tensor(pairs.eigenvectors),),
        (torch.tensor(pairs.mass),),
        torch.from_numpy(rows),
        torch.from_numpy(columns),
        torch.from_numpy(gradient),
    )


@pytest.fixture(scope="module")
def mesh():
    return primitives.bumpy_sphere(5)


def test_gradients_of_linear_functions_are_exact_in_the_plane():
    grid = np.stack(np.meshgrid(np.arange(6.0), np.arange(5.0), indexing="ij"), -1).reshape(-1, 2)
    i = np.arange(30).reshape(6, 5)
    a, b, c, d = (x.ravel() for x in (i[:-1, :-1], i[1:, :-1], i[1:, 1:], i[:-1, 1:]))
    faces = np.r_[np.stack([a, b, c], 1), np.stack([a, c, d], 1)]
    plane = TriMesh(np.c_[grid, np.zeros(30)], faces)
    rows, columns, weights = vertex_gradients(plane)
    f = grid @ [2.0, -3.0]
    gradient = [np.bincount(rows, w * (f[columns] - f[rows])) for w in weights]
    # The axes of the plane are arbitrary, the length is not.
    assert np.allclose(np.hypot(*gradient), np.hypot(2.0, 3.0))


def test_diffusion_is_the_heat_flow_in_the_basis(mesh):
    domain = domain_of(mesh)
    layer = LearnedTimeDiffusion(2).double()
    with torch.no_grad():
        layer.time.copy_(torch.tensor([0.05, -0.2]))
    x = np.random.default_rng(0).standard_normal((mesh.n_vertices, 2))
    spread = layer(torch.from_numpy(x), domain).detach().numpy()
    pairs = spectrum(lbo(mesh), k=40)
    for channel, time in enumerate([0.05, 0.2]):
        assert np.allclose(spread[:, channel], diffuse(pairs, x[:, channel], time))


def test_features_do_not_depend_on_the_tangent_axes(mesh):
    domain = domain_of(mesh)
    torch.manual_seed(0)
    layer = GradientFeatures(3).double()
    x = torch.from_numpy(np.random.default_rng(0).standard_normal((mesh.n_vertices, 3)))
    angle = torch.from_numpy(np.random.default_rng(1).uniform(0, 6, mesh.n_vertices))[domain.rows]
    along, across = domain.gradient
    turned = torch.stack(
        [angle.cos() * along - angle.sin() * across, angle.sin() * along + angle.cos() * across]
    )
    other = SpectralDomain(
        domain.eigenvalues, domain.eigenvectors, domain.mass, domain.rows, domain.columns, turned
    )
    assert torch.allclose(layer(x, domain), layer(x, other))


def test_shapes_side_by_side_do_not_see_each_other(mesh):
    first, second = domain_of(mesh), domain_of(primitives.sphere(4))
    torch.manual_seed(0)
    net = DiffusionNet(3, 7, channels=6, blocks=2).double().eval()
    x = [torch.randn(sum(d.sizes), 3, dtype=torch.float64) for d in (first, second)]
    both = net(torch.cat(x), SpectralDomain.batch([first, second]))
    apart = torch.cat([net(x[0], first), net(x[1], second)])
    assert torch.allclose(both, apart)
    with pytest.raises(InputError, match="rows"):
        net(x[0][:-1], first)


def test_it_learns_and_needs_eigenpairs(mesh):
    shape = Shape("one", mesh, np.arange(mesh.n_vertices), np.ones(mesh.n_vertices, dtype=bool))
    config = PrepareConfig(descriptor="xyz", eigenpairs=30, angles=1)
    domain = SpectralDomain.of(prepare_shape(shape, config))
    torch.manual_seed(0)
    net = DiffusionNet(3, mesh.n_vertices, channels=16, blocks=2, dropout=0.0)
    x, goal = torch.tensor(mesh.vertices).float(), torch.arange(mesh.n_vertices)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x, domain), goal)
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.5 * losses[0]
    with pytest.raises(InputError, match="without eigenpairs"):
        SpectralDomain.of(prepare_shape(shape, PrepareConfig(descriptor="xyz", angles=1)))


def test_half_precision_is_for_the_layers_not_for_the_geometry(mesh):
    shape = Shape("one", mesh, np.arange(mesh.n_vertices), np.ones(mesh.n_vertices, dtype=bool))
    config = PrepareConfig(descriptor="none", eigenpairs=30, angles=1)
    domain = SpectralDomain.of(prepare_shape(shape, config))
    features = torch.randn(mesh.n_vertices, 5)
    torch.manual_seed(0)
    network = DiffusionNet(5, 7, channels=8, blocks=2, hidden=16, dropout=0.0)
    with torch.autocast("cpu", torch.bfloat16):
        half = network.hidden(features, domain).float()
    whole = network.hidden(features, domain)
    assert 0 < (half - whole).abs().max() < 0.05 * whole.abs().max()
