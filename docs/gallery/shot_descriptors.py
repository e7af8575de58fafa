"""SHOT descriptors turn with the surface.

SHOT describes each vertex by 352 numbers: histograms of the normals around it, in a local frame.
They do not change when the surface is moved, rotated or, as the radius scales with √area,
enlarged. The picture shows the distance of every vertex from one of them in descriptor space.
"""

import numpy as np

import finsler
from finsler.view import Panel, save_figure

mesh = finsler.primitives.bumpy_sphere(20)
values = finsler.shot(mesh, radius=finsler.shot_radius(mesh, 0.12))
assert values.shape == (mesh.n_vertices, 352)
assert np.allclose(np.linalg.norm(values, axis=1), 1.0)

turn, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))
turn *= np.sign(np.linalg.det(turn))
moved = finsler.TriMesh(7.0 * mesh.vertices @ turn.T + [1.0, 2.0, 3.0], mesh.faces)
again = finsler.shot(moved, radius=finsler.shot_radius(moved, 0.12))
same = np.isclose(values, again, atol=1e-6).all(axis=1).mean()
print(f"after a motion and another unit {100 * same:.1f}% of the descriptors are the same")
assert same > 0.99  # a neighbour on the border between two bins may change sides

vertex = int(mesh.vertices[:, 2].argmax())
distance = np.linalg.norm(values - values[vertex], axis=1)
nearest = np.argsort(distance)[1]
gap = np.linalg.norm(mesh.vertices[nearest] - mesh.vertices[vertex])
print(f"the most similar vertex lies {gap:.2f} away")
panels = [Panel(mesh, distance, "distance of descriptors", marker=vertex)]
panels.append(Panel(mesh, values[:, values.var(axis=0).argmax()], "one of 352 numbers"))
save_figure("shot_descriptors.png", [panels], share_range=False, panel_size=(2.4, 2.4))
