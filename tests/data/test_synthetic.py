"""Creatures the package makes itself: clean meshes, true labels, poses that bend, not tear."""

import pickle

import numpy as np
import pytest

import finsler
from finsler.data.sets.synthetic import make_creature, synthetic_collection
from finsler.errors import InputError
from finsler.mesh.measures import signed_volume, surface_area
from finsler.mesh.primitives import sphere, torus
from finsler.mesh.topology import edges
from finsler.synthetic import remesh, sample_identity, sample_pose, template
from finsler.synthetic.body import Part, body_distance, onto_surface, polygonise
from finsler.synthetic.sampling import deepest_sink
from finsler.synthetic.skeleton import rotated, unit_quaternion
from finsler.synthetic.skinning import build, motion

SPECIES = ["humanoid", "quadruped"]
POSED = {
    "humanoid": {"left_thigh flex": 60, "left_shin flex": 70, "right_arm raise": 60},
    "quadruped": {"neck lower": 40, "left_thigh swing": 25, "right_forearm flex": 50},
}


def is_clean(mesh, vertices):
    report = finsler.health(mesh)
    return (
        report.problems == []
        and report.n_vertices == vertices
        and (report.genus, report.components, report.outward) == (0, 1, True)
    )


def median_edge(points, mesh):
    ends = edges(mesh).vertices
    return np.median(np.linalg.norm(points[ends[:, 0]] - points[ends[:, 1]], axis=1))


@pytest.fixture(scope="module", params=SPECIES)
def collection(request):
    return synthetic_collection(request.param, train=2, test=2, poses=2, vertices=1000, seed=3)


@pytest.fixture(scope="module")
def shapes(collection):
    return {name: collection[name] for name in (*collection.names, collection.reference)}


# The body


def test_a_capsule_is_polygonised_to_its_volume_and_area():
    capsule = Part("bone", (0.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.3, 0.3))
    rough = polygonise([capsule], 0.04)
    assert finsler.health(rough).problems == []
    assert finsler.health(rough).genus == 0
    even = remesh(rough, 4000, np.random.default_rng(0)).mesh
    mesh = finsler.TriMesh(onto_surface([capsule], even.vertices), even.faces)
    assert np.abs(capsule.distance(mesh.vertices)).max() < 1e-12
    assert signed_volume(mesh) == pytest.approx(np.pi * 0.09 * (1.0 + 0.4), rel=4e-3)
    assert surface_area(mesh) == pytest.approx(2 * np.pi * 0.3 * (1.0 + 0.6), rel=2e-3)


def test_parts_blend_smoothly_and_only_near_each_other():
    ball = Part("bone", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (1.0, 1.0))
    other = Part("bone", (3.0, 0.0, 0.0), (3.0, 0.0, 0.0), (1.0, 1.0), blend=0.2)
    middle, far = np.array([[1.5, 0.0, 0.0]]), np.array([[-2.0, 0.0, 0.0]])
    assert body_distance([ball, other], middle)[0] == pytest.approx(0.5 - 0.2 / 4)
    assert body_distance([ball, other], far)[0] == pytest.approx(1.0)


# The remesher


@pytest.mark.parametrize("vertices", [100, 642, 3000])
def test_remeshing_meets_the_count_and_lies_on_the_old_surface(vertices):
    ball = sphere(8)
    new = remesh(ball, vertices, np.random.default_rng(1))
    assert is_clean(new.mesh, vertices)
    assert (new.barycentric >= 0).all()
    assert new.barycentric.sum(axis=1) == pytest.approx(1.0)
    corners = ball.vertices[ball.faces[new.under]]
    assert np.einsum("nc,ncx->nx", new.barycentric, corners) == pytest.approx(new.mesh.vertices)
    assert finsler.health(new.mesh).smallest_angle > 25


def test_remeshing_is_isotropic_delaunay_and_decided_by_the_seed():
    ball = sphere(20)
    first, again, other = (
        remesh(ball, 1000, np.random.default_rng(seed)).mesh for seed in (4, 4, 5)
    )
    assert first.vertices.tobytes() == again.vertices.tobytes()
    assert first.faces.tobytes() == again.faces.tobytes()
    assert not np.array_equal(first.faces, other.faces)
    report = finsler.health(first)
    assert report.longest_edge < 1.6 * report.median_edge
    assert report.shortest_edge > 0.5 * report.median_edge
    off_diagonal = finsler.lbo(first).stiffness.tocoo()
    assert off_diagonal.data[off_diagonal.row != off_diagonal.col].max() < 1e-9


def test_remeshing_refuses_what_it_cannot_do():
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="without handles"):
        remesh(torus(), 500, rng)
    with pytest.raises(InputError, match="at least 4"):
        remesh(sphere(4), 3, rng)


# Skeleton and skinning


