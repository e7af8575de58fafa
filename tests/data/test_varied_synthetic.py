"""Persons and animals: wider than humanoids and quadrupeds, closed, true and decided by a seed."""

import pickle

import numpy as np
import pytest

import finsler
from finsler.data import load_all, make_creature, packed, synthetic_collection
from finsler.data import pack as write_pack
from finsler.errors import ConvergenceError, InputError
from finsler.mesh.crossings import crossing_faces
from finsler.mesh.measures import face_areas
from finsler.mesh.primitives import sphere
from finsler.mesh.topology import edges
from finsler.synthetic import (
    TRIANGULATIONS,
    sample_identity,
    sample_pose,
    sample_relief,
    species_named,
    template,
    triangulate,
)
from finsler.synthetic.relief import thickness
from finsler.synthetic.sampling import deepest_sink
from finsler.synthetic.skinning import build

PLAIN = {"person": "humanoid", "animal": "quadruped"}
# Two lengths whose ratio sets builds apart: from joint to joint.
LIMBS = {
    "person": [
        (("left_thigh", "left_foot"), ("pelvis", "neck")),
        (("left_arm", "left_hand"), ("left_thigh", "left_foot")),
        (("neck", "head"), ("left_arm", "left_hand")),
    ],
    "animal": [
        (("left_arm", "left_paw"), ("pelvis", "neck")),
        (("neck", "head"), ("pelvis", "neck")),
        (("tail", "tail_tip"), ("pelvis", "neck")),
    ],
}


def is_closed(mesh):
    report = finsler.health(mesh)
    return (report.genus, report.components, report.outward) == (0, 1, True)


@pytest.fixture(scope="module")
def animals():
    return load_all(synthetic_collection("animal", train=4, test=2, poses=2, seed=5, flaws=0.0))


# Bodies


@pytest.mark.parametrize("species", PLAIN)
def test_limb_ratios_spread_at_least_twice_as_wide(species):
    def ratios(name):
        kind = species_named(name)
        joints = {bone.name: i for i, bone in enumerate(kind.bones)}
        rng = np.random.default_rng(0)
        rows = []
        for _ in range(150):
            at = build(kind, sample_identity(kind, rng)).joints
            lengths = [
                [np.linalg.norm(at[joints[a]] - at[joints[b]]) for a, b in pair]
                for pair in LIMBS[species]
            ]
            rows.append([np.log(one / other) for one, other in lengths])
        return np.std(rows, axis=0)

    assert (ratios(species) > 2.0 * ratios(PLAIN[species])).all()


@pytest.mark.parametrize("species", PLAIN)
def test_every_build_is_within_the_limits_and_drawn_identities_too(species):
    kind = species_named(species)
    for factors in kind.builds.values():
        kind.factors(factors)
    rng = np.random.default_rng(1)
    for _ in range(20):
        identity = sample_identity(kind, rng)
        assert kind.factors(identity) == identity
    for name, overlay in kind.overlays.items():
        assert 0.0 < overlay.chance <= 1.0
        for pose in overlay.poses:
            assert kind.angles(pose), name
    for stance in kind.stances.values():
        kind.angles(stance)


def test_a_broader_head_is_broader_along_x_alone():
    kind = species_named("animal")
    head = [bone.name for bone in kind.bones].index("head")
    plain, broad = build(kind, {}).scales[head], build(kind, {"broad head": 1.3}).scales[head]
    assert broad @ [1.0, 0.0, 0.0] == pytest.approx(1.3 * plain @ [1.0, 0.0, 0.0])
    assert broad @ [0.0, 1.0, 1.0] == pytest.approx(plain @ [0.0, 1.0, 1.0])


def test_a_swollen_belly_lifts_the_belly_and_nothing_else():
    common = template("animal")
    lift = np.linalg.norm(
        common.posed({"belly": 1.5}, {}).vertices - common.posed({}, {}).vertices, axis=1
    )
    centre = np.array([0.0, 0.4, -0.04])
    away = np.linalg.norm(common.mesh.vertices - centre, axis=1)
    assert lift[np.argmin(away)] == pytest.approx(0.05, rel=0.1)
    assert lift[away > 0.3].max() < 1e-4


