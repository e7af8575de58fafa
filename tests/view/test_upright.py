"""Shapes stand upright in pictures, whatever axis of their file points up."""

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from finsler.cli.options import viewpoint_of
from finsler.data import make_creature
from finsler.errors import InputError
from finsler.mesh import TriMesh, primitives
from finsler.view.standing import likely_ups
from finsler.view.upright import VIEWS, Viewpoint, pair_stances, stance_of

POSES = {
    "humanoid": {"left_arm raise": 40.0, "right_forearm flex": 60.0},
    "quadruped": {"neck lower": 20.0, "left_arm swing": 20.0},
}
# Turns that bring up, which is y in a synthetic creature, to another axis of the file.
TURNS = {
    "y": np.eye(3),
    "z": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]),
    "-y": np.diag([1.0, -1.0, -1.0]),
}


@pytest.fixture(scope="module", params=POSES)
def creature(request):
    return make_creature(request.param, pose=POSES[request.param], vertices=800).mesh


@pytest.mark.parametrize("axis", TURNS)
def test_creatures_are_upright(creature, axis):
    person = creature.vertices[:, 1].max() > 1.2
    if person and axis == "-y":
        # Arms may look like legs, but dogs have four.
        axis = "z"
    turned = TriMesh(5000 * creature.vertices @ TURNS[axis].T + 7, creature.faces)
    stance = stance_of(turned)
    assert stance.up @ TURNS[axis][:, 1] > 0.9
    assert abs(stance.up @ stance.front) < 1e-9
    # A person faces z, its broad side; a dog is broad from the side.
    broad = 2 if person else 0
    assert abs(stance.front @ TURNS[axis][:, broad]) > 0.8


def test_most_creatures_that_were_turned_at_random_are_upright():
    upright = []
    for species, pose in POSES.items():
        mesh = make_creature(species, pose=pose, vertices=800).mesh
        for turn in Rotation.random(6, np.random.default_rng(5)).as_matrix():
            stance = stance_of(TriMesh(mesh.vertices @ turn.T, mesh.faces))
            upright.append(stance.up @ turn[:, 1] > 0.85)
    assert sum(upright) >= 9, upright


@pytest.mark.parametrize("frequency", [8, 14])
def test_round_shapes_stay_as_they_are_in_their_files(frequency):
    assert stance_of(primitives.bumpy_sphere(frequency)).up.tolist() == [0.0, 1.0, 0.0]


def test_odds_count_directions_that_are_nearly_one_as_one(creature):
    axes, chances = likely_ups(creature)
    best = axes[np.argmax(chances)]
    alike = axes @ best > 0.9
    # The axis of the file and an axis of inertia, or a side that it lies on.
    assert alike.sum() > 1 and chances.sum() == pytest.approx(1.0)
    odds = chances[alike].sum() / chances[~alike].sum()
    assert stance_of(creature).odds == pytest.approx(odds)


def test_a_fine_mesh_stands_like_a_coarse_one(creature):
    fine, faces = creature.vertices, creature.faces
    for _ in range(2):
        edges = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
        unique, index = np.unique(edges, axis=0, return_inverse=True)
        (ab, bc, ca), (a, b, c) = index.reshape(-1, 3).T + len(fine), faces.T
        fine = np.concatenate([fine, fine[unique].mean(axis=1)])
        corners = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        faces = np.concatenate([np.stack(each, axis=1) for each in corners])
    assert len(faces) > 20_000
    assert np.allclose(stance_of(TriMesh(fine, faces)).up, stance_of(creature).up)


def test_flat_shapes_are_seen_straight_on():
    for axis in range(3):
        grid = np.roll(primitives.plane(8, 8).vertices, axis - 2, axis=1)
        camera = Viewpoint().camera(TriMesh(grid, primitives.plane(8, 8).faces))
        assert abs(camera.direction[axis]) == pytest.approx(1.0)
        behind = Viewpoint(view="back").camera(TriMesh(grid, primitives.plane(8, 8).faces))
        assert np.allclose(behind.direction, -np.asarray(camera.direction))


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_units_do_not_matter(scale):
    mesh = primitives.torus(12, 8)
    same = TriMesh(scale * mesh.vertices, mesh.faces)
    assert np.allclose(stance_of(same).up, stance_of(mesh).up)


def test_a_shape_without_area_has_a_camera():
    assert Viewpoint().camera(TriMesh([[0, 0, 0], [0, 0, 0], [0, 0, 0]], [[0, 1, 2]])).zoom == 1.0


def test_chosen_axis_and_sides(creature):
    up = np.array([-1.0, 0.0, 0.0])
    cameras = {view: Viewpoint("-x", view).camera(creature) for view in VIEWS}
    assert all(camera.up == (-1.0, 0.0, 0.0) for camera in cameras.values())
    directions = {view: np.asarray(camera.direction) for view, camera in cameras.items()}
    assert directions["top"] @ up > 0.99 and directions["bottom"] @ up < -0.99
    for one, other in (("front", "back"), ("left", "right")):
        level = [directions[view] - (directions[view] @ up) * up for view in (one, other)]
        assert np.allclose(level[0], -level[1])
    assert np.cross(up, directions["front"]) @ directions["right"] > 0.8
    straight = Viewpoint("-x", "0,0").camera(creature).direction
    assert straight == pytest.approx(stance_of(creature, "-x").front)


def test_the_camera_faces_a_vertex_unless_the_view_is_chosen():
    ball = primitives.sphere(6)
    usual = np.asarray(Viewpoint("y").camera(ball).direction)
    behind = int(np.argmin(ball.vertices @ usual))
    facing = np.asarray(Viewpoint("y").facing(ball, behind).direction)
    assert facing @ ball.vertices[behind] > 0.8
    fixed = Viewpoint("y", "front").facing(ball, behind)
    assert fixed.direction == pytest.approx(usual)


def test_a_pair_is_seen_from_the_same_side_through_the_map(creature):
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    turn *= np.linalg.det(turn)
    other = TriMesh(creature.vertices @ turn.T, creature.faces)
    first, second = pair_stances(other, creature, np.arange(creature.n_vertices))
    assert np.allclose(turn.T @ first.up, second.up) and np.allclose(
        turn.T @ first.front, second.front
    )
    assert abs(second.up[1]) > 0.9
    apart, _ = pair_stances(other, creature, None)
    assert apart is stance_of(other)


def test_a_format_that_says_which_way_is_up_is_believed():
    assert viewpoint_of(Viewpoint(), Path("a.GLB")) == Viewpoint("y")
    assert viewpoint_of(Viewpoint("z", "top"), Path("a.glb")) == Viewpoint("z", "top")
    assert viewpoint_of(Viewpoint(view="top"), Path("a.off")) == Viewpoint(view="top")


@pytest.mark.parametrize("options", [{"up": "w"}, {"view": "inside"}, {"view": "0,90"}])
def test_what_is_no_axis_or_view_is_refused(options):
    with pytest.raises(InputError, match="must be one of"):
        Viewpoint(**options)
