import numpy as np
import pytest
from scipy.integrate import solve_ivp

import finsler
from exact import rate, relabelled, rotation, union
from finsler import RandersMetric, TriMesh, primitives
from finsler.analysis import randers_heat as module

METHODS = ["eikonal", "heat"]


def planar(mesh, tensor, omega):
    full = np.eye(3)
    full[:2, :2] = tensor
    return RandersMetric(
        mesh,
        np.tile(full, (mesh.n_faces, 1, 1)),
        np.tile([*omega, 0.0], (mesh.n_faces, 1)),
    )


def centre(mesh):
    return int(np.argmin(((mesh.vertices[:, :2] - 0.5) ** 2).sum(axis=1)))


def in_plane(mesh, tensor, omega, source):
    """d = ‖x‖_M + ⟨ω, x⟩"""
    x = (mesh.vertices - mesh.vertices[source])[:, :2]
    return np.sqrt(np.einsum("ni,ij,nj->n", x, tensor, x)) + x @ omega


def mean_error(found, exact):
    away = exact > 0
    return float(np.mean(np.abs(found - exact)[away] / exact[away]))


def total_error(found, exact):
    return float(np.linalg.norm(found - exact) / np.linalg.norm(exact))


PLANES = {
    "riemannian": (np.eye(2), np.zeros(2)),
    "drift 0.5": (np.eye(2), np.array([0.5, 0.0])),
    "drift 0.8": (np.eye(2), np.array([0.5, -0.6])),
    "anisotropic, drift 0.36": (np.diag([6.0, 1.0]), np.array([0.5, 0.3])),
}
STRONG = {
    "drift 0.95": (np.eye(2), np.array([0.0, 0.95])),
    "anisotropic 9, drift 0.9": (np.array([[6.0, 4.8], [4.8, 6.0]]), np.array([1.5588, 0.3117])),
}


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("tensor", "omega"), [*PLANES.values(), *STRONG.values()], ids=[*PLANES, *STRONG]
)
def test_eikonal_is_exact_in_a_plane_with_constant_metric(tensor, omega, reverse):
    mesh = primitives.plane(40, 40, jitter=0.3)
    source = centre(mesh)
    found = finsler.randers_distance(planar(mesh, tensor, omega), source, reverse=reverse)
    exact = in_plane(mesh, tensor, -omega if reverse else omega, source)
    assert np.allclose(found, exact, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("tensor", "omega"), PLANES.values(), ids=PLANES.keys())
def test_heat_converges_in_the_plane(tensor, omega, reverse):
    errors = []
    for n in (25, 50, 100):
        mesh = primitives.plane(n, n, jitter=0.3)
        source = centre(mesh)
        metric = planar(mesh, tensor, omega)
        found = finsler.randers_distance(metric, source, method="heat", reverse=reverse)
        exact = in_plane(mesh, tensor, -omega if reverse else omega, source)
        errors.append(total_error(found, exact))
    assert rate([1, 1 / 2, 1 / 4], errors) > 0.5
    assert errors[-1] < 0.03


def test_accuracy_at_20000_vertices():
    # The figures promised: 1% for the eikonal solver, 3% for the heat-type one, at ‖ω‖ = 0.5.
    mesh = primitives.plane(141, 141, jitter=0.3)
    omega = np.array([0.3, 0.4])
    metric, source = planar(mesh, np.eye(2), omega), centre(mesh)
    exact = in_plane(mesh, np.eye(2), omega, source)
    assert mean_error(finsler.randers_distance(metric, source), exact) < 1e-9
    heat = finsler.randers_distance(metric, source, method="heat")
    assert mean_error(heat, exact) < 0.015


def katok(mesh, speed):
    """The wind of a rotation about z at angular speed `speed`, on the unit sphere."""
    centres = mesh.vertices[mesh.faces].mean(axis=1)
    wind = speed * np.stack([-centres[:, 1], centres[:, 0], 0 * centres[:, 0]], axis=1)
    return RandersMetric.from_wind(mesh, np.tile(np.eye(3), (mesh.n_faces, 1, 1)), wind)


def katok_distance(points, source, speed):
    """Least t such that the point, carried back by the wind for t, lies at distance t."""
    angle, height = np.arctan2(points[:, 1], points[:, 0]), points[:, 2]
    ring = np.sqrt(np.maximum(1 - height**2, 0))

    def late(t):
        back = angle - speed * t
        moved = np.stack([ring * np.cos(back), ring * np.sin(back), height], axis=1)
        return np.arccos(np.clip(moved @ source, -1, 1)) - t

    # late falls strictly, since the wind is slower than the traveller.
    low, high = np.zeros(len(points)), np.full(len(points), np.pi / (1 - speed))
    for _ in range(60):
        middle = 0.5 * (low + high)
        behind = late(middle) > 0
        low, high = np.where(behind, middle, low), np.where(behind, high, middle)
    return 0.5 * (low + high)