@pytest.mark.parametrize("species", SPECIES)
def test_weights_are_a_partition_of_unity_that_follows_the_sides(species):
    common = template(species)
    assert common.weights.min() >= 0.0
    assert common.weights.sum(axis=1) == pytest.approx(1.0)
    x = common.mesh.vertices[:, 0]
    for i, bone in enumerate(common.species.bones):
        assert common.weights[:, i].max() > 0.5, f"{bone.name} carries nothing"
        carried = common.weights[:, i] > 0.9
        if bone.name.startswith("left_"):
            assert (x[carried] > 0).all()
        if bone.name.startswith("right_"):
            assert (x[carried] < 0).all()


@pytest.mark.parametrize("species", SPECIES)
def test_no_identity_and_no_pose_is_the_template(species):
    common = template(species)
    shift = common.posed({}, {}).vertices - common.mesh.vertices
    assert shift == pytest.approx(np.broadcast_to(shift[0], shift.shape), abs=1e-9)


def test_a_turned_root_turns_the_whole_body():
    common = template("humanoid")
    kind = common.species
    still = build(kind, {})
    moved = motion(kind, still, {"pelvis turn": 40}).skinned(common.mesh.vertices, common.weights)
    joint = np.array(kind.bones[0].joint)
    expected = rotated(unit_quaternion((0, 1, 0), 40.0), common.mesh.vertices - joint) + joint
    assert moved == pytest.approx(expected, abs=1e-9)


def test_longer_legs_are_longer_and_nothing_else():
    common = template("humanoid")
    joints = {bone.name: i for i, bone in enumerate(common.species.bones)}
    short, tall = build(common.species, {}), build(common.species, {"legs": 1.1})

    def between(individual, a, b):
        return np.linalg.norm(individual.joints[joints[a]] - individual.joints[joints[b]])

    for bones, factor in (
        (("left_thigh", "left_shin"), 1.1),
        (("left_shin", "left_foot"), 1.1),
        (("left_arm", "left_forearm"), 1.0),
        (("neck", "head"), 1.0),
    ):
        assert between(tall, *bones) == pytest.approx(factor * between(short, *bones))


@pytest.mark.parametrize("species", SPECIES)
def test_a_mirrored_pose_gives_the_mirrored_body(species):
    common = template(species)
    pose = {**POSED[species], "head turn": 20.0, "head tilt": 10.0}
    twin = common.species.mirrored(pose)
    assert common.species.mirrored(twin) == pose
    still = build(common.species, {})
    places = {
        name: motion(common.species, still, angles)
        for name, angles in (("given", pose), ("twin", twin))
    }
    for i, bone in enumerate(common.species.bones):
        other = bone.name.replace("left_", "*").replace("right_", "left_").replace("*", "right_")
        j = [b.name for b in common.species.bones].index(other)
        given = places["given"].moved(still.joints[[i]], i)[0]
        reflected = places["twin"].moved(still.joints[[j]], j)[0] * [-1.0, 1.0, 1.0]
        assert given == pytest.approx(reflected, abs=1e-9)


def test_sunken_limbs_are_found_and_no_sampled_pose_has_them():
    common = template("humanoid")
    assert deepest_sink(common, {}, {}) == 0.0
    through = {"left_arm raise": -30, "left_arm twist": 60, "left_clavicle raise": -5}
    through |= {"left_arm swing": -10, "left_forearm flex": 10}
    assert deepest_sink(common, {}, through) > 0.3
    for seed in range(5):
        rng = np.random.default_rng(seed)
        identity = sample_identity(common.species, rng)
        pose = sample_pose(common, identity, rng)
        assert deepest_sink(common, identity, pose) <= 0.15
        assert common.species.angles(pose) == pose
        assert common.species.factors(identity) == identity


# Creatures


@pytest.mark.parametrize("species", SPECIES)
@pytest.mark.parametrize("vertices", [500, 2000, 8000])
def test_meshes_are_clean_at_every_resolution(species, vertices):
    creature = make_creature(species, {"size": 0.9}, POSED[species], vertices=vertices, seed=1)
    assert is_clean(creature.mesh, vertices)
    assert creature.mesh.vertices[:, 1].min() == pytest.approx(0.0, abs=0.02)


@pytest.mark.parametrize("species", SPECIES)
def test_poses_bend_the_body_but_hardly_stretch_it(species):
    common = template(species)
    rest, bent = common.posed({}, {}), common.posed({}, POSED[species])
    assert np.linalg.norm(rest.vertices - bent.vertices, axis=1).max() > 0.2
    rng = np.random.default_rng(0)
    sources, others = rng.integers(0, rest.n_vertices, 4), rng.integers(0, rest.n_vertices, 500)
    change = []
    for source in sources:
        before, after = (
            finsler.geodesic_distance(m, [source], method="heat")[others] for m in (rest, bent)
        )
        change.append(np.abs(after - before) / np.maximum(before, 0.05))
    assert np.median(change) < 0.1
    assert surface_area(bent) == pytest.approx(surface_area(rest), rel=0.05)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"species": "dragon"}, "one of humanoid, quadruped"),
        ({"identity": {"wings": 1.0}}, "names 'wings'"),
        ({"identity": {"legs": 2.0}}, "trait legs is 2.0"),
        ({"pose": {"left_wing flap": 10}}, "names 'left_wing flap'"),
        ({"pose": {"left_shin flex": -40}}, "left_shin flex is -40 degrees"),
        ({"vertices": 499}, "500..20000"),
        ({"vertices": 20001}, "500..20000"),
    ],
)
def test_bad_requests_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        make_creature(**{"species": "humanoid", **arguments})


