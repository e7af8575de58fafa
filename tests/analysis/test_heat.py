import numpy as np
import pytest

import finsler
from exact import in_faces, rate, union
from finsler import RandersMetric, TriMesh, primitives
from finsler.analysis.heat import (
    averaged_heat_kernel,
    diffuse,
    diffuser,
    drift_source,
    finsler_flow,
    heat_kernel,
)


def interval_kernel(x, y, t, length):
    """Heat kernel of [0, length] with insulated ends."""
    modes = np.arange(1, 60)[:, None] * np.pi / length
    terms = np.exp(-(modes**2) * t) * np.cos(modes * x) * np.cos(modes * y)
    return (1.0 + 2.0 * terms.sum(axis=0)) / length


def sphere_kernel(cosine, weight, degrees=40):
    """Zonal series Σ_l (2l+1)/4π w(l(l+1)) P_l(cos d); w = e^{−λt} for the heat kernel."""
    degree = np.arange(degrees)
    weights = [(2 * d + 1) / (4 * np.pi) * weight(d * (d + 1.0)) for d in degree]
    return np.polynomial.legendre.legval(cosine, weights)


def wind_around(mesh, strength):
    """A Randers metric with M = I whose ω turns around the z axis, weaker on one side."""
    centre = mesh.vertices[mesh.faces].mean(axis=1)
    direction = np.stack([-centre[:, 1], centre[:, 0], np.zeros(len(centre))], axis=1)
    direction /= np.linalg.norm(direction, axis=1).max()
    omega = strength * (1 + 0.5 * centre[:, :1]) * in_faces(mesh, direction)
    return RandersMetric(mesh, np.tile(np.eye(2), (mesh.n_faces, 1, 1)), omega)


