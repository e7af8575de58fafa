"""`finsler match --model`: maps that a trained network finds."""

import json

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import finsler
from finsler.cli.main import app
from finsler.data import PrepareConfig
from finsler.errors import InputError
from finsler.matching import learned
from finsler.matching.learned import best_agreement, learned_map
from finsler.nn.training import About, TrainConfig, save_checkpoint


@pytest.fixture(scope="module")
def sphere():
    return finsler.primitives.bumpy_sphere(6)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A network with random weights for meshes with positions as features."""
    prepare = PrepareConfig(angles=2, descriptor="xyz")
    config = TrainConfig(channels=4, layers=1, order=2, hidden=8, device="cpu")
    about = About(config, 3, 20, 2, prepare, "")
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("run") / "last.safetensors"
    save_checkpoint(path, about, about.build())
    return path


def test_rows_that_agree_best(monkeypatch):
    first = np.array([[0.9, 0.1, 0.0], [0.0, 0.5, 0.5]], dtype=np.float32)
    second = np.array([[0.0, 0.1, 0.9], [0.8, 0.2, 0.0], [0.2, 0.8, 0.0]], dtype=np.float32)
    for cells in (2**24, 3):
        monkeypatch.setattr(learned, "_CELLS", cells)
        rows, largest = best_agreement(first, second)
        assert rows.tolist() == [1, 0]
        assert largest == pytest.approx([0.74, 0.5])


def test_probabilities_of_a_checkpoint(checkpoint, sphere):
    network, about = finsler.nn.training.load_model(checkpoint)
    found = learned._probabilities(network, about, sphere)
    assert found.shape == (362, 20)
    assert np.allclose(found.sum(axis=1), 1.0, atol=1e-5) and found.min() > 0.0
    # Unit and position do not matter, since meshes are prepared as for training.
    moved = finsler.TriMesh(7.0 * sphere.vertices + 3.0, sphere.faces)
    assert np.allclose(learned._probabilities(network, about, moved), found, atol=1e-5)


def test_vertices_without_a_face_have_no_trust(checkpoint, sphere):
    lonely = finsler.TriMesh(np.concatenate([sphere.vertices, [[9.0, 9.0, 9.0]]]), sphere.faces)
    one, other = learned_map(checkpoint, lonely, sphere), learned_map(checkpoint, sphere, sphere)
    assert np.array_equal(one.map_12[:362], other.map_12)
    assert one.trust.shape == (363,) and one.trust[362] == 0.0 < one.trust[:362].max() <= 1.0


def test_learned_map_is_kept_or_refined(checkpoint, sphere, tmp_path, monkeypatch):
    order = np.random.default_rng(0).permutation(362)
    other = finsler.TriMesh(sphere.vertices[order], np.argsort(order)[sphere.faces])
    finsler.write_mesh(tmp_path / "a.ply", sphere)
    finsler.write_mesh(tmp_path / "b.ply", other)
    # A network that is sure of 70% of the vertices of A, and calls the others by wrong names.
    names = np.arange(362)
    wrong = np.random.default_rng(1).random(362) < 0.3
    names[wrong] = np.roll(names[wrong], 1)
    rows = iter([np.eye(362, dtype=np.float32)[names], np.eye(362, dtype=np.float32)[order]] * 2)
    monkeypatch.setattr(learned, "_probabilities", lambda *_: next(rows))
    right = {}
    for option in ("--no-refine", "--refine"):
        out = tmp_path / f"map{option}.npz"
        arguments = [tmp_path / "a.ply", tmp_path / "b.ply", "-o", out, "-k", 60]
        arguments += ["--model", checkpoint, option, "--json"]
        result = CliRunner().invoke(app, ["match", *map(str, arguments)], catch_exceptions=False)
        config = json.loads(result.stdout)["config"]
        assert config["model"] == "last.safetensors" and config["refine"] is (option == "--refine")
        with np.load(out) as data:
            right[option] = order[data["map_12"]] == np.arange(362)
    assert np.array_equal(right["--no-refine"], ~wrong)
    assert right["--refine"].mean() > 0.95


def test_damaged_checkpoint(checkpoint, sphere, tmp_path):
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(checkpoint.read_bytes()[:-10])
    with pytest.raises(InputError, match=r"broken\.safetensors"):
        learned_map(broken, sphere, sphere)
