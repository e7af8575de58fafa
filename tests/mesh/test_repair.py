import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from finsler.errors import InputError
from finsler.mesh import (
    TriMesh,
    degenerate_faces,
    edges,
    euler_number,
    face_areas,
    health,
    load_mesh,
    primitives,
    repair,
    signed_volume,
    vertex_components,
)

REAL = os.environ.get("FINSLER_DATA")

TETRAHEDRON = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])
POINTS = np.eye(4, 3, k=-1)


def same_arrays(a, b):
    return np.array_equal(a.vertices, b.vertices) and np.array_equal(a.faces, b.faces)


def only(**changes):
    names = ("merged_vertices", "dropped_degenerate_faces", "dropped_duplicate_faces")
    names += ("split_vertices", "dropped_vertices", "flipped_faces")
    assert set(changes) <= set(names)
    return {name: changes.get(name, 0) for name in names}


@st.composite
def soups(draw):
    """Few points on a small grid, so that every defect occurs."""
    n, m = draw(st.integers(3, 8)), draw(st.integers(1, 14))
    points = draw(st.lists(st.integers(0, 2), min_size=3 * n, max_size=3 * n))
    corners = draw(st.lists(st.integers(0, n - 1), min_size=3 * m, max_size=3 * m))
    return TriMesh(np.reshape(points, (n, 3)), np.reshape(corners, (m, 3)))


@given(soup=soups(), tolerance=st.sampled_from([0.0, 0.0, 0.3]))
@settings(max_examples=150, deadline=None)
def test_repair_is_clean_complete_and_idempotent(soup, tolerance):
    try:
        first = repair(soup, merge_tolerance=tolerance)
    except InputError:
        assert (face_areas(soup) == 0).all() or tolerance > 0
        return
    again = repair(first.mesh, merge_tolerance=tolerance)
    assert not again.changed
    assert same_arrays(again.mesh, first.mesh)
    np.testing.assert_array_equal(again.vertex_map, np.arange(first.mesh.n_vertices))
    np.testing.assert_array_equal(again.vertex_source, np.arange(first.mesh.n_vertices))
    report = health(first.mesh)
    assert report.usable
    left = [problem for problem in report.problems if "pass" not in problem]  # through each other
    assert left == [] or not report.orientable
    assert report.nonmanifold_edges == report.nonmanifold_vertices == 0


@given(soup=soups())
@settings(max_examples=60, deadline=None)
def test_maps_and_counts_fit_together(soup):
    try:
        done = repair(soup)
    except InputError:
        return
    np.testing.assert_array_equal(soup.vertices[done.vertex_source], done.mesh.vertices)
    kept = done.vertex_map >= 0
    np.testing.assert_array_equal(done.mesh.vertices[done.vertex_map[kept]], soup.vertices[kept])
    count = done.changes
    assert done.mesh.n_vertices == (
        soup.n_vertices
        - count["merged_vertices"]
        - count["dropped_vertices"]
        + count["split_vertices"]
    )
    assert len(done.face_source) == done.mesh.n_faces
    old = np.sort(soup.vertices[soup.faces[done.face_source]].reshape(-1, 9), axis=1)
    new = np.sort(done.mesh.vertices[done.mesh.faces].reshape(-1, 9), axis=1)
    np.testing.assert_array_equal(old, new)


def test_clean_mesh_is_returned_as_it_is():
    mesh = primitives.torus(7, 5)
    done = repair(mesh)
    assert not done.changed and same_arrays(done.mesh, mesh)


def test_soup_becomes_the_surface_again():
    mesh = primitives.torus(7, 5)
    soup = TriMesh(
        mesh.vertices[mesh.faces].reshape(-1, 3), np.arange(3 * mesh.n_faces).reshape(-1, 3)
    )
    done = repair(soup)
    assert done.changes == only(merged_vertices=3 * mesh.n_faces - mesh.n_vertices)
    assert health(done.mesh).genus == 1


