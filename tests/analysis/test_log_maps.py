"""Logarithmic map and transport: exact on flat meshes, convergent on the sphere, invariant."""

import numpy as np
import pytest

import finsler
from exact import relabelled, rotation, union
from finsler import TriMesh, primitives
from finsler.analysis.log_maps import Support, frame_neighbors, vertex_support


def rows_of(support):
    return np.repeat(np.arange(support.n_vertices), np.diff(support.indptr))


def pairs_of(support):
    return list(zip(rows_of(support).tolist(), support.indices.tolist(), strict=True))


def angle_between(a, b):
    return np.abs(np.angle(np.exp(1j * (a - b))))


def planar_errors(mesh, support):
    """Largest errors of r, direction, theta and phi of a mesh in the plane z = 0."""
    i, j = rows_of(support), support.indices
    x = mesh.vertices[:, 0] + 1j * mesh.vertices[:, 1]
    axis = np.angle(x[frame_neighbors(mesh)] - x)
    other = i != j
    step = (x[j] - x[i])[other]
    return (
        np.abs(support.r[other] - np.abs(step)).max(),
        angle_between(support.direction[other] + axis[i][other], np.angle(step)).max(),
        angle_between(support.theta[other] + axis[j][other], np.angle(-step)).max(),
        angle_between(support.phi[other] + axis[i][other], axis[j][other]).max(),
    )


def rough_sphere(frequency, amount=0.3):
    """Points of the unit sphere moved at random, in the triangulation of their convex hull."""
    from scipy.spatial import ConvexHull

    points = primitives.sphere(frequency).vertices
    noise = np.random.default_rng(0).standard_normal(points.shape)
    points = points + amount / frequency * noise
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    faces = ConvexHull(points).simplices
    a, b, c = points[faces].transpose(1, 0, 2)
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), a) < 0.0
    faces[inward] = faces[inward][:, ::-1]
    return TriMesh(points, faces)


def spherical_truth(points, first, i, j):
    """Distance, angle of log_i(j), and transport from j to i on the unit sphere."""

    def toward(a, b):
        tangent = b - a * np.einsum("ij,ij->i", a, b)[:, None]
        return tangent / np.linalg.norm(tangent, axis=1, keepdims=True)

    second = np.cross(points, first)

    def angle(at, to):
        tangent = toward(points[at], points[to])
        along = [np.einsum("ij,ij->i", tangent, axis[at]) for axis in (first, second)]
        return np.arctan2(along[1], along[0])

    sine = np.linalg.norm(np.cross(points[i], points[j]), axis=1)
    distance = np.arctan2(sine, np.einsum("ij,ij->i", points[i], points[j]))
    here, there = angle(i, j), angle(j, i)
    return distance, here, here - there + np.pi


def spherical_errors(mesh, radius):
    """Mean errors of r (relative to the radius), direction and phi on the unit sphere."""
    support = vertex_support(mesh, radius)
    i, j = rows_of(support), support.indices
    other = i != j
    p = mesh.vertices
    edge = p[frame_neighbors(mesh)] - p
    first = edge - p * np.einsum("ij,ij->i", p, edge)[:, None]
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    distance, direction, phi = spherical_truth(p, first, i[other], j[other])
    return np.array(
        [
            np.abs(support.r[other] - distance).mean() / radius,
            angle_between(support.direction[other], direction).mean(),
            angle_between(support.phi[other], phi).mean(),
        ]
    )


class TestPlane:
    @pytest.mark.parametrize("jitter", [0.0, 0.3])
    def test_is_exact_up_to_the_boundary(self, jitter):
        mesh = primitives.plane(12, 12, jitter=jitter)
        support = vertex_support(mesh, 0.3)
        assert max(planar_errors(mesh, support)) < 1e-6
        distance = np.linalg.norm(mesh.vertices[:, None] - mesh.vertices, axis=2)
        near = distance <= 0.3 * (1.0 + 1e-9)
        assert np.array_equal(rows_of(support), np.nonzero(near)[0])
        assert np.array_equal(support.indices, np.nonzero(near)[1])

    def test_paths_bend_around_a_corner_of_the_boundary(self):
        mesh = primitives.plane(8, 8, size=(8.0, 8.0))
        centre = mesh.vertices[mesh.faces].mean(axis=1)
        kept = finsler.repair(
            TriMesh(mesh.vertices, mesh.faces[(centre[:, :2] < 4.0).sum(axis=1) > 0])
        ).mesh
        support = vertex_support(kept, 4.0)
        number = {tuple(v): k for k, v in enumerate(kept.vertices[:, :2].astype(int).tolist())}
        i, j, corner = number[3, 6], number[5, 4], number[4, 4]
        at = {pair: k for k, pair in enumerate(pairs_of(support))}
        k, to_corner, from_corner = at[i, j], at[i, corner], at[corner, j]
        assert support.r[k] == pytest.approx(np.sqrt(5.0) + 1.0, rel=1e-6)
        assert support.direction[k] == support.direction[to_corner]
        assert support.theta[k] == support.theta[from_corner]
        x = kept.vertices[:, 0] + 1j * kept.vertices[:, 1]
        axis = np.angle(x[frame_neighbors(kept)] - x)
        rows = rows_of(support)
        assert angle_between(support.phi + axis[rows], axis[support.indices]).max() < 1e-6


