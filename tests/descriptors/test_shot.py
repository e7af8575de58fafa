"""SHOT: exact cases, laws, and the C++ code in circulation."""

import itertools
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from exact import relabelled, rotation, union
from finsler import InputError, TriMesh, primitives
from finsler.descriptors import shot, shot_frames, shot_radius
from finsler.mesh.measures import vertex_normals

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture(scope="module")
def mesh():
    # No symmetry, and no point on the border of a bin.
    shape = primitives.bumpy_sphere(10)
    noise = np.random.default_rng(3).standard_normal(shape.vertices.shape)
    return TriMesh(shape.vertices + 0.005 * noise, shape.faces)


@pytest.fixture(scope="module")
def radius(mesh):
    return shot_radius(mesh, 0.12)


@pytest.fixture(scope="module")
def found(mesh, radius):
    return shot(mesh, radius=radius)


@pytest.fixture(scope="module")
def golden():
    with np.load(GOLDEN / "bumpy_sphere.npz") as data:
        shape = TriMesh(data["vertices"], data["faces"])
    with np.load(GOLDEN / "shot_bumpy_sphere.npz") as data:
        return shape, float(data["radius"]), data["S"].astype(float)


def kite():
    """A flat mesh whose seven points sit in the middle of their bins as vertex 0 sees them.

    At 3/4 of the radius in the sectors 3, 4, 7, 0 and at 1/4 in 3, 4; more of them at x > 0.
    """
    angle = np.radians([-22.5, 22.5, -22.5, 22.5, 157.5, -157.5])
    length = np.array([0.25, 0.25, 0.75, 0.75, 0.75, 0.75])
    ring = np.stack([length * np.cos(angle), length * np.sin(angle), np.zeros(6)], axis=1)
    points = np.concatenate([np.zeros((1, 3)), ring])
    return TriMesh(points, [[0, 1, 2], [1, 3, 4], [1, 4, 2], [0, 5, 6]])


def kite_descriptor(bins):
    """Level, distance and azimuth give 1 each, elevation 1/2 to either half; the normal is +z."""
    expected = np.zeros((8, 2, 2, bins + 1))
    for sector, shell in ((3, 0), (4, 0), (3, 1), (4, 1), (7, 1), (0, 1)):
        expected[sector, shell, :, bins] = [3.5, 0.5]
    return expected.ravel() / np.sqrt(75.0)


