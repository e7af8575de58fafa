"""The numbers and the picture of finsler_heat.md: three flows, the same bump."""

from pathlib import Path

import numpy as np
from scipy import sparse

import finsler
from finsler import RandersMetric, TriMesh, primitives
from finsler.analysis.finsler_heat import finsler_heat_flow
from finsler.mesh.measures import face_areas, face_normals, hat_gradients
from finsler.solvers import factorise
from finsler.view import Camera, Panel, save_figure

FLOWS = ("FLBO", "simplified", "nonlinear")
TIMES, WIDTH = np.linspace(0.0, 0.02, 17)[1:], 0.08
States = dict[str, np.ndarray]


def metric_along_x(mesh: TriMesh, tau: float) -> RandersMetric:
    """M = I, ω = τ times the tangential part of e_x."""
    normal = face_normals(mesh)
    omega = tau * (np.array([1.0, 0.0, 0.0]) - normal[:, :1] * normal)
    return RandersMetric(mesh, RandersMetric.isotropic(mesh).M, omega)


def linear_flow(mesh: TriMesh, metric: RandersMetric, u: np.ndarray, source: float) -> np.ndarray:
    """Implicit Euler for ∂u/∂t = div(D_F ∇u) + source · div(ω*), no flux across the boundary."""
    operator, dt = finsler.laplacian(mesh, metric.diffusivity()), TIMES[0]
    drift = metric.basis.vectors(metric.dual().omega)
    load = -np.einsum("f,fi,fci->fc", face_areas(mesh), drift, hat_gradients(mesh))
    load = source * np.bincount(mesh.faces.ravel(), load.ravel(), mesh.n_vertices)
    solve = factorise(sparse.csr_array(sparse.diags_array(operator.mass) + dt * operator.stiffness))
    return np.stack([u, *(u := solve(operator.mass * u + dt * load) for _ in TIMES)])


def flows(mesh: TriMesh, tau: float, centre: np.ndarray, heat: float = 1.0) -> States:
    """States (times, n) of the flows from a Gaussian of standard deviation WIDTH, ∫u = heat."""
    metric = metric_along_x(mesh, tau)
    u = np.exp(-((mesh.vertices - centre) ** 2).sum(axis=1) / (2 * WIDTH**2))
    u *= heat / (finsler.lbo(mesh).mass @ u)
    nonlinear = finsler_heat_flow(metric, u, TIMES)
    assert (np.diff(nonlinear.energy) < 0).all() and np.ptp(nonlinear.mass) < 1e-10 * heat
    linear = [linear_flow(mesh, metric, u, source) for source in (0.0, 1.0)]
    return dict(zip(FLOWS, [*linear, nonlinear.u], strict=True))


def shift(mesh: TriMesh, u: np.ndarray, centre: np.ndarray, radius: float) -> tuple[float, float]:
    """Centre of mass along x less where it began, and share of the heat ahead, within a radius."""
    x = mesh.vertices - centre
    weight = finsler.lbo(mesh).mass * u * (np.linalg.norm(x, axis=1) < radius)
    weight /= weight.sum()
    return weight @ x[:, 0], weight @ np.where(np.abs(x[:, 0]) < 1e-9, 0.5, x[:, 0] > 0)


def report_plane(mesh: TriMesh) -> States:
    """Shifts for several τ against the formula, and along time."""
    centre, age = np.array([2.0, 2.0, 0.0]), WIDTH**2 / 2
    roots = np.sqrt(np.pi * (TIMES + age)) - np.sqrt(np.pi * age)
    for tau in (0.1, 0.3, 0.5):
        states = flows(mesh, tau, centre)
        found = [shift(mesh, states[name][-1], centre, 1.4) for name in FLOWS]
        formula = 1.5 * tau / (1 - tau**2) * roots
        print(f"plane, τ = {tau}, formula {formula[-1]:.4f}", np.round(found, 4).tolist())
        assert np.abs(found[:2])[:, 0].max() < 1e-3 and 0.95 < found[2][0] / formula[-1] < 1.1
    for k in (4, 8, 16):
        moved = shift(mesh, states["nonlinear"][k], centre, 1.4)[0]
        print(f"plane, t = {TIMES[k - 1]:.4f}: {moved:.4f}, formula {formula[k - 1]:.4f}")
        assert 1.0 < moved / formula[k - 1] < 1.12
    gap = np.abs(states["simplified"] - states["FLBO"])[-1]
    inner = gap[np.abs(mesh.vertices[:, :2] - 2.0).max(axis=1) < 1.0].max()
    print(f"plane, simplified − FLBO: {inner:.0e} in the inner half, {gap.max():.2f} at the rim")
    assert inner < 1e-5 and gap.max() > 0.05
    return states


def report_shape(mesh: TriMesh) -> States:
    """Shift beyond FLBO's, and least value over heat, for two amounts of heat."""
    top, moved = mesh.vertices[np.argmax(mesh.vertices[:, 2])], []
    for heat in (10.0, 1.0):
        states = flows(mesh, 0.5, top, heat)
        found = np.array([shift(mesh, states[name][-1], top, np.inf)[0] for name in FLOWS])
        moved.append(found - found[0])
        least = np.array([states[name][-1].min() / heat for name in FLOWS])
        print(f"shape, heat {heat}:", moved[-1].round(4), least.round(4))
        assert least[1] < -1e-3 and least[2] > -1e-9
    assert np.allclose(moved[1], moved[0] * [1.0, 10.0, 1.0], atol=1e-6)
    return states


if __name__ == "__main__":
    meshes = primitives.plane(72, 72, size=(4.0, 4.0)), primitives.bumpy_sphere(18)
    rows = []
    for mesh, report in zip(meshes, (report_plane, report_shape), strict=True):
        states = report(mesh)
        clim, start = (0.0, float(states["nonlinear"][-1].max())), int(states["FLBO"][0].argmax())
        rows.append([Panel(mesh, states[f][-1], f, clim=clim, marker=start) for f in FLOWS])
    target = Path(__file__).parents[1] / "images" / "finsler_heat.png"
    save_figure(target, rows, camera=Camera(direction=(0.0, 0.0, 1.0), tight=True), dpi=120)
