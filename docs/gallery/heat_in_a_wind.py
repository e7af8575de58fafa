"""The paper's simplified heat equation: a source that does not depend on the heat.

∂u/∂t = div(D_F ∇u) + div(ω*) is linear but for its source div(ω*), which depends on the metric
alone. Heat is conserved and its centre moves, but the same amount is added whatever u is: ten
times the heat is shifted a tenth as far, and cold regions fall below zero.
"""

import numpy as np

import finsler
from finsler.mesh import face_normals
from finsler.view import Panel, save_figure

T, TAU = 0.05, 0.5
mesh = finsler.primitives.bumpy_sphere(16)
normal = face_normals(mesh)
omega = TAU * (np.array([1.0, 0.0, 0.0]) - normal[:, :1] * normal)  # tangential part of e_x
metric = finsler.RandersMetric(mesh, finsler.RandersMetric.isotropic(mesh).M, omega)
laplacian = finsler.laplacian(mesh, metric.diffusivity())
spectrum = finsler.spectrum(laplacian, k=200)

top = int(mesh.vertices[:, 2].argmax())
bump = finsler.diffuse(spectrum, np.eye(mesh.n_vertices)[top] / laplacian.mass[top], 0.01)
panels, shifts = [], []
for heat in (10.0, 1.0):
    plain = finsler.diffuse(spectrum, heat * bump, T)
    moved = finsler.finsler_flow(spectrum, metric, heat * bump, T)
    assert np.isclose(laplacian.mass @ moved, heat)
    shifts.append((laplacian.mass * (moved - plain)) @ mesh.vertices[:, 0] / heat)
    change = (moved - plain) / heat
    panels.append(
        Panel(mesh, change, f"change / heat, ∫u = {heat:g}", clim=(-0.1, 0.1), marker=top)
    )
print(f"shift of the centre along ω: {shifts[0]:.4f} with ∫u = 10, {shifts[1]:.4f} with ∫u = 1")
assert np.isclose(shifts[1], 10 * shifts[0]) and shifts[1] > 0.1
assert moved.min() < -0.01  # colder than nothing
source = finsler.drift_source(metric)
assert abs(laplacian.mass @ source) < 1e-9
panels.append(Panel(mesh, source, "div ω*, the source", clim=(-2.0, 2.0)))
save_figure("heat_in_a_wind.png", [panels])
