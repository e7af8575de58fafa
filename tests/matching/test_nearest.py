"""The nearest of many rows, by brute force and by cells."""

from __future__ import annotations

import numpy as np
import pytest

from finsler.matching import nearest
from finsler.matching.cells import nearest_in_cells
from finsler.matching.nearest import nearest_of_few, nearest_rows


def on_a_surface(count: int, dimensions: int, seed: int) -> np.ndarray:
    """Points on a torus, bent into many dimensions by waves."""
    rng = np.random.default_rng(seed)
    angles = rng.uniform(0.0, 2.0 * np.pi, (count, 2))
    waves = np.random.default_rng(0).integers(-4, 5, (2, dimensions // 2))
    return np.hstack([np.cos(angles @ waves), np.sin(angles @ waves)])


def distance_to(queries: np.ndarray, points: np.ndarray) -> np.ndarray:
    return np.linalg.norm(queries - points, axis=1)


def brute(queries: np.ndarray, points: np.ndarray) -> np.ndarray:
    """In double precision, row by row."""
    return np.array([distance_to(query, points).argmin() for query in queries])


@pytest.mark.parametrize("dimensions", [4, 60])
def test_cells_find_the_nearest_of_many(dimensions: int) -> None:
    points, queries = on_a_surface(12_000, dimensions, 1), on_a_surface(2500, dimensions, 2)
    queries += 0.01 * np.random.default_rng(3).normal(size=queries.shape)
    found, truth = nearest_rows(queries, points), brute(queries, points)
    assert (found == truth).mean() > 0.995
    np.testing.assert_allclose(
        distance_to(queries, points[found]), distance_to(queries, points[truth]), atol=1e-5
    )


def test_cells_take_double_points_and_queries_far_away() -> None:
    points = on_a_surface(6000, 20, 1).repeat(2, axis=0)
    queries = np.vstack([points[::5], 1000.0 * points[:200]])
    found, truth = nearest_rows(queries, points), brute(queries, points)
    best = distance_to(queries, points[truth])
    np.testing.assert_allclose(distance_to(queries, points[found]), best, rtol=1e-6, atol=1e-5)


def test_points_without_structure_are_left_to_brute_force() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(10_000, 60)).astype(np.float32)
    queries = rng.normal(size=(2000, 60)).astype(np.float32)
    assert nearest_in_cells(queries, points) is None
    np.testing.assert_array_equal(nearest_rows(queries[:20], points), brute(queries[:20], points))


def test_few_points_are_searched_by_brute_force(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "nearest_in_cells", lambda *_: pytest.fail("cells of few points"))
    points = on_a_surface(500, 10, 1).repeat(2, axis=0)
    found = nearest_rows(points, points)
    np.testing.assert_array_equal(found, np.arange(1000) // 2 * 2)  # the first of equally near ones


def test_nearest_among_those_that_are_near() -> None:
    rng = np.random.default_rng(4)
    queries, points = rng.normal(size=(300, 30)), rng.normal(size=(500, 30))
    near = queries[:, :2], points[:, :2]
    found = nearest_of_few(*near, queries, points, 7)
    for query, place, index in zip(queries, near[0], found, strict=True):
        few = np.argsort(distance_to(place, near[1]))[:7]
        assert index == few[distance_to(query, points[few]).argmin()]
