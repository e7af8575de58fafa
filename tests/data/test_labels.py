import numpy as np
import pytest

from fakesets import barycentric, numbers
from finsler.data.labels import canonical_labels, filled_labels, read_barycentric, read_vts
from finsler.errors import InputError
from finsler.mesh import TriMesh, primitives


@pytest.fixture
def strip():
    """Six vertices in a row of triangles; the bottom edge has lengths 1 and 3."""
    return TriMesh(
        [[0, 0, 0], [1, 0, 0], [4, 0, 0], [0, 1, 0], [1, 1, 0], [4, 1, 0]],
        [[0, 1, 4], [0, 4, 3], [1, 2, 5], [1, 5, 4]],
    )


def test_a_named_vertex_takes_the_first_of_its_points(strip):
    named, reference = np.array([2, 0, 2, 5]), np.array([40, 10, 41, 50])
    found = canonical_labels(strip, named, reference)
    assert found.labels[[0, 2, 5]].tolist() == [10, 40, 50]
    assert np.flatnonzero(found.named).tolist() == [0, 2, 5]
    assert found.named_share == 0.5


def test_an_unnamed_vertex_takes_the_label_of_the_nearest_along_edges(strip):
    found = canonical_labels(strip, np.array([0, 2, 5]), np.array([10, 40, 50]))
    assert found.labels.tolist() == [10, 10, 40, 10, 10, 50]


def test_ties_go_to_the_smallest_index():
    # Vertices 2 and 3 are at distance √2 from both named ones, 1 and 0, whatever their labels.
    square = TriMesh([[1, 1, 0], [-1, -1, 0], [1, -1, 0], [-1, 1, 0]], [[0, 3, 2], [1, 2, 3]])
    assert filled_labels(square, np.array([9, 4, -1, -1])).labels.tolist() == [9, 4, 9, 9]


def test_nearest_means_along_the_surface_not_in_space():
    # A strip folded like a U: the ends are close in space and far along the strip.
    x = np.array([0.0, 3.0, 6.0, 6.0, 3.0, 0.0])
    z = np.array([0.0, 0.0, 0.0, 0.5, 0.5, 0.5])
    low = np.stack([x, np.zeros(6), z], axis=1)
    folded = TriMesh(
        np.r_[low, low + np.array([0, 1, 0])],
        [[i, i + 1, i + 7] for i in range(5)] + [[i, i + 7, i + 6] for i in range(5)],
    )
    known = np.full(12, -1)
    known[[0, 4]] = [100, 200]
    assert filled_labels(folded, known).labels[5] == 200


def test_a_part_without_labels_asks_space():
    two = TriMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1]],
                  [[0, 1, 2], [3, 4, 5]])  # fmt: skip
    found = filled_labels(two, np.array([7, 8, 9, -1, -1, -1]))
    assert found.labels.tolist() == [7, 8, 9, 7, 8, 9]
    assert found.named.tolist() == [True] * 3 + [False] * 3


def test_labels_follow_a_shuffle_of_the_vertices():
    mesh = primitives.bumpy_sphere(6)
    rng = np.random.default_rng(3)
    named = rng.choice(mesh.n_vertices, 40, replace=False)
    order = rng.permutation(mesh.n_vertices)
    rank = np.argsort(order)
    shuffled = TriMesh(mesh.vertices[order], rank[mesh.faces])
    straight = canonical_labels(mesh, named, np.arange(40))
    turned = canonical_labels(shuffled, rank[named], np.arange(40))
    assert (straight.labels[order] == turned.labels).mean() > 0.99
    assert np.array_equal(straight.named[order], turned.named)


def test_labels_need_points_that_fit(strip):
    with pytest.raises(InputError, match=r"2 canonical points .* and 3 on"):
        canonical_labels(strip, np.array([0, 1]), np.array([0, 1, 2]))
    with pytest.raises(InputError, match="from 0 to 5"):
        canonical_labels(strip, np.array([6]), np.array([0]))
    with pytest.raises(InputError, match="no vertex has a label"):
        filled_labels(strip, np.full(6, -1))


def test_numbers_count_from_one(tmp_path):
    path = tmp_path / "shape.vts"
    path.write_bytes(b"3\r\n 1\r\n2\r\n\r\n")
    assert read_vts(path, 3).tolist() == [2, 0, 1]
    numbers(path, [2, -1, 0])
    assert read_vts(path, 3, base=0).tolist() == [2, -1, 0]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1\n2\n0\n", "line 3: names vertex 0, but the file must count from 1"),
        ("1\n9\n5\n", r"line 2: names vertex 9, but the mesh has 5 vertices \(1 such"),
        ("1\n-2\n", "line 2: names vertex -2"),
        ("1\ntwo\n", "line 2: 'two' is not a vertex number"),
        ("1\n\n3\n", "line 2: a blank line is not"),
        ("1 2\n", "line 1: '1 2' is not"),
        ("1.5\n", "line 1: '1.5' is not"),
        ("1_0\n", "line 1: '1_0' is not"),
        ("", "the file is empty"),
        (None, "there is no such file"),
    ],
)
def test_bad_numbers_name_file_and_line(tmp_path, text, sentence):
    path = tmp_path / "shape.vts"
    if text is not None:
        path.write_text(text, encoding="ascii")
    with pytest.raises(InputError, match=sentence) as caught:
        read_vts(path, 5)
    assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)


def test_barycentric_truth_is_the_corner_with_most_weight(tmp_path):
    null = primitives.sphere(3)
    path = tmp_path / "part.baryc_gt"
    wanted = np.arange(0, null.n_vertices, 3)
    path.write_text(barycentric(null, wanted), encoding="ascii")
    assert np.array_equal(read_barycentric(path, null), wanted)


def test_barycentric_truth_may_name_few_faces_that_are_lacking(tmp_path):
    null = primitives.sphere(3)
    path = tmp_path / "part.baryc_gt"
    text = barycentric(null, range(40))
    path.write_text(text + f"{null.n_faces + 1} 1 0 0\n", encoding="ascii")
    assert read_barycentric(path, null)[-1] == -1
    path.write_text(f"{null.n_faces + 1} 1 0 0\n" + barycentric(null, [0]), encoding="ascii")
    with pytest.raises(InputError, match=rf"line 1: names face {null.n_faces + 1}, but"):
        read_barycentric(path, null)


@pytest.mark.parametrize("line", ["1 0.5 0.5", "x 1 0 0", "1.5 1 0 0", "1 nan 0 0", "0 1 0 0"])
def test_bad_barycentric_lines_are_named(tmp_path, line):
    path = tmp_path / "part.baryc_gt"
    path.write_text(f"1 1 0 0\n{line}\n", encoding="ascii")
    with pytest.raises(InputError, match=r"baryc_gt, line 2: "):
        read_barycentric(path, primitives.sphere(2))
