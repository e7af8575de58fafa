"""Errors of maps: the same as a slow and obvious reference, on sound meshes and on bad ones."""

import heapq
import math

import numpy as np
import pytest

from finsler import RandersMetric, TriMesh, primitives, randers_distance
from finsler.errors import InputError
from finsler.evaluation import (
    DistancesOnDemand,
    SurfaceDistances,
    reference_distances,
    score_map,
)


def slow_area(mesh):
    total = 0.0
    for i, j, k in mesh.faces.tolist():
        a, b, c = mesh.vertices[i], mesh.vertices[j], mesh.vertices[k]
        total += 0.5 * math.sqrt(sum(x * x for x in np.cross(b - a, c - a)))
    return total


def slow_way(mesh, source, target):
    """Dijkstra with dictionaries, to the end."""
    neighbours = {v: set() for v in range(mesh.n_vertices)}
    for face in mesh.faces.tolist():
        for one in face:
            neighbours[one] |= set(face) - {one}
    known, waiting = {}, [(0.0, source)]
    while waiting:
        time, v = heapq.heappop(waiting)
        if v in known:
            continue
        known[v] = time
        for w in neighbours[v]:
            heapq.heappush(waiting, (time + math.dist(mesh.vertices[v], mesh.vertices[w]), w))
    return known.get(target, math.inf)


def slow_front(mesh, source, target):
    """Arrival times at all vertices, of which one is taken."""
    metric = RandersMetric(mesh, np.eye(3), np.zeros(3))
    return float(randers_distance(metric, source)[target])


@pytest.fixture(scope="module")
def problem():
    """Two bumpy spheres, a map that is right, near or far, and points of which some are twice."""
    rng = np.random.default_rng(0)
    first, second = primitives.bumpy_sphere(5), primitives.bumpy_sphere(4)
    second = TriMesh(3.0 * second.vertices + 1.0, second.faces)
    truth = rng.integers(0, [first.n_vertices, second.n_vertices], size=(60, 2))
    truth = np.concatenate([truth, truth[:7]])
    maps = rng.integers(0, second.n_vertices, first.n_vertices)
    maps[truth[:20, 0]] = truth[:20, 1]
    return first, second, truth, maps, rng.integers(0, first.n_vertices, second.n_vertices)


def test_errors_agree_with_a_slow_reference(problem):
    first, second, truth, maps, back = problem
    score = score_map(first, second, truth, maps, back)
    unit = math.sqrt(slow_area(second))
    slow = [slow_way(second, b, maps[a]) / unit for a, b in truth]
    assert len(score.along_edges) == 67
    assert np.abs(score.along_edges - slow).max() < 1e-6
    rows = sorted({(int(a), int(b)) for a, b in truth})
    strict = [slow_front(second, b, maps[a]) / unit for a, b in rows]
    assert len(score.fast_marching) == len(rows) < 67
    assert np.abs(score.fast_marching - strict).max() < 1e-6
    assert score.coverage == len(set(maps.tolist())) / second.n_vertices
    trips = [slow_way(first, v, back[maps[v]]) for v in range(first.n_vertices)]
    assert abs(score.bijectivity - np.mean(trips) / math.sqrt(slow_area(first))) < 1e-6
    assert score.notes == ()


def test_many_points_are_sampled_for_the_strict_error(monkeypatch, problem):
    first, second, truth, maps, _ = problem
    monkeypatch.setattr("finsler.evaluation.maps.STRICT_POINTS", 10)
    whole = score_map(first, second, truth, maps)
    again = score_map(first, second, truth, maps)
    other = score_map(first, second, truth, maps, seed=1)
    assert len(whole.fast_marching) == 10 and len(whole.along_edges) == 67
    assert np.array_equal(whole.fast_marching, again.fast_marching)
    assert not np.array_equal(whole.fast_marching, other.fast_marching)
    assert math.isnan(whole.bijectivity)


def test_fast_marching_is_nearly_exact_and_edges_are_too_long():
    sphere = primitives.sphere(16)
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, sphere.n_vertices, (2, 100))
    cosine = np.einsum("ni,ni->n", sphere.vertices[a], sphere.vertices[b])
    exact = np.arccos(np.clip(cosine, -1.0, 1.0)) / math.sqrt(4 * math.pi)
    distances = SurfaceDistances(sphere)
    assert np.abs(distances.fast_marching(a, b) - exact).max() < 0.015
    assert 1.03 < distances.along_edges(a, b).sum() / exact.sum() < 1.15


