import numpy as np
import pytest

import finsler
from exact import union
from finsler import RandersMetric, primitives


def wind_metric(mesh, speed=(0.4, 0.2, 0.1)):
    normals = finsler.mesh.face_normals(mesh)
    wind = np.tile(speed, (mesh.n_faces, 1))
    wind = wind - np.einsum("fi,fi->f", wind, normals)[:, None] * normals
    return RandersMetric.from_wind(mesh, np.tile(np.eye(3), (mesh.n_faces, 1, 1)), wind)


@pytest.mark.parametrize("reverse", [False, True])
def test_straight_in_the_plane(reverse):
    mesh = primitives.plane(30, 30, jitter=0.3)
    metric = wind_metric(mesh, (0.5, 0.3, 0.0))
    source = 480
    distance = finsler.randers_distance(metric, source, reverse=reverse)
    bends = []
    for target in range(0, mesh.n_vertices, 61):
        path = finsler.geodesic_path(metric, distance, source, target, reverse=reverse)
        first, last = (target, source) if reverse else (source, target)
        assert np.allclose(path.points[0], mesh.vertices[first])
        assert np.allclose(path.points[-1], mesh.vertices[last])
        # A way that passes a vertex closely may take the safe bound there.
        assert path.length == pytest.approx(distance[target], rel=1e-5, abs=1e-12)
        chord = mesh.vertices[last] - mesh.vertices[first]
        off = np.cross(path.points - mesh.vertices[first], chord)
        assert np.abs(off).max() < 1e-3
        bends.append(np.abs(off).max())
        assert len(path.faces) == len(path.points) - 1
    assert np.quantile(bends, 0.8) < 1e-9


@pytest.mark.parametrize(("method", "tolerance"), [("eikonal", 0.03), ("heat", 0.12)])
@pytest.mark.parametrize("reverse", [False, True])
def test_length_is_the_distance_on_a_curved_surface(method, tolerance, reverse):
    mesh = primitives.bumpy_sphere(16)
    metric = wind_metric(mesh)
    distance = finsler.randers_distance(metric, 7, method=method, reverse=reverse)
    targets = [v for v in range(20, mesh.n_vertices, 211) if distance[v] > 0.5]
    for target in targets:
        path = finsler.geodesic_path(metric, distance, 7, target, reverse=reverse)
        assert path.length == pytest.approx(distance[target], rel=tolerance)


def test_pieces_lie_in_their_faces():
    mesh = primitives.torus(40, 20, jitter=0.2)
    metric = wind_metric(mesh)
    distance = finsler.randers_distance(metric, 0)
    path = finsler.geodesic_path(metric, distance, 0, 410)
    for face, start, end in zip(path.faces, path.points[:-1], path.points[1:], strict=True):
        corners = mesh.vertices[mesh.faces[face]]
        for point in (start, end):
            weights = np.linalg.lstsq(np.vstack([corners.T, np.ones(3)]), [*point, 1], rcond=None)[
                0
            ]
            assert weights.min() > -1e-9
            assert np.allclose(weights @ corners, point, atol=1e-9)


def test_great_circle_length_converges():
    errors = []
    for frequency in (8, 16, 32):
        mesh = primitives.sphere(frequency)
        metric = RandersMetric.isotropic(mesh)
        distance = finsler.randers_distance(metric, 0)
        target = int(np.argmin(np.abs(mesh.vertices @ mesh.vertices[0] + 0.3)))
        path = finsler.geodesic_path(metric, distance, 0, target)
        exact = np.arccos(mesh.vertices[0] @ mesh.vertices[target])
        errors.append(abs(path.length / exact - 1))
    assert errors[2] < errors[0] and errors[2] < 0.004


def test_there_and_back_take_different_ways():
    mesh = primitives.bumpy_sphere(16)
    metric = wind_metric(mesh, (0.8, 0.0, 0.0))
    there = finsler.randers_distance(metric, 7)
    back = finsler.randers_distance(metric, 7, reverse=True)
    out = finsler.geodesic_path(metric, there, 7, 900)
    home = finsler.geodesic_path(metric, back, 7, 900, reverse=True)
    assert np.allclose(out.points[0], home.points[-1]) and np.allclose(
        out.points[-1], home.points[0]
    )
    assert abs(out.length - home.length) > 0.1


def test_source_itself_and_refusals():
    mesh = primitives.sphere(4)
    metric = RandersMetric.isotropic(mesh)
    distance = finsler.randers_distance(metric, 5)
    path = finsler.geodesic_path(metric, distance, 5, 5)
    assert path.length == 0.0 and path.points.shape == (1, 3) and len(path.faces) == 0
    with pytest.raises(finsler.InputError, match="distance must have shape"):
        finsler.geodesic_path(metric, distance[:-1], 5, 6)
    with pytest.raises(finsler.InputError, match="must lie in"):
        finsler.geodesic_path(metric, distance, 5, 10**6)
    double = union(mesh, mesh)
    far = RandersMetric.isotropic(double)
    reach = finsler.randers_distance(far, 5)
    with pytest.raises(finsler.InputError, match="cannot be reached"):
        finsler.geodesic_path(far, reach, 5, double.n_vertices - 1)


def test_a_distance_of_something_else_is_noticed():
    mesh = primitives.sphere(6)
    metric = RandersMetric.isotropic(mesh)
    noise = np.random.default_rng(0).uniform(1.0, 2.0, mesh.n_vertices)
    hills = np.where(mesh.vertices[:, 2] > 0.3, 50.0, noise)
    source, target = int(np.argmax(mesh.vertices[:, 2])), int(np.argmin(mesh.vertices[:, 2]))
    with pytest.raises(finsler.ConvergenceError, match="path"):
        finsler.geodesic_path(metric, hills, source, target)
