"""A Laplacian in torch, with gradients.

`laplacian_to_torch` gives stiffness and mass as sparse tensors. The energy ½ uᵀWu has the
gradient Wu, and that is what torch computes. Noise is removed by gradient descent on
‖u − f‖²_S/2t + ½ uᵀWu. Its minimiser is one implicit step of heat, (S + tW) u = S f, which scipy
solves: both agree. In torch the energy can be part of your own loss.
"""

import numpy as np
import torch

import finsler
from finsler.nn import laplacian_to_torch
from finsler.view import Panel, save_figure

T = 0.02
mesh = finsler.primitives.bumpy_sphere(16)
laplacian = finsler.albo(mesh, alpha=5.0)
operator = laplacian_to_torch(laplacian, dtype=torch.float64)
clean = np.sin(4 * mesh.vertices[:, 0])
noisy = clean + 0.5 * np.random.default_rng(0).standard_normal(mesh.n_vertices)
f = torch.tensor(noisy)[:, None]


def energy(u: torch.Tensor) -> torch.Tensor:
    """½ uᵀWu."""
    return 0.5 * (u * torch.sparse.mm(operator.stiffness, u)).sum()


u = f.clone().requires_grad_()
energy(u).backward()
assert np.allclose(u.grad[:, 0].numpy(), laplacian.stiffness @ noisy, atol=1e-10)

optimizer = torch.optim.LBFGS([u], max_iter=200, tolerance_grad=1e-9, line_search_fn="strong_wolfe")


def loss() -> torch.Tensor:
    """How far u is from the data, plus how much it varies."""
    optimizer.zero_grad()
    total = (operator.mass[:, None] * (u - f) ** 2).sum() / (2 * T) + energy(u)
    total.backward()
    return total


optimizer.step(loss)
smoothed = u.detach()[:, 0].numpy()
exact = finsler.diffuse(laplacian, noisy, T, steps=1)
print(f"descent against one implicit step: {np.abs(smoothed - exact).max():.0e}")
assert np.abs(smoothed - exact).max() < 1e-4
print(f"noise {np.std(noisy - clean):.2f} -> {np.std(smoothed - clean):.2f}")
assert np.std(smoothed - clean) < 0.5 * np.std(noisy - clean)
states = {"with noise": noisy, "minimiser": smoothed, "clean": clean}
panels = [Panel(mesh, values, title, clim=(-1.5, 1.5)) for title, values in states.items()]
save_figure("torch_laplacian.png", [panels])
