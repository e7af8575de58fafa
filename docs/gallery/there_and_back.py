"""Randers distance, there and back.

F(v) = ‖v‖ + ⟨ω, v⟩ makes it cost more to go along ω than against it. In the plane with a constant ω
the distance is known, d(x, y) = ‖y − x‖ + ⟨ω, y − x⟩, and the solver is exact to rounding for a
point source. The way back costs less by 2⟨ω, y − x⟩. Circles become ellipses with the source in a
focus.
"""

import numpy as np

import finsler
from finsler.view import Camera, Panel, save_figure

OMEGA = np.array([0.7, 0.2, 0.0])
mesh = finsler.primitives.plane(50, 50, jitter=0.25)
metric = finsler.RandersMetric(
    mesh,
    np.tile(np.eye(3), (mesh.n_faces, 1, 1)),
    np.tile(OMEGA, (mesh.n_faces, 1)),
)
source = int(np.linalg.norm(mesh.vertices - [0.5, 0.5, 0.0], axis=1).argmin())
way = mesh.vertices - mesh.vertices[source]

there = finsler.randers_distance(metric, source)
back = finsler.randers_distance(metric, source, reverse=True)
error = np.abs(there - np.linalg.norm(way, axis=1) - way @ OMEGA).max()
far = int(there.argmax())
print(f"against the closed form: {error:.0e}")
print(f"to the farthest vertex {there[far]:.2f}, back {back[far]:.2f}")
assert error < 1e-9
assert np.allclose(there - back, 2 * way @ OMEGA, atol=1e-9)

panels = [
    Panel(mesh, there, "from the source", clim=(0.0, 1.3), bands=13, marker=source),
    Panel(mesh, back, "to the source", clim=(0.0, 1.3), bands=13, marker=source),
    Panel(mesh, there - back, "difference", marker=source),
]
camera = Camera(direction=(0.0, 0.0, 1.0), tight=True)
save_figure("there_and_back.png", [panels], camera=camera)
