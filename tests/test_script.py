"""The script that a newcomer writes first, with a mesh in every form that people have it in."""

import numpy as np
import pytest

import finsler
from finsler import primitives
from forms import given_as

torch = pytest.importorskip("torch")

MESH = primitives.bumpy_sphere(3)
OTHER = finsler.TriMesh(MESH.vertices * [1.0, 1.1, 0.95], MESH.faces)
KINDS = ["pair", "text", "path", "trimesh", "scene", "pyvista", "open3d", "open3d_tensor"]
KINDS += ["torch_geometric", "tensors"]


def script(shape, other, cache):
    """An own ω, the spectrum, distances in a wind, a match, and a step of learning."""
    # A metric of one's own, by ω and by a wind; one vector stands for all faces.
    metric = finsler.RandersMetric(shape, np.eye(3), [0.3, 0.0, 0.0])
    windy = finsler.RandersMetric.from_wind(shape, np.eye(3), [0.5, 0.0, 0.0])

    # The operators, and the spectrum of one.
    W, S = finsler.laplacian(shape, metric.diffusivity())
    spectrum = finsler.spectrum(finsler.flbo(shape, alpha=5.0, tau=0.1), k=8)

    # Distances there and back.
    there = finsler.randers_distance(windy, 0)
    back = finsler.randers_distance(windy, 0, reverse=True)

    # Which vertex of the other shape is which of this one.
    result = finsler.match(shape, other, k=20, cache=cache)

    # A step of learning on the same mesh.
    stack = finsler.angle_stack(shape, alpha=5.0, angles=2)
    operators = finsler.nn.OperatorStack.of(finsler.chebyshev_operators(stack))
    torch.manual_seed(0)
    layer = finsler.nn.AnisotropicChebConv(1, 4, angles=2, order=3)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.1)
    target = torch.tensor(there, dtype=torch.float32)[:, None]
    before = (layer(torch.ones_like(target), operators) - target).square().mean()
    before.backward()
    optimizer.step()
    after = (layer(torch.ones_like(target), operators) - target).square().mean()
    losses = [before.item(), after.item()]
    return [W.data, S.data, spectrum.eigenvalues, there, back, result.map_12, np.array(losses)]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Equal meshes have one description, whatever they came as."""
    return tmp_path_factory.mktemp("described")


@pytest.fixture(scope="module")
def expected(cache):
    return script(MESH, OTHER, cache)


def test_the_answers_are_right(expected):
    _, mass, eigenvalues, there, back, map_12, losses = expected
    assert mass.sum() == pytest.approx(finsler.mesh.surface_area(MESH))
    assert eigenvalues[0] == pytest.approx(0.0, abs=1e-8) and eigenvalues[1] > 0.1
    downwind = MESH.vertices[:, 0] > MESH.vertices[0, 0] + 0.5
    assert (there < back)[downwind].all()
    assert (map_12 == np.arange(MESH.n_vertices)).mean() > 0.8
    assert losses[1] < losses[0]


@pytest.mark.parametrize("kind", KINDS)
def test_every_form_gives_the_same(kind, expected, cache, tmp_path):
    folders = tmp_path / "1", tmp_path / "2"
    for folder in folders:
        folder.mkdir()
    meshes = MESH, OTHER
    given = [given_as(kind, mesh, path) for mesh, path in zip(meshes, folders, strict=True)]
    for value, wanted in zip(script(*given, cache), expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-9, atol=1e-9)
    assert len(list(cache.iterdir())) == 2
