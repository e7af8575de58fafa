"""Shortest paths in a river, out and home.

A swimmer of unit speed in a river that flows to the right, fastest in the middle (0.8). The
quickest path downstream bends into the current, the quickest path home keeps to the bank. The
travel time along each traced path equals the distance that the solver computed.
"""

import numpy as np

import finsler
from finsler.view import Camera, Panel, save_figure

mesh = finsler.primitives.plane(72, 36, size=(2.0, 1.0))
y = mesh.vertices[mesh.faces].mean(axis=1)[:, 1]
river = np.zeros((mesh.n_faces, 3))
river[:, 0] = 0.8 * np.exp(-(((y - 0.5) / 0.18) ** 2))
still = np.tile(np.eye(3), (mesh.n_faces, 1, 1))
metric = finsler.RandersMetric.from_wind(mesh, still, river)
ends = np.array([[0.25, 0.25, 0.0], [1.75, 0.25, 0.0]])
start, target = (int(np.linalg.norm(mesh.vertices - end, axis=1).argmin()) for end in ends)
way = np.linalg.norm(mesh.vertices[target] - mesh.vertices[start])

panels, times, middles = [], [], []
for title, reverse in (("out, downstream", False), ("home, upstream", True)):
    distance = finsler.randers_distance(metric, start, reverse=reverse)
    path = finsler.geodesic_path(metric, distance, start, target, reverse=reverse)
    assert np.isclose(path.length, distance[target], rtol=0.01)
    times.append(distance[target])
    middles.append(path.points[np.abs(path.points[:, 0] - 1.0).argmin(), 1])
    panels.append(Panel(mesh, distance, title, path=path.points, bands=14, marker=start))
print(f"distance {way:.2f}: out in {times[0]:.2f}, home in {times[1]:.2f}")
print(f"halfway the paths are at y = {middles[0]:.2f} and {middles[1]:.2f}; the current at 0.5")
assert way / 1.8 < times[0] < way < times[1] and middles[0] > 0.35 > 0.25 > middles[1]
camera = Camera(direction=(0.0, 0.0, 1.0), tight=True)
save_figure("geodesic_paths.png", [panels], camera=camera, panel_size=(3.2, 1.7))
