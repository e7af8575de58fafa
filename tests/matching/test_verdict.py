"""How probable a whole map is: measures, reasons, and maps of each kind."""

import numpy as np
import pytest
from scipy.spatial import cKDTree

import finsler
from finsler.data import cut, synthetic_collection
from finsler.matching import Verdict, verdict
from finsler.matching.distances import farthest_points
from finsler.matching.verdict import torn_share


@pytest.fixture(scope="module")
def people():
    """Labels by position on the reference, and two people of different bodies."""
    shapes = synthetic_collection("humanoid", train=0, test=2, poses=1, vertices=700)
    one, other = (shapes[name] for name in shapes.test)
    points = shapes[shapes.reference].mesh.vertices
    return one.mesh, other.mesh, points[one.labels], points[other.labels]


def maps(people, motion):
    """Both ways between the people, after a motion of the reference that is its own inverse."""
    _, _, first, second = people
    there = cKDTree(second).query(motion(first))[1]
    return there, cKDTree(first).query(motion(second))[1]


def mirrored(points, where=True):
    return np.where(np.reshape(where, (-1, 1)), points * [-1.0, 1.0, 1.0], points)


def test_true_map_of_two_people_is_not_suspected(people):
    found = verdict(*people[:2], *maps(people, lambda points: points))
    assert not found.doubtful and found.reasons == ()
    assert found.probability > 0.8 and found.sentence.startswith("probably right")
    assert found.distance_change < 0.1 and found.torn_share < 0.003 and found.orientation > 0.9


def test_unit_of_length_does_not_matter(people):
    both = maps(people, lambda points: points)
    large = finsler.TriMesh(1000.0 * people[1].vertices, people[1].faces)
    here, there = verdict(*people[:2], *both), verdict(people[0], large, *both)
    assert there.distance_change == pytest.approx(here.distance_change, rel=1e-3)


def test_exchanged_arms_tear_the_surface(people):
    both = maps(people, lambda points: mirrored(points, np.abs(points[:, 0]) > 0.25))
    found = verdict(*people[:2], *both)
    assert found.doubtful and found.torn_share > 0.02
    assert found.sentence.startswith("doubtful (") and "of near points" in found.sentence


def test_exchanged_sides_turn_the_surface_over(people):
    found = verdict(*people[:2], *maps(people, mirrored))
    assert found.orientation < 0.1 and "left and right" in found.sentence
    assert found.torn_share < 0.003


def test_random_map_changes_distances(people):
    rng = np.random.default_rng(0)
    found = verdict(*people[:2], rng.integers(0, 700, 700), rng.integers(0, 700, 700))
    assert found.distance_change > 0.3 and found.torn_share > 0.3
    assert len(found.reasons) >= 2


def test_one_bad_direction_is_enough(people):
    there, back = maps(people, lambda points: points)
    shuffled = np.random.default_rng(0).permutation(back)
    assert verdict(*people[:2], there, shuffled).doubtful
    assert not verdict(*people[:2], there, shuffled, partial=True).doubtful


def test_part_may_be_farther_round_than_the_whole():
    # Two thirds of a ring: its ends are near each other on the whole, and far apart on the part.
    ring = finsler.primitives.torus(40, 16)
    part = cut(ring, share=0.66, seed=0)
    found = verdict(part.mesh, ring, part.vertex_map, np.zeros(ring.n_vertices, int), partial=True)
    assert not found.doubtful and found.distance_change < 0.02


def test_several_components():
    one = finsler.primitives.bumpy_sphere(5)
    n = one.n_vertices
    two = finsler.TriMesh(
        np.concatenate([one.vertices, one.vertices + 5.0]),
        np.concatenate([one.faces, one.faces + n]),
    )
    same = np.arange(2 * n)
    assert verdict(two, two, same, same).distance_change == 0.0
    torn = np.where(same % 2 == 0, same, (same + n) % (2 * n))
    assert verdict(two, two, torn, torn).torn_share > 0.2


def test_measures_and_limits():
    before = np.array([[0.0, 0.1, 0.14, 0.16], [0.1, 0.0, 0.3, 0.1]])
    after = np.array([[0.0, 0.5, 0.39, 0.9], [0.5, 0.0, 0.3, 0.1]])
    assert torn_share(before, after, np.array([1.0, 1.0, 1.0, 2.0])) == pytest.approx(2 / 5)
    assert not Verdict(0.0, 0.0, 1.0).doubtful
    for bad in ((1.0, 0.0, 1.0), (0.0, 1.0, 1.0), (0.0, 0.0, 0.0)):
        assert Verdict(*bad).doubtful and len(Verdict(*bad).reasons) == 1


def test_farthest_points():
    line = np.arange(11.0)[:, None] * [1.0, 0.0, 0.0]
    assert sorted(farthest_points(line, 3)) == [0, 5, 10]
    assert len(farthest_points(line, 100)) == 11


def test_rivals_share_the_probability():
    alone = Verdict(0.02, 0.0, 1.0)
    assert alone.probability > 0.9 and alone.reasons == ()
    equal = Verdict(0.02, 0.0, 1.0, rivals=2.0 * alone.odds)
    assert equal.probability == pytest.approx(1 / 3, abs=0.02) and equal.doubtful
    assert equal.reasons == ("a different map is nearly as good",)
    worse = Verdict(0.02, 0.0, 1.0, rivals=9.0 * alone.odds)
    assert worse.reasons == ("a different map is better",)


def test_features_of_the_model_tell_what_distances_do_not():
    near = Verdict(0.05, 0.0, 0.98, features=0.02, elsewhere=0.01)
    far = Verdict(0.05, 0.0, 0.98, features=0.5, elsewhere=0.4)
    assert not near.doubtful and far.doubtful
    assert far.reasons == (
        "the model would send 40% of the surface elsewhere (right maps: below 5%)",
        "the model finds other parts of the body alike",
    )


def test_a_limb_that_the_model_expects_elsewhere_makes_a_map_less_probable():
    whole, limb = (Verdict(0.05, 0.0, 0.98, features=0.02, elsewhere=e) for e in (0.0, 0.1))
    assert limb.odds < 0.2 * whole.odds
