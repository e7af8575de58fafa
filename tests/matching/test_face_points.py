"""Nearest points on the faces around a vertex."""

import numpy as np
import pytest

import finsler
from finsler.matching.face_points import Fans, nearest_on_faces


@pytest.fixture(scope="module")
def ball():
    return finsler.primitives.bumpy_sphere(5)


def fans_of(mesh):
    return Fans.of(mesh.faces, mesh.n_vertices)


def test_every_corner_of_a_fan_is_at_its_vertex(ball):
    fans = fans_of(ball)
    owner = np.repeat(np.arange(ball.n_vertices), np.diff(fans.start))
    assert np.array_equal(ball.faces.ravel()[fans.corners], owner)


def test_points_on_the_surface_are_found_exactly(ball):
    rng = np.random.default_rng(0)
    face = rng.integers(0, ball.n_faces, 200)
    weights = rng.dirichlet([1.0, 1.0, 1.0], 200)
    points = np.einsum("nc,ncx->nx", weights, ball.vertices[ball.faces[face]])
    # Rows in more dimensions, turned at random: only inner products matter.
    turn = np.linalg.qr(rng.normal(size=(9, 9)))[0][:3]
    corner = ball.faces[face, weights.argmax(axis=1)]
    found = nearest_on_faces(points @ turn, ball.vertices @ turn, corner, fans_of(ball))
    assert np.allclose(found.values(ball.vertices), points, atol=1e-7)
    assert np.allclose(found.weights.sum(axis=1), 1.0)


def test_no_sample_of_the_fan_is_nearer(ball):
    rng = np.random.default_rng(1)
    vertex = rng.integers(0, ball.n_vertices, 40)
    queries = ball.vertices[vertex] + 0.15 * rng.normal(size=(40, 3))
    found = nearest_on_faces(queries, ball.vertices, vertex, fans_of(ball))
    distance = np.linalg.norm(found.values(ball.vertices) - queries, axis=1)
    samples = rng.dirichlet([0.4, 0.4, 0.4], 3000)
    for i in range(40):
        around = ball.vertices[ball.faces[(ball.faces == vertex[i]).any(axis=1)]]
        points = np.einsum("sc,fcx->fsx", samples, around).reshape(-1, 3)
        least = np.linalg.norm(points - queries[i], axis=1).min()
        assert least - 0.02 < distance[i] <= least + 1e-9
    assert (found.weights >= 0.0).all()


def test_faces_without_area_do_no_harm():
    vertices = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    fans = Fans.of(np.array([[0, 1, 2], [0, 2, 3]]), 4)
    found = nearest_on_faces(np.array([[0.25, 0.25, 5.0]]), vertices, np.array([0]), fans)
    assert np.allclose(found.values(vertices), [[0.25, 0.25, 0.0]])