class TestExact:
    @pytest.mark.parametrize("bins", [1, 7, 10])
    @pytest.mark.parametrize("seed", [None, 0, 1])
    def test_plane(self, bins, seed):
        flat = kite()
        turn = np.eye(3) if seed is None else rotation(seed)
        moved = TriMesh(flat.vertices @ turn.T + (seed or 0.0), flat.faces)
        assert np.allclose(shot(moved, radius=1.0, bins=bins)[0], kite_descriptor(bins), atol=1e-12)

    def test_plane_frame(self):
        axes = shot_frames(kite(), radius=1.0).axes
        assert np.allclose(axes[0], np.eye(3), atol=1e-12)

    def test_flipped_plane_is_seen_from_its_other_side(self):
        # The normal decides where all neighbours lie in the plane, so y turns and levels do not.
        flat = kite()
        flipped = TriMesh(flat.vertices, flat.faces[:, ::-1])
        assert np.allclose(shot_frames(flipped, radius=1.0).axes[0], np.diag([1.0, -1.0, -1.0]))
        assert np.allclose(shot(flipped, radius=1.0)[0], kite_descriptor(10), atol=1e-12)

    def test_one_neighbour_between_bins(self):
        # A neighbour whose offsets are t = (0.2, 0.1, 0.3, -0.4) of a bin, beside four others.
        from finsler.descriptors._compiled import _vote

        histogram = np.zeros(352)
        elevation, azimuth = (0.5 - 0.3) * np.pi / 2, (5 + 0.1) * np.pi / 4 - np.pi
        flat = 0.8 * np.cos(elevation)
        x, y, z = flat * np.cos(azimuth), flat * np.sin(azimuth), 0.8 * np.sin(elevation)
        _vote(x, y, z, 0.8, 2 * 6.2 / 10 - 1, 10, (8, 11), histogram)
        cube = histogram.reshape(8, 2, 2, 11)
        assert cube[5, 1, 1, 6] == pytest.approx(4 - 0.2 - 0.1 - 0.3 - 0.4)
        # Beyond the outer shell there is none: the share 0.1 goes nowhere.
        assert cube[5, 1, 1, 7] == pytest.approx(0.2)
        assert cube[5, 1, 0, 6] == pytest.approx(0.3)
        assert cube[4, 1, 1, 6] == pytest.approx(0.4)
        assert histogram.sum() == pytest.approx(3.9)

    def test_sectors_and_levels_close_up(self):
        from finsler.descriptors._compiled import _vote

        for rings, sector, level in (((8, 11), 0, 10), ((7, 10), 1, 0)):
            histogram = np.zeros(352)
            azimuth = np.pi - 0.2 * np.pi / 4
            _vote(
                0.8 * np.cos(azimuth), 0.8 * np.sin(azimuth), 0.0, 0.8, 0.86, 10, rings, histogram
            )
            cube = histogram.reshape(8, 2, 2, 11)
            assert cube[sector, 1, 0, 9] == pytest.approx(0.3)
            assert cube[7, 1, 0, level] == pytest.approx(0.3)

    def test_axes_are_those_of_the_weighted_covariance(self, mesh, radius):
        axes = shot_frames(mesh, radius=radius).axes
        for vertex in (0, 100, 500):
            q = mesh.vertices - mesh.vertices[vertex]
            d = np.linalg.norm(q, axis=1)
            q, d = q[(d > 0) & (d <= radius)], d[(d > 0) & (d <= radius)]
            _, vectors = np.linalg.eigh(np.einsum("j,ja,jb->ab", radius - d, q, q))
            x, y, z = axes[vertex]
            assert abs(x @ vectors[:, 2]) == pytest.approx(1.0, abs=1e-10)
            assert abs(z @ vectors[:, 0]) == pytest.approx(1.0, abs=1e-10)
            assert np.allclose(np.cross(z, x), y, atol=1e-12)
            assert (q @ x > 0).sum() * 2 >= len(q) and (q @ z > 0).sum() * 2 >= len(q)

    def test_median_points_decide_where_votes_are_equal(self):
        # Three points on either side of x; four of the five around the median lie at x < 0.
        x = np.array([0.1, 0.15, -0.3, -0.4, -0.5, 0.6])
        y = np.array([0.02, -0.02, 0.01, -0.02, 0.02, -0.01])
        points = np.concatenate([[[0, 0, 0]], np.stack([x, y, 0.1 * x**2 + 0.2 * y**2], axis=1)])
        cloud = TriMesh(points, [[0, 1, 2], [0, 3, 4], [0, 5, 6]])
        frame = shot_frames(cloud, radius=1.0).axes[0]
        assert frame[0, 0] < -0.9 and frame[2, 2] > 0.9


class TestLaws:
    def test_unit_rows_without_negative_values(self, found):
        assert found.shape == (1002, 352) and found.dtype == np.float64
        assert found.min() == 0.0
        assert np.allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-12)
        # Only the 352 values together tell: every volume and most levels are in use.
        assert found.reshape(-1, 32, 11).any(axis=(0, 2)).all()

    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_rigid_motion(self, mesh, radius, found, seed):
        moved = TriMesh(mesh.vertices @ rotation(seed).T + [5.0, -3.0, 2.0], mesh.faces)
        assert np.abs(shot(moved, radius=radius) - found).max() < 1e-6

    @pytest.mark.parametrize("scale", [1e-3, 1e3])
    def test_scale(self, mesh, found, scale):
        scaled = TriMesh(scale * mesh.vertices, mesh.faces)
        assert np.abs(shot(scaled, radius=shot_radius(scaled, 0.12)) - found).max() < 1e-9

    def test_relabelling(self, mesh, radius, found):
        renamed, old, _ = relabelled(mesh, 0)
        assert np.abs(shot(renamed, radius=radius) - found[old]).max() < 1e-9

    @pytest.mark.parametrize("shape", [primitives.plane(12, 9), primitives.cylinder(24, 10)])
    def test_regular_meshes_do_not_hang_on_rounding(self, shape):
        # Points sit on borders, axes are tied: moving and renaming must not decide.
        reference = shot(shape, radius=0.31)
        moved = TriMesh(shape.vertices + np.array([0.1, 0.7, -0.3]), shape.faces)
        assert np.abs(shot(moved, radius=0.31) - reference).max() < 1e-9
        renamed, old, _ = relabelled(shape, 1)
        assert np.abs(shot(renamed, radius=0.31) - reference[old]).max() < 1e-9

    def test_mirror_image_differs(self, mesh, radius, found):
        mirrored = TriMesh(mesh.vertices * [-1.0, 1.0, 1.0], mesh.faces[:, ::-1])
        image = shot(mirrored, radius=radius)
        similarity = (image * found).sum(axis=1)
        assert np.median(similarity) < 0.9
        # A mirror turns the sectors around and changes nothing else.
        turned = image.reshape(-1, 8, 44)[:, ::-1].reshape(-1, 352)
        assert np.abs(turned - found).max() < 1e-9

    def test_orientation_turns_the_levels_around(self, mesh, radius, found):
        inside_out = shot(TriMesh(mesh.vertices, mesh.faces[:, ::-1]), radius=radius)
        turned = inside_out.reshape(-1, 32, 11)[:, :, ::-1].reshape(-1, 352)
        # The axes come from positions alone, except where neither votes nor median decide.
        assert np.abs(turned - found).max() < 1e-9

    def test_shapes_apart_do_not_see_each_other(self, mesh, radius, found):
        far = TriMesh(mesh.vertices + np.array([100.0, 0.0, 0.0]), mesh.faces)
        both = shot(union(mesh, far), radius=radius)
        assert np.abs(both - np.concatenate([found, found])).max() < 1e-9

    def test_radius_beyond_the_shape_sees_all_of_it(self):
        shape = primitives.torus(12, 8)
        assert (shot_frames(shape, radius=10.0).neighbors == shape.n_vertices - 1).all()

    def test_every_neighbour_is_found(self, mesh):
        distance = np.linalg.norm(mesh.vertices[:, None] - mesh.vertices, axis=2)
        for radius in (0.07, 0.2, 0.9):
            expected = ((distance > 0) & (distance <= radius)).sum(axis=1)
            assert np.array_equal(shot_frames(mesh, radius=radius).neighbors, expected)

    def test_float32_is_the_rounded_result(self, mesh, radius, found):
        single = shot(mesh, radius=radius, dtype=np.float32)
        assert single.dtype == np.float32 and np.array_equal(single, found.astype(np.float32))

    def test_nothing_is_changed(self, mesh, radius):
        frames = shot_frames(mesh, radius=radius)
        before = frames.axes.copy()
        shot(mesh, radius=radius, frames=frames)
        assert np.array_equal(frames.axes, before)


