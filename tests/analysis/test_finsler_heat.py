import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import spsolve

import finsler
from exact import around_axis, in_faces, rate, relabelled, rotation, union
from finsler import FaceFrames, RandersMetric, TriMesh, primitives
from finsler.analysis.dual_energy import (
    DualEnergy,
    finsler_energy,
    finsler_laplacian_apply,
    finsler_laplacian_at,
)
from finsler.analysis.finsler_heat import _Objective, finsler_heat_flow, finsler_heat_step


def constant_metric(mesh, tensor, omega):
    """The same M (2, 2) and ω (2,) on every face of a mesh in the plane, in its coordinates."""
    spatial = np.zeros((3, 3))
    spatial[:2, :2] = tensor
    m = mesh.n_faces
    return RandersMetric(mesh, np.tile(spatial, (m, 1, 1)), np.tile([*omega, 0.0], (m, 1)))


def curved_metric(mesh, strength, alpha=3.0):
    """The paper's metric with ‖ω‖_{M⁻¹} = strength everywhere."""
    frames = FaceFrames.from_directions(
        mesh, in_faces(mesh, np.tile([1.0, 0.3, 0.2], (mesh.n_faces, 1)))
    )
    tau = finsler.tau_of_strength(mesh, strength, alpha=alpha)
    return RandersMetric.from_curvature(mesh, frames, alpha=alpha, tau=tau, theta=0.4)


def reverse(metric):
    return RandersMetric(metric.mesh, metric.M, -metric.omega, basis=metric.basis)


@pytest.fixture(scope="module")
def mesh():
    return primitives.bumpy_sphere(7)


@pytest.fixture(scope="module")
def metric(mesh):
    return curved_metric(mesh, np.linspace(0.2, 0.8, mesh.n_faces))


@pytest.fixture(scope="module")
def u0(mesh):
    return np.random.default_rng(0).standard_normal(mesh.n_vertices) + mesh.vertices[:, 0]


class TestEnergy:
    def test_one_triangle(self):
        # M = I, ω = 0.5 e_x: F*(e_x) = 1/1.5, F*(−e_x) = 1/0.5, and F*∇F* lies along x at both.
        mesh = TriMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
        metric = constant_metric(mesh, np.eye(2), [0.5, 0.0])
        for u, size in ([0, 1, 0], 1 / 2.25), ([0, -1, 0], 4.0):
            assert np.isclose(finsler_energy(metric, u), 0.25 * size)
            # S = 1/6 at each corner; ∇φ = (−1,−1), (1,0), (0,1); area 1/2.
            expected = 3.0 * size * np.array([-u[1], u[1], 0.0])
            assert np.allclose(finsler_laplacian_apply(metric, u), expected)

    def test_gradient_by_differences(self, mesh, metric, u0):
        mass = finsler.lbo(mesh).mass
        direction = np.random.default_rng(1).standard_normal(mesh.n_vertices)
        h = 1e-5
        up = finsler_energy(metric, u0 + h * direction)
        down = finsler_energy(metric, u0 - h * direction)
        slope = mass @ (direction * finsler_laplacian_apply(metric, u0))
        assert np.isclose((up - down) / (2 * h), slope, rtol=1e-7)

    def test_hessian_by_differences(self, mesh, metric, u0):
        direction = np.random.default_rng(2).standard_normal(mesh.n_vertices)
        h = 1e-6
        up = finsler_laplacian_apply(metric, u0 + h * direction)
        down = finsler_laplacian_apply(metric, u0 - h * direction)
        along = finsler_laplacian_at(metric, u0).apply(direction)
        assert np.abs((up - down) / (2 * h) - along).max() < 1e-6 * np.abs(along).max()

    def test_euler_identities(self, mesh, metric, u0):
        laplacian = finsler_laplacian_at(metric, u0)
        applied = finsler_laplacian_apply(metric, u0)
        assert np.isclose(
            laplacian.mass @ (u0 * applied), 2 * finsler_energy(metric, u0), rtol=1e-12
        )
        assert np.allclose(laplacian.apply(u0), applied, atol=1e-11 * np.abs(applied).max())

    def test_hessian_lies_between_the_extreme_squared_speeds(self):
        # For M = I its eigenvalues fill [(1 + ‖ω‖)⁻², (1 − ‖ω‖)⁻²]; on one right-angled triangle
        # the diffusivity can be read off the stiffness.
        mesh = TriMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
        metric = constant_metric(mesh, np.eye(2), [0.6, 0.0])
        found, ratio = [], []
        for angle in np.linspace(0, 2 * np.pi, 73):
            u = [0.0, np.cos(angle), np.sin(angle)]
            tensor = 2 * finsler_laplacian_at(metric, u).stiffness.toarray()[1:, 1:]
            found.append(np.linalg.eigvalsh(tensor))
            ratio.append(found[-1][1] / found[-1][0])
        assert np.isclose(np.min(found), 1.6**-2) and np.isclose(np.max(found), 0.4**-2)
        assert np.isclose(np.max(ratio), 1.6 / 0.4, rtol=1e-3)

    def test_flat_faces_get_the_mean_of_opposite_hessians(self, mesh, metric, u0):
        flat = finsler_laplacian_at(metric, np.ones(mesh.n_vertices)).stiffness
        there = finsler_laplacian_at(metric, u0).stiffness
        back = finsler_laplacian_at(metric, -u0).stiffness
        assert np.allclose(flat.toarray(), 0.5 * (there + back).toarray())

    def test_without_omega_it_is_the_linear_operator(self, mesh, u0):
        metric = curved_metric(mesh, 0.0)
        linear = finsler.laplacian(mesh, metric.diffusivity())
        assert np.allclose(finsler_laplacian_apply(metric, u0), linear.apply(u0))
        assert np.isclose(finsler_energy(metric, u0), 0.5 * u0 @ linear.stiffness @ u0)