# The collection


def test_names_and_splits():
    people = synthetic_collection("humanoid", train=5, test=3, poses=2)
    assert people.train == tuple(
        f"humanoid_{p}" for p in ("i00_p00", "i00_p01", "i01_p00", "i01_p01", "i02_p00")
    )
    assert people.test == ("humanoid_i03_p00", "humanoid_i03_p01", "humanoid_i04_p00")
    assert not {n.split("_")[1] for n in people.train} & {n.split("_")[1] for n in people.test}
    with pytest.raises(InputError, match="no shape"):
        people["humanoid_i09_p00"]
    with pytest.raises(InputError, match="no shape"):
        people.load("humanoid_i09_p00")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"species": "dragon"}, "one of humanoid"),
        ({"train": -1}, "train is -1"),
        ({"poses": 0}, "poses is 0"),
        ({"vertices": 10}, "500..20000"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_bad_collections_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        synthetic_collection(**arguments)


def test_shapes_are_the_same_at_every_call_and_independent_of_the_rest(collection, shapes):
    name = collection.test[0]
    once, again = shapes[name], pickle.loads(pickle.dumps(collection))[name]
    for a, b in (
        (once.mesh.vertices, again.mesh.vertices),
        (once.mesh.faces, again.mesh.faces),
        (once.labels, again.labels),
        (once.named, again.named),
    ):
        assert a.tobytes() == b.tobytes()
    larger = synthetic_collection(
        name.split("_")[0], train=2, test=4, poses=2, vertices=1000, seed=3
    )
    assert larger[name].mesh.vertices.tobytes() == once.mesh.vertices.tobytes()


def test_no_two_shapes_share_identity_pose_or_connectivity(shapes):
    every = list(shapes.values())
    for i, one in enumerate(every):
        assert is_clean(one.mesh, 1000)
        for other in every[:i]:
            assert not np.array_equal(one.mesh.faces, other.mesh.faces)
            assert surface_area(one.mesh) != pytest.approx(surface_area(other.mesh), rel=1e-6)


def test_the_reference_labels_itself(collection, shapes):
    reference = shapes[collection.reference]
    assert reference.labels.tolist() == list(range(1000))
    assert reference.named.all()


def test_labels_name_the_same_place_of_the_template(collection, shapes):
    species = collection.reference.split("_")[0]
    # The streams of the collection, spelt out: a shape's labels must be those of its creature.
    kind = template(species).species
    reference = make_creature(species, vertices=1000, seed=[3, 4, 0, 0])
    identity = sample_identity(kind, np.random.default_rng([3, 1, 1, 0]))
    pose = sample_pose(template(species), identity, np.random.default_rng([3, 2, 1, 1]))
    creature = make_creature(species, identity, pose, vertices=1000, seed=[3, 3, 1, 1])
    shape = shapes[f"{species}_i01_p01"]
    assert shape.mesh.vertices.tobytes() == creature.mesh.vertices.tobytes()

    goals = reference.rest_points()
    gap = np.linalg.norm(creature.rest_points() - goals[shape.labels], axis=1)
    edge = median_edge(goals, reference.mesh)
    assert np.quantile(gap, 0.99) < edge
    assert gap.max() < 2.0 * edge
    assert gap[shape.named].max() < edge
    assert shape.named.mean() > 0.75
    assert len(np.unique(shape.labels)) > 0.75 * 1000


def test_no_face_joins_labels_of_the_two_sides(collection, shapes):
    x = shapes[collection.reference].mesh.vertices[:, 0]
    for shape in shapes.values():
        side = np.sign(x[shape.labels]) * (np.abs(x[shape.labels]) > 0.5 * np.abs(x).max())
        of_faces = side[shape.mesh.faces]
        assert (of_faces == 1).any()
        assert (of_faces == -1).any()
        assert not ((of_faces == 1).any(axis=1) & (of_faces == -1).any(axis=1)).any()


def test_a_raised_left_arm_carries_the_labels_of_the_left_hand():
    reference = make_creature("humanoid", vertices=800, seed=1)
    waving = make_creature("humanoid", {}, {"left_arm raise": 80}, vertices=800, seed=2)
    shape = waving.shape("waving", reference)
    high = shape.mesh.vertices[:, 1] > np.quantile(shape.mesh.vertices[:, 1], 0.995)
    assert reference.mesh.vertices[shape.labels[high], 0].min() > 0.4
    with pytest.raises(InputError, match="cannot be labelled"):
        waving.shape("waving", make_creature("quadruped", vertices=500))