class TestPoorMeshes:
    def test_too_few_neighbours_give_zeros(self):
        lonely = TriMesh([[50, 0, 0], [51, 0, 0], [50, 1, 0]], [[0, 1, 2]])
        both = union(primitives.sphere(4), lonely)
        values = shot(both, radius=1.5)
        assert not values[-3:].any()
        assert np.allclose(np.linalg.norm(values[:-3], axis=1), 1.0)
        assert not shot_frames(both, radius=1.5).axes[-3:].any()

    def test_min_neighbors_is_the_least_that_counts(self):
        flat = kite()
        assert shot(flat, radius=1.0, min_neighbors=6)[0].any()
        assert not shot(flat, radius=1.0, min_neighbors=7)[0].any()

    def test_vertices_without_a_normal_do_not_exist(self, mesh, radius, found):
        extra = np.concatenate([mesh.vertices, mesh.vertices[:5] + 0.01])
        degenerate = [[1002, 1002, 1003], [1004, 1005, 1005]]
        values = shot(TriMesh(extra, np.concatenate([mesh.faces, degenerate])), radius=radius)
        assert np.abs(values[:1002] - found).max() < 1e-12 and not values[1002:].any()

    def test_coincident_vertices_are_no_neighbours(self, mesh):
        double = union(mesh, mesh)
        counts = shot_frames(double, radius=0.3).neighbors
        assert np.array_equal(counts[:1002], 2 * shot_frames(mesh, radius=0.3).neighbors)
        assert np.isfinite(shot(double, radius=0.3)).all()


class TestReleased:
    """The C++ code's file: 29% of its axes x have equally many neighbours on either side."""

    def test_every_vertex_agrees_up_to_signs_of_axes(self, golden):
        shape, radius, expected = golden
        frames = shot_frames(shape, radius=radius, as_released=True)
        error = []
        for x, z in itertools.product((1.0, -1.0), repeat=2):
            signed = replace(frames, axes=frames.axes * np.array([x, x * z, z])[:, None])
            values = shot(shape, radius=radius, frames=signed, as_released=True)
            error.append(np.abs(values - expected).max(axis=1))
        assert np.min(error, axis=0).max() < 1e-6

    def test_agrees_wherever_the_majority_decides(self, golden):
        shape, radius, expected = golden
        axes = shot_frames(shape, radius=radius, as_released=True).axes
        q = shape.vertices - shape.vertices[:, None]
        near = np.linalg.norm(q, axis=2) <= radius
        side = np.sign(np.einsum("iad,ijd->iaj", axes[:, [0, 2]], q).round(9))
        margin = np.abs((side * near[:, None]).sum(axis=2)).min(axis=1)
        similarity = (shot(shape, radius=radius, as_released=True) * expected).sum(axis=1)
        decided = margin > 1
        assert decided.mean() > 0.3 and similarity[decided].min() > 0.999999
        # Ties take the sign that the release's eigensolver returns, which ours reproduces.
        assert np.median(similarity) > 0.999999 and (similarity > 0.95).mean() > 0.98

    def test_definition_differs_from_the_release(self, golden):
        # Weights radius - distance² nearly ignore the distance here, which turns the axes.
        shape, radius, expected = golden
        assert np.median((shot(shape, radius=radius) * expected).sum(axis=1)) < 0.9

    def test_release_depends_on_the_unit(self, mesh, found):
        scaled = TriMesh(0.01 * mesh.vertices, mesh.faces)
        here, there = (
            shot(s, radius=shot_radius(s, 0.12), as_released=True) for s in (mesh, scaled)
        )
        assert np.abs(here - there).max() > 0.1