def test_relief_is_shallow_smooth_mostly_symmetric_and_decided_by_the_stream():
    common = template("animal")
    first, again, other = (sample_relief(common, np.random.default_rng(s)) for s in (2, 2, 3))
    assert first.tobytes() == again.tobytes() and not np.allclose(first, other)
    assert (np.abs(first) <= 0.4 * thickness(common) + 1e-12).all()
    assert first.std() > 1e-3
    ends = edges(common.mesh).vertices
    # Only the hem of a garment is steep, and it is no wall either.
    jumps = np.abs(first[ends[:, 0]] - first[ends[:, 1]]) / np.ptp(first)
    assert np.quantile(jumps, 0.95) < 0.1 and jumps.max() < 0.5
    from scipy.spatial import cKDTree

    points = common.mesh.vertices
    _, partner = cKDTree(points).query(points * [-1.0, 1.0, 1.0])
    assert np.corrcoef(first, first[partner])[0, 1] > 0.6


def test_poses_of_one_individual_are_nearly_isometric():
    common, rng = template("animal"), np.random.default_rng(4)
    identity = sample_identity(common.species, rng)
    relief = sample_relief(common, rng)
    one, other = (
        common.posed(identity, sample_pose(common, identity, rng), relief) for _ in range(2)
    )
    ends = edges(common.mesh).vertices
    lengths = [
        np.linalg.norm(m.vertices[ends[:, 0]] - m.vertices[ends[:, 1]], axis=1)
        for m in (one, other)
    ]
    stretch = np.abs(np.log(lengths[0] / lengths[1]))
    assert np.abs(one.vertices - other.vertices).max() > 0.1
    assert np.median(stretch) < 0.05 and np.mean(stretch) < 0.12


# Triangulations


def aspect(mesh):
    corners = mesh.vertices[mesh.faces]
    sides = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)
    return np.median(sides.max(axis=1) / sides.min(axis=1))


def test_triangulations_meet_the_count_on_the_surface_and_differ_in_kind():
    ball = sphere(24)
    meshes = {}
    for kind in TRIANGULATIONS:
        new = triangulate(ball, kind, 700, np.random.default_rng(1))
        assert is_closed(new.mesh) and new.mesh.n_vertices == 700
        corners = ball.vertices[ball.faces[new.under]]
        points = np.einsum("nc,ncx->nx", new.barycentric, corners)
        assert points == pytest.approx(new.mesh.vertices, abs=1e-12)
        meshes[kind] = new.mesh
    spread = {kind: np.std(np.log(face_areas(mesh))) for kind, mesh in meshes.items()}
    assert aspect(meshes["stretched"]) > 1.5 * aspect(meshes["even"])
    assert spread["uneven"] > 2.0 * spread["even"]
    assert finsler.health(meshes["rough"]).smallest_angle < 20
    assert finsler.health(meshes["even"]).smallest_angle > 25
    with pytest.raises(InputError, match="kind is 'square'"):
        triangulate(ball, "square", 700, np.random.default_rng(1))


# Collections


def test_shapes_are_closed_differ_in_size_and_hardly_cross_themselves(animals):
    sizes = []
    for name in animals.names:
        mesh = animals[name].mesh
        assert is_closed(mesh)
        assert crossing_faces(mesh).mean() < 0.04
        sizes.append(mesh.n_vertices)
    assert len(set(sizes)) > 3
    assert min(sizes) >= 1000 and max(sizes) <= 3200


def test_shapes_are_decided_by_the_seed_and_independent_of_the_rest(animals):
    name = animals.test[1]
    more = synthetic_collection("animal", train=4, test=9, poses=2, seed=5, flaws=0.0)
    again, once = pickle.loads(pickle.dumps(more))[name], animals[name]
    assert again.mesh.vertices.tobytes() == once.mesh.vertices.tobytes()
    assert again.points.tobytes() == once.points.tobytes()
    other = synthetic_collection("animal", train=4, test=2, poses=2, seed=6)[name]
    assert other.mesh.n_vertices != once.mesh.n_vertices