class TestSphere:
    @pytest.mark.parametrize("make", [primitives.sphere, rough_sphere])
    def test_converges_with_refinement(self, make):
        # The radius is always four edges.
        errors = np.array([spherical_errors(make(f), 4.4 / f) for f in (8, 16, 32)])
        assert (errors[0] < [2e-3, 5e-3, 8e-3]).all()
        rates = np.log2(errors[:-1] / errors[1:])
        assert rates.min() > 1.7

    def test_curvature_is_spread(self):
        # Without it directions and transport are wrong by 7e-4 and 1.2e-3 here.
        assert (spherical_errors(primitives.sphere(16), 4.4 / 16)[1:] < [6e-5, 1.1e-4]).all()

    def test_against_the_vector_heat_method(self):
        # Distances are closer to the truth here, angles there.
        solver_of = pytest.importorskip("potpourri3d").MeshVectorHeatSolver
        mesh, radius = rough_sphere(16), 4.4 / 16
        solver = solver_of(mesh.vertices, mesh.faces)
        first, _, _ = solver.get_tangent_frames()
        p = mesh.vertices
        errors = []
        for i in range(0, mesh.n_vertices, 211):
            cosine = p @ p[i]
            j = np.flatnonzero((np.arccos(np.minimum(cosine, 1.0)) <= radius) & (cosine < 1 - 1e-9))
            from_i = solver.compute_log_map(i)[j]
            distance, direction, _ = spherical_truth(p, first, np.full(len(j), i), j)
            angle = np.arctan2(from_i[:, 1], from_i[:, 0])
            errors.append(
                [
                    np.abs(np.hypot(*from_i.T) - distance).mean() / radius,
                    angle_between(angle, direction).mean(),
                ]
            )
        theirs, ours = np.mean(errors, axis=0), spherical_errors(mesh, radius)
        assert ours[0] < 0.7 * theirs[0]
        assert theirs[1] < ours[1] < 3.0 * theirs[1]


