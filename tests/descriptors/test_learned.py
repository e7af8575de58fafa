"""Features of the model in the box: what changes them and what does not, and its file."""

import numpy as np
import pytest

import finsler
from finsler.data import synthetic_collection
from finsler.data.sets.creature import make_creature
from finsler.descriptors import vertex_features
from finsler.descriptors.directed import DirectedDomain, border_inputs, intrinsic_inputs
from finsler.descriptors.learned import (
    FeatureModel,
    _clustered,
    feature_models,
    shipped_model,
    two_histograms,
)
from finsler.mesh.unit import UnitSurface
from finsler.operator.gradients import vertex_gradients


@pytest.fixture(scope="module")
def creatures():
    """Two people of different builds and poses, with the points that correspond."""
    people = synthetic_collection("person", train=0, test=2, poses=1, vertices=1000, flaws=0.0)
    return [people[name] for name in people.test]


@pytest.fixture(scope="module")
def mesh(creatures):
    return creatures[0].mesh


def test_points_that_correspond_are_alike(creatures):
    one, other = (vertex_features(shape.mesh) for shape in creatures)
    points = [shape.points for shape in creatures]
    known = (points[0] >= 0) & (points[1] >= 0)
    images = (one[points[0][known]] @ other.T).argmax(axis=1)
    there = creatures[1].mesh
    apart = there.vertices[images] - there.vertices[points[1][known]]
    error = np.linalg.norm(apart, axis=1).mean() / np.sqrt(finsler.mesh.surface_area(there))
    # A random vertex is half of √area away.
    assert error < 0.04


def test_scale_position_rotation_and_numbering_do_not_matter(mesh):
    before = vertex_features(mesh)
    assert before.shape == (mesh.n_vertices, 256) and before.dtype == np.float32
    assert np.allclose(np.linalg.norm(before, axis=1), 1.0, atol=1e-5)
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    turn[:, 0] *= np.linalg.det(turn)
    order = rng.permutation(mesh.n_vertices)
    new = np.empty_like(order)
    new[order] = np.arange(len(order))
    moved = finsler.TriMesh(30.0 * mesh.vertices[order] @ turn.T + 5.0, new[mesh.faces])
    after = vertex_features(moved)
    # SHOT has frames that are decided by a hair at few vertices.
    assert np.median(np.linalg.norm(after - before[order], axis=1)) < 1e-3


def test_mirror_image_has_other_features(mesh):
    mirrored = finsler.TriMesh(mesh.vertices * [-1.0, 1.0, 1.0], mesh.faces[:, ::-1])
    apart = np.linalg.norm(vertex_features(mirrored) - vertex_features(mesh), axis=1)
    assert np.median(apart) > 0.1


def test_network_in_torch_gives_the_same(mesh):
    torch = pytest.importorskip("torch")
    from finsler.nn.maps.directed_net import DirectedNet, DirectedTensors

    model, unit = shipped_model(), UnitSurface.of(mesh)
    pairs = finsler.spectrum(finsler.lbo(unit.mesh), 128)
    histograms = two_histograms(unit.mesh)
    channels = len(model.weights["first.bias"])
    inputs = model.weights["first.weight"].shape[1]
    network = DirectedNet(inputs, model.size, channels=channels, blocks=model.blocks)
    network.load_state_dict({name: torch.tensor(w) for name, w in model.weights.items()})
    read = (histograms - model.middle) @ (model.axes / model.scale)
    given = torch.tensor(np.hstack([intrinsic_inputs(unit.mesh, pairs), read]))
    domain = DirectedTensors.of(DirectedDomain.of(unit.mesh, pairs))
    with torch.no_grad():
        expected = network(given, domain).numpy()
    assert np.allclose(model.features(unit.mesh, pairs, histograms), expected, atol=2e-4)


def test_border_fades_with_the_distance_from_it():
    # A square whose left half is cut off: the border is known exactly.
    side = 20
    x, y = np.meshgrid(np.linspace(0, 1, side), np.linspace(0, 1, side), indexing="ij")
    corner = (np.arange(side - 1)[:, None] * side + np.arange(side - 1)).ravel()
    faces = np.concatenate(
        [
            np.stack([corner, corner + side, corner + side + 1], 1),
            np.stack([corner, corner + side + 1, corner + 1], 1),
        ]
    )
    mesh = finsler.TriMesh(np.stack([x, y, 0.0 * x], -1).reshape(-1, 3), faces)
    domain = DirectedDomain.of(mesh, finsler.spectrum(finsler.lbo(mesh), 60))
    found = border_inputs(mesh.vertices, domain)
    apart = np.minimum(np.minimum(x, 1 - x), np.minimum(y, 1 - y)).ravel()
    assert np.allclose(found, np.exp(-apart[:, None] / [0.05, 0.15]), atol=1e-6)


