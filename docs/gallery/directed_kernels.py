"""Directed operators: kernels that look one way.

The gradient of an intrinsic function gives every face a direction with a sign: forwards, towards
the end of a limb, and backwards, towards the middle of the body. A directed operator diffuses and
drifts along that direction, turned by θ. Heat under it is carried one way; the anisotropic
Laplacian spreads it both ways, whatever its angle. Turning the direction round transposes the
operator, so that the heat from x at y forwards is the heat from y at x backwards.
"""

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import expm_multiply

import finsler
from finsler.data import make_creature
from finsler.view import Panel, save_figure

mesh = make_creature("quadruped", vertices=2000, seed=1).mesh
outward = finsler.gps(finsler.spectrum(finsler.lbo(mesh), k=60))
field = finsler.oriented_field(mesh, outward)
directed = finsler.directed_stack(field, peclet=0.6, directions=4)
stack = finsler.AngleStack.join([directed, finsler.angle_stack(mesh, angles=2)])
print(f"no direction on {field.undefined.mean():.0%} of the faces")

rank = np.argsort(np.argsort(outward)) / mesh.n_vertices
side, height = mesh.vertices[:, 0], mesh.vertices[:, 1]
source = int(np.argmax(side - 3.0 * np.abs(height - height.mean())))
spike = np.eye(mesh.n_vertices)[source] / stack.mass[source]
time = 12.0 * stack.mass.mean()


def heat(k: int) -> np.ndarray:
    """Heat of a point source after some time, under one operator of the stack."""
    operator = stack[k].stiffness + stack.drift_matrix(k)
    return expm_multiply(-time * (sparse.diags_array(1.0 / stack.mass) @ operator), spike)


kernels = [heat(k) for k in range(len(stack))]
moved = [(stack.mass * u) @ rank / (stack.mass @ u) - rank[source] for u in kernels]
print("moved outwards, as a share of the vertices:", np.round(moved, 3).tolist())
assert moved[0] > moved[4] + 0.05 and moved[2] < moved[4] - 0.05

titles = ["directed, 0°: outwards", "90°", "180°: inwards", "270°", "ALBO: both ways"]
level = np.log(outward / outward.min())
panels = [Panel(mesh, level / level.max(), "outwards is bright")]
for u, title in zip(kernels[:5], titles, strict=True):
    panels.append(Panel(mesh, np.sqrt(np.maximum(u, 0.0) / u.max()), title, marker=source))
camera = finsler.view.Camera(direction=(1.0, 0.0, 0.2), tight=True)
rows = [[panels[0], panels[1], panels[2]], [panels[5], panels[3], panels[4]]]
save_figure("directed_kernels.png", rows, camera=camera, colorbars=False)