class TestExact:
    @pytest.mark.parametrize("sign", [1.0, -1.0])
    def test_one_step_on_an_equilateral_triangle(self, sign):
        # Σ ∇φ∇φᵀ = 2 I and S = area/3, so a slope p along ω obeys p₁ = p₀/(1 + 6 t F*(±e_x)²).
        mesh = TriMesh([[0, 0, 0], [1, 0, 0], [0.5, 0.75**0.5, 0]], [[0, 1, 2]])
        metric = constant_metric(mesh, np.eye(2), [0.5, 0.0])
        u0 = sign * mesh.vertices[:, 0]
        speed = 1 / 1.5 if sign > 0 else 1 / 0.5
        step = finsler_heat_step(metric, u0, 0.3, tolerance=1e-13)
        expected = 0.5 * sign + (u0 - 0.5 * sign) / (1 + 6 * 0.3 * speed**2)
        assert np.allclose(step.u, expected, atol=1e-12)

    def test_linear_step_without_omega(self, mesh, u0):
        metric = curved_metric(mesh, 0.0)
        linear = finsler.laplacian(mesh, metric.diffusivity())
        for t in (1e-3, 1.0):
            matrix = sparse.diags_array(linear.mass) + t * linear.stiffness
            expected = spsolve(sparse.csc_array(matrix), linear.mass * u0)
            step = finsler_heat_step(metric, u0, t)
            assert step.iterations == 1
            assert np.abs(step.u - expected).max() < 1e-10

    @staticmethod
    def tube(cells):
        """A cylinder of height 1 whose ω has parts along and around its axis, and c± = F*(±e_z)."""
        mesh = primitives.cylinder(4, cells, height=1.0)
        centre = mesh.vertices[mesh.faces].mean(axis=1)
        frames = FaceFrames.from_directions(mesh, in_faces(mesh, around_axis(centre)))
        tensor, omega = np.array([[1.3, 0.4], [0.4, 0.8]]), np.array([0.3, 0.45])
        m = mesh.n_faces
        metric = RandersMetric(
            mesh, np.tile(tensor, (m, 1, 1)), np.tile(omega, (m, 1)), basis=frames.basis
        )
        axis = frames.basis.coordinates(np.tile([0.0, 0.0, 1.0], (m, 1)))
        assert np.allclose(np.abs(axis), [0.0, 1.0])
        angle = np.linspace(0, 2 * np.pi, 100_001)
        v = np.stack([np.cos(angle), np.sin(angle)])
        cost = np.sqrt(np.einsum("ip,ij,jp->p", v, tensor, v)) + omega @ v
        up = axis[0, 1] * v[1] / cost
        return mesh, metric, up.max(), (-up).max()

    @pytest.mark.parametrize("sign", [1.0, -1.0])
    def test_one_step_of_monotone_data_on_a_tube(self, sign):
        # Data that depend on height and rise (fall) obey the heat equation with c₊² (c₋²): one
        # implicit step of lumped linear elements has cos(πz) as eigenvector.
        mesh, metric, rising, falling = self.tube(20)
        c = rising if sign > 0 else falling
        assert abs(rising - falling) > 0.3
        u0 = -sign * np.cos(np.pi * mesh.vertices[:, 2])
        t, h = 0.05, 1 / 20
        step = finsler_heat_step(metric, u0, t, tolerance=1e-12)
        factor = 1 + t * c**2 * (2 / h * np.sin(np.pi * h / 2)) ** 2
        assert np.allclose(step.u, u0 / factor, atol=1e-8)

    @pytest.mark.parametrize("sign", [1.0, -1.0])
    def test_monotone_data_converge_to_the_heat_equation(self, sign):
        sizes, errors = [], []
        for cells in (8, 16, 32):
            mesh, metric, rising, falling = self.tube(cells)
            c = rising if sign > 0 else falling
            u0 = -sign * np.cos(np.pi * mesh.vertices[:, 2])
            # Four times the steps for twice the cells: second order in space, first in time.
            steps = 2 * (cells // 8) ** 2
            t = 0.1 / c**2
            flow = finsler_heat_flow(metric, u0, np.linspace(0, t, steps + 1)[1:])
            sizes.append(1 / cells)
            errors.append(np.abs(flow.u[-1] - u0 * np.exp(-0.1 * np.pi**2)).max())
        assert errors[-1] < 0.01
        assert 1.7 < rate(sizes, errors) < 2.3

    def test_gaussian_of_the_reverse_distance(self):
        # u = t⁻¹ exp(−F(−x)²/4t) solves the flow in the plane, for any constant M and ω.
        tensor, omega = np.array([[1.2, 0.3], [0.3, 0.8]]), np.array([0.4, -0.2])

        def exact(x, t):
            cost = np.sqrt(np.einsum("pi,ij,pj->p", x, tensor, x)) - x @ omega
            return np.exp(-(cost**2) / (4 * t)) / t

        sizes, errors = [], []
        for cells in (12, 24, 48):
            mesh = primitives.plane(cells, cells, size=(6.0, 6.0), jitter=0.15)
            x = mesh.vertices[:, :2] - [2.3, 3.4]
            metric = constant_metric(mesh, tensor, omega)
            # Four times the steps for twice the cells: second order in space, first in time.
            times = np.geomspace(0.05, 0.1, 2 * (cells // 12) ** 2 + 1) - 0.05
            flow = finsler_heat_flow(metric, exact(x, 0.05), times[1:])
            mass = finsler.lbo(mesh).mass
            difference = flow.u[-1] - exact(x, 0.1)
            sizes.append(1 / cells)
            errors.append(np.sqrt(mass @ difference**2 / (mass @ exact(x, 0.1) ** 2)))
        assert errors[-1] < 0.015
        assert 1.4 < rate(sizes, errors) < 2.2

    def test_heat_drifts_along_omega(self):
        # Centre of mass of the Gaussian above, M = I: 1.5 ‖ω‖/(1 − ‖ω‖²) √(πt) along ω.
        mesh = primitives.plane(40, 40, size=(4.0, 4.0))
        x = mesh.vertices[:, :2] - 2.0
        omega = np.array([0.0, 0.4])
        metric = constant_metric(mesh, np.eye(2), omega)
        cost = np.linalg.norm(x, axis=1) - x @ omega
        flow = finsler_heat_flow(
            metric, np.exp(-(cost**2) / 0.12), np.geomspace(0.03, 0.08, 13)[1:] - 0.03
        )
        mass = finsler.lbo(mesh).mass
        centre = (flow.u * mass) @ x / flow.mass[:, None]
        expected = 1.5 * 0.4 / (1 - 0.4**2) * np.sqrt(np.pi * (flow.times[-1] + 0.03))
        assert np.isclose(centre[-1, 1], expected, rtol=0.02)
        assert abs(centre[-1, 0]) < 1e-3
        assert (np.diff(centre[:, 1]) > 0).all()


class TestLaws:
    @pytest.mark.parametrize("t", [1e-12, 1e-4, 0.1, 100.0, 1e6])
    def test_energy_falls_mass_stays_and_the_equation_holds(self, mesh, metric, u0, t):
        step = finsler_heat_step(metric, u0, t)
        assert step.energy_after < step.energy_before
        assert np.isclose(step.energy_after, finsler_energy(metric, step.u), rtol=1e-12)
        mass = finsler.lbo(mesh).mass
        assert np.isclose(step.mass_before, mass @ u0)
        assert abs(step.mass_after - step.mass_before) < 1e-10 * abs(step.mass_before)
        assert step.residual <= 1e-8
        change = -t * finsler_laplacian_apply(metric, step.u)
        gap = np.sqrt(mass @ (step.u - u0 - change) ** 2)
        moved = np.sqrt(mass @ (step.u - u0) ** 2)
        # The function handed back is rounded, which a long time multiplies.
        assert gap < 1e-7 * moved + 1e-16 * t * 1e6 + 1e-15

    def test_short_times_give_the_operator_and_long_ones_the_mean(self, mesh, metric, u0):
        t = 1e-9
        slope = (finsler_heat_step(metric, u0, t).u - u0) / t
        expected = -finsler_laplacian_apply(metric, u0)
        assert np.abs(slope - expected).max() < 1e-4 * np.abs(expected).max()
        late = finsler_heat_step(metric, u0, 1e8)
        assert np.allclose(late.u, late.mass_before / finsler.lbo(mesh).mass.sum(), atol=1e-6)

    def test_pieces_keep_their_own_mass(self, mesh):
        far = TriMesh(mesh.vertices + 5.0, mesh.faces)
        both = union(mesh, far)
        u0 = np.concatenate([np.full(mesh.n_vertices, 3.0), mesh.vertices[:, 0]])
        late = finsler_heat_step(curved_metric(both, 0.5), u0, 1e7).u
        assert np.allclose(late[: mesh.n_vertices], 3.0, rtol=1e-13)
        mass = finsler.lbo(mesh).mass
        assert np.allclose(late[mesh.n_vertices :], np.average(mesh.vertices[:, 0], weights=mass))

    def test_constants_stay(self, mesh, metric):
        for c in (0.0, 0.1, -1e6):
            step = finsler_heat_step(metric, np.full(mesh.n_vertices, c), 0.3)
            assert np.allclose(step.u, c, rtol=1e-15, atol=0)
            assert step.energy_before == 0.0

    @pytest.mark.parametrize("c", [1e-200, 3.0, 1e100])
    def test_positive_factors_pass_through(self, mesh, metric, u0, c):
        u = finsler_heat_step(metric, u0, 0.05).u
        scaled = finsler_heat_step(metric, c * u0, 0.05).u
        assert np.allclose(scaled / c, u, atol=1e-10)

    def test_added_constants_pass_through(self, mesh, metric, u0):
        u = finsler_heat_step(metric, u0, 0.05).u
        assert np.allclose(finsler_heat_step(metric, u0 + 7.0, 0.05).u, u + 7.0, atol=1e-8)

    def test_negative_factors_turn_omega_around(self, mesh, metric, u0):
        u = finsler_heat_step(metric, u0, 0.05).u
        negated = finsler_heat_step(metric, -u0, 0.05).u
        assert np.abs(negated + u).max() > 0.05 * np.abs(u).max()
        turned = finsler_heat_step(reverse(metric), u0, 0.05).u
        assert np.allclose(negated, -turned, atol=1e-8)

    def test_step_is_a_contraction(self, mesh, metric, u0):
        mass = finsler.lbo(mesh).mass
        other = u0 + np.random.default_rng(3).standard_normal(mesh.n_vertices)
        first = finsler_heat_step(metric, u0, 0.1).u
        second = finsler_heat_step(metric, other, 0.1).u
        assert mass @ (first - second) ** 2 < mass @ (u0 - other) ** 2

    def test_comparison_principle_on_regular_faces(self):
        # On an icosphere faces are nearly equilateral, and ‖ω‖ = 0.4 is below 1/2.
        mesh = primitives.sphere(8)
        metric = curved_metric(mesh, 0.4, alpha=0.0)
        low = np.random.default_rng(4).standard_normal(mesh.n_vertices)
        bump = np.eye(mesh.n_vertices)[50]
        for t in (1e-3, 0.1):
            u = finsler_heat_step(metric, low, t, tolerance=1e-12).u
            assert low.min() < u.min() and u.max() < low.max()
            above = finsler_heat_step(metric, low + bump, t, tolerance=1e-12).u
            assert (above - u).min() > -1e-12
        # With ‖ω‖ = 0.95 it fails.
        strong = curved_metric(mesh, 0.95, alpha=0.0)
        assert finsler_heat_step(strong, bump, 1e-4).u.min() < -1e-3

    def test_rigid_motion(self, mesh, u0):
        turn = rotation(5)
        moved = TriMesh(mesh.vertices @ turn.T + [1.0, -2.0, 3.0], mesh.faces)
        metric = curved_metric(mesh, 0.6)
        vectors = metric.basis.vectors(metric.omega) @ turn.T
        axes = np.stack([metric.basis.first, metric.basis.second], axis=1) @ turn.T
        tensor = np.einsum("fai,fab,fbj->fij", axes, metric.M, axes)
        there = finsler_heat_step(RandersMetric(moved, tensor, vectors), u0, 0.05).u
        assert np.allclose(there, finsler_heat_step(metric, u0, 0.05).u, atol=1e-8)

    def test_relabelling(self, mesh, u0):
        other, old_vertex, old_face = relabelled(mesh, 6)
        metric = curved_metric(mesh, 0.6)
        axes = np.stack([metric.basis.first, metric.basis.second], axis=1)
        tensor = np.einsum("fai,fab,fbj->fij", axes, metric.M, axes)[old_face]
        vectors = metric.basis.vectors(metric.omega)[old_face]
        there = finsler_heat_step(RandersMetric(other, tensor, vectors), u0[old_vertex], 0.05)
        expected = finsler_heat_step(metric, u0, 0.05).u[old_vertex]
        assert np.allclose(there.u, expected, atol=1e-8)

    @pytest.mark.parametrize("t", [1e-3, 0.1, 1e3])
    def test_strong_omega_and_anisotropy_converge(self, mesh, u0, t):
        step = finsler_heat_step(curved_metric(mesh, 0.95, alpha=10.0), u0, t)
        assert 1 < step.iterations <= 30 and step.residual <= 1e-8

    def test_nearly_degenerate_metric_needs_shorter_steps_and_converges(self, mesh):
        metric = curved_metric(mesh, 0.99, alpha=0.0)
        step = finsler_heat_step(metric, np.eye(mesh.n_vertices)[3], 1e-3)
        assert step.residual <= 1e-8 and step.energy_after < step.energy_before

    def test_line_search(self, mesh, metric, u0):
        objective = _Objective(DualEnergy.of(metric), finsler.lbo(mesh).mass, 0.1)
        w = np.zeros_like(u0)
        gradient = objective.gradient(u0, w)
        d = -spsolve(sparse.csc_array(objective.hessian(u0)), gradient)
        slope = gradient @ d
        assert objective.step_length(u0, w, d, slope) == 1.0
        assert objective.step_length(u0, w, 100.0 * d, 100.0 * slope) == 2.0**-6
        assert objective.step_length(u0, w, -d, slope) == 0.0

    def test_small_changes_of_energy_keep_their_digits(self, mesh, metric, u0):
        energy = DualEnergy.of(metric)
        d = np.random.default_rng(7).standard_normal(mesh.n_vertices)
        p, q = energy.slopes(u0), energy.slopes(d)
        whole = energy.value(u0 + d) - energy.value(u0)
        assert np.isclose(energy.change(p, q), whole, rtol=1e-12)
        h = 1e-13
        assert np.isclose(energy.change(p, h * q), h * energy.gradient(u0) @ d, rtol=1e-9)

    def test_flow_is_its_steps(self, mesh, metric, u0):
        flow = finsler_heat_flow(metric, u0, [0.01, 0.03])
        first = finsler_heat_step(metric, u0, 0.01)
        second = finsler_heat_step(metric, first.u, 0.02)
        assert np.allclose(flow.times, [0.0, 0.01, 0.03])
        assert np.array_equal(flow.u[0], u0) and np.allclose(flow.u[1:], [first.u, second.u])
        energies = [first.energy_before, first.energy_after, second.energy_after]
        assert np.allclose(flow.energy, energies) and (np.diff(flow.energy) < 0).all()
        assert np.allclose(flow.mass, first.mass_before, rtol=1e-10)
        assert flow.iterations.tolist() == [first.iterations, second.iterations]


class TestRefusals:
    @pytest.mark.parametrize("t", [0.0, -1.0, np.nan, np.inf])
    def test_time(self, mesh, metric, u0, t):
        with pytest.raises(finsler.InputError, match=r"t is .*above 0"):
            finsler_heat_step(metric, u0, t)

    @pytest.mark.parametrize("times", [[], [[0.1]], [0.0, 0.1], [0.2, 0.1], [0.1, np.nan]])
    def test_times(self, mesh, metric, u0, times):
        with pytest.raises(finsler.InputError, match="times must be"):
            finsler_heat_flow(metric, u0, times)

    def test_function(self, mesh, metric, u0):
        with pytest.raises(finsler.InputError, match=r"one value for each of the 492 vertices"):
            finsler_heat_step(metric, u0[:-1], 0.1)
        with pytest.raises(finsler.InputError, match="u0 must be one function"):
            finsler_heat_step(metric, np.stack([u0, u0], axis=1), 0.1)
        bad = u0.copy()
        bad[5] = np.nan
        with pytest.raises(finsler.InputError, match="the first at vertex 5"):
            finsler_heat_step(metric, bad, 0.1)
        with pytest.raises(finsler.InputError, match="the first at vertex 5"):
            finsler_energy(metric, bad)

    def test_metric_that_is_no_norm(self, mesh, metric, u0):
        wild = RandersMetric(mesh, metric.M, 3.0 * metric.omega, basis=metric.basis, check=False)
        with pytest.raises(finsler.InputError, match="it must be below 1"):
            finsler_energy(wild, u0)

    def test_limits(self, mesh, metric, u0):
        with pytest.raises(finsler.InputError, match="tolerance is 0"):
            finsler_heat_step(metric, u0, 0.1, tolerance=0.0)
        with pytest.raises(finsler.InputError, match="max_iterations is 0"):
            finsler_heat_step(metric, u0, 0.1, max_iterations=0)

    def test_too_few_iterations_say_how_far_they_came(self, mesh, metric, u0):
        with pytest.raises(
            finsler.ConvergenceError, match=r"relative residual \d.*after 2 Newton iterations"
        ):
            finsler_heat_step(metric, u0, 0.1, max_iterations=2)

    def test_time_beyond_rounding(self, mesh, metric, u0):
        with pytest.raises(finsler.ConvergenceError, match="take shorter steps"):
            finsler_heat_step(metric, u0, 1e40)
