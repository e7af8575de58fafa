"""The network of the model in the box: its layers, its loss, and its training."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import finsler
from finsler.data import synthetic_collection
from finsler.descriptors.directed import DirectedDomain
from finsler.descriptors.learned import FeatureModel
from finsler.nn.maps.directed_net import DirectedNet, DirectedTensors, contrastive_loss
from finsler.nn.training import box, box_shapes


@pytest.fixture(scope="module")
def domain():
    mesh = finsler.primitives.bumpy_sphere(5)
    unit = finsler.TriMesh(mesh.vertices / np.sqrt(finsler.mesh.surface_area(mesh)), mesh.faces)
    return DirectedTensors.of(DirectedDomain.of(unit, finsler.spectrum(finsler.lbo(unit), 30)))


def test_rows_have_length_one_and_all_weights_get_gradients(domain):
    torch.manual_seed(0)
    network = DirectedNet(4, 8, channels=6, blocks=2)
    out = network(torch.randn(len(domain.mass), 4), domain)
    assert out.shape == (len(domain.mass), 8)
    assert torch.allclose(out.norm(dim=1), torch.ones(len(out)), atol=1e-5)
    (out * torch.randn_like(out)).sum().backward()
    assert all(p.grad is not None and p.grad.abs().max() > 0 for p in network.parameters())


def test_derivatives_have_the_right_gradient(domain):
    from finsler.nn.maps.directed_net import _Product

    x = torch.randn(len(domain.mass), 3, dtype=torch.float64, requires_grad=True)
    matrix, transposed = domain.derivative.double(), domain.transposed.double()
    found = _Product.apply(matrix, transposed, x)
    weights = torch.randn_like(found)
    (found * weights).sum().backward()
    assert torch.allclose(x.grad, matrix.to_dense().T @ weights)


def test_times_spread_functions_over_the_surface(domain):
    network = DirectedNet(1, 4, channels=2, blocks=1)
    block = network.blocks[0]
    assert block.log_time.exp().min() < 1e-3 < 0.05 < block.log_time.exp().max()


def test_loss_is_least_where_points_meet_their_partners():
    points = torch.nn.functional.normalize(
        torch.randn(50, 16, generator=torch.Generator().manual_seed(0)), dim=1
    )
    apart = 10.0 * (1.0 - torch.eye(50))
    scale = torch.tensor(30.0)
    met = contrastive_loss([points, points], apart, scale, 0.02)
    shuffled = contrastive_loss([points, points.roll(1, dims=0)], apart, scale, 0.02)
    assert met < 0.1 < 3.0 < shuffled
    # A neighbour that is near enough is as good.
    apart[0, 1] = apart[1, 0] = 0.0
    both = contrastive_loss([points, points], apart, scale, 0.02)
    swapped = points.clone()
    swapped[[0, 1]] = points[[1, 0]]
    assert contrastive_loss([points, swapped], apart, scale, 0.02) == pytest.approx(float(both))


@pytest.mark.parametrize(("channels", "blocks"), [(0, 1), (4, 0)])
def test_bad_sizes(channels, blocks):
    with pytest.raises(finsler.InputError, match="at least 1"):
        DirectedNet(4, 8, channels=channels, blocks=blocks)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with four shapes of each species, and a part of each of them."""
    folder = tmp_path_factory.mktemp("box")
    for kind in box_shapes.SPECIES:
        for kept in ("shapes", "parts"):
            paths = box_shapes.make_shapes(
                folder / kept, kind, 4, box_shapes.Workers(jobs=1), parts=kept == "parts"
            )
            assert len(paths) == 4
    return folder


CONFIG = box.BoxConfig(
    shapes=4, held_out=1, channels=8, blocks=1, features=8, histogram=4, steps=4, points=50
)


def run(folder, made, steps):
    """A training that stops after so many of its steps."""
    folder.mkdir(exist_ok=True)
    for kept in ("shapes", "parts"):
        if not (folder / kept).exists():
            (folder / kept).symlink_to(made / kept)
    training = box.BoxTraining(folder, CONFIG)
    while training.step < steps:
        training._take_step()
    training._save()
    return training