@pytest.mark.parametrize(
    ("method", "least", "most"), [("eikonal", 0.8, 0.012), ("heat", 0.4, 0.03)]
)
def test_rotating_wind_on_the_sphere_converges(method, least, most):
    errors = []
    for frequency in (10, 20, 40):
        mesh = primitives.sphere(frequency)
        source = int(np.argmax(mesh.vertices @ [1.0, 0.3, 0.2]))
        exact = katok_distance(mesh.vertices, mesh.vertices[source], 0.5)
        found = finsler.randers_distance(katok(mesh, 0.5), source, method=method)
        errors.append(total_error(found, exact))
    assert rate([1, 1 / 2, 1 / 4], errors) > least
    assert errors[-1] < most


def test_zermelo_navigation_in_a_shear_flow_meets_an_integrated_trajectory():
    # Wind W = (0.6 sin πy, 0). Time-optimal headings obey Zermelo's equation
    # dψ/dt = −∂W/∂y cos²ψ (navigation formula for W = (w(y), 0)).
    mesh = primitives.plane(80, 80, jitter=0.2)
    height = mesh.vertices[mesh.faces].mean(axis=1)[:, 1]
    wind = np.stack([0.6 * np.sin(np.pi * height), 0 * height, 0 * height], axis=1)
    metric = RandersMetric.from_wind(mesh, np.tile(np.eye(3), (mesh.n_faces, 1, 1)), wind)
    source = int(np.argmin(((mesh.vertices[:, :2] - [0.3, 0.3]) ** 2).sum(axis=1)))
    found = finsler.randers_distance(metric, source)
    heat = finsler.randers_distance(metric, source, method="heat")

    def motion(_, state):
        _, y, heading = state
        return [
            np.cos(heading) + 0.6 * np.sin(np.pi * y),
            np.sin(heading),
            -0.6 * np.pi * np.cos(np.pi * y) * np.cos(heading) ** 2,
        ]

    x0, y0 = mesh.vertices[source, :2]
    for heading in (0.3, 1.2, 2.5, 3.5, 5.5):
        track = solve_ivp(motion, (0.0, 0.25), [x0, y0, heading], rtol=1e-10, atol=1e-12)
        end = track.y[:2, -1]
        near = np.argsort(((mesh.vertices[:, :2] - end) ** 2).sum(axis=1))[:12]
        offsets = np.column_stack([np.ones(12), mesh.vertices[near, :2] - end])
        assert np.linalg.lstsq(offsets, found[near], rcond=None)[0][0] == pytest.approx(
            0.25, rel=0.01
        )
        assert np.linalg.lstsq(offsets, heat[near], rcond=None)[0][0] == pytest.approx(
            0.25, rel=0.06
        )