class TestHeatKernel:
    mesh = primitives.sphere(12)
    spectrum = finsler.spectrum(finsler.lbo(mesh), 150)

    def test_conserves_heat_and_is_symmetric(self):
        kernel = heat_kernel(self.spectrum, 0.1, [3, 500])
        assert np.allclose(self.spectrum.mass @ kernel, 1.0)
        assert kernel[500, 0] == pytest.approx(kernel[3, 1])
        assert kernel.shape == (self.mesh.n_vertices, 2)

    def test_semigroup(self):
        first, second, both = (heat_kernel(self.spectrum, t, range(1442)) for t in (0.1, 0.2, 0.3))
        assert np.allclose(first @ (self.spectrum.mass[:, None] * second), both, atol=1e-9)

    def test_closed_form_on_the_sphere_with_its_rate(self):
        errors = []
        for frequency in (6, 12, 24):
            mesh = primitives.sphere(frequency)
            found = heat_kernel(finsler.spectrum(finsler.lbo(mesh), 120), 0.2, 10)
            exact = sphere_kernel(mesh.vertices @ mesh.vertices[10], lambda v: np.exp(-0.2 * v))
            errors.append(np.abs(found - exact).max() / exact.max())
        assert rate([1 / 6, 1 / 12, 1 / 24], errors) > 1.8
        assert errors[-1] < 0.002

    def test_closed_form_on_an_anisotropic_rectangle_with_its_rate(self):
        # D = diag(1/4, 1) on [0, 2] × [0, 1]: a product of two kernels of intervals.
        t, errors = 0.02, []
        for level in (8, 16, 32):
            mesh = primitives.plane(2 * level, level, size=(2.0, 1.0))
            along = np.tile([1.0, 0.0, 0.0], (mesh.n_faces, 1))
            frames = finsler.FaceFrames.from_directions(mesh, along)
            operator = finsler.albo(mesh, alpha=3.0, frames=frames)
            x, y, _ = mesh.vertices.T
            source = int(np.argmin((x - 0.5) ** 2 + (y - 0.25) ** 2))
            exact = interval_kernel(x, 0.5, t / 4, 2.0) * interval_kernel(y, 0.25, t, 1.0)
            found = heat_kernel(finsler.spectrum(operator, 150), t, source)
            errors.append(np.abs(found - exact).max() / exact.max())
            turned = interval_kernel(x, 0.5, t, 2.0) * interval_kernel(y, 0.25, t / 4, 1.0)
            assert np.abs(found - turned).max() > 0.2 * exact.max()
        assert rate([1 / 8, 1 / 16, 1 / 32], errors) > 1.8
        assert errors[-1] < 0.02

    def test_averaged_kernel_is_the_integral_over_time(self):
        nodes, weights = np.polynomial.legendre.leggauss(40)
        t = 0.3
        times = 0.5 * t * (nodes + 1)
        integral = sum(
            0.5 * t * w * heat_kernel(self.spectrum, s, 4)
            for s, w in zip(times, weights, strict=True)
        )
        assert np.allclose(averaged_heat_kernel(self.spectrum, t, 4), integral, atol=1e-9)

    def test_averaged_kernel_on_the_sphere_with_its_rate(self):
        # Cut off after degree 5, 36 functions, on both sides: the full kernel is singular.
        errors = []
        for frequency in (6, 12, 24):
            mesh = primitives.sphere(frequency)
            cosine = mesh.vertices @ mesh.vertices[4]
            exact = sphere_kernel(cosine, lambda v: (1 - np.exp(-0.3 * v)) / v if v else 0.3, 6)
            found = averaged_heat_kernel(finsler.spectrum(finsler.lbo(mesh), 36), 0.3, 4)
            errors.append(np.abs(found - exact).max() / exact.max())
        assert rate([1 / 6, 1 / 12, 1 / 24], errors) > 1.8
        assert errors[-1] < 0.005

    def test_averaged_kernel_keeps_its_digits(self):
        mass = self.spectrum.mass
        for t in (1e-30, 1e-12, 1e-3, 1e3, 1e9):
            kernel = averaged_heat_kernel(self.spectrum, t, 4)
            assert mass @ kernel == pytest.approx(t, rel=1e-5)
        short = averaged_heat_kernel(self.spectrum, 1e-12, 4) / 1e-12
        assert np.allclose(short, heat_kernel(self.spectrum, 0.0, 4), rtol=1e-6, atol=1e-9)
        assert (averaged_heat_kernel(self.spectrum, 0.0, 4) == 0.0).all()

    def test_refusals(self):
        for kernel in (heat_kernel, averaged_heat_kernel):
            for t in (-1.0, np.nan, np.inf, [0.1, 0.2]):
                with pytest.raises(finsler.InputError, match="time must be"):
                    kernel(self.spectrum, t, 0)
            for sources in ([99999], -1):
                with pytest.raises(finsler.InputError, match="must lie in"):
                    kernel(self.spectrum, 1.0, sources)
            with pytest.raises(finsler.InputError, match="vertex index"):
                kernel(self.spectrum, 1.0, [0.5])
            with pytest.raises(finsler.InputError, match="at least one vertex"):
                kernel(self.spectrum, 1.0, [])