def test_the_dirichlet_energy_is_that_of_the_faces(problem):
    first, second, truth, maps, _ = problem
    energy = 0.0
    unit = math.sqrt(slow_area(second))
    for face in first.faces:
        corners = first.vertices[face]
        normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
        area = 0.5 * np.linalg.norm(normal)
        # Gradients of the hat functions: the opposite edge turned into the face, over 2 area.
        hats = [
            np.cross(normal, corners[(i + 2) % 3] - corners[(i + 1) % 3]) / (4 * area**2)
            for i in range(3)
        ]
        images = second.vertices[maps[face]] / unit
        jacobian = sum(np.outer(images[i], hats[i]) for i in range(3))
        energy += 0.5 * area * (jacobian**2).sum()
    assert score_map(first, second, truth, maps).dirichlet == pytest.approx(energy, rel=1e-9)


def spoiled(mesh):
    """With a third face on an edge, a face without area, and a vertex without a face."""
    n, (a, b, c) = mesh.n_vertices, mesh.faces[0]
    vertices = np.concatenate([mesh.vertices, 1.1 * mesh.vertices[[a]], [[5.0, 5.0, 5.0]]])
    return TriMesh(vertices, np.concatenate([mesh.faces, [[a, b, n], [a, c, a]]]))


def test_bad_meshes_are_measured_all_the_same():
    mesh = primitives.bumpy_sphere(4)
    bad, n = spoiled(mesh), mesh.n_vertices
    every = np.arange(n)
    truth = np.stack([every, np.roll(every, 1)], axis=1)
    onto = np.r_[every, 0, 0]
    score = score_map(bad, bad, truth, onto, onto)
    unit = math.sqrt(slow_area(bad))
    slow = [slow_way(bad, b, a) / unit for a, b in truth]
    assert np.abs(score.along_edges - slow).max() < 1e-6
    # The fin is no shortcut: distances are those of the sound mesh.
    strict = [slow_front(mesh, b, a) / unit for a, b in truth]
    assert np.abs(score.fast_marching - strict).max() < 1e-2
    assert np.isfinite([score.dirichlet, score.bijectivity]).all() and score.notes == ()
    lonely = score_map(bad, bad, truth, np.full(n + 2, n + 1))
    assert np.isfinite(lonely.along_edges).all() and np.isfinite(lonely.fast_marching).all()
    assert "another component" in lonely.notes[0]


def test_a_reference_with_three_faces_at_an_edge_is_measured():
    mesh = primitives.bumpy_sphere(3)
    n, (a, b, _) = mesh.n_vertices, mesh.faces[0]
    fin = TriMesh(
        np.concatenate([mesh.vertices, 1.1 * mesh.vertices[[a]]]),
        np.concatenate([mesh.faces, [[a, b, n]]]),
    )
    with_fin, without = reference_distances(fin), reference_distances(mesh)
    far = with_fin.matrix[:n, :n] * np.sqrt(with_fin.area)
    assert np.isfinite(with_fin.matrix).all()
    assert np.abs(far - without.matrix * np.sqrt(without.area)).max() < 0.06 * without.diameter
    some = DistancesOnDemand(fin).between([0, 5], [7, n])
    assert np.allclose(some, with_fin.between([0, 5], [7, n]), rtol=1e-5)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda maps: maps[:-1], "it must name a vertex for each vertex"),
        (lambda maps: maps - 1000, r"names a vertex outside 0\.\.161"),
        (lambda maps: maps + 1000, r"names a vertex outside 0\.\.161"),
        (lambda maps: maps + 0.5, "whole numbers"),
    ],
)
def test_maps_that_do_not_fit(problem, change, sentence):
    first, second, truth, maps, back = problem
    with pytest.raises(InputError, match=sentence):
        score_map(first, second, truth, change(maps))
    with pytest.raises(InputError, match="the map back"):
        score_map(first, second, truth, maps, back[1:])
