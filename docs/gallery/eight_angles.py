"""One operator for each angle.

The diffusivity is turned in steps of π/8 against the direction of maximal curvature, and heat
from one point spreads along a direction that turns with it. All eight operators share one
sparsity pattern and come from three assemblies. Two operators at a right angle to each other
always add up to the same thing: 1 + 1/(1+α) times the isotropic Laplacian, since H_θ + H_{θ+π/2}
= (1 + 1/(1+α)) I.
"""

import numpy as np

import finsler
from finsler.view import Panel, save_figure

ALPHA, SOURCE = 10.0, 100
mesh = finsler.primitives.bumpy_sphere(20)
stack = finsler.angle_stack(mesh, alpha=ALPHA, tau=0.0, angles=8)
lbo = finsler.lbo(mesh)

both = stack[0].stiffness + stack[4].stiffness
gap = abs(both - (1 + 1 / (1 + ALPHA)) * lbo.stiffness).max()
print(f"W_0 + W_(π/2) against the isotropic W: {gap:.0e}")
assert gap < 1e-12
assert abs(stack[3].stiffness.sum(axis=1)).max() < 1e-12  # constants do not diffuse

panels = []
for degrees, laplacian in zip(np.degrees(stack.theta), stack, strict=True):
    heat = finsler.heat_kernel(finsler.spectrum(laplacian, k=150), 0.03, SOURCE)
    panels.append(Panel(mesh, heat, f"{degrees:g}°", marker=SOURCE))
save_figure("eight_angles.png", [panels[:4], panels[4:]], colorbars=False)
