"""Zermelo's navigation on a rotating sphere.

A boat of unit speed on the unit sphere, carried by a rotation about the z axis with angular speed
½ (Katok's example). Seen from the rotating water its paths are great circles, so the travel time
to x is the least t with t = angle(source, x turned back by t/2): an exact solution to compare with.
"""

import numpy as np

import finsler
from finsler.view import Camera, Panel, save_figure

mesh = finsler.primitives.sphere(24)
centres = mesh.vertices[mesh.faces].mean(axis=1)
wind = 0.5 * np.cross([0.0, 0.0, 1.0], centres)
metric = finsler.RandersMetric.from_wind(mesh, np.tile(np.eye(3), (mesh.n_faces, 1, 1)), wind)
h, back = metric.wind()
assert np.allclose(h, np.eye(2), atol=1e-12)  # Zermelo data and Randers metric: one and the same

source = int((mesh.vertices @ [1.0, 0.0, 0.3]).argmax())
time = finsler.randers_distance(metric, source)

# t − angle(source, x turned back by t/2) rises with t: bisection finds its root.
low, high = np.zeros(mesh.n_vertices), np.full(mesh.n_vertices, 2.0 * np.pi)
x, y, z = mesh.vertices.T
for _ in range(60):
    middle = 0.5 * (low + high)
    c, s = np.cos(0.5 * middle), np.sin(0.5 * middle)
    cosine = np.stack([c * x + s * y, c * y - s * x, z], axis=1) @ mesh.vertices[source]
    early = middle < np.arccos(np.clip(cosine, -1.0, 1.0))
    low, high = np.where(early, middle, low), np.where(early, high, middle)
error = np.linalg.norm(time - low) / np.linalg.norm(low)
print(
    f"travel times against the exact ones: {100 * error:.2f}% off, the farthest is {low.max():.2f}"
)
assert error < 0.01

still = finsler.geodesic_distance(mesh, source, method="fmm")
panels = [
    Panel(mesh, still, "no wind", clim=(0.0, 3.2), bands=16, marker=source),
    Panel(mesh, time, "rotating water", clim=(0.0, 3.2), bands=16, marker=source),
]
camera = Camera(direction=(1.0, 0.6, 0.5), up=(0.0, 0.0, 1.0))
save_figure("zermelo_sphere.png", [panels], camera=camera, panel_size=(2.4, 2.4))
