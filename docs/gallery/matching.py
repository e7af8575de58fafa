"""Matching two shapes without training.

Two synthetic dogs with different meshes and in different poses. Descriptors give functional maps,
and ZoomOut refines the best of them. Vertices are coloured by their position on the first dog: by
the truth, which is known for synthetic shapes, and by the computed map.
"""

import numpy as np

import finsler
from finsler.data import make_creature
from finsler.matching import match
from finsler.view import Camera, Panel, save_figure

POSE = {"neck lower": 40.0, "left_arm swing": 30.0, "right_thigh swing": 30.0, "tail raise": 50.0}
first = make_creature("quadruped", vertices=1000, seed=1)
second = make_creature("quadruped", pose=POSE, vertices=1000, seed=2)
truth = second.shape("second", first).labels
result = match(second.mesh, first.mesh, k=100)

goals = first.mesh.vertices / np.sqrt(finsler.mesh.surface_area(first.mesh))
error = np.linalg.norm(goals[result.map_12] - goals[truth], axis=1)
near = (error < 0.1).mean()
print(f"median error {np.median(error):.3f} √area, {100 * near:.0f}% within 0.1 √area")
print(f"{100 * result.orientation:.0f}% of the surface arrives right side up")
assert np.median(error) < 0.05 and near > 0.9 and result.orientation > 0.9

x, y, z = goals.T
colors = np.sin(9 * z) + np.sin(14 * y)
panels = [
    Panel(first.mesh, colors, "first"),
    Panel(second.mesh, colors[truth], "second, truth"),
    Panel(second.mesh, colors[result.map_12], "second, computed"),
    Panel(second.mesh, result.confidence, "confidence", cmap="viridis", clim=(0.0, 1.0)),
]
camera = Camera(direction=(1.0, 0.3, 0.3), tight=True)
save_figure("matching.png", [panels], camera=camera, colorbars=False)
