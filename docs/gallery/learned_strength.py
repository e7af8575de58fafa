"""Learning a metric: a hidden strength of ω is recovered.

A convolution with fixed random weights has turned coordinates into a signal, under operators
whose ω has a hidden strength. Gradients pass through the assembly of the operators and their
rescaling, so gradient descent recovers the strength that explains the signal, up to a common
factor of 1/(1 − strength²), which the rescaling removes.
"""

from dataclasses import replace

import numpy as np
import torch

import finsler
from finsler.nn import AnisotropicChebConv, MeshGeometry, OperatorStack, strength_operators
from finsler.view import Panel, save_figure

torch.manual_seed(0)
mesh = finsler.primitives.bumpy_sphere(4)
frames = finsler.principal_frames(mesh)
geometry = MeshGeometry.from_mesh(mesh, frames.basis)
layer = AnisotropicChebConv(3, 16, angles=4, order=6).requires_grad_(False)
features = torch.tensor(mesh.vertices, dtype=torch.float32)

height = torch.tensor(mesh.vertices[mesh.faces].mean(axis=1)[:, 2], dtype=torch.float32)
hidden = 0.9 * torch.sigmoid(3.0 * height)
values = strength_operators(geometry, hidden, angles=4, lambda_max="gershgorin")
operators = OperatorStack.from_pattern(geometry.indptr.numpy(), geometry.indices.numpy(), values)
target = layer(features, operators)

free = torch.zeros(mesh.n_faces, requires_grad=True)
optimizer = torch.optim.Adam([free], lr=0.1)
losses = []
for _ in range(90):
    values = strength_operators(geometry, 0.95 * free.sigmoid(), angles=4, lambda_max="gershgorin")
    loss = (layer(features, replace(operators, values=values)) - target).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

# What counts is the speed of diffusion 1/(1 − strength²), up to one factor for the whole shape.
speeds = [1 / (1 - s.detach().numpy() ** 2) for s in (hidden, 0.95 * free.sigmoid())]
areas = finsler.mesh.face_areas(mesh)
logs = [np.log(s) - np.average(np.log(s), weights=areas) for s in speeds]
alike = float(np.corrcoef(logs)[0, 1])
print(
    f"loss {losses[0]:.1e} -> {losses[-1]:.1e}; correlation of the logarithms of speed {alike:.2f}"
)
assert losses[-1] < 0.05 * losses[0] and alike > 0.9


def at_vertices(field: np.ndarray) -> np.ndarray:
    """Mean over the faces at each vertex."""
    corners = mesh.faces.ravel()
    return np.bincount(corners, np.repeat(field, 3)) / np.bincount(corners)


titles = ("hidden: log of speed", "learned")
panels = [Panel(mesh, at_vertices(f), t) for f, t in zip(logs, titles, strict=True)]
camera = finsler.view.Camera(direction=(1.0, 0.3, 0.2), up=(0.0, 0.0, 1.0))
save_figure("learned_strength.png", [panels], camera=camera, panel_size=(2.4, 2.4))