def test_tolerance_is_a_share_of_the_diagonal():
    points = 100 * np.r_[POINTS, POINTS[:1] + 1e-5]
    faces = TETRAHEDRON.copy()
    faces[3, 1] = 4
    mesh = TriMesh(points, faces)
    assert repair(mesh).changes["merged_vertices"] == 0
    done = repair(mesh, merge_tolerance=1e-4)
    assert done.changes == only(merged_vertices=1)
    np.testing.assert_array_equal(done.mesh.vertices, points[:4])


def test_degenerate_and_duplicate_faces_go():
    faces = np.r_[TETRAHEDRON, [[0, 0, 1], [1, 2, 0], [0, 1, 2]]]
    done = repair(TriMesh(POINTS, faces))
    assert done.changes == only(dropped_degenerate_faces=1, dropped_duplicate_faces=2)
    assert done.face_source.tolist() == [0, 1, 2, 3]


def test_unreferenced_vertices_go_and_the_rest_keeps_its_order():
    done = repair(TriMesh(np.r_[[[9, 9, 9]], POINTS], TETRAHEDRON + 1))
    assert done.changes == only(dropped_vertices=1)
    assert done.vertex_map.tolist() == [-1, 0, 1, 2, 3]
    assert done.vertex_source.tolist() == [1, 2, 3, 4]


def test_orientation_is_made_consistent_and_outward():
    faces = TETRAHEDRON[:, ::-1].copy()
    faces[2] = faces[2][::-1]
    done = repair(TriMesh(POINTS, faces))
    assert done.changes == only(flipped_faces=3)
    assert signed_volume(done.mesh) == pytest.approx(1 / 6)


def test_open_surface_follows_the_majority():
    mesh = primitives.plane(3, 3)
    faces = mesh.faces[:, ::-1].copy()
    faces[4] = faces[4][::-1]
    assert repair(TriMesh(mesh.vertices, faces)).changes == only(flipped_faces=1)


@pytest.mark.parametrize(("corners", "copies"), [([0, 4, 5, 6], 1), ([0, 1, 4, 5], 2)])
def test_touching_tetrahedra_are_separated(corners, copies):
    points = np.r_[POINTS, [[0, -1, 0], [0, 0, -1], [-1, -1, -1]]][: max(corners) + 1]
    faces = np.r_[TETRAHEDRON, np.array(corners)[TETRAHEDRON]]
    done = repair(TriMesh(points, faces), outward=False)
    assert done.changes == only(split_vertices=copies)
    assert done.vertex_source[-copies:].tolist() == list(range(copies))
    report = health(done.mesh)
    assert report.components == 2 and report.boundary_loops == 0


