"""Landmarks, alternatives and rigid copies: what a user can do about a doubtful match."""

import numpy as np
import pytest

import finsler
from finsler.matching import match
from finsler.matching.contenders import contenders
from finsler.matching.landmarks import (
    checked_landmarks,
    read_landmarks,
    with_landmarks,
    write_landmarks,
)
from finsler.matching.preference import Preference
from finsler.storage.outputs import written_by


def spheroid():
    """A ball that is longer along z and slightly bumped on one side: nearly symmetric."""
    ball = finsler.primitives.sphere(9)
    x, y, z = ball.vertices.T
    bump = 0.06 * np.exp(-4.0 * ((x - 0.8) ** 2 + (y - 0.3) ** 2 + (z - 0.4) ** 2))
    return finsler.TriMesh(ball.vertices * [1.0, 1.0, 1.8] * (1.0 + bump)[:, None], ball.faces)


def turned(mesh):
    """About the x axis by 180°: what was up is down."""
    return finsler.TriMesh(mesh.vertices * [1.0, -1.0, -1.0], mesh.faces)


def test_landmarks_decide_between_symmetric_maps():
    mesh = finsler.TriMesh(
        finsler.primitives.sphere(9).vertices * [1.0, 1.0, 1.8], finsler.primitives.sphere(9).faces
    )
    points = mesh.vertices
    ends = [
        int(np.argmax(points[:, 2])),
        int(np.argmin(points[:, 2])),
        int(np.argmax(points[:, 0])),
    ]
    for upside_down in (False, True):
        goal = points * [1.0, -1.0, -1.0] if upside_down else points
        pairs = [(v, int(np.linalg.norm(points - goal[v], axis=1).argmin())) for v in ends]
        found = match(mesh, mesh, k=40, landmarks=pairs)
        height = found.mesh_2.vertices[found.map_12, 2]
        agreement = np.corrcoef(height, goal[:, 2])[0, 1]
        assert agreement > 0.95


def test_landmarks_weigh_as_much_as_the_model():
    surface = finsler.describe(spheroid(), k=40)
    first, second = with_landmarks(surface, surface, np.array([[0, 0], [5, 5]]))
    assert first.features.shape == (surface.mesh.n_vertices, 258)
    added = second.features[:, 256:]
    assert added[0, 0] == pytest.approx(0.0, abs=0.05) and added.max() > 1.0


@pytest.mark.parametrize(
    ("pairs", "sentence"),
    [
        ([[0, 1, 2]], "must be pairs"),
        ([], "must be pairs"),
        ([[0.5, 1.0]], "must be pairs"),
        ([[0, 10]], "landmark 10 is not a vertex of mesh 2, which has 0..9"),
        ([[-1, 0]], "landmark -1 is not a vertex of mesh 1"),
        ([[0, 0]] * 101, "at most 100"),
    ],
)
def test_bad_landmarks(pairs, sentence):
    with pytest.raises(finsler.InputError, match=sentence):
        checked_landmarks(pairs, 10, 10)


def test_files_of_landmarks(tmp_path):
    path = tmp_path / "pairs.txt"
    path.write_text("# nose, tail\n3 4\n 5, 6  # paw\n\n")
    assert read_landmarks(path).tolist() == [[3, 4], [5, 6]]
    for text, sentence in (("1 2 3", "line 1"), ("1 -2", "line 1"), ("# none", "no pair")):
        path.write_text(text)
        with pytest.raises(finsler.InputError, match=sentence):
            read_landmarks(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(finsler.InputError, match="no text"):
        read_landmarks(path)


def test_written_landmarks_are_read_back_and_say_who_wrote_them(tmp_path):
    path = tmp_path / "pairs.txt"
    with written_by("view"):
        assert write_landmarks(path, [(3, 4), (5, 600)]) == path
    assert read_landmarks(path).tolist() == [[3, 4], [5, 600]]
    assert "made by finsler view" in path.read_text()
    before = path.read_bytes()
    with pytest.raises(finsler.InputError, match="no pair of vertices to write"):
        write_landmarks(path, [])
    assert path.read_bytes() == before


def test_rigid_copy_is_found_exactly():
    mesh = finsler.primitives.bumpy_sphere(9)
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    turn[:, 0] *= np.linalg.det(turn)
    order = rng.permutation(mesh.n_vertices)
    new = np.argsort(order)
    copy = finsler.TriMesh(7.0 * mesh.vertices[order] @ turn.T - 3.0, new[mesh.faces])
    found = match(mesh, copy, k=60)
    assert np.array_equal(found.map_12, new) and np.array_equal(found.map_21, order)


def test_alternatives_differ_and_are_less_probable():
    mesh = spheroid()
    found = match(mesh, turned(mesh), k=60, alternatives=2)
    assert 1 <= len(found.alternatives) <= 2
    for other in found.alternatives:
        apart = found.mesh_2.vertices[found.map_12] - found.mesh_2.vertices[other.map_12]
        assert np.linalg.norm(apart, axis=1).mean() > 0.05
        assert other.verdict.probability <= found.verdict.probability
    assert match(mesh, mesh, k=60).alternatives == ()


def test_confidence_counts_the_whole_map():
    found = match(finsler.primitives.bumpy_sphere(9), finsler.primitives.torus(30, 15), k=30)
    assert found.verdict.doubtful
    assert found.confidence.max() <= found.verdict.probability


def test_excess_of_features_is_none_along_nearest_and_large_along_random():
    surface = finsler.describe(finsler.primitives.bumpy_sphere(9), k=60)
    n = surface.mesh.n_vertices
    same, rng = np.arange(n), np.random.default_rng(0)
    preference = Preference.of(surface, surface)
    random = rng.integers(0, n, n)
    assert preference.excess(same) == pytest.approx(0.0, abs=1e-6)
    assert 0.8 < preference.excess(random) < 1.2
    # More than 0.3 √area from a vertex: all but a cap with 9% of the area of a unit sphere.
    assert preference.elsewhere(same) < 0.05 and preference.elsewhere(random) > 0.6


def test_surfaces_of_different_models_are_compared_without_them():
    mesh = finsler.primitives.bumpy_sphere(9)
    one, other = finsler.describe(mesh, k=60), finsler.describe(mesh, k=60, model="none")
    assert other.features.shape[1] == 0 and other.model == "none"
    found = match(one, other)
    assert np.isnan(found.verdict.features) and (found.map_12 == np.arange(len(found.map_12))).all()


def test_contenders_of_described_surfaces():
    surface = finsler.describe(spheroid(), k=60)
    found = contenders(surface, surface, alternatives=3)
    chances = [each.verdict.probability for each in found]
    assert chances == sorted(chances, reverse=True)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"alternatives": -1}, "must not be negative"),
        ({"initial": np.zeros(92, dtype=int), "alternatives": 1}, "without an initial map"),
        ({"landmarks": [[0, 5000]]}, "is not a vertex of mesh 2"),
        ({"model": "boxes"}, "must be box"),
    ],
)
def test_bad_options(options, sentence):
    ball = finsler.primitives.bumpy_sphere(3)
    with pytest.raises(finsler.InputError, match=sentence):
        match(ball, ball, k=20, **options)
