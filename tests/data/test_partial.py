import numpy as np
import pytest

from finsler.data.collection import Collection, Shape
from finsler.data.partial import cut, holes, partial_collection
from finsler.errors import InputError
from finsler.mesh import TriMesh, health, primitives, surface_area

MESHES = {
    "bumpy": primitives.bumpy_sphere(12),
    "torus": primitives.torus(40, 20),
    "open": primitives.plane(20, 20),
}
MAKERS = {"cut": cut, "holes": holes}


@pytest.mark.parametrize("shape", MESHES)
@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("share", [0.3, 0.5, 0.8])
def test_laws_of_a_part(shape, maker, share):
    full = MESHES[shape]
    for seed in range(3):
        part = MAKERS[maker](full, share=share, seed=seed)
        assert abs(part.share - share) <= 0.02
        assert part.share == pytest.approx(surface_area(part.mesh) / surface_area(full))
        assert np.array_equal(part.mesh.vertices, full.vertices[part.vertex_map])
        assert np.array_equal(part.vertex_map[part.mesh.faces], full.faces[part.face_map])
        assert (np.diff(part.vertex_map) > 0).all() and (np.diff(part.face_map) > 0).all()
        report = health(part.mesh)
        assert report.components == 1 and report.usable and report.consistent
        assert report.nonmanifold_vertices == report.nonmanifold_edges == 0


@pytest.mark.parametrize("maker", MAKERS)
def test_the_seed_decides(maker):
    full = MESHES["bumpy"]
    first, again, other = (MAKERS[maker](full, share=0.5, seed=seed) for seed in (4, 4, 5))
    assert np.array_equal(first.face_map, again.face_map)
    assert not np.array_equal(first.face_map, other.face_map)


def test_a_cut_lies_on_one_side_of_a_plane():
    # On a convex surface the part is a cap: its border is flat, up to the size of a face.
    full = primitives.sphere(16)
    part = cut(full, share=0.5, seed=1)
    top = part.mesh.vertices[part.mesh.faces].mean(axis=1).mean(axis=0)
    heights = full.vertices[full.faces].mean(axis=1) @ (top / np.linalg.norm(top))
    kept = np.zeros(full.n_faces, dtype=bool)
    kept[part.face_map] = True
    assert heights[kept].min() > heights[~kept].max() - 0.15


def test_more_discs_leave_more_holes():
    full = primitives.sphere(16)
    few = health(holes(full, share=0.85, seed=0, seeds=2).mesh).boundary_loops
    many = health(holes(full, share=0.85, seed=0, seeds=15).mesh).boundary_loops
    assert few <= 2 < 6 < many


def test_only_the_largest_piece_stays():
    # Two spheres side by side: no part may hold faces of both.
    one = primitives.sphere(8)
    two = TriMesh(
        np.r_[one.vertices, one.vertices + np.array([5.0, 0, 0])],
        np.r_[one.faces, one.faces + one.n_vertices],
    )
    part = cut(two, share=0.3, seed=0)
    assert len({*(part.face_map >= one.n_faces).tolist()}) == 1
    with pytest.raises(InputError, match=r"no plane of 24 leaves a part of share 0.8"):
        cut(two, share=0.8, seed=0)
    with pytest.raises(InputError, match=r"no set of discs of 24 leaves a part of share 0.8"):
        holes(two, share=0.8, seed=0)


def test_pinched_vertices_lose_their_smaller_fans():
    # Holes that touch at a vertex pinch the coarse torus with most of these seeds.
    for seed in (0, 3, 4, 5, 6, 8):
        part = holes(primitives.torus(20, 10), share=0.7, seed=seed, seeds=8)
        assert health(part.mesh).nonmanifold_vertices == 0


@pytest.mark.parametrize("share", [0.0, 1.0, -0.2, float("nan")])
def test_shares_lie_between_0_and_1(share):
    for maker in MAKERS.values():
        with pytest.raises(InputError, match="it must lie between 0 and 1"):
            maker(MESHES["bumpy"], share=share, seed=0)


def test_discs_need_vertices():
    with pytest.raises(InputError, match=r"seeds is 50; it must lie in 1..12"):
        holes(primitives.sphere(1), share=0.5, seed=0, seeds=50)


@pytest.fixture
def full():
    """Three bumpy spheres with labels that are no identity and not all exact."""
    mesh = primitives.bumpy_sphere(10)
    n = mesh.n_vertices
    shapes = {
        name: Shape(name, mesh, (np.arange(n) * 7 + i) % n, np.arange(n) % 5 > 0)
        for i, name in enumerate("abc")
    }
    return Collection("spheres", ("a", "b"), ("c",), "a", shapes.__getitem__)


@pytest.mark.parametrize("kind", ["cuts", "holes"])
def test_parts_of_a_collection_point_to_the_full_reference(full, kind):
    parts = partial_collection(full, kind, per_shape=2, share=(0.4, 0.7), seed=3)
    assert parts.train == tuple(f"{kind}_{name}_shape_{k}" for name in "ab" for k in (1, 2))
    assert parts.test == tuple(f"{kind}_c_shape_{k}" for k in (1, 2))
    assert parts[parts.reference] is full["a"]
    area = surface_area(full["a"].mesh)
    for shape in parts:
        whole = full[shape.name.split("_")[1]]
        back = {tuple(point): i for i, point in enumerate(whole.mesh.vertices)}
        origin = [back[tuple(point)] for point in shape.mesh.vertices]
        assert np.array_equal(shape.labels, whole.labels[origin])
        assert np.array_equal(shape.named, whole.named[origin])
        assert 0.38 < surface_area(shape.mesh) / area < 0.72


def test_parts_do_not_depend_on_the_order_of_loading(full):
    parts = partial_collection(full, "cuts", seed=3)
    last = parts["cuts_c_shape_1"].mesh
    again = [shape.mesh for shape in partial_collection(full, "cuts", seed=3)][-1]
    other = partial_collection(full, "cuts", seed=4)["cuts_c_shape_1"].mesh
    assert np.array_equal(last.vertices, again.vertices)
    assert not np.array_equal(last.vertices, other.vertices)


def test_bad_requests_for_parts(full):
    with pytest.raises(InputError, match="kind is 'slices'"):
        partial_collection(full, "slices")
    with pytest.raises(InputError, match="per_shape is 0"):
        partial_collection(full, "cuts", per_shape=0)
    with pytest.raises(InputError, match="smaller end first"):
        partial_collection(full, "cuts", share=(0.8, 0.4))
    with pytest.raises(InputError, match="no shape 'cuts_z_shape_1'"):
        partial_collection(full, "cuts")["cuts_z_shape_1"]
