"""Hard variants: what they do to a mesh, and ground truth that follows each vertex."""

import numpy as np
import pytest

from finsler.data.collapse import collapse, midpoints
from finsler.data.collection import Collection, Shape
from finsler.data.variants import VARIANTS, vary
from finsler.errors import InputError
from finsler.mesh import TriMesh, health, primitives, surface_area


@pytest.fixture(scope="module")
def shape():
    mesh = primitives.bumpy_sphere(6)
    rng = np.random.default_rng(0)
    labels = rng.permutation(mesh.n_vertices)
    points = rng.integers(0, mesh.n_vertices, 300)
    return Shape("ball", mesh, labels, rng.random(mesh.n_vertices) < 0.7, points, "family")


@pytest.mark.parametrize("variant", VARIANTS)
def test_truth_follows_the_vertices(shape, variant):
    changed, again = vary(shape, variant, seed=3), vary(shape, variant, seed=3)
    assert np.array_equal(changed.mesh.vertices, again.mesh.vertices)
    assert len(changed.labels) == len(changed.named) == changed.mesh.n_vertices
    assert len(changed.points) == 300 and changed.family == "family"
    kept = changed.points >= 0
    # Labels are distinct, so that they tell which old vertex a new one is.
    assert np.array_equal(changed.labels[changed.points[kept]], shape.labels[shape.points[kept]])
    old = np.argsort(shape.labels)[changed.labels]
    assert (shape.named[old] | ~changed.named).all()
    collection = Collection("c", (), ("ball",), "ball", lambda name: shape)
    assert len(collection.truth(changed, shape)) == kept.sum() > 30


def test_other_seeds_and_names_give_other_shapes(shape):
    first = vary(shape, "rotated", seed=0).mesh.vertices
    assert not np.allclose(first, vary(shape, "rotated", seed=1).mesh.vertices)
    other = Shape("other", shape.mesh, shape.labels, shape.named, shape.points)
    assert not np.allclose(first, vary(other, "rotated", seed=0).mesh.vertices)
    with pytest.raises(InputError, match="variant is 'melted'; it must be one of rotated, "):
        vary(shape, "melted")


def test_what_each_variant_does(shape):
    mesh = shape.mesh
    changed = {name: vary(shape, name).mesh for name in VARIANTS}
    gram = mesh.vertices @ mesh.vertices.T
    turned = changed["rotated"].vertices
    assert np.allclose(turned @ turned.T, gram) and not np.allclose(turned, mesh.vertices)
    assert health(changed["rotated"]).outward
    ratio = np.sqrt(surface_area(changed["rescaled"]) / surface_area(mesh))
    assert np.allclose(changed["rescaled"].vertices, ratio * mesh.vertices)
    assert 0.01 <= ratio <= 100.0 and abs(ratio - 1.0) > 1e-3
    mirrored = changed["mirrored"]
    assert np.array_equal(mirrored.vertices[:, 0], -mesh.vertices[:, 0])
    assert health(mirrored).outward and VARIANTS["mirrored"].second_only
    assert np.linalg.norm(changed["noise"].vertices - mesh.vertices, axis=1).max() > 0.0
    assert changed["noise"].faces is not None and not health(changed["noise"]).degenerate_faces
    assert 0.85 < surface_area(changed["holes"]) / surface_area(mesh) < 0.95
    crumbs = health(changed["crumbs"])
    assert crumbs.nonmanifold_edges >= 20 and crumbs.components == 11 and crumbs.duplicate_faces


@pytest.mark.parametrize("variant", ["decimated", "remeshed"])
def test_remeshed_surfaces_stay_sound(shape, variant):
    mesh = vary(shape, variant).mesh
    report = health(mesh)
    wanted = shape.mesh.n_vertices // (2 if variant == "decimated" else 1)
    assert mesh.n_vertices == wanted
    assert report.nonmanifold_edges == report.degenerate_faces == report.inconsistent_edges == 0
    assert report.outward and mesh.n_faces == 2 * mesh.n_vertices - 4
    assert surface_area(mesh) == pytest.approx(surface_area(shape.mesh), rel=0.05)


def test_remeshing_stretches_faces(shape):
    def stretch(mesh):
        corners = mesh.vertices[mesh.faces]
        sides = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)
        return np.median(sides.max(axis=1) / sides.min(axis=1))

    assert stretch(vary(shape, "remeshed").mesh) > 1.5 * stretch(shape.mesh)


def test_collapsing_keeps_boundaries():
    plane = primitives.plane(8, 8)
    small, source = collapse(plane, 40, plane.vertices)
    rim = {v for v in range(81) if v // 9 in (0, 8) or v % 9 in (0, 8)}
    assert rim <= set(source.tolist()) and small.n_vertices == 40
    assert np.array_equal(small.vertices, plane.vertices[source])
    assert surface_area(small) == pytest.approx(1.0)
    with pytest.raises(InputError, match="at least 4"):
        collapse(plane, 3, plane.vertices)


def test_midpoints_keep_the_surface():
    mesh = primitives.sphere(2)
    fine = midpoints(mesh)
    assert (fine.n_vertices, fine.n_faces) == (42 + 120, 320)
    assert np.array_equal(fine.vertices[:42], mesh.vertices)
    assert surface_area(fine) == pytest.approx(surface_area(mesh))
    assert health(fine).outward
    assert isinstance(fine, TriMesh)
