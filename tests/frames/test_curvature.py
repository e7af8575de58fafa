import numpy as np
import pytest

import finsler
from exact import around_axis, ellipsoid_curvature, line_angle, rate, relabelled, rotation
from finsler import TriMesh, primitives


def test_cube_corner_is_the_hand_computed_normal_cycle():
    # Three edges of length 1 and angle π/2 meet at the corner of a cube, three right triangles or
    # more hang on it; without smoothing T is the sum over its own edges divided by its area.
    cube = TriMesh(
        [[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)],
        [
            [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
            [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3],
        ],
    )  # fmt: skip
    tensor = finsler.frames.normal_cycle(cube, smoothing=0)
    areas = finsler.lumped_mass(cube)
    assert np.allclose(tensor[0] * areas[0], np.eye(3) * np.pi / 4)
    # An inside-out cube has the opposite curvature.
    inverted = TriMesh(cube.vertices, cube.faces[:, ::-1])
    assert np.allclose(finsler.frames.normal_cycle(inverted, smoothing=0), -tensor)


@pytest.mark.parametrize("smoothing", [0, 3, 10])
def test_cylinder_is_exact_away_from_its_ends(smoothing):
    # Bent edges run straight along a cylinder, each as long as its strip of area is wide.
    mesh = primitives.cylinder(64, 32, radius=2.0, height=3.0)
    curvature = finsler.principal_curvature(mesh, smoothing=smoothing)
    inner = np.abs(mesh.vertices[:, 2] - 1.5) < 0.4
    assert np.allclose(curvature.maximal[inner], 0.5, rtol=2e-3)
    assert np.allclose(curvature.minimal[inner], 0.0, atol=1e-12)
    turned = line_angle(curvature.direction_max, around_axis(mesh.vertices))
    assert turned[inner].max() < 1e-12


def test_ellipsoid_curvatures_converge():
    axes = (1.5, 1.0, 0.7)
    errors = []
    for frequency in (12, 24, 48):
        mesh = primitives.ellipsoid(frequency, axes=axes)
        curvature = finsler.principal_curvature(mesh)
        exact, _ = ellipsoid_curvature(mesh.vertices, axes)
        found = np.stack([curvature.maximal, curvature.minimal], axis=1)
        errors.append(np.sqrt(np.mean((found - exact) ** 2)))
    assert rate([1 / 12, 1 / 24, 1 / 48], errors) > 1.5
    assert errors[-1] < 0.03


def test_saddle_has_curvature_of_both_signs():
    mesh = primitives.plane(40, 40, jitter=0.2)
    x, y, _ = (mesh.vertices - 0.5).T
    saddle = TriMesh(np.stack([x, y, 0.3 * (x**2 - y**2)], axis=1), mesh.faces)
    centre = np.argmin(x**2 + y**2)
    curvature = finsler.principal_curvature(saddle)
    # z = a(x² − y²) bends towards +z, the normal, along x: curvature −2a there, +2a along y.
    assert curvature.maximal[centre] == pytest.approx(0.6, rel=0.1)
    assert curvature.minimal[centre] == pytest.approx(-0.6, rel=0.1)
    assert abs(curvature.direction_max[centre, 1]) > 0.99


def test_curvature_moves_and_scales_with_the_mesh():
    mesh = primitives.bumpy_sphere(10)
    turn = rotation(1)
    moved = TriMesh(3.0 * mesh.vertices @ turn.T + [1.0, 2.0, 3.0], mesh.faces)
    renamed, old, _ = relabelled(moved, 2)
    here, there = finsler.principal_curvature(mesh), finsler.principal_curvature(renamed)
    assert np.allclose(there.maximal, here.maximal[old] / 3.0, atol=1e-10)
    assert np.allclose(there.minimal, here.minimal[old] / 3.0, atol=1e-10)
    clear = (here.maximal - here.minimal)[old] > 0.1
    turned = line_angle(there.direction_max, here.direction_max[old] @ turn.T)
    assert turned[clear].max() < 1e-8


def test_agrees_with_libigl_quadric_fit_on_a_smooth_surface():
    igl = pytest.importorskip("igl")
    mesh = primitives.torus(120, 60)
    ours = finsler.principal_curvature(mesh)
    direction_max, _, k_max, _ = igl.principal_curvature(mesh.vertices, mesh.faces)[:4]
    # The truth is 1/0.4 = 2.5: ours is 1.5% low, libigl's quadric fit 6% high.
    assert np.median(np.abs(np.abs(k_max) - ours.maximal) / ours.maximal) < 0.08
    assert np.median(np.abs(ours.maximal - 2.5)) < np.median(np.abs(np.abs(k_max) - 2.5))
    assert np.median(line_angle(ours.direction_max, direction_max)) < 0.01


def test_negative_smoothing_is_refused():
    with pytest.raises(finsler.InputError, match="smoothing counts rounds"):
        finsler.principal_curvature(primitives.sphere(2), smoothing=-1)