def test_no_border(mesh):
    unit = UnitSurface.of(mesh, fill=True).mesh
    domain = DirectedDomain.of(unit, finsler.spectrum(finsler.lbo(unit), 60))
    assert not border_inputs(unit.vertices, domain).any()


def test_card_says_what_the_model_is():
    whole, parts = shipped_model().card, shipped_model("model_parts").card
    for card in (whole, parts):
        assert card["command"] == "make model" and "persons and animals" in card["trained on"]
    for kind in ("person", "animal"):
        assert whole["held out"][kind]["failed"] == parts["held out"][kind]["failed"] == 0.0
        alone, taught = (card["held out"][f"parts of {kind}s"]["failed"] for card in (whole, parts))
        assert taught < 0.5 * alone
    assert parts["parts"] and not whole["parts"]


def test_file_and_back(tmp_path):
    model = shipped_model()
    model.write(tmp_path / "again.npz")
    again = FeatureModel.read(tmp_path / "again.npz")
    assert again.card == model.card and again.version == model.version
    for name, weights in model.weights.items():
        assert np.array_equal(again.weights[name], weights)


def test_bad_models(tmp_path):
    np.savez(tmp_path / "other.npz", middle=np.zeros(3))
    for path, sentence in ((tmp_path / "other.npz", "card"), (tmp_path / "gone.npz", "no such")):
        with pytest.raises(finsler.InputError, match=sentence):
            feature_models(path)
    with pytest.raises(finsler.InputError, match="must be box, none"):
        feature_models("boxes")
    with pytest.raises(finsler.InputError, match="features come from a model"):
        vertex_features(finsler.primitives.sphere(5), model="none")
    with pytest.raises(finsler.InputError, match="at least 30"):
        vertex_features(finsler.primitives.sphere(1))


def test_files_of_other_things_are_refused(tmp_path):
    model = shipped_model()
    arrays = {"middle": model.middle, "axes": model.axes, "scale": model.scale}
    for card, names in (("no json", []), ('{"version": "1"}', []), ("[]", [])):
        np.savez(tmp_path / "other.npz", card=np.array(card), names=np.array(names, str), **arrays)
        with pytest.raises(finsler.InputError, match="not a model"):
            FeatureModel.read(tmp_path / "other.npz")


def test_key_tells_models_of_one_version_apart():
    model = shipped_model()
    weights = {**model.weights, "last.bias": model.weights["last.bias"] + 1.0}
    other = FeatureModel(weights, model.middle, model.axes, model.scale, model.card)
    assert other.version == model.version and other.key != model.key == shipped_model().key


def test_weights_that_do_not_fit_are_refused(tmp_path):
    model = shipped_model()
    narrow = FeatureModel(
        model.weights, model.middle, model.axes[:, :9], model.scale[:9], model.card
    )
    narrow.write(tmp_path / "narrow.npz")
    with pytest.raises(finsler.InputError, match="do not fit"):
        FeatureModel.read(tmp_path / "narrow.npz")


def test_fine_meshes_share_the_histograms_of_clusters(monkeypatch):
    import finsler.descriptors.learned as learned

    mesh = make_creature("person", vertices=3000).mesh
    whole, unit = vertex_features(mesh), UnitSurface.of(mesh).mesh
    monkeypatch.setattr(learned, "_MOST", 1500)
    coarse, cluster = _clustered(unit)
    assert 500 < coarse.n_vertices <= 1500 and len(cluster) == unit.n_vertices
    gap = np.linalg.norm(coarse.vertices[cluster] - unit.vertices, axis=1)
    assert gap.max() < 0.06
    assert two_histograms(unit).any(axis=1).all()
    cosines = np.einsum("nd,nd->n", vertex_features(mesh), whole)
    assert np.median(cosines) > 0.99 and np.quantile(cosines, 0.05) > 0.95


def test_derivatives_along_a_direction():
    flat = finsler.primitives.plane(12, 12)
    east = np.tile([1.0, 0.0, 0.0], (flat.n_vertices, 1))
    i, j, weights = vertex_gradients(flat, east)
    x, y, _ = flat.vertices.T
    along, across = (np.bincount(i, w * ((3 * x + 5 * y)[j] - (3 * x + 5 * y)[i])) for w in weights)
    assert np.allclose(along, 3.0) and np.allclose(across, 5.0)


def test_domain_of_a_surface_without_direction():
    ball = finsler.primitives.sphere(6)
    unit = UnitSurface.of(ball).mesh
    domain = DirectedDomain.of(unit, finsler.spectrum(finsler.lbo(unit), 40))
    # Nothing tells one direction from another: the field fades.
    assert np.isfinite(domain.gradient).all() and domain.strength.max() <= 1.0 + 1e-6
    constant = np.ones(ball.n_vertices, dtype=np.float32)
    assert np.allclose(domain.derivative() @ constant, 0.0, atol=1e-4)
