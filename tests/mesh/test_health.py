import json

import numpy as np
import pytest

from finsler.mesh import TriMesh, health, primitives

TETRAHEDRON = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])
POINTS = np.eye(4, 3, k=-1)


def test_numbers_of_the_corner_tetrahedron():
    report = health(TriMesh(2 * POINTS, TETRAHEDRON))
    assert (report.n_vertices, report.n_edges, report.n_faces) == (4, 6, 4)
    assert report.area == pytest.approx(6 + 2 * np.sqrt(3))
    assert report.lower == (0, 0, 0) and report.upper == (2, 2, 2)
    assert report.diagonal == pytest.approx(np.sqrt(12))
    assert report.shortest_edge == pytest.approx(2)
    assert report.longest_edge == pytest.approx(np.sqrt(8))
    assert report.median_edge == pytest.approx(1 + np.sqrt(2))
    assert report.smallest_angle == pytest.approx(45)
    assert (report.genus, report.euler_number, report.components) == (0, 2, 1)
    assert report.outward is True and report.usable and report.problems == []


def test_torus_has_genus_one():
    assert health(primitives.torus(7, 5)).genus == 1


def test_open_surface_has_no_genus_and_no_outside():
    report = health(primitives.plane(2, 2))
    assert (report.genus, report.outward, report.boundary_loops) == (None, None, 1)
    assert report.problems == []


def test_two_spheres_have_no_genus():
    report = health(TriMesh(np.r_[POINTS, POINTS + 3], np.r_[TETRAHEDRON, TETRAHEDRON + 4]))
    assert (report.components, report.genus, report.outward) == (2, None, True)


def moebius():
    a = 2 * np.arange(8)
    b, c, d = a + 1, np.r_[a[1:], 1], np.r_[a[1:] + 1, 0]
    faces = np.r_[np.c_[a, c, b], np.c_[b, c, d]]
    return TriMesh(np.random.default_rng(0).normal(size=(16, 3)), faces)


def turned(face):
    faces = TETRAHEDRON.copy()
    faces[face] = faces[face][::-1]
    return faces


def seam():
    faces = TETRAHEDRON.copy()
    faces[3, 1] = 4
    return TriMesh(np.r_[POINTS, POINTS[:1]], faces)


DEFECTS = {
    "degenerate_faces": (TriMesh(POINTS, [*TETRAHEDRON, [1, 1, 2]]), 1, "without area"),
    "unreferenced_vertices": (TriMesh([*POINTS, [5, 5, 5]], TETRAHEDRON), 1, "without a face"),
    "duplicate_faces": (TriMesh(POINTS, [*TETRAHEDRON, [2, 1, 0]]), 1, "duplicate face"),
    "duplicate_vertices": (seam(), 1, "duplicate vertex"),
    "inconsistent_edges": (TriMesh(POINTS, turned(0)), 3, "oppositely oriented"),
    "nonmanifold_edges": (TriMesh(POINTS, [*TETRAHEDRON, [0, 1, 2]]), 3, "more than two faces"),
    "nonmanifold_vertices": (
        TriMesh(
            np.r_[POINTS, -POINTS[1:]], np.r_[TETRAHEDRON, np.array([0, 4, 5, 6])[TETRAHEDRON]]
        ),
        1,
        "separate fans",
    ),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_each_defect_is_counted_and_explained(name):
    mesh, count, words = DEFECTS[name]
    report = health(mesh)
    assert getattr(report, name) == count
    assert any(words in problem and "repair" in problem for problem in report.problems)
    assert report.usable == (name not in ("degenerate_faces", "unreferenced_vertices"))


def test_surface_that_is_not_orientable_is_explained():
    report = health(moebius())
    assert not report.orientable and not report.consistent
    assert any("not orientable" in problem for problem in report.problems)


def test_inside_out_component_is_found_beside_a_good_one():
    faces = np.r_[TETRAHEDRON, TETRAHEDRON[:, ::-1] + 4]
    report = health(TriMesh(np.r_[5 * POINTS, POINTS + 9], faces))
    assert report.outward is False
    assert any("inwards" in problem for problem in report.problems)


def test_coincident_vertices_of_separate_pieces_are_no_defect():
    points = np.r_[POINTS, -POINTS]
    report = health(TriMesh(points, np.r_[TETRAHEDRON, TETRAHEDRON[:, ::-1] + 4]))
    assert report.duplicate_vertices == 0 and report.problems == []


def test_report_survives_json():
    report = health(seam())
    answer = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert answer["n_vertices"] == 5 and answer["usable"] is True
    assert answer["problems"] == report.problems