@pytest.mark.parametrize("method", METHODS)
class TestLaws:
    mesh = primitives.bumpy_sphere(16)

    def metric(self, tau=2.0):
        frames = finsler.principal_frames(self.mesh)
        return RandersMetric.from_curvature(self.mesh, frames, alpha=3.0, tau=0.45 * tau)

    def test_there_and_back_differ_and_belong_together(self, method):
        metric = self.metric()
        x, y = 3, 700
        there = finsler.randers_distance(metric, x, method=method)
        back = finsler.randers_distance(metric, x, method=method, reverse=True)
        from_y = finsler.randers_distance(metric, y, method=method)
        assert np.abs(there - back).max() > 0.2
        tolerance = 0.02 if method == "eikonal" else 0.08
        assert from_y[x] == pytest.approx(back[y], rel=tolerance)

    def test_reverse_is_the_forward_distance_of_minus_omega(self, method):
        metric = self.metric()
        back = finsler.randers_distance(metric, 5, method=method, reverse=True)
        turned = finsler.randers_distance(metric.reversed(), 5, method=method)
        assert np.allclose(back, turned, rtol=1e-6, atol=1e-7)

    def test_exact_omega_adds_its_potential(self, method):
        # ω = dφ makes every way from x to y dearer by φ(y) − φ(x).
        potential = 0.3 * mesh_heights(self.mesh)
        gradients = finsler.mesh.hat_gradients(self.mesh)
        omega = np.einsum("fc,fci->fi", potential[self.mesh.faces], gradients)
        eye = np.tile(np.eye(3), (self.mesh.n_faces, 1, 1))
        source = 11
        plain = finsler.geodesic_distance(self.mesh, source, method="exact")
        found = finsler.randers_distance(
            RandersMetric(self.mesh, eye, omega), source, method=method
        )
        exact = plain + potential - potential[source]
        assert total_error(found, exact) < (0.01 if method == "eikonal" else 0.05)
        assert total_error(found, plain) > 0.1

    def test_triangle_inequality_up_to_discretisation(self, method):
        metric = self.metric()
        points = [3, 150, 700, 1200]
        matrix = finsler.randers_distance(metric, points, method=method, each=True)
        table = matrix[points].T
        slack = 0.02 if method == "eikonal" else 0.15
        for a in range(4):
            for b in range(4):
                for c in range(4):
                    assert table[a, c] <= table[a, b] + table[b, c] + slack

    def test_positive_and_zero_at_the_source(self, method):
        found = finsler.randers_distance(self.metric(), 9, method=method)
        assert found[9] == pytest.approx(0.0, abs=1e-12)
        assert (np.delete(found, 9) > 0).all()

    def test_motion_scale_and_numbering(self, method):
        metric = self.metric()
        turn = rotation(4)
        moved = TriMesh(1e3 * self.mesh.vertices @ turn.T + 5.0, self.mesh.faces)
        renamed, old, old_face = relabelled(moved, 8)
        axes = np.stack([metric.basis.first, metric.basis.second], axis=1) @ turn.T
        tensor = np.einsum("fai,fab,fbj->fij", axes, metric.M, axes)
        omega = np.einsum("fa,fai->fi", metric.omega, axes)
        there = RandersMetric(renamed, tensor[old_face], omega[old_face])
        here = finsler.randers_distance(metric, int(old[7]), method=method)
        found = finsler.randers_distance(there, 7, method=method)
        assert np.allclose(found, 1e3 * here[old], rtol=1e-5, atol=1e-3)

    def test_sets_and_single_sources(self, method):
        metric = self.metric()
        each = finsler.randers_distance(metric, [3, 700], method=method, each=True)
        alone = finsler.randers_distance(metric, 700, method=method)
        assert each.shape == (self.mesh.n_vertices, 2)
        assert np.allclose(each[:, 1], alone, atol=1e-9)
        together = finsler.randers_distance(metric, [3, 700], method=method)
        assert total_error(together, each.min(axis=1)) < (1e-2 if method == "eikonal" else 0.12)

    def test_other_components_are_infinitely_far(self, method):
        mesh = union(self.mesh, primitives.torus(12, 8))
        metric = RandersMetric.isotropic(mesh)
        found = finsler.randers_distance(metric, 3, method=method)
        assert np.isfinite(found[: self.mesh.n_vertices]).all()
        assert np.isinf(found[self.mesh.n_vertices :]).all()
        both = finsler.randers_distance(metric, [3, mesh.n_vertices - 1], method=method)
        assert np.isfinite(both).all()
        assert both[mesh.n_vertices - 1] == pytest.approx(0.0, abs=1e-12)

    @pytest.mark.parametrize(
        ("sources", "message"),
        [
            ([], "no vertex is given"),
            ([3, 99999], "must lie in"),
            (-1, "must lie in"),
            ([0.5], "a vertex index"),
            ([[1, 2]], "a vertex index"),
        ],
    )
    def test_bad_sources(self, method, sources, message):
        metric = RandersMetric.isotropic(self.mesh)
        with pytest.raises(finsler.InputError, match=message):
            finsler.randers_distance(metric, sources, method=method)


def mesh_heights(mesh):
    return mesh.vertices @ np.array([0.4, 0.8, -0.3])


def test_many_sources_share_one_factorisation():
    mesh = primitives.bumpy_sphere(12)
    solver = finsler.RandersHeat(RandersMetric.isotropic(mesh))
    found = solver.distance(np.arange(40), each=True)
    for source in (0, 17, 39):
        assert np.allclose(found[:, source], solver.distance(source), atol=1e-10)


def test_epsilon_is_raised_until_the_solution_is_positive():
    mesh = primitives.plane(30, 30, jitter=0.3)
    metric = planar(mesh, np.eye(2), np.array([0.8, 0.0]))
    small = 0.7 / 30
    solver = finsler.RandersHeat(metric, epsilon=small)
    solver.distance(centre(mesh))
    assert solver.epsilon > small


def test_a_mesh_too_coarse_for_the_metric_is_said_so():
    mesh = primitives.plane(30, 30, jitter=0.3)
    metric = planar(mesh, np.eye(2), np.array([0.9, 0.0]))
    solver = finsler.RandersHeat(metric, epsilon=1e-4)
    with pytest.raises(finsler.ConvergenceError, match="not positive even at epsilon"):
        solver.distance(centre(mesh))


def test_unknown_method():
    mesh = primitives.sphere(2)
    with pytest.raises(finsler.InputError, match="method must be"):
        finsler.randers_distance(RandersMetric.isotropic(mesh), 0, method="guess")


def test_needles_and_obtuse_faces():
    # A strip of very flat triangles: the eikonal solver needs no acute angles.
    mesh = primitives.plane(40, 4, size=(1.0, 2.0), jitter=0.3)
    metric = planar(mesh, np.eye(2), np.array([0.4, 0.2]))
    found = finsler.randers_distance(metric, 0)
    assert np.allclose(found, in_plane(mesh, np.eye(2), [0.4, 0.2], 0), rtol=1e-9, atol=1e-12)


def test_block_size_does_not_matter(monkeypatch):
    mesh = primitives.bumpy_sphere(8)
    metric = RandersMetric.isotropic(mesh)
    before = finsler.randers_distance(metric, range(20), method="heat", each=True)
    monkeypatch.setattr(module, "_BLOCK", 3)
    after = finsler.randers_distance(metric, range(20), method="heat", each=True)
    assert np.allclose(before, after, atol=1e-10)