def test_truth_is_the_same_both_ways_and_leads_back(animals):
    first, second, reference = (
        animals[n] for n in (animals.train[0], animals.test[0], animals.reference)
    )
    there, back = animals.truth(first, second), animals.truth(second, first)
    assert there.tolist() == back[:, ::-1].tolist()
    assert reference.points.tolist() == reference.labels.tolist() == list(range(2000))
    for shape in (first, second):
        named = np.flatnonzero(shape.named)
        # From a named vertex to its label and back: the same place, give or take a neighbour.
        home = shape.mesh.vertices[shape.points[shape.labels[named]]]
        gap = np.linalg.norm(home - shape.mesh.vertices[named], axis=1)
        assert np.median(gap) == 0.0 or np.mean(gap == 0.0) > 0.4
        assert np.quantile(gap, 0.99) < 0.1


def test_a_creature_lies_exactly_on_its_posed_template_in_every_triangulation():
    common, rng = template("animal"), np.random.default_rng(0)
    relief = sample_relief(common, rng)
    identity, pose = {"legs": 0.6, "weight": 1.4}, {"head turn": 30.0}
    goal = common.posed(common.species.factors(identity), common.species.angles(pose), relief)
    for kind in TRIANGULATIONS:
        made = make_creature(
            "animal", identity, pose, vertices=1000, relief=relief, triangulation=kind
        )
        corners = goal.vertices[goal.faces[made.template_faces]]
        expected = np.einsum("nc,ncx->nx", made.template_barycentric, corners)
        assert made.mesh.vertices == pytest.approx(expected, abs=1e-12)


def test_flaws_keep_the_truth_of_what_is_left():
    flawed = synthetic_collection("animal", train=6, test=0, poses=1, vertices=1000, flaws=1.0)
    reference = flawed[flawed.reference]
    shapes = list(flawed)
    assert any((shape.points < 0).any() for shape in shapes)
    for shape in shapes:
        known = shape.points[shape.points >= 0]
        assert len(known) > 0.7 * reference.mesh.n_vertices
        assert known.max() < shape.mesh.n_vertices == len(shape.labels) == len(shape.named)
        assert shape.labels.max() < reference.mesh.n_vertices


def test_a_fist_keeps_its_fingers_apart_and_nothing_sinks_in():
    common = template("person")
    fist = dict(common.species.overlays["left_grip"].poses[2])
    reference = make_creature("person", vertices=3000, seed=1)
    made = make_creature("person", {"hands": 0.8}, fist, vertices=3000, seed=2)
    points = made.varied_shape("fist", reference).points
    here, there = (creature._interpolated(common.weights) for creature in (reference, made))
    number = {bone.name: i for i, bone in enumerate(common.species.bones)}
    tips = [name for name in number if name.endswith("_tip")]
    assert len(tips) == 10
    for tip in tips:
        finger = [number[tip], number[tip.removesuffix("_tip")]]
        on_it = np.flatnonzero(here[:, finger].sum(axis=1) > 0.6)
        assert len(on_it) > 5
        assert (there[points[on_it]][:, finger].sum(axis=1) > 0.3).mean() > 0.9
    rng = np.random.default_rng(0)
    identity = sample_identity(common.species, rng)
    assert deepest_sink(common, identity, sample_pose(common, identity, rng)) <= 0.3


def test_a_pack_keeps_the_points(animals, tmp_path):
    write_pack(animals, tmp_path / "animals.npz")
    again = packed(tmp_path / "animals.npz")
    for name in (animals.reference, animals.test[0]):
        assert again[name].points.tolist() == animals[name].points.tolist()
        assert again[name].family == "animal"
        assert again[name].mesh.vertices.tobytes() == animals[name].mesh.vertices.tobytes()


def test_an_individual_without_a_first_pose_gets_another(monkeypatch):
    streams = []

    def reluctant(common, identity, rng):
        streams.append(rng.bit_generator.seed_seq.entropy)
        if len(streams) < 3:
            raise ConvergenceError("no pose")
        return {"head turn": 20.0}

    monkeypatch.setattr("finsler.data.sets.synthetic.sample_pose", reluctant)
    one = synthetic_collection("animal", train=1, test=0, vertices=1000, flaws=0.0)
    assert is_closed(one["animal_i00_p00"].mesh)
    assert streams == [[0, 2, 0, 0], [0, 2, 0, 0, 1], [0, 2, 0, 0, 2]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"flaws": 1.5}, "flaws is 1.5"), ({"vertices": 13_000}, "at most 12500")],
)
def test_bad_requests_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        synthetic_collection("animal", **arguments)