class TestInput:
    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ({"radius": 0.0}, "radius is 0.0; it must be positive"),
            ({"radius": np.nan}, "radius is nan"),
            ({"radius": np.inf}, "radius is inf"),
            ({"bins": 0}, "bins is 0; it must lie between 1 and 1000"),
            ({"bins": 10**8}, "bins is 100000000; it must lie between 1 and 1000"),
            ({"min_neighbors": 2}, "min_neighbors is 2; a frame needs at least 3"),
            ({"dtype": np.int64}, "dtype is int64"),
        ],
    )
    def test_bad_numbers(self, mesh, options, sentence):
        with pytest.raises(InputError, match=sentence):
            shot(mesh, **{"radius": 0.3, **options})

    def test_frames_of_another_mesh(self, mesh):
        frames = shot_frames(primitives.sphere(4), radius=0.5)
        with pytest.raises(InputError, match="give frames"):
            shot(mesh, radius=0.3, frames=frames)

    def test_no_area(self):
        with pytest.raises(InputError, match="no face of the mesh has area"):
            shot(TriMesh(np.eye(3), [[0, 1, 1]]), radius=1.0)

    @pytest.mark.parametrize("share", [0.0, -1.0, np.inf])
    def test_share(self, mesh, share):
        with pytest.raises(InputError, match="share is"):
            shot_radius(mesh, share)


def test_levels_follow_the_normals(mesh, radius, found):
    # Independent of the loops: sum the votes of the definition for a few vertices with numpy.
    axes = shot_frames(mesh, radius=radius).axes
    normals = vertex_normals(mesh)
    for vertex in (3, 77, 900):
        q = mesh.vertices - mesh.vertices[vertex]
        d = np.linalg.norm(q, axis=1)
        near = (d > 0) & (d <= radius)
        local, d = q[near] @ axes[vertex].T, d[near] / radius
        place = np.stack(
            [
                (np.arctan2(local[:, 1], local[:, 0]) + np.pi) / (np.pi / 4) - 0.5,
                2 * d - 0.5,
                1 - np.arccos(local[:, 2] / (d * radius)) / (np.pi / 2) + 0.5,
                (1 + normals[near] @ axes[vertex, 2]) * 5,
            ],
            axis=1,
        )
        own = np.rint(place).astype(int)
        offset = place - own
        cube = np.zeros((8, 2, 2, 11))
        for bin_index, t in zip(own, offset, strict=True):
            cube[tuple(bin_index % [8, 2, 2, 11])] += (1 - np.abs(t)).sum()
            for axis in range(4):
                beside = bin_index.copy()
                beside[axis] += 1 if t[axis] > 0 else -1
                beside[0] %= 8
                if 0 <= beside[1] <= 1 and 0 <= beside[2] <= 1:
                    cube[tuple(beside)] += abs(t[axis])
        expected = cube.ravel() / np.linalg.norm(cube)
        assert np.allclose(found[vertex], expected, atol=1e-12)


def test_what_only_the_released_frames_need_is_not_compiled_for_others(mesh, radius, monkeypatch):
    monkeypatch.setitem(sys.modules, "finsler.descriptors._compiled_qr", None)
    assert shot_frames(mesh, radius=radius).axes.any()
    with pytest.raises(ImportError):
        shot_frames(mesh, radius=radius, as_released=True)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 40, 41, 500])
def test_distances_are_sorted_up_to_their_count(count):
    from finsler.descriptors._compiled import _sort

    # Whole numbers, so that many are equal.
    values = np.random.default_rng(count).integers(0, 30, count + 3).astype(float)
    expected = np.concatenate([np.sort(values[:count]), values[count:]])
    _sort(values, count)
    np.testing.assert_array_equal(values, expected)
