import numpy as np
import pytest

import finsler
from exact import around_axis, ellipsoid_curvature, in_faces, line_angle, rate, relabelled, rotation
from finsler import FaceFrames, TriMesh, primitives, principal_frames


def centres(mesh):
    return mesh.vertices[mesh.faces].mean(axis=1)


def direction_error(mesh, found, exact):
    return line_angle(found, in_faces(mesh, exact))


def rms(angle):
    return float(np.sqrt(np.mean(angle**2)))


SHAPES = [
    primitives.bumpy_sphere(8),
    primitives.sphere(6),
    primitives.plane(8, 6, jitter=0.3),
    primitives.cylinder(16, 8, jitter=0.2),
]


@pytest.mark.parametrize("mesh", SHAPES, ids=repr)
def test_frames_are_orthonormal_and_right_handed(mesh):
    frames = principal_frames(mesh)
    axes = np.stack([frames.u_max, frames.u_min, frames.normal], axis=1)
    assert np.allclose(axes @ axes.transpose(0, 2, 1), np.eye(3), atol=1e-12)
    assert np.allclose(np.linalg.det(axes), 1.0)
    cross = finsler.mesh.face_cross(mesh)
    assert (np.einsum("fi,fi->f", cross, frames.normal) > 0).all()
    assert ((frames.confidence >= 0) & (frames.confidence <= 1)).all()


def test_cylinder_directions_converge():
    errors = []
    for level in (1, 2, 4):
        mesh = primitives.cylinder(20 * level, 10 * level, jitter=0.25)
        errors.append(
            rms(direction_error(mesh, principal_frames(mesh).u_max, around_axis(centres(mesh))))
        )
    assert rate([1, 1 / 2, 1 / 4], errors) > 0.9
    assert errors[-1] < np.radians(1.0)


def test_torus_directions_converge():
    errors = []
    for level in (1, 2, 4):
        mesh = primitives.torus(40 * level, 16 * level, jitter=0.25)
        errors.append(
            rms(direction_error(mesh, principal_frames(mesh).u_min, around_axis(centres(mesh))))
        )
    assert rate([1, 1 / 2, 1 / 4], errors) > 1.2
    assert errors[-1] < np.radians(0.3)


def test_ellipsoid_directions_converge():
    axes = (1.5, 1.0, 0.7)
    errors = []
    for frequency in (12, 24, 48):
        mesh = primitives.ellipsoid(frequency, axes=axes)
        frames = principal_frames(mesh)
        curvature, direction = ellipsoid_curvature(centres(mesh), axes)
        clear = curvature[:, 0] > 1.3 * curvature[:, 1]
        errors.append(rms(direction_error(mesh, frames.u_max, direction)[clear]))
    assert rate([1 / 12, 1 / 24, 1 / 48], errors) > 1.2
    assert errors[-1] < np.radians(1.0)


def test_frames_turn_with_the_mesh_and_ignore_numbering():
    mesh = primitives.bumpy_sphere(10)
    turn = rotation(3)
    moved, _, old_face = relabelled(TriMesh(1e3 * mesh.vertices @ turn.T - 5.0, mesh.faces), 4)
    here, there = principal_frames(mesh), principal_frames(moved)
    assert line_angle(there.u_max, here.u_max[old_face] @ turn.T).max() < 1e-7
    assert np.allclose(there.confidence, here.confidence[old_face], atol=1e-9)
    # Some of the faces needed filling in, so that too was tested.
    assert (here.confidence < 0.1).any()


def test_plane_follows_its_long_side_with_no_confidence():
    mesh = primitives.plane(20, 10, size=(2.0, 1.0), jitter=0.3)
    frames = principal_frames(mesh)
    assert (frames.confidence < 1e-9).all()
    assert np.abs(frames.u_max[:, 0]).min() > 0.9999


def test_sphere_gets_a_smooth_field():
    # The doubled angle of neighbours differs little but around the singularities, which a sphere
    # must have: index 2 in all, four of index 1/2 at least.
    mesh = primitives.sphere(16)
    frames = principal_frames(mesh)
    assert (frames.confidence < 0.1).all()
    first, second = finsler.mesh.edges(mesh).pairs.T // 3
    turned = line_angle(frames.u_max[first], frames.u_max[second])
    assert np.quantile(turned, 0.97) < np.radians(15)


