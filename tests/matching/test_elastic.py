"""The nearest rotation to a matrix, against singular values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from finsler.matching.elastic import _nearest_rotations, _rotations_by_svd


def matrices(kind: str) -> np.ndarray:
    """Matrices whose nearest rotation is unique, but for those called degenerate."""
    rng = np.random.default_rng(0)
    m = rng.normal(size=(400, 3, 3))
    sign = np.sign(np.linalg.det(m))[:, None, None]
    turns = Rotation.random(400, random_state=1).as_matrix()
    return {
        "positive": sign * m,
        "negative": -sign * m,
        "nearly flat": turns @ np.diag([1.0, 0.5, 1e-9]) @ turns[::-1],
        "flat": turns @ np.diag([3.0, 2.0, 0.0]) @ turns[::-1],
        "small": 1e-7 * turns,
        "degenerate": turns @ np.diag([1.0, 0.3, -0.3]) @ turns.transpose(0, 2, 1),
        "one direction": turns @ np.diag([1.0, 0.0, 0.0]),
        "zero": np.zeros((3, 3, 3)),
    }[kind]


@pytest.mark.parametrize("kind", ["positive", "negative", "nearly flat", "flat", "small"])
def test_it_is_that_of_the_singular_values(kind: str) -> None:
    given = matrices(kind)
    np.testing.assert_allclose(_nearest_rotations(given), _rotations_by_svd(given), atol=1e-7)


@pytest.mark.parametrize("kind", ["degenerate", "one direction", "positive"])
def test_no_rotation_is_nearer(kind: str) -> None:
    given = matrices(kind)
    found = _nearest_rotations(given)
    assert np.abs(found.transpose(0, 2, 1) @ found - np.eye(3)).max() < 1e-8
    np.testing.assert_allclose(np.linalg.det(found), 1.0, atol=1e-8)
    best = np.einsum("nij,nij->n", found, given)
    for turn in Rotation.random(50, random_state=2).as_matrix():
        assert (np.einsum("ij,nij->n", turn, given) <= best + 1e-8).all()


def test_nothing_is_no_trouble() -> None:
    assert np.isfinite(_nearest_rotations(matrices("zero"))).all()
