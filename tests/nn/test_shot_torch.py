"""SHOT in torch: the same numbers as the compiled function, in batches and in chunks."""

import numpy as np
import pytest

from finsler import InputError, TriMesh, primitives
from finsler.descriptors import shot, shot_frames, shot_radius

torch = pytest.importorskip("torch")

from finsler.nn import shot_torch  # noqa: E402

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


@pytest.fixture(scope="module")
def mesh():
    shape = primitives.bumpy_sphere(9)
    noise = np.random.default_rng(3).standard_normal(shape.vertices.shape)
    return TriMesh(shape.vertices + 0.005 * noise, shape.faces)


@pytest.fixture(scope="module")
def other():
    return primitives.torus(24, 12, jitter=0.3, seed=1)


def arrays(mesh, dtype=torch.float64, device="cpu"):
    return torch.tensor(mesh.vertices, dtype=dtype, device=device), torch.tensor(
        mesh.faces, device=device
    )


def joined(*meshes):
    offsets = np.cumsum([0] + [m.n_vertices for m in meshes[:-1]])
    pairs = [arrays(m) for m in meshes]
    faces = [f + int(o) for (_, f), o in zip(pairs, offsets, strict=True)]
    return torch.cat([v for v, _ in pairs]), torch.cat(faces)


def decided(mesh, radius):
    """Vertices whose axes have a majority on one side; at ties each solver keeps its own sign."""
    axes = shot_frames(mesh, radius=radius, as_released=True).axes
    offset = mesh.vertices - mesh.vertices[:, None]
    near = np.linalg.norm(offset, axis=2) <= radius
    side = np.sign(np.einsum("iad,ijd->iaj", axes[:, [0, 2]], offset).round(9))
    return np.abs((side * near[:, None]).sum(axis=2)).min(axis=1) > 0


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("as_released", [False, True])
@pytest.mark.parametrize("bins", [10, 3])
def test_double_precision_agrees(mesh, device, as_released, bins):
    radius = shot_radius(mesh, 0.13)
    expected = shot(mesh, radius=radius, bins=bins, as_released=as_released)
    found = shot_torch(*arrays(mesh, device=device), radius, bins=bins, as_released=as_released)
    assert found.dtype == torch.float64 and found.device.type == device
    same = decided(mesh, radius) if as_released else np.ones(mesh.n_vertices, dtype=bool)
    assert same.mean() > 0.5
    assert np.abs(found.cpu().numpy() - expected)[same].max() < 1e-8


def test_released_weights_of_either_sign_agree(mesh):
    large = TriMesh(30.0 * mesh.vertices, mesh.faces)
    found = shot_torch(*arrays(large), 8.0, as_released=True).numpy()
    same = decided(large, 8.0)
    assert np.abs(found - shot(large, radius=8.0, as_released=True))[same].max() < 1e-8


@pytest.mark.parametrize("device", DEVICES)
def test_single_precision_agrees_at_most_vertices(mesh, device):
    radius = shot_radius(mesh, 0.13)
    found = shot_torch(*arrays(mesh, torch.float32, device), radius)
    assert found.dtype == torch.float32
    error = np.abs(found.cpu().numpy() - shot(mesh, radius=radius)).max(axis=1)
    # The others have a neighbour on the border of a bin, or a tie, within rounding.
    assert np.median(error) < 1e-6 and (error < 1e-4).mean() > 0.98


@pytest.mark.parametrize("shape", [primitives.plane(14, 9), primitives.cylinder(24, 10)])
def test_ties_and_borders_are_treated_alike(shape):
    found = shot_torch(*arrays(shape), 0.31).numpy()
    assert np.abs(found - shot(shape, radius=0.31)).max() < 1e-8


def test_batch_equals_one_by_one(mesh, other):
    meshes, radii = [mesh, other, mesh], [0.3, 0.4, 0.25]
    sizes = [m.n_vertices for m in meshes]
    batch = shot_torch(*joined(*meshes), radii, sizes=sizes)
    single = [shot_torch(*arrays(m), r) for m, r in zip(meshes, radii, strict=True)]
    # The shapes lie on top of each other and must not see each other.
    assert torch.allclose(batch, torch.cat(single), atol=1e-12)


@pytest.mark.parametrize("chunk", [1, 150, 1000])
def test_chunks_change_nothing(chunk):
    shape = primitives.torus(9, 7, jitter=0.3)
    whole = shot_torch(*joined(shape, shape), 0.8, sizes=[63, 63])
    parts = shot_torch(*joined(shape, shape), 0.8, sizes=[63, 63], chunk=chunk)
    assert torch.allclose(whole, parts, atol=1e-12) and whole.any()


def test_chunks_are_bounded(other, monkeypatch):
    from finsler.nn import shot as module

    largest = []
    votes = module._votes

    def watched(delta, *rest):
        largest.append(len(delta))
        return votes(delta, *rest)

    monkeypatch.setattr(module, "_votes", watched)
    shot_torch(*arrays(other), 0.4, chunk=500)
    assert len(largest) > 5 and max(largest) <= 500


def test_too_few_neighbours_and_no_normal_give_zeros(mesh):
    vertices, faces = arrays(mesh)
    lonely = torch.tensor([[50.0, 0, 0], [51, 0, 0], [50, 1, 0], [0.9, 0, 0]])
    vertices = torch.cat([vertices, lonely.double()])
    n = mesh.n_vertices
    faces = torch.cat([faces, torch.tensor([[n, n + 1, n + 2]])])
    found = shot_torch(vertices, faces, 0.3)
    assert not found[n:].any()
    assert torch.allclose(found[:n], shot_torch(*arrays(mesh), 0.3), atol=1e-12)


def test_int32_faces_and_inputs_stay_as_they_are(other):
    vertices, faces = arrays(other)
    before = vertices.clone()
    assert torch.equal(shot_torch(vertices, faces.int(), 0.4), shot_torch(vertices, faces, 0.4))
    assert torch.equal(vertices, before)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"vertices": torch.zeros(4, 2)}, "vertices must be"),
        ({"vertices": torch.zeros(4, 3, dtype=torch.int64)}, "in torch.int64"),
        ({"faces": torch.zeros(2, 4, dtype=torch.int64)}, "faces must be"),
        ({"faces": torch.zeros(2, 3)}, "in torch.float32"),
        ({"faces": torch.tensor([[0, 1, 999]])}, "numbered through all shapes"),
        ({"sizes": [288, 1]}, "sizes sum to 289"),
        ({"sizes": []}, "sizes sum to 0"),
        ({"radius": [0.1, 0.2]}, "one for each of the 1 shapes"),
        ({"radius": 0.0}, "must be one positive number"),
        ({"radius": float("nan")}, "must be one positive number"),
        ({"bins": 0}, "bins is 0"),
        ({"chunk": 0}, "chunk 0"),
        ({"min_neighbors": 1}, "min_neighbors is 1"),
    ],
)
def test_bad_input_is_one_sentence(other, change, sentence):
    vertices, faces = arrays(other)
    options = {"vertices": vertices, "faces": faces, "radius": 0.4, **change}
    with pytest.raises(InputError, match=sentence):
        shot_torch(**options)
