"""A varying strength of ω changes the operator, unless the rescaling hides it.

Where ‖ω‖ is large, diffusion is faster by 1/(1 − ‖ω‖²). Here the strength follows curvature. What
a network sees of it depends on how operators are rescaled: `"acscnn"` divides by the operator's
own diagonal and so by nearly all of that factor; `"reference"` divides by the diagonal at ω = 0
and keeps it.
"""

import numpy as np

import finsler
from finsler.view import Panel, save_figure

mesh = finsler.primitives.bumpy_sphere(18)
frames = finsler.principal_frames(mesh)
strength = finsler.curvature_strength(mesh, peak=0.95)
tau = finsler.tau_of_strength(mesh, strength)


def change(normalization: str) -> float:
    """Relative change of the rescaled operators when ω is switched on."""
    values = [
        finsler.chebyshev_operators(
            finsler.angle_stack(mesh, tau=t, frames=frames), normalization=normalization
        ).values
        for t in (0.0, tau)
    ]
    return float(np.linalg.norm(values[1] - values[0]) / np.linalg.norm(values[0]))


changes = {name: change(name) for name in ("acscnn", "reference", "plain")}
print("change of the rescaled operators:", {n: f"{100 * c:.1f}%" for n, c in changes.items()})
assert changes["acscnn"] < 0.03 < 0.1 < changes["reference"]

speed = 1 / (1 - strength**2)
print(
    f"strength from {strength.min():.2f} to {strength.max():.2f}: {speed.max():.1f} times as fast"
)
corner = np.bincount(mesh.faces.ravel(), np.repeat(speed, 3)) / np.bincount(mesh.faces.ravel())
panels = [Panel(mesh, corner, r"speed $1/\lambda$")]
source = int(corner.argmax())
for title, t in (("heat, ω = 0", 0.0), ("heat, ω strong where curved", tau)):
    spectrum = finsler.spectrum(finsler.flbo(mesh, tau=t, frames=frames), k=150)
    heat = finsler.heat_kernel(spectrum, 0.02, source)
    panels.append(Panel(mesh, heat, title, clim=(0.0, 6.0), marker=source))
camera = finsler.view.Camera(direction=tuple(mesh.vertices[source]))
save_figure("varying_omega.png", [panels], camera=camera)
