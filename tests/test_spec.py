"""The record of which operators are meant, and stacks of any metric."""

import dataclasses

import numpy as np
import pytest

from finsler import (
    InputError,
    OperatorSpec,
    RandersMetric,
    angle_stack,
    directed_stack,
    flbo,
    gps,
    laplacian,
    lbo,
    oriented_field,
    primitives,
    spectrum,
)
from finsler.metric import curvature_strength, tau_of_strength


@pytest.fixture(scope="module")
def mesh():
    return primitives.bumpy_sphere(10)


def random_metric(mesh, seed=0):
    random = np.random.default_rng(seed)
    root = random.standard_normal((mesh.n_faces, 2, 2))
    tensor = root @ np.swapaxes(root, 1, 2) + np.eye(2)
    omega = 0.3 * random.uniform(-1.0, 1.0, (mesh.n_faces, 2))
    return RandersMetric(mesh, tensor, omega)


def turned(metric, theta):
    c, s = np.cos(theta), np.sin(theta)
    turn = np.array([[c, -s], [s, c]])
    return RandersMetric(
        metric.mesh, turn @ metric.M @ turn.T, metric.omega @ turn.T, basis=metric.basis
    )


def test_stack_of_a_metric_is_the_operator_of_the_turned_metric(mesh):
    metric = random_metric(mesh)
    stack = angle_stack(metric, angles=[0.0, 0.4, 2.0])
    for theta, operator in zip(stack.theta, stack, strict=True):
        wanted = laplacian(mesh, turned(metric, theta).diffusivity()).stiffness
        assert abs(operator.stiffness - wanted).max() < 1e-12 * abs(wanted).max()


def test_reference_diagonal_is_that_of_the_metric_without_omega(mesh):
    metric = random_metric(mesh)
    still = RandersMetric(mesh, metric.M, np.zeros((mesh.n_faces, 2)), basis=metric.basis)
    with_omega, without = (angle_stack(m, angles=3) for m in (metric, still))
    diagonal = np.stack([operator.stiffness.diagonal() for operator in without])
    np.testing.assert_allclose(with_omega.reference_diagonal, diagonal, rtol=1e-12)


def test_options_of_the_papers_metric_beside_a_metric_are_refused(mesh):
    with pytest.raises(InputError, match="a metric is given already"):
        angle_stack(RandersMetric.isotropic(mesh), alpha=3.0)


@pytest.mark.parametrize("kind", ["lbo", "albo", "flbo"])
def test_one_angle_and_the_stack_agree(mesh, kind):
    spec = OperatorSpec(kind, alpha=3.0, omega="curved", angles=3)
    for theta, operator in zip(spec.stack(mesh).theta, spec.stack(mesh), strict=True):
        wanted = spec.laplacian(mesh, float(theta)).stiffness
        assert abs(operator.stiffness - wanted).max() < 1e-12 * abs(wanted).max()


def test_kinds_are_the_functions_of_the_library(mesh):
    isotropic = OperatorSpec("lbo").laplacian(mesh).stiffness
    assert abs(isotropic - lbo(mesh).stiffness).max() < 1e-13
    spec = OperatorSpec("flbo", alpha=4.0, tau=0.5)
    wanted = flbo(mesh, alpha=4.0, tau=0.5, theta=0.3).stiffness
    assert abs(spec.laplacian(mesh, 0.3).stiffness - wanted).max() < 1e-13
    albo = dataclasses.replace(spec, kind="albo")
    assert albo.laplacian(mesh) != spec.laplacian(mesh)
    assert albo.tau_field(mesh) == 0.0


def test_smoothing_reaches_the_strength_of_omega(mesh):
    spec = OperatorSpec("flbo", omega="curved", smoothing=3)
    strength = curvature_strength(mesh, peak=0.9, where="curved", smoothing=3)
    np.testing.assert_array_equal(spec.tau_field(mesh), tau_of_strength(mesh, strength))
    other = dataclasses.replace(spec, smoothing=10).tau_field(mesh)
    assert np.abs(other - spec.tau_field(mesh)).max() > 0.1


def test_record_has_what_acts_and_is_read_back():
    assert OperatorSpec("lbo").record() == {
        "kind": "lbo",
        "angles": 8,
        "normalization": "acscnn",
    }
    assert "tau" in OperatorSpec("flbo").record() and "peak" not in OperatorSpec("flbo").record()
    varying = OperatorSpec("flbo", omega="flat", peak=0.5)
    assert "tau" not in varying.record()
    for spec in (OperatorSpec("lbo"), OperatorSpec("albo", alpha=2.0), varying):
        assert OperatorSpec.from_record(spec.record()).record() == spec.record()
        assert OperatorSpec.from_record(dataclasses.asdict(spec)) == spec


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"kind": "cotan"}, 'kind must be "lbo", "albo", "flbo", "directed" or "mixed"'),
        ({"field": "height"}, 'field must be "gps" or "hks"'),
        ({"peclet": 2.0}, "peclet is 2.0"),
        ({"field_alpha": -2.0}, "alpha is -2.0"),
        ({"kind": "mixed", "angles": 7}, "a mixed stack needs an even number"),
        ({"alpha": -1.0}, "alpha is -1"),
        ({"tau": np.nan}, "tau is nan"),
        ({"omega": "strong"}, "omega must be"),
        ({"peak": 1.0}, "peak is 1"),
        ({"smoothing": 10**9}, "smoothing is 1000000000; it must lie between 0 and 1000"),
        ({"smoothing": 1.5}, "smoothing is 1.5; it must be a whole number"),
        ({"angles": 0}, "angles is 0"),
        ({"normalization": "none"}, "normalization must be"),
    ],
)
def test_values_out_of_range(values, sentence):
    with pytest.raises(InputError, match=sentence):
        OperatorSpec(**values)


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        ({"beta": 1.0}, "there is no setting 'beta'"),
        ({"alpha": "10"}, "alpha is '10'; it must be a number"),
        ({"angles": True}, "angles is True; it must be a whole number"),
    ],
)
def test_foreign_records(record, sentence):
    with pytest.raises(InputError, match=sentence):
        OperatorSpec.from_record(record)


def test_directed_and_mixed_stacks_are_those_of_the_library(mesh):
    outward = gps(spectrum(lbo(mesh), k=60))
    directed = directed_stack(oriented_field(mesh, outward), peclet=0.2, alpha=1.0, directions=4)
    spec = OperatorSpec("directed", peclet=0.2, field_alpha=1.0, angles=4)
    assert np.allclose(spec.stack(mesh).drift, directed.drift)
    mixed = dataclasses.replace(spec, kind="mixed", angles=8).stack(mesh)
    anisotropic = OperatorSpec("albo", angles=4).stack(mesh)
    assert np.allclose(mixed.values, np.concatenate([anisotropic.values, directed.values]))
    assert not mixed.drift[:4].any() and np.allclose(mixed.drift[4:], directed.drift)
    other = dataclasses.replace(spec, field="hks").stack(mesh)
    assert np.abs(other.drift - directed.drift).max() > 0.01


def test_the_record_of_directed_operators():
    record = OperatorSpec("directed").record()
    assert {"field", "peclet", "field_alpha"} <= record.keys() and "alpha" not in record
    assert OperatorSpec.from_record(record) == OperatorSpec("directed")
    assert "peclet" not in OperatorSpec("albo").record()


def test_directed_operators_have_no_metric_of_their_own(mesh):
    with pytest.raises(InputError, match="not self-adjoint"):
        OperatorSpec("mixed").laplacian(mesh)
