"""Convolution kernels on a surface.

A filter ĝ of the eigenvalues, here the Chebyshev polynomial T₅ as in the paper's figure, is a
kernel g_x(y) = Σ ĝ(λ_i) φ_i(x) φ_i(y) around every vertex x. Under the isotropic operator its
rings are round. Under the anisotropic one they are stretched across the direction R_θ û_M in
which diffusion is slow. Kernels are symmetric, g_x(y) = g_y(x), and on a cylinder the direction
is known: at θ = 0 the slow direction runs around the axis, so the kernel is long along it.
"""

import numpy as np

import finsler
from finsler.view import Panel, save_figure

K, SOURCE = 160, 10 * 21 + 10
mesh = finsler.primitives.cylinder(40, 20, height=3.0)
operators = {
    "isotropic": finsler.lbo(mesh),
    "α = 10, θ = 0°": finsler.albo(mesh, alpha=10.0, theta=0.0),
    "θ = 45°": finsler.albo(mesh, alpha=10.0, theta=np.pi / 4),
    "θ = 90°": finsler.albo(mesh, alpha=10.0, theta=np.pi / 2),
}


def spread(kernel: np.ndarray) -> float:
    """Extent along the axis over extent around it, both as root mean squares weighted by g²."""
    x, y, z = mesh.vertices.T
    around, z = np.arctan2(x, y), z - z[SOURCE]
    return float(np.sqrt((kernel**2 @ z**2) / (kernel**2 @ around**2)))


panels, spreads = [], []
for title, laplacian in operators.items():
    spectrum = finsler.spectrum(laplacian, k=K)
    five = finsler.chebyshev_polynomial(5, spectrum.eigenvalues[-1])
    kernel = finsler.convolution_kernel(spectrum, five, SOURCE)
    assert np.isclose(kernel[7], finsler.convolution_kernel(spectrum, five, 7)[SOURCE])
    spreads.append(spread(kernel))
    limit = 0.5 * np.abs(kernel).max()
    panels.append(Panel(mesh, kernel, title, clim=(-limit, limit)))
print("extent along the axis / around it:", np.round(spreads, 2).tolist())
assert spreads[1] > 1.5 * spreads[0] > 1.5 * 1.5 * spreads[3]
camera = finsler.view.Camera(direction=(0.0, 1.0, 0.0), up=(0.0, 0.0, 1.0), tight=True)
save_figure("convolution_kernels.png", [panels], camera=camera, colorbars=False)
