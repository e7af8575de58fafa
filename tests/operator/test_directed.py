"""Directed operators: closed forms, laws, and the bound on their polynomials."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import expm_multiply

from finsler import InputError, TriMesh, angle_stack, chebyshev_operators, lbo, primitives
from finsler.analysis import gps
from finsler.frames import FieldWarning, OrientedField, oriented_field
from finsler.mesh.measures import face_areas
from finsler.operator import AngleStack, directed_metric, directed_stack, growth_bound
from finsler.operator.drift import skew_drift


def generator(stack, k):
    """S⁻¹(W + C) of one operator."""
    return sparse.diags_array(1.0 / stack.mass) @ (stack[k].stiffness + stack.drift_matrix(k))


def _square(n):
    x, y = np.meshgrid(np.linspace(0, 1, n + 1), np.linspace(0, 1, n + 1), indexing="ij")
    vertices = np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], axis=1)
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    a = (i * (n + 1) + j).ravel()
    b, c, d = a + n + 1, a + n + 2, a + 1
    return TriMesh(vertices, np.r_[np.stack([a, b, c], 1), np.stack([a, c, d], 1)])


@pytest.fixture(scope="module")
def bumpy():
    return primitives.bumpy_sphere(10)


@pytest.fixture(scope="module")
def field(bumpy):
    return oriented_field(bumpy, bumpy.vertices @ [0.3, 0.5, 1.0])


def test_in_the_plane_a_constant_drift_shifts_the_kernel_by_velocity_times_time():
    # d/dt ∫ x u = ∫ v u exactly for the discrete flow, as long as no heat reaches the boundary.
    mesh = _square(24)
    field = oriented_field(mesh, mesh.vertices[:, 0])
    assert np.allclose(field.vectors, [1.0, 0.0, 0.0], atol=1e-10)
    stack = directed_stack(field, peclet=0.4, directions=4)
    velocity = 0.4 / np.sqrt(2.0 * face_areas(mesh)[0])
    source = int(np.argmin(np.linalg.norm(mesh.vertices[:, :2] - 0.5, axis=1)))
    start = np.eye(mesh.n_vertices)[source] / stack.mass[source]
    time = 2e-3
    for k, direction in enumerate([(1, 0), (0, 1), (-1, 0), (0, -1)]):
        heat = expm_multiply(-time * generator(stack, k), start)
        centre = (stack.mass * heat) @ mesh.vertices[:, :2]
        shift = centre - mesh.vertices[source, :2]
        assert np.allclose(shift, time * velocity * np.array(direction), rtol=1e-4, atol=1e-7)


def test_turning_round_is_transposing(field):
    stack = directed_stack(field, alpha=2.0, directions=8)
    for k in range(4):
        forwards = (stack[k].stiffness + stack.drift_matrix(k)).toarray()
        backwards = (stack[k + 4].stiffness + stack.drift_matrix(k + 4)).toarray()
        assert np.allclose(forwards.T, backwards, rtol=0, atol=1e-13)
        assert np.abs(forwards - forwards.T).max() > 0.05


def test_without_drift_and_anisotropy_it_is_the_lbo_bit_for_bit(bumpy, field):
    stack = directed_stack(field, peclet=0.0, directions=3)
    plain = lbo(bumpy).stiffness
    for k in range(3):
        assert np.array_equal(stack[k].stiffness.data, plain.data)
    assert not stack.drift.any()
    same = chebyshev_operators(AngleStack.single(lbo(bumpy)))
    assert np.array_equal(chebyshev_operators(stack).values[1], same.values[0])


def test_all_directions_come_from_two_skew_assemblies(bumpy, field):
    stack = directed_stack(field, peclet=0.3, directions=[0.4])
    drift = 0.3 * field.turned(0.4).vectors / np.sqrt(2.0 * face_areas(bumpy))[:, None]
    assert np.allclose(stack.drift_matrix(0).toarray(), skew_drift(bumpy, drift).toarray())


def test_anisotropy_is_free_along_the_direction_and_slow_across():
    mesh = _square(8)
    stack = directed_stack(oriented_field(mesh, mesh.vertices[:, 0]), alpha=3.0, directions=[0.0])
    x, y = mesh.vertices[:, 0], mesh.vertices[:, 1]
    assert x @ stack[0].stiffness @ x == pytest.approx(1.0)
    assert y @ stack[0].stiffness @ y == pytest.approx(0.25)


def test_motions_and_numbering_change_nothing_and_a_mirror_turns_the_other_way(bumpy, field):
    f = bumpy.vertices @ [0.3, 0.5, 1.0]
    here = directed_stack(field, alpha=1.0, directions=6)
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))
    moved = TriMesh(bumpy.vertices @ turn.T * 3.0 + [1.0, 2.0, 3.0], bumpy.faces)
    there = directed_stack(oriented_field(moved, 5.0 * f - 2.0), alpha=1.0, directions=6)
    assert np.allclose(here.values, there.values, rtol=0, atol=1e-12)
    assert np.allclose(here.drift, there.drift, rtol=0, atol=1e-12)
    mirrored = TriMesh(bumpy.vertices * [-1.0, 1.0, 1.0], bumpy.faces[:, ::-1])
    other = directed_stack(oriented_field(mirrored, f), alpha=1.0, directions=6)
    # Direction k of a shape is direction −k of its mirror image.
    assert np.allclose(here.drift, other.drift[[0, 5, 4, 3, 2, 1]], rtol=0, atol=1e-12)
    assert np.abs(here.drift[1] - other.drift[1]).max() > 0.01


def test_the_field_fades_at_critical_points_and_does_not_jump():
    mesh = primitives.sphere(12)
    field = oriented_field(mesh, mesh.vertices[:, 2])
    height = np.abs(mesh.vertices[mesh.faces].mean(axis=1)[:, 2])
    assert field.strength[height < 0.7].min() > 0.95
    assert field.strength[height > 0.99].max() < 0.95 and field.undefined[height > 0.99].any()
    # A change of f below the error of its gradient changes e little, also at the poles.
    bent = oriented_field(mesh, mesh.vertices[:, 2] + 1e-3 * mesh.vertices[:, 0])
    assert np.linalg.norm(bent.vectors - field.vectors, axis=1).max() < 0.05


def test_where_the_scalar_is_noise_the_field_is_named_undefined(bumpy):
    noise = np.random.default_rng(0).standard_normal(bumpy.n_vertices)
    with pytest.warns(FieldWarning, match=r"undefined on \d+% of the surface"):
        field = oriented_field(bumpy, noise)
    assert field.undefined.mean() > 0.25 and np.isfinite(field.vectors).all()


def test_a_mixed_stack_keeps_both_kinds(bumpy, field):
    flat, directed = angle_stack(bumpy, angles=2), directed_stack(field, directions=2)
    mixed = AngleStack.join([flat, directed])
    assert len(mixed) == 4 and not mixed.drift[:2].any()
    rescaled = chebyshev_operators(mixed).values
    assert np.array_equal(rescaled[:2], chebyshev_operators(flat).values)
    assert np.allclose(rescaled[2:], chebyshev_operators(directed).values, rtol=0, atol=1e-13)
    with pytest.raises(InputError, match="different meshes"):
        AngleStack.join([flat, angle_stack(primitives.sphere(6))])
    with pytest.raises(InputError, match="no stack"):
        AngleStack.join([])


@pytest.mark.parametrize("peclet", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("kind", ["bumpy", "stretched", "needles"])
def test_polynomials_never_grow_beyond_the_bound(kind, peclet):
    mesh = primitives.bumpy_sphere(5)
    if kind == "stretched":
        mesh = TriMesh(mesh.vertices * [1.0, 1.0, 8.0], mesh.faces)
    if kind == "needles":
        jitter = np.random.default_rng(2).standard_normal((mesh.n_vertices, 3))
        mesh = TriMesh(mesh.vertices + 0.04 * jitter, mesh.faces)
    field = oriented_field(mesh, mesh.vertices[:, 2])
    stack = directed_stack(field, peclet=peclet, alpha=1.0, directions=3)
    half = np.sqrt(stack.mass)
    operators = chebyshev_operators(stack)
    for k in range(3):
        dense = half[:, None] * operators[k].toarray() / half
        before, now = np.eye(len(half)), dense
        for _ in range(14):
            before, now = now, 2.0 * dense @ now - before
        grown = np.linalg.norm(now, 2)
        bound = growth_bound(operators[k], stack.mass, 15)
        assert grown <= bound * (1.0 + 1e-9)
        # No worse than it need be: 1 without drift, and within a small factor with it.
        assert bound == 1.0 if peclet == 0.0 else bound < 6.0 * max(grown, 1.0), (bound, grown)


def test_the_metric_of_a_direction_reaches_further_along_it(field):
    metric = directed_metric(field, strength=0.5, alpha=2.0, theta=0.3)
    b = field.turned(0.3).vectors
    assert (metric.norm(b) < metric.norm(-b)).all()
    assert np.allclose(np.sqrt(metric.drift_squared()), 0.5 * field.strength)
    # The drift of the metric's own operator, 2ω*/ε, points along b.
    drift = metric.basis.vectors(metric.dual().omega)
    cosine = np.einsum("fi,fi->f", drift, b) / np.linalg.norm(drift, axis=1) / field.strength
    assert np.allclose(cosine, 1.0)


def test_a_field_of_ones_own_is_projected_and_bounded(bumpy):
    given = np.tile([0.0, 0.0, 4.0], (bumpy.n_faces, 1))
    field = OrientedField.from_vectors(bumpy, given)
    assert field.strength.max() <= 1.0 + 1e-12
    with pytest.raises(InputError, match="one a face"):
        OrientedField.from_vectors(bumpy, given[:-1])
    with pytest.raises(InputError, match="not finite"):
        OrientedField.from_vectors(bumpy, np.full_like(given, np.nan))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"peclet": 1.5}, r"peclet is 1.5; it must lie in \[0, 1\]"),
        ({"peclet": -0.1}, "peclet is -0.1"),
        ({"alpha": -1.0}, "alpha is -1.0"),
        ({"directions": 0}, "at least 1"),
    ],
)
def test_options_out_of_range_are_refused(field, options, sentence):
    with pytest.raises(InputError, match=sentence):
        directed_stack(field, **options)


def test_scalars_that_make_no_field_are_refused(bumpy):
    with pytest.raises(InputError, match="scalar is constant"):
        oriented_field(bumpy, np.ones(bumpy.n_vertices))
    with pytest.raises(InputError, match="one number a vertex"):
        oriented_field(bumpy, np.ones(3))
    with pytest.raises(InputError, match="not finite"):
        oriented_field(bumpy, np.full(bumpy.n_vertices, np.inf))


def test_gps_is_small_in_the_middle_and_does_not_depend_on_scale():
    from finsler import spectrum

    mesh = TriMesh(primitives.sphere(8).vertices * [1.0, 1.0, 4.0], primitives.sphere(8).faces)
    outward = gps(spectrum(lbo(mesh), k=30))
    ends, middle = np.abs(mesh.vertices[:, 2]) > 3.8, np.abs(mesh.vertices[:, 2]) < 0.2
    assert outward[ends].min() > 2.0 * outward[middle].max()
    larger = TriMesh(7.0 * mesh.vertices, mesh.faces)
    assert np.allclose(gps(spectrum(lbo(larger), k=30)), outward, rtol=1e-6)