def test_flat_part_is_filled_from_the_curved_part():
    # A smooth ridge along x that runs out into two flat flanks.
    mesh = primitives.plane(20, 60, size=(1.0, 3.0), jitter=0.2)
    x, y, _ = mesh.vertices.T
    height = np.where(np.abs(y - 1.5) < 0.5, 0.2 + 0.2 * np.cos(2 * np.pi * (y - 1.5)), 0.0)
    frames = principal_frames(TriMesh(np.stack([x, y, height], axis=1), mesh.faces))
    flank = np.abs(centres(mesh)[:, 1] - 1.5) > 1.2
    assert frames.confidence[flank].max() < 0.1
    # At the ridge's foot the surface bends upwards across it: maximal curvature is along x, 0.
    assert np.abs(frames.u_max[flank, 0]).min() > 0.98


def test_signs_agree_between_neighbours_where_a_global_sign_exists():
    mesh = primitives.torus(40, 20, jitter=0.2)
    u_max = principal_frames(mesh).u_max
    first, second = finsler.mesh.edges(mesh).pairs.T // 3
    assert (np.einsum("ei,ei->e", u_max[first], u_max[second]) > 0).all()


@pytest.mark.filterwarnings("ignore::finsler.mesh.health.MeshWarning")
@pytest.mark.parametrize(
    ("vertices", "faces"),
    [
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]),
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 1]], [[0, 1, 2], [0, 3, 4]]),
        (
            [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]],
            [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
        ),
        (
            [[0, 0, 0], [0, 0, 1], [1, 0, 0.5], [-1, 1, 0.5], [-1, -1, 0.5]],
            [[0, 1, 2], [0, 1, 3], [0, 1, 4]],
        ),
    ],
    ids=["triangle", "bow tie", "tetrahedron", "three faces on an edge"],
)
def test_smallest_meshes_have_frames_and_operators(vertices, faces):
    mesh = TriMesh(vertices, faces)
    frames = principal_frames(mesh)
    assert np.allclose(np.linalg.norm(frames.u_max, axis=1), 1.0)
    stack = finsler.angle_stack(mesh, angles=2)
    operators = finsler.chebyshev_operators(stack)
    assert np.isfinite(operators.values).all()
    assert np.allclose(stack[0].stiffness.sum(axis=1), 0.0, atol=1e-12)


def test_from_directions_projects_and_normalises():
    mesh = primitives.sphere(4)
    frames = FaceFrames.from_directions(mesh, np.tile([0.0, 0.0, 7.0], (mesh.n_faces, 1)) + 1e-3)
    assert np.allclose(np.linalg.norm(frames.u_max, axis=1), 1.0)
    assert np.allclose(np.einsum("fi,fi->f", frames.u_max, frames.normal), 0.0, atol=1e-12)
    assert (frames.u_max[:, 2] > 0).all()


def test_rotation_is_counter_clockwise_seen_from_outside():
    mesh = primitives.plane(2, 2)
    frames = FaceFrames.from_directions(mesh, np.tile([1.0, 0.0, 0.0], (mesh.n_faces, 1)))
    turned = frames.rotated(np.pi / 2)
    assert np.allclose(turned.u_max, [0.0, 1.0, 0.0], atol=1e-15)
    assert np.allclose(turned.u_min, [-1.0, 0.0, 0.0], atol=1e-15)


def test_bad_directions_are_named():
    mesh = primitives.plane(2, 2)
    directions = np.tile([1.0, 0.0, 0.0], (mesh.n_faces, 1))
    directions[5] = [0.0, 0.0, 1.0]
    with pytest.raises(finsler.InputError, match="face 5"):
        FaceFrames.from_directions(mesh, directions)
    directions[5] = np.nan
    with pytest.raises(finsler.InputError, match="face 5"):
        FaceFrames.from_directions(mesh, directions)
    with pytest.raises(finsler.InputError, match="shape"):
        FaceFrames.from_directions(mesh, directions[:-1])
