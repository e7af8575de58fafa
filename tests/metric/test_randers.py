import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import finsler
from finsler import FaceFrames, RandersMetric, TriMesh, primitives

M_FACES = 60


@pytest.fixture(scope="module")
def mesh():
    return primitives.cylinder(6, 5, jitter=0.2)


def random_metric(mesh, seed, strength=0.9):
    """Any metric: random tensors, and ω of random direction with ‖ω‖_{M⁻¹} up to `strength`."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((mesh.n_faces, 2, 2)) + 1.5 * np.eye(2)
    tensor = root @ root.transpose(0, 2, 1) + 0.05 * np.eye(2)
    direction = rng.standard_normal((mesh.n_faces, 2))
    size = np.sqrt(
        np.einsum("fi,fi->f", direction, np.linalg.solve(tensor, direction[..., None])[..., 0])
    )
    length = strength * rng.uniform(0, 1, mesh.n_faces)
    return RandersMetric(mesh, tensor, direction * (length / size)[:, None])


def vectors(mesh, seed):
    return np.random.default_rng(seed).standard_normal((mesh.n_faces, 2))


@pytest.fixture(params=range(3))
def metric(mesh, request):
    return random_metric(mesh, request.param)


def test_is_a_norm_without_symmetry(mesh, metric):
    v, w = vectors(mesh, 10), vectors(mesh, 11)
    assert (metric.norm(v) > 0).all()
    assert np.allclose(metric.norm(3.0 * v), 3.0 * metric.norm(v))
    assert (metric.norm(v + w) <= metric.norm(v) + metric.norm(w) + 1e-12).all()
    there_and_back = metric.norm(v) - metric.norm(-v)
    assert np.allclose(there_and_back, 2 * np.einsum("fi,fi->f", metric.omega, v))
    assert np.abs(there_and_back).max() > 0.1


def test_dual_of_the_dual_is_the_metric(metric):
    twice = metric.dual().dual()
    assert np.allclose(twice.M, metric.M, rtol=1e-9)
    assert np.allclose(twice.omega, metric.omega, atol=1e-9)


def test_dual_keeps_the_strength_of_omega(metric):
    assert np.allclose(metric.dual().margin(), metric.margin(), atol=1e-10)


def test_dual_is_the_maximum_over_the_unit_ball(mesh, metric):
    p = vectors(mesh, 12)
    angle = np.linspace(0, 2 * np.pi, 20_001)
    best = np.full(mesh.n_faces, -np.inf)
    for direction in np.stack([np.cos(angle), np.sin(angle)], axis=1):
        v = np.broadcast_to(direction, p.shape)
        best = np.maximum(best, np.einsum("fi,fi->f", p, v) / metric.norm(v))
    assert np.allclose(metric.dual().norm(p), best, rtol=1e-5)


def test_diffusivity_is_the_papers_and_has_the_shape_of_the_inverse(metric):
    dual = metric.dual()
    papers = dual.M - dual.omega[:, :, None] * dual.omega[:, None, :]
    axes = np.stack([metric.basis.first, metric.basis.second], axis=1)
    ours = np.einsum("fai,fij,fbj->fab", axes, metric.diffusivity(), axes)
    assert np.allclose(ours, papers, rtol=1e-8)
    assert np.allclose(ours, np.linalg.inv(metric.M) / metric.margin()[:, None, None], rtol=1e-9)


def test_diffusivity_does_not_see_the_sign_of_omega(mesh, metric):
    flipped = RandersMetric(mesh, metric.M, -metric.omega)
    assert np.allclose(flipped.diffusivity(), metric.diffusivity())


def test_three_dimensional_input_is_the_same_metric(mesh, metric):
    axes = np.stack([metric.basis.first, metric.basis.second], axis=1)
    tensor = np.einsum("fai,fab,fbj->fij", axes, metric.M, axes)
    omega = metric.basis.vectors(metric.omega)
    again = RandersMetric(mesh, tensor, omega)
    assert np.allclose(again.M, metric.M) and np.allclose(again.omega, metric.omega)
    v = vectors(mesh, 13)
    assert np.allclose(again.norm(metric.basis.vectors(v)), metric.norm(v))


def test_zermelo_there_and_back(mesh, metric):
    h, wind = metric.wind()
    again = RandersMetric.from_wind(mesh, h, wind)
    assert np.allclose(again.M, metric.M, rtol=1e-8)
    assert np.allclose(again.omega, metric.omega, atol=1e-8)


def test_zermelo_travel_time_solves_its_equation(mesh):
    # ‖v/F(v) − W‖_h = 1: a traveller of unit speed in h, carried by W, covers v in time F(v).
    rng = np.random.default_rng(5)
    root = rng.standard_normal((mesh.n_faces, 2, 2)) + 1.5 * np.eye(2)
    h = root @ root.transpose(0, 2, 1)
    wind = rng.standard_normal((mesh.n_faces, 2))
    speed = np.sqrt(np.einsum("fi,fij,fj->f", wind, h, wind))
    wind *= (rng.uniform(0, 0.9, mesh.n_faces) / speed)[:, None]
    metric = RandersMetric.from_wind(mesh, h, wind)
    v = vectors(mesh, 14)
    relative = v / metric.norm(v)[:, None] - wind
    assert np.allclose(np.einsum("fi,fij,fj->f", relative, h, relative), 1.0)
    # Downwind is quicker than upwind.
    moving = speed > 0
    assert (metric.norm(wind)[moving] < metric.norm(-wind)[moving]).all()


@given(alpha=st.floats(0.0, 50.0), tau=st.floats(0.0, 0.95), theta=st.floats(-7.0, 7.0))
def test_papers_recipe(alpha, tau, theta):
    mesh = primitives.plane(2, 1)
    frames = FaceFrames.from_directions(mesh, np.tile([1.0, 0.0, 0.0], (mesh.n_faces, 1)))
    metric = RandersMetric.from_curvature(mesh, frames, alpha=alpha, tau=tau, theta=theta)
    c, s = np.cos(theta), np.sin(theta)
    inverse = np.linalg.inv(metric.M[0])
    # M⁻¹ slows the direction R_θ û_M by 1 + α and leaves the other alone; ω = τ R_θ û_M.
    assert np.allclose(inverse @ [c, s], np.array([c, s]) / (1 + alpha))
    assert np.allclose(inverse @ [-s, c], [-s, c])
    assert np.allclose(metric.omega, tau * np.array([c, s]))
    assert np.allclose(metric.margin(), 1 - tau**2 / (1 + alpha))
    authors = RandersMetric.from_curvature(
        mesh, frames, alpha=alpha, tau=tau, theta=theta, omega_axis="min"
    )
    assert np.allclose(authors.margin(), 1 - tau**2)


def test_isotropic_measures_length(mesh):
    v = vectors(mesh, 3)
    assert np.allclose(RandersMetric.isotropic(mesh).norm(v), np.linalg.norm(v, axis=1))


def test_strength_recipes(mesh):
    frames = finsler.principal_frames(mesh)
    strength = np.linspace(0, 0.95, mesh.n_faces)
    for axis in ("max", "min"):
        tau = finsler.tau_of_strength(mesh, strength, alpha=4.0, omega_axis=axis)
        metric = RandersMetric.from_curvature(
            mesh, frames, alpha=4.0, tau=tau, theta=0.7, omega_axis=axis
        )
        assert np.allclose(1 - metric.margin(), strength**2)


def test_curvature_strength_is_bounded_and_follows_curvature():
    mesh = primitives.ellipsoid(10, axes=(3.0, 1.0, 1.0))
    curved = finsler.curvature_strength(mesh, peak=0.8)
    flat = finsler.curvature_strength(mesh, peak=0.8, where="flat")
    assert np.allclose(curved + flat, 0.8)
    assert (curved >= 0).all() and (curved <= 0.8).all()
    tip = np.abs(mesh.vertices[mesh.faces].mean(axis=1)[:, 0]) > 2.8
    assert curved[tip].min() > np.median(curved)
    scaled = TriMesh(1e4 * mesh.vertices, mesh.faces)
    assert np.allclose(finsler.curvature_strength(scaled, peak=0.8), curved)


class TestRefusals:
    def test_too_strong_omega_names_the_worst_face(self, mesh):
        omega = np.zeros((mesh.n_faces, 2))
        omega[7], omega[9] = [1.1, 0.0], [1.05, 0.0]
        eye = np.broadcast_to(np.eye(2), (mesh.n_faces, 2, 2))
        with pytest.raises(finsler.InputError, match=r"face 7 has ⟨ω, M⁻¹ω⟩ = 1.21"):
            RandersMetric(mesh, eye, omega)
        unchecked = RandersMetric(mesh, eye, omega, check=False)
        assert not unchecked.is_valid
        assert RandersMetric(mesh, eye, 0.5 * omega).is_valid

    def test_indefinite_tensor(self, mesh):
        tensor = np.tile(np.eye(2), (mesh.n_faces, 1, 1))
        tensor[3] = np.diag([1.0, -1.0])
        with pytest.raises(finsler.InputError, match="M of face 3 has eigenvalues"):
            RandersMetric(mesh, tensor, np.zeros((mesh.n_faces, 2)))

    def test_unsymmetric_tensor(self, mesh):
        tensor = np.tile(np.eye(2), (mesh.n_faces, 1, 1))
        tensor[4, 0, 1] = 0.3
        with pytest.raises(finsler.InputError, match="M of face 4 is not symmetric"):
            RandersMetric(mesh, tensor, np.zeros((mesh.n_faces, 2)))

    @pytest.mark.parametrize(
        ("tensor", "omega", "message"),
        [
            ((2, 2, 2), (M_FACES, 2), "M must have shape"),
            ((M_FACES, 2, 2), (M_FACES,), "omega must have shape"),
        ],
    )
    def test_shapes(self, mesh, tensor, omega, message):
        with pytest.raises(finsler.InputError, match=message):
            RandersMetric(mesh, np.ones(tensor), np.zeros(omega))

    def test_not_finite(self, mesh):
        eye = np.tile(np.eye(2), (mesh.n_faces, 1, 1))
        with pytest.raises(finsler.InputError, match="omega holds values that are not finite"):
            RandersMetric(mesh, eye, np.full((mesh.n_faces, 2), np.nan))

    def test_wind_faster_than_the_traveller(self, mesh):
        wind = np.zeros((mesh.n_faces, 2))
        wind[2] = [2.0, 0.0]
        with pytest.raises(finsler.InputError, match="wind on face 2"):
            RandersMetric.from_wind(mesh, np.tile(np.eye(2), (mesh.n_faces, 1, 1)), wind)

    def test_parameters(self, mesh):
        frames = finsler.principal_frames(mesh)
        with pytest.raises(finsler.InputError, match="alpha is -2"):
            RandersMetric.from_curvature(mesh, frames, alpha=-2.0)
        with pytest.raises(finsler.InputError, match="tau must be a number or one number a face"):
            RandersMetric.from_curvature(mesh, frames, tau=np.zeros(3))
        with pytest.raises(finsler.InputError, match="omega_axis"):
            RandersMetric.from_curvature(mesh, frames, omega_axis="sideways")
        with pytest.raises(finsler.InputError, match="it must lie in"):
            finsler.tau_of_strength(mesh, 1.0)
        with pytest.raises(finsler.InputError, match="peak"):
            finsler.curvature_strength(mesh, peak=1.0)
        with pytest.raises(finsler.InputError, match="where"):
            finsler.curvature_strength(mesh, where="here")
        with pytest.raises(finsler.InputError, match="flat"):
            finsler.curvature_strength(primitives.plane(3, 3))