def test_three_pages_of_a_book_come_apart():
    points = [[0, 0, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [-1, -1, 0]]
    done = repair(TriMesh(points, [[0, 1, 2], [0, 1, 3], [0, 1, 4]]))
    assert done.changes == only(split_vertices=4)
    assert health(done.mesh).components == 3
    assert face_areas(done.mesh).sum() == pytest.approx(1 + np.sqrt(2) / 2)


SWITCHES = {
    "merge_vertices": "merged_vertices",
    "drop_degenerate": "dropped_degenerate_faces",
    "drop_duplicates": "dropped_duplicate_faces",
    "split_nonmanifold": "split_vertices",
    "drop_unreferenced": "dropped_vertices",
}


@pytest.mark.parametrize(("switch", "change"), SWITCHES.items())
def test_each_switch_turns_its_step_off(switch, change):
    points = np.r_[POINTS, POINTS[:1], -POINTS[1:], [[9, 9, 9]]]
    seam = TETRAHEDRON.copy()
    seam[3, 1] = 4
    bowtie = np.array([1, 5, 6, 7])[TETRAHEDRON]
    mesh = TriMesh(points, np.r_[seam, bowtie, [[2, 2, 3], [1, 5, 6]]])
    assert repair(mesh).changes[change] > 0
    assert repair(mesh, **{switch: False}).changes[change] == 0


def test_orientation_switches():
    inward = TriMesh(POINTS, TETRAHEDRON[:, ::-1])
    assert not repair(inward, outward=False).changed
    faces = TETRAHEDRON.copy()
    faces[0] = faces[0][::-1]
    assert not repair(TriMesh(POINTS, faces), orient=False).changed
    assert repair(inward, orient=False).changes == only(flipped_faces=4)


def test_nothing_left_is_an_error():
    with pytest.raises(InputError, match="nothing is left"):
        repair(TriMesh(POINTS, [[0, 0, 1]]))


@pytest.mark.parametrize("tolerance", [-1e-3, 1.0, np.nan])
def test_tolerance_out_of_range_is_an_error(tolerance):
    with pytest.raises(InputError, match=r"merge_tolerance.*\[0, 1\)"):
        repair(TriMesh(POINTS, TETRAHEDRON), merge_tolerance=tolerance)


def topology(mesh):
    return {
        "components": int(vertex_components(mesh).max()) + 1,
        "boundary": int((edges(mesh).counts == 1).sum()),
        "euler": euler_number(mesh),
    }


SOUND = {
    "sphere": primitives.sphere(4),
    "torus": primitives.torus(9, 7),
    "plane": primitives.plane(6, 6),
}


@given(data=st.data(), name=st.sampled_from(list(SOUND)))
@settings(max_examples=60, deadline=None)
def test_sheets_that_touch_stay_apart(data, name):
    """Vertices moved onto others, anywhere: the surface is as sound as before, and stays."""
    mesh = SOUND[name]
    index = st.integers(0, mesh.n_vertices - 1)
    pairs = data.draw(st.lists(st.tuples(index, index), min_size=1, max_size=12))
    points = np.array(mesh.vertices)
    for one, other in pairs:
        points[one] = points[other]
    moved = TriMesh(points, mesh.faces)
    assume(not degenerate_faces(moved).any())
    done = repair(moved)
    if done.changes["merged_vertices"]:  # two edges of the rim of the plane came together
        assert name == "plane"
        assert topology(done.mesh)["boundary"] < topology(moved)["boundary"]
        return
    assert done.changes == only(flipped_faces=done.changes["flipped_faces"])
    assert health(moved).duplicate_vertices == 0
    np.testing.assert_array_equal(done.mesh.vertices, moved.vertices)
    np.testing.assert_array_equal(np.sort(done.mesh.faces), np.sort(moved.faces))


@given(data=st.data(), name=st.sampled_from(list(SOUND)), apart=st.sampled_from([0.0, 1e-9]))
@settings(max_examples=30, deadline=None)
def test_cracks_are_closed_and_nothing_else(data, name, apart):
    """Faces that lost their vertices to copies, some a little moved, find them again."""
    mesh = SOUND[name]
    chosen = data.draw(st.lists(st.integers(0, mesh.n_faces - 1), min_size=1, max_size=40))
    faces = np.array(mesh.faces)
    free = np.zeros(mesh.n_faces, dtype=bool)
    free[chosen] = True
    count = 3 * int(free.sum())
    faces[free] = mesh.n_vertices + np.arange(count).reshape(-1, 3)
    moved = mesh.vertices[mesh.faces[free]].reshape(-1, 3) + apart
    torn = TriMesh(np.r_[mesh.vertices, moved], faces)
    done = repair(torn, merge_tolerance=10 * apart)
    assert topology(done.mesh) == topology(mesh)
    assert done.changes["split_vertices"] == done.changes["dropped_degenerate_faces"] == 0
    assert (done.vertex_map >= 0)[np.unique(faces)].all()
    if apart == 0.0:
        assert health(torn).duplicate_vertices == done.changes["merged_vertices"]


def test_solids_that_share_an_edge_or_a_wall_come_apart_whole():
    """Boxes of soup in a row, each closed for itself although their walls coincide."""
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
    quads = np.array(
        [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    )
    box = corners[np.r_[quads[:, :3], quads[:, [0, 2, 3]]]]
    for shift in ([1, 1, 0], [1, 0, 0]):
        points = np.r_[box, box + shift].reshape(-1, 3)
        done = repair(TriMesh(points, np.arange(len(points)).reshape(-1, 3)))
        assert topology(done.mesh) == {"components": 2, "boundary": 0, "euler": 4}
        assert done.changes == only(merged_vertices=len(points) - 16)


def test_a_skin_and_its_back_on_the_same_vertices_become_two_surfaces():
    mesh = primitives.bumpy_sphere(3)
    done = repair(TriMesh(mesh.vertices, np.r_[mesh.faces, mesh.faces[:, ::-1]]))
    assert topology(done.mesh) == {"components": 2, "boundary": 0, "euler": 4}
    assert done.changes == only(split_vertices=mesh.n_vertices, flipped_faces=mesh.n_faces)


@pytest.mark.parametrize("turn", [1, -1])
@pytest.mark.parametrize("face", [0, 9, 17])
def test_one_of_a_face_and_its_copy_stays_at_the_rim_too(face, turn):
    mesh = primitives.plane(3, 3)
    done = repair(TriMesh(mesh.vertices, np.r_[mesh.faces, mesh.faces[[face], ::turn]]))
    assert same_arrays(done.mesh, mesh)
    assert done.changes == only(dropped_duplicate_faces=1)


def test_a_flap_is_taken_off_and_the_surface_under_it_stays_closed():
    """A face and its back stand on an edge; they enclose nothing."""
    mesh = primitives.sphere(3)
    a, b = mesh.faces[0, :2]
    tip = mesh.n_vertices
    flap = [[a, b, tip], [b, a, tip]]
    done = repair(TriMesh(np.r_[mesh.vertices, [[0, 0, 3]]], np.r_[mesh.faces, flap]))
    assert same_arrays(done.mesh, mesh)
    assert done.changes == only(dropped_duplicate_faces=2, dropped_vertices=1)


@pytest.mark.skipif(not REAL, reason="FINSLER_DATA names no folder")
@pytest.mark.parametrize("collection", ["SMAL_r", "FAUST_r", "TOSCA_r", "SCAPE_r", "DT4D_r"])
def test_real_meshes_are_not_cut(collection):
    paths = sorted(Path(REAL, collection).rglob("*.off"))
    if not paths:
        pytest.skip(f"{collection} is not there")
    for path in paths[:: max(1, len(paths) // 6)]:
        mesh = load_mesh(path)
        done = repair(mesh)
        before, after = topology(mesh), topology(done.mesh)
        assert after["boundary"] <= before["boundary"], path
        report = health(mesh)
        if report.nonmanifold_edges == report.nonmanifold_vertices == 0:
            assert after == before and not done.changed, path
        assert not repair(done.mesh).changed, path


@pytest.mark.parametrize("value", [None, (POINTS, TETRAHEDRON, POINTS), 3])
@pytest.mark.parametrize("function", [repair, health])
def test_what_is_no_mesh_is_refused(function, value):
    with pytest.raises(InputError, match=r"mesh is a .*; it must be a TriMesh"):
        function(value)


@pytest.mark.parametrize("options", [{"orient": "no"}, {"outward": None}, {"merge_vertices": 1}])
def test_switches_are_true_or_false(options):
    with pytest.raises(InputError, match="must be True or False"):
        repair(TriMesh(POINTS, TETRAHEDRON), **options)


@pytest.mark.parametrize("tolerance", ["1e-3", None, [0.1], 1j])
def test_tolerance_must_be_a_number(tolerance):
    with pytest.raises(InputError, match="merge_tolerance"):
        repair(TriMesh(POINTS, TETRAHEDRON), merge_tolerance=tolerance)


WRONG_ARRAYS = {
    "nothing": (None, TETRAHEDRON),
    "text": ("abc", TETRAHEDRON),
    "complex": (POINTS + 1j, TETRAHEDRON),
    "dates": (np.zeros((4, 3), dtype="datetime64[s]"), TETRAHEDRON),
    "ragged vertices": ([[0, 0, 0], [1]], TETRAHEDRON),
    "ragged faces": (POINTS, [[0, 1, 2], [1]]),
    "no faces": (POINTS, None),
    "infinite faces": (POINTS, [[0.0, 1.0, np.inf]]),
    "truth values": (POINTS, [[True, False, True]]),
    "a dict": (POINTS, {0: 1}),
}


@pytest.mark.parametrize("name", WRONG_ARRAYS)
def test_arrays_of_a_wrong_kind_are_refused(name):
    with pytest.raises(InputError, match=r"vertices|faces"):
        TriMesh(*WRONG_ARRAYS[name])