class TestDiffuse:
    mesh = primitives.bumpy_sphere(8)
    laplacian = finsler.flbo(mesh, tau=0.3, theta=0.5)
    basis = finsler.spectrum(laplacian, mesh.n_vertices)
    start = np.random.default_rng(0).random((mesh.n_vertices, 2))

    def test_implicit_steps_converge_to_the_exact_flow_with_rate_one(self):
        exact = diffuse(self.basis, self.start, 0.1)
        errors = [
            np.abs(diffuse(self.laplacian, self.start, 0.1, steps=steps) - exact).max()
            for steps in (20, 40, 80)
        ]
        assert rate([1 / 20, 1 / 40, 1 / 80], errors) == pytest.approx(1.0, abs=0.1)
        assert errors[-1] < 0.01

    def test_spectral_diffusion_is_the_kernel_applied(self):
        kernel = heat_kernel(self.basis, 0.1, range(self.mesh.n_vertices))
        expected = kernel @ (self.laplacian.mass[:, None] * self.start)
        assert np.allclose(diffuse(self.basis, self.start, 0.1), expected)

    def test_semigroup_and_start(self):
        twice = diffuse(self.basis, diffuse(self.basis, self.start, 0.1), 0.2)
        assert np.allclose(twice, diffuse(self.basis, self.start, 0.3))
        half = diffuser(self.laplacian, 0.15)
        assert np.allclose(
            half(half(self.start)), diffuser(self.laplacian, 0.3, steps=2)(self.start)
        )
        for operator in (self.basis, self.laplacian):
            assert np.allclose(diffuse(operator, self.start, 0.0), self.start)

    @pytest.mark.parametrize("name", ["basis", "laplacian"])
    def test_laws(self, name):
        operator, mass = getattr(self, name), self.laplacian.mass
        later = diffuse(operator, self.start, 0.3)
        assert np.allclose(mass @ later, mass @ self.start)
        assert np.allclose(diffuse(operator, np.ones(642), 7.0), 1.0)
        # Self-adjoint in the mass, and damping.
        assert later[:, 0] @ (mass * self.start[:, 1]) == pytest.approx(
            self.start[:, 0] @ (mass * later[:, 1])
        )
        assert (mass @ later**2 < mass @ self.start**2).all()
        mean = mass @ self.start / mass.sum()
        assert np.allclose(diffuse(operator, self.start, 1e9), mean, atol=1e-6)

    @pytest.mark.parametrize("name", ["basis", "laplacian"])
    def test_many_functions_and_times_at_once(self, name):
        operator = getattr(self, name)
        times = [0.0, 0.1, 0.5]
        together = diffuse(operator, self.start, times)
        assert together.shape == (3, 642, 2)
        for t, u in zip(times, together, strict=True):
            assert np.allclose(u[:, 1], diffuse(operator, self.start[:, 1], t))

    def test_implicit_step_keeps_heat_positive_on_a_delaunay_mesh(self):
        for mesh in (primitives.sphere(10), primitives.plane(20, 20)):
            laplacian = finsler.lbo(mesh)
            start = np.eye(mesh.n_vertices)[:, [0, 7, 200]]
            for t in (1e-6, 1e-3, 1.0):
                later = diffuse(laplacian, start, t)
                assert later.min() >= 0.0
                assert later.max() <= 1.0

    def test_heat_does_not_cross_to_another_component(self):
        both = union(primitives.sphere(4), primitives.torus(12, 8))
        later = diffuse(finsler.lbo(both), np.eye(both.n_vertices)[0], 0.5)
        assert (later[162:] == 0.0).all()
        assert (later[:162] > 0.0).all()

    def test_refusals(self):
        for operator in (self.basis, self.laplacian):
            for t in (-1.0, np.nan, [0.1, -0.1], [], [[0.1]]):
                with pytest.raises(finsler.InputError, match="time must be"):
                    diffuse(operator, self.start, t)
            with pytest.raises(finsler.InputError, match="one value for each"):
                diffuse(operator, np.ones(5), 0.1)
        with pytest.raises(finsler.InputError, match="steps is 0"):
            diffuse(self.laplacian, self.start, 0.1, steps=0)
        with pytest.raises(finsler.InputError, match="must be one number"):
            diffuser(self.laplacian, [0.1, 0.2])
        negative = finsler.Laplacian(-self.laplacian.stiffness, self.laplacian.mass)
        with pytest.raises(finsler.InputError, match="not positive definite"):
            diffuser(negative, 10.0)


