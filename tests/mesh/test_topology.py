import numpy as np
import pytest

from finsler.mesh import (
    TriMesh,
    boundary_loops,
    component_volumes,
    corner_fans,
    edges,
    euler_number,
    inconsistent_edges,
    nonmanifold_edges,
    nonmanifold_vertices,
    orientation,
    primitives,
    referenced_vertices,
    vertex_components,
)

TETRAHEDRON = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]
OTHER_CORNERS = {"vertex": [0, 4, 5, 6], "edge": [0, 1, 4, 5], "face": [0, 1, 2, 4]}


def mesh_of(faces):
    """A mesh in general position; only its connectivity matters."""
    count = int(np.max(faces)) + 1
    return TriMesh(np.random.default_rng(count).normal(size=(count, 3)), faces)


def two_tetrahedra(shared):
    return mesh_of(np.r_[TETRAHEDRON, np.array(OTHER_CORNERS[shared])[TETRAHEDRON]])


def moebius(cells=8):
    a = 2 * np.arange(cells)
    b, c, d = a + 1, np.r_[a[1:], 1], np.r_[a[1:] + 1, 0]
    return mesh_of(np.r_[np.c_[a, c, b], np.c_[b, c, d]])


def grid_with_hole():
    """Nine cells without the middle one."""
    whole = primitives.plane(3, 3)
    centres = whole.vertices[whole.faces].mean(axis=1)[:, :2]
    return TriMesh(whole.vertices, whole.faces[(np.abs(centres - 0.5) > 1 / 6).any(axis=1)])


def as_edge_set(loop):
    return {frozenset(pair) for pair in zip(loop.tolist(), np.roll(loop, -1).tolist(), strict=True)}


def test_tetrahedron_is_a_closed_oriented_sphere():
    mesh = mesh_of(TETRAHEDRON)
    sheets = orientation(mesh)
    assert euler_number(mesh) == 2
    assert boundary_loops(mesh) == []
    assert sheets.orientable.tolist() == [True] and sheets.closed.tolist() == [True]
    assert not sheets.flip.any()
    assert len(inconsistent_edges(mesh)) == len(nonmanifold_vertices(mesh)) == 0


def test_torus_has_euler_number_zero():
    mesh = primitives.torus(7, 5)
    assert euler_number(mesh) == 0
    assert orientation(mesh).closed.all()


def test_moebius_strip_is_not_orientable_and_has_one_boundary():
    mesh = moebius()
    assert orientation(mesh).orientable.tolist() == [False]
    assert not orientation(mesh).flip.any()
    assert [len(loop) for loop in boundary_loops(mesh)] == [16]
    assert euler_number(mesh) == 0


def test_orientability_is_judged_for_each_component():
    strip = moebius()
    faces = np.r_[strip.faces, np.array(TETRAHEDRON) + strip.n_vertices]
    assert sorted(orientation(mesh_of(faces)).orientable.tolist()) == [False, True]


def test_orientation_flips_the_fewer_faces():
    faces = primitives.torus(7, 5).faces.copy()
    turned = np.arange(len(faces)) % 3 == 1
    faces[turned] = faces[turned][:, ::-1]
    mesh = mesh_of(faces)
    assert len(inconsistent_edges(mesh)) > 0
    np.testing.assert_array_equal(orientation(mesh).flip, turned)


def test_inconsistent_edge_is_named():
    mesh = mesh_of([[0, 1, 2], [0, 3, 2]])
    assert inconsistent_edges(mesh).tolist() == [[0, 2]]


def test_component_volumes_have_the_sign_of_the_orientation():
    points = np.eye(4, 3, k=-1)
    faces = np.array(TETRAHEDRON)
    mesh = TriMesh(np.r_[points, points + 5], np.r_[faces, faces[:, ::-1] + 4])
    volumes = component_volumes(mesh, orientation(mesh).component)
    np.testing.assert_allclose(volumes, [1 / 6, -1 / 6], rtol=1e-12)


@pytest.mark.parametrize(
    ("shared", "bad_edges", "bad_vertices"),
    [
        ("vertex", [], [0]),
        ("edge", [[0, 1]], [0, 1]),
        ("face", [[0, 1], [0, 2], [1, 2]], [0, 1, 2]),
    ],
)
def test_two_tetrahedra_that_touch_are_not_manifold(shared, bad_edges, bad_vertices):
    mesh = two_tetrahedra(shared)
    assert nonmanifold_edges(mesh).tolist() == bad_edges
    assert nonmanifold_vertices(mesh).tolist() == bad_vertices
    assert vertex_components(mesh).max() == 0


def test_grid_with_a_hole_has_two_loops():
    mesh = grid_with_hole()
    loops = boundary_loops(mesh)
    assert sorted(len(loop) for loop in loops) == [4, 12]
    assert euler_number(mesh) == 0
    once = edges(mesh).vertices[edges(mesh).counts == 1]
    assert set.union(*map(as_edge_set, loops)) == {frozenset(pair) for pair in once.tolist()}


def test_loop_keeps_the_surface_on_its_left():
    mesh = primitives.plane(3, 2)
    x, y = mesh.vertices[boundary_loops(mesh)[0], :2].T
    area = 0.5 * np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))
    assert area == pytest.approx(1.0)


def test_loops_that_touch_in_a_vertex_stay_apart():
    loops = boundary_loops(mesh_of([[0, 1, 2], [0, 3, 4]]))
    assert sorted(sorted(loop.tolist()) for loop in loops) == [[0, 1, 2], [0, 3, 4]]


def test_boundary_ends_at_a_nonmanifold_edge():
    chains = boundary_loops(mesh_of([[0, 1, 2], [0, 1, 3], [0, 1, 4]]))
    assert sorted(chain.tolist() for chain in chains) == [[1, 2, 0], [1, 3, 0], [1, 4, 0]]


def test_components_skip_unreferenced_vertices():
    mesh = mesh_of([[5, 6, 7], [1, 2, 3]])
    assert referenced_vertices(mesh).tolist() == [False, True, True, True, False, True, True, True]
    labels = vertex_components(mesh)
    assert labels[[0, 4]].tolist() == [-1, -1]
    assert labels.max() == 1 and labels[1] == labels[2] != labels[5]


@pytest.mark.parametrize("faces", [[[0, 0, 0]], [[0, 0, 1]], [[0, 0, 1], [0, 0, 2], [1, 0, 2]]])
def test_repeated_corners_do_no_harm(faces):
    mesh = mesh_of(np.array(faces))
    assert orientation(mesh).orientable.all()
    assert len(corner_fans(mesh)) == 3 * mesh.n_faces
    assert all(len(chain) >= 2 for chain in boundary_loops(mesh))
    assert (np.diff(nonmanifold_edges(mesh)) > 0).all()
    assert len(inconsistent_edges(mesh)) == 0


def test_relabelling_vertices_and_faces_changes_no_count():
    mesh = grid_with_hole()
    rng = np.random.default_rng(0)
    new = rng.permutation(mesh.n_vertices)
    shuffled = mesh_of(new[mesh.faces][rng.permutation(mesh.n_faces)])
    assert euler_number(shuffled) == euler_number(mesh)
    assert sorted(map(len, boundary_loops(shuffled))) == sorted(map(len, boundary_loops(mesh)))
    assert vertex_components(shuffled).max() == vertex_components(mesh).max()
