"""Your own metric field.

A metric is one tensor M and one covector ω for each face, and you choose both. Here steep ground
is slow, M = (1 + 12 sin² slope) I, and going up costs more than going down: ω points uphill.
Arrays of shape (m, 3, 3) and (m, 3) are projected into the faces. Distances, paths, heat and
Laplacians all take the same object.
"""

import numpy as np

import finsler
from finsler.mesh import face_normals
from finsler.view import Camera, Panel, save_figure

flat = finsler.primitives.plane(50, 50, size=(4.0, 4.0))
x, y, _ = flat.vertices.T
height = np.exp(-((x - 1.7) ** 2) - (y - 2.2) ** 2) + 0.6 * np.exp(-3 * (x - 3) ** 2 - (y - 1) ** 2)
mesh = finsler.TriMesh(np.stack([x, y, height], axis=1), flat.faces)

normal = face_normals(mesh)
uphill = np.array([0.0, 0.0, 1.0]) - normal[:, 2:] * normal  # the gradient of height
slow = 1 + 12 * (uphill**2).sum(axis=1)
metric = finsler.RandersMetric(mesh, slow[:, None, None] * np.eye(3), 0.9 * uphill)
assert metric.is_valid and metric.margin().min() > 0.5

valley, summit, corner = 0, int(height.argmax()), mesh.n_vertices - 1
up = finsler.randers_distance(metric, valley)
down = finsler.randers_distance(metric, valley, reverse=True)
# ω is a gradient: what the climb costs more, the descent gives back.
error = np.abs(up - down - 1.8 * (height - height[valley])).max() / up.max()
print(
    f"summit: up {up[summit]:.2f}, down {down[summit]:.2f}; up − down is 1.8 × climb to {error:.1e}"
)
assert error < 0.01

own = finsler.geodesic_path(metric, up, valley, corner).points
plain = finsler.RandersMetric.isotropic(mesh)
straight = finsler.randers_distance(plain, valley)
short = finsler.geodesic_path(plain, straight, valley, corner).points
print(f"the way across rises to {own[:, 2].max():.2f}, the shortest to {short[:, 2].max():.2f}")
assert own[:, 2].max() < 0.8 * short[:, 2].max()

paths = {"shortest": (straight, short), "with this metric": (up, own)}
panels = [Panel(mesh, d, title, path=p, bands=14, marker=0) for title, (d, p) in paths.items()]
camera = Camera(direction=(0.5, -1.0, 1.6), up=(0.0, 0.0, 1.0), tight=True)
save_figure("own_metric.png", [panels], camera=camera, share_range=False, panel_size=(3.0, 2.2))