class TestDriftSource:
    def test_of_a_constant_field_lies_on_the_boundary(self):
        mesh = primitives.plane(12, 10, jitter=0.3)
        omega = np.tile([0.6, 0.0, 0.0], (mesh.n_faces, 1))
        metric = RandersMetric(mesh, np.tile(np.eye(2), (mesh.n_faces, 1, 1)), omega)
        source = drift_source(metric)
        x, y, _ = mesh.vertices.T
        inside = (x > 1e-9) & (x < 1 - 1e-9)
        assert np.allclose(source[inside & (y > 1e-9) & (y < 1 - 1e-9)], 0.0, atol=1e-10)
        # ω* = −ω/λ points to −x: the flux 0.6/0.64 collects at x = 1 and is drawn from x = 0.
        mass = finsler.lumped_mass(mesh)
        assert (mass * source)[x > 1 - 1e-9].sum() == pytest.approx(0.6 / 0.64)
        assert (mass * source)[x < 1e-9].sum() == pytest.approx(-0.6 / 0.64)

    def test_divergence_of_a_linear_field(self):
        # With M = I, ω is chosen so that ω* = (x, 2y)/4, whose divergence is 3/4.
        mesh = primitives.plane(24, 24, size=(1.0, 1.0))
        x, y = (mesh.vertices[mesh.faces].mean(axis=1) - 0.5).T[:2]
        wanted = 0.25 * np.stack([x, 2 * y, np.zeros_like(x)], axis=1)
        # ω* = −ω/(1 − |ω|²): lengths solve s = r/(1 − r²).
        s = np.linalg.norm(wanted, axis=1)
        r = (np.sqrt(1 + 4 * s**2) - 1) / (2 * s)
        metric = RandersMetric(
            mesh, np.tile(np.eye(2), (mesh.n_faces, 1, 1)), -wanted * (r / s)[:, None]
        )
        source = drift_source(metric)
        inside = (np.abs(mesh.vertices[:, :2] - 0.5) < 0.5 - 1e-9).all(axis=1)
        assert np.allclose(source[inside], 0.75)

    def test_sums_to_zero_and_changes_sign_with_omega(self):
        mesh = primitives.bumpy_sphere(10)
        metric = wind_around(mesh, 0.6)
        source = drift_source(metric)
        mass = finsler.lumped_mass(mesh)
        assert abs(mass @ source) < 1e-12
        assert mass @ np.abs(source) > 0.1
        assert np.allclose(drift_source(RandersMetric(mesh, metric.M, -metric.omega)), -source)

    def test_does_not_depend_on_the_basis(self):
        mesh = primitives.bumpy_sphere(6)
        frames = finsler.principal_frames(mesh)
        tau = np.linspace(0.0, 0.9, mesh.n_faces)
        metric = RandersMetric.from_curvature(mesh, frames, alpha=2.0, tau=tau, theta=0.4)
        axes = np.stack([metric.basis.first, metric.basis.second], axis=1)
        tensor = np.einsum("fai,fab,fbj->fij", axes, metric.M, axes)
        same = RandersMetric(mesh, tensor, metric.basis.vectors(metric.omega))
        assert np.allclose(drift_source(same), drift_source(metric))