def test_shapes_are_made_once_and_in_the_order_of_their_numbers(made):
    before = {path: path.stat().st_mtime_ns for path in (made / "shapes").iterdir()}
    box_shapes.make_shapes(made / "shapes", "person", 4, box_shapes.Workers(jobs=1))
    assert before == {path: path.stat().st_mtime_ns for path in (made / "shapes").iterdir()}
    names = [path.stem for path in box_shapes.kept_shapes(made / "shapes", "animal")]
    assert names == sorted(names) and len(names) == 4


def test_what_parts_are_made_of_is_cut_every_time(made):
    def shares(kept):
        paths = box_shapes.kept_shapes(made / kept, "person")
        return np.array([float(np.load(path)["share"]) for path in paths])

    assert (shares("parts") < 0.95).all() and not np.allclose(shares("parts"), shares("shapes"))


def test_only_the_network_of_parts_is_told_of_borders(tmp_path, made):
    inputs = {}
    for parts in (False, True):
        (tmp_path / f"{parts}").mkdir()
        for kept in ("shapes", "parts"):
            (tmp_path / f"{parts}" / kept).symlink_to(made / kept)
        config = dataclasses.replace(CONFIG, parts=parts)
        training = box.BoxTraining(tmp_path / f"{parts}", config)
        known = {shape.part for shapes in training.seen.values() for shape in shapes}
        assert known == ({False, True} if parts else {False})
        inputs[parts] = training.network.first.in_features
        model = training.export(tmp_path / f"{parts}.npz", {"version": "t", "parts": parts})
        assert model.reads_border == parts
        assert FeatureModel.read(tmp_path / f"{parts}.npz").reads_border == parts
    assert inputs[True] == inputs[False] + 2


def test_parts_keep_points_and_share():
    whole = synthetic_collection("animal", train=1, test=0, poses=1, vertices=1000)
    whole = whole[whole.train[0]]
    shares = []
    for seed in range(30):
        part, share = box_shapes.part_of(whole, np.random.default_rng(seed))
        area, full = (finsler.mesh.measures.surface_area(s.mesh) for s in (part, whole))
        assert area / full == pytest.approx(share)
        known = part.points >= 0
        assert np.array_equal(
            part.mesh.vertices[part.points[known]], whole.mesh.vertices[whole.points[known]]
        )
        shares.append(share)
    parts = [share for share in shares if share < 1.0]
    assert 1 < len(parts) < 15 and min(parts) > 0.35 and max(parts) < 0.95


def test_of_the_shapes_of_a_step_only_the_first_may_be_a_part():
    shapes = [SimpleNamespace(part=number % 2 == 1, number=number) for number in range(8)]
    firsts = set()
    for seed in range(40):
        first, *others = box._chosen(shapes, 3, np.random.default_rng(seed))
        assert not any(shape.part for shape in others)
        assert len({shape.number for shape in (first, *others)}) == 3
        firsts.add(first.part)
    assert firsts == {False, True}


def test_interrupted_training_goes_on_as_if_nothing_had_happened(made, tmp_path):
    whole = run(tmp_path / "whole", made, 4)
    run(tmp_path / "cut", made, 2)
    resumed = run(tmp_path / "cut", made, 4)
    assert resumed.step == whole.step == 4
    for one, other in zip(whole.network.parameters(), resumed.network.parameters(), strict=True):
        assert torch.equal(one, other)


def test_training_reports_and_exports(made, tmp_path):
    said = []
    training = run(tmp_path / "run", made, 0)
    training.train(every=2, notify=said.append)
    assert [line.split(":")[0] for line in said] == ["step 2", "step 4"]
    assert "held out: person" in said[-1]
    card = box.model_card("test", CONFIG, training.measure())
    training.export(tmp_path / "model.npz", card)
    model = FeatureModel.read(tmp_path / "model.npz")
    assert model.version == "test" and model.size == 8 and model.blocks == 1
    mesh = finsler.primitives.bumpy_sphere(6)
    assert finsler.descriptors.vertex_features(mesh, model=tmp_path / "model.npz").shape[1] == 8