class TestLaws:
    mesh = primitives.bumpy_sphere(8)

    def test_both_ways(self):
        support = vertex_support(self.mesh, 0.5)
        i, j, n = rows_of(support), support.indices, self.mesh.n_vertices
        mirror = np.searchsorted(i * n + j, j * np.int64(n) + i)
        assert np.array_equal(i[mirror], j) and np.array_equal(j[mirror], i)
        assert np.array_equal(support.r[mirror], support.r)
        assert np.array_equal(support.theta[mirror], support.direction)
        assert angle_between(support.phi[mirror], -support.phi).max() < 1e-6
        itself = i == j
        assert itself.sum() == n
        for name in ("r", "theta", "direction", "phi"):
            assert (getattr(support, name)[itself] == 0.0).all()

    def test_weights_are_shares_of_area(self):
        support = vertex_support(self.mesh, 0.3)
        areas = finsler.mesh.vertex_areas(self.mesh)
        row = slice(support.indptr[5], support.indptr[6])
        near = support.indices[row]
        assert np.allclose(support.weight[row], areas[near] / areas[near].sum(), rtol=1e-6)
        assert np.allclose(np.add.reduceat(support.weight, support.indptr[:-1]), 1.0)

    def test_symmetric_lines_are_averaged(self):
        # Opposite corners of a pyramid: by symmetry the mean of both ways points to the top.
        base = [[1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0], [0, 0, 0.7]]
        mesh = TriMesh(base, [[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]])
        support = vertex_support(mesh, 3.0)
        direction = dict(zip(pairs_of(support), support.direction, strict=True))
        assert direction[0, 2] == pytest.approx(direction[0, 4], abs=1e-6)
        assert direction[1, 3] == pytest.approx(direction[1, 4], abs=1e-6)

    def test_equal_ways_around_a_cylinder(self):
        mesh = primitives.cylinder(8, 4, radius=1.0, height=4.0)
        side = 2.0 * np.sin(np.pi / 8)
        support = vertex_support(mesh, 4.0 * side)
        for name in ("r", "theta", "direction", "phi"):
            assert np.isfinite(getattr(support, name)).all()
        level = np.flatnonzero(mesh.vertices[:, 2] == 2.0)
        around = np.arctan2(mesh.vertices[level, 1], mesh.vertices[level, 0])
        level = level[np.argsort(around)]
        at = {pair: k for k, pair in enumerate(pairs_of(support))}
        ahead, opposite, behind = (at[level[0], level[k]] for k in (1, 4, 7))
        assert support.r[opposite] == pytest.approx(4.0 * side, rel=1e-6)
        either = [support.direction[k] for k in (ahead, behind)]
        assert min(angle_between(support.direction[opposite], np.array(either))) < 1e-5

    def test_motion_scale_and_numbering(self):
        support = vertex_support(self.mesh, 0.5)
        moved = TriMesh(3.0 * self.mesh.vertices @ rotation(1).T + 5.0, self.mesh.faces)
        again = vertex_support(moved, 1.5)
        assert np.array_equal(again.indices, support.indices)
        assert np.allclose(again.r, 3.0 * support.r, rtol=1e-5)
        assert angle_between(again.direction, support.direction).max() < 1e-4
        assert angle_between(again.phi, support.phi).max() < 1e-4

        other, old, _ = relabelled(self.mesh, 2)
        again = vertex_support(other, 0.5)
        for read in (lambda s: s.r, lambda s: np.exp(1j * (s.phi - s.direction + s.theta))):
            here, there = dense(support, read), dense(again, read)
            assert np.abs(here[np.ix_(old, old)] - there).max() < 1e-4

    def test_angles_around_a_vertex_sum_to_a_full_turn(self):
        # Six equal corners around the top are each a sixth of the turn, whatever their angle.
        for height in (0.0, 1.0):
            turn = 2.0 * np.pi * np.arange(6) / 6
            ring = np.stack([np.cos(turn), np.sin(turn), np.zeros(6)], axis=1)
            faces = [[6, k, (k + 1) % 6] for k in range(6)]
            support = vertex_support(TriMesh([*ring, [0, 0, height]], faces), 1.5)
            row = slice(support.indptr[6], support.indptr[7] - 1)
            assert np.allclose(np.diff(np.unwrap(support.direction[row])), np.pi / 3, atol=1e-6)

    def test_faces_that_touch_at_a_vertex(self):
        square = primitives.plane(1, 1)
        both = union(square, TriMesh(square.vertices + np.array([1.0, 1.0, 0.0]), square.faces))
        # Vertex 4, the lower corner of the second square, is vertex 3 of the first.
        faces = both.faces - (both.faces >= 4)
        support = vertex_support(TriMesh(np.delete(both.vertices, 4, axis=0), faces), 3.0)
        assert dense(support, lambda s: s.r)[0, 6] == pytest.approx(2.0 * np.sqrt(2.0), rel=1e-6)


def dense(support: Support, read):
    values = read(support)
    matrix = np.zeros((support.n_vertices,) * 2, dtype=values.dtype)
    matrix[rows_of(support), support.indices] = values
    return matrix


class TestRefusals:
    def test_radius(self):
        mesh = primitives.sphere(4)
        for radius in (0.0, -1.0, np.inf, np.nan):
            with pytest.raises(finsler.InputError, match="must be a positive length"):
                vertex_support(mesh, radius)
        with pytest.raises(finsler.InputError, match="no vertex has another within the radius"):
            vertex_support(mesh, 0.01)

    def test_supports_that_fall_apart(self):
        mesh = primitives.plane(3, 1, size=(3.0, 0.5))
        with pytest.raises(finsler.InputError, match=r"4 parts.* 1 connected components.*larger"):
            vertex_support(mesh, 0.6)
        allowed = vertex_support(mesh, 0.6, require_connected=False)
        assert np.diff(allowed.indptr).tolist() == [2] * 8
        vertex_support(union(mesh, TriMesh(mesh.vertices + 9.0, mesh.faces)), 1.1)

    def test_surfaces(self):
        points = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1]]
        with pytest.raises(finsler.InputError, match="0 and 1 has more than two faces"):
            vertex_support(TriMesh(points, [[0, 1, 2], [1, 0, 3], [0, 1, 4]]), 1.0)
        with pytest.raises(finsler.InputError, match="opposite orientation"):
            vertex_support(TriMesh(points[:4], [[0, 1, 2], [0, 1, 3]]), 1.0)
        with pytest.raises(finsler.InputError, match="belongs to no face"):
            vertex_support(TriMesh(points[:4], [[0, 1, 2]]), 1.0)