class TestFinslerFlow:
    mesh = primitives.bumpy_sphere(8)
    metric = wind_around(mesh, 0.6)
    laplacian = finsler.laplacian(mesh, metric.diffusivity())
    basis = finsler.spectrum(laplacian, mesh.n_vertices)
    start = np.random.default_rng(2).random(mesh.n_vertices)

    def flow(self, u0, t, basis=None):
        return finsler_flow(basis or self.basis, self.metric, u0, t)

    def test_solves_the_equation(self):
        # ∂u/∂t = −S⁻¹W u + div ω*, by central differences; their error falls with the square.
        u = self.flow(self.start, 0.05)
        exact = -self.laplacian.apply(u) + drift_source(self.metric)
        errors = []
        for step in (4e-4, 2e-4, 1e-4):
            before, after = self.flow(self.start, [0.05 - step, 0.05 + step])
            errors.append(np.abs((after - before) / (2 * step) - exact).max())
        assert rate([4e-4, 2e-4, 1e-4], errors) == pytest.approx(2.0, abs=0.1)
        assert errors[-1] < 1e-3 * np.abs(exact).max()

    def test_starts_with_the_right_slope(self):
        smooth = self.basis.eigenvectors[:, 3]
        slope = -self.laplacian.apply(smooth) + drift_source(self.metric)
        times = [1e-5, 1e-6, 1e-7]
        errors = [np.abs((self.flow(smooth, t) - smooth) / t - slope).max() for t in times]
        assert rate(times, errors) == pytest.approx(1.0, abs=0.15)
        assert np.allclose(self.flow(smooth, 0.0), smooth)

    def test_is_plain_diffusion_without_omega(self):
        plain = RandersMetric(self.mesh, self.metric.M, np.zeros_like(self.metric.omega))
        basis = finsler.spectrum(finsler.laplacian(self.mesh, plain.diffusivity()), 60)
        found = finsler_flow(basis, plain, self.start, [0.0, 0.3])
        assert np.allclose(found, diffuse(basis, self.start, [0.0, 0.3]), atol=1e-12)

    def test_source_part_is_the_averaged_kernel_applied(self):
        source = self.laplacian.mass * drift_source(self.metric)
        kernel = averaged_heat_kernel(self.basis, 0.2, range(642))
        assert np.allclose(self.flow(np.zeros(642), 0.2), kernel @ source, atol=1e-10)

    def test_laws(self):
        mass = self.laplacian.mass
        times = [0.01, 0.1, 1.0, 100.0]
        both = np.stack([self.start, np.zeros(642)], axis=1)
        found = self.flow(both, times)
        assert found.shape == (4, 642, 2)
        assert np.allclose(mass @ found[..., 0].T, mass @ self.start)
        # Semigroup, and the difference of two solutions is plain diffusion.
        assert np.allclose(self.flow(found[0, :, 0], 0.09), found[1, :, 0])
        assert np.allclose(found[1, :, 0] - found[1, :, 1], diffuse(self.basis, self.start, 0.1))
        # At rest W u = S div ω*.
        rest = self.laplacian.stiffness @ found[-1, :, 0]
        assert np.allclose(rest, mass * drift_source(self.metric), atol=1e-8)
        assert np.abs(rest).max() > 1e-3

    def test_another_mass(self):
        consistent = finsler.consistent_mass(self.mesh)
        basis = finsler.spectrum(self.laplacian, 642, mass=consistent)
        rest = self.laplacian.stiffness @ self.flow(self.start, 100.0, basis)
        lumped = self.laplacian.mass * drift_source(self.metric)
        assert np.allclose(rest, lumped, atol=1e-8)

    def test_units_do_not_matter(self):
        # u is a length: ω has no unit, and u/s at time s² t on the surface enlarged by s.
        s = 50.0
        large = TriMesh(s * self.mesh.vertices, self.mesh.faces)
        metric = wind_around(self.mesh, 0.6)
        there = RandersMetric(large, metric.M, metric.omega)
        basis = finsler.spectrum(finsler.laplacian(large, there.diffusivity()), 60)
        found = finsler_flow(basis, there, s * self.start, s**2 * 0.1)
        here = self.flow(self.start, 0.1, finsler.spectrum(self.laplacian, 60))
        assert np.allclose(found, s * here, atol=1e-8)

    def test_refusals(self):
        for t in (-1.0, np.nan, []):
            with pytest.raises(finsler.InputError, match="time must be"):
                self.flow(self.start, t)
        small = RandersMetric.isotropic(primitives.sphere(6))
        with pytest.raises(finsler.InputError, match="the metric's mesh 362"):
            finsler_flow(self.basis, small, np.ones(362), 0.1)


@pytest.mark.parametrize("time", [1e8, 1e14, 1e300])
@pytest.mark.parametrize("steps", [1, 3])
def test_after_a_very_long_time_heat_is_its_mean(time, steps):
    mesh = union(primitives.sphere(4), primitives.torus(12, 8))
    laplacian = finsler.lbo(mesh)
    start = np.random.default_rng(0).uniform(size=(mesh.n_vertices, 2))
    late = finsler.diffuse(laplacian, start, time, steps=steps)
    for part in (slice(0, 162), slice(162, None)):
        weight = laplacian.mass[part]
        mean = weight @ start[part] / weight.sum()
        assert np.allclose(late[part], mean, rtol=1e-6, atol=0.0)
        assert np.allclose(weight @ late[part] / weight.sum(), mean, rtol=1e-12)


def test_long_steps_meet_the_short_ones():
    laplacian = finsler.lbo(primitives.sphere(6))
    start = np.random.default_rng(1).uniform(size=362)
    before, after = (finsler.diffuse(laplacian, start, t) for t in (9e3, 1.1e4))
    mean = laplacian.mass @ start / laplacian.mass.sum()
    # The slowest waves decay like 1/t, on both sides of where the mean is split off.
    assert np.allclose(9e3 * (before - mean), 1.1e4 * (after - mean), rtol=1e-3, atol=1e-6)
