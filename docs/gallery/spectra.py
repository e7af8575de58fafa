"""Spectra of the isotropic and the anisotropic Laplacian.

On the unit sphere the eigenvalues of the LBO are l(l+1), each 2l+1 times. The anisotropic
diffusivity lies between I/(1+α) and I on every face, so by the min-max principle each of its
eigenvalues lies between λ_k/(1+α) and λ_k, whatever directions are chosen.
"""

import numpy as np

import finsler
from finsler.view import plot_spectrum

ALPHA, K = 10.0, 36
sphere = finsler.primitives.sphere(24)
isotropic = finsler.spectrum(finsler.lbo(sphere), k=K).eigenvalues
exact = np.repeat([degree * (degree + 1.0) for degree in range(6)], [2 * d + 1 for d in range(6)])
error = np.abs(isotropic - exact)[1:] / exact[1:]
print(f"LBO on the sphere against l(l+1): at most {100 * error.max():.2f}% off")
assert error.max() < 0.01

anisotropic = finsler.spectrum(finsler.albo(sphere, alpha=ALPHA), k=K).eigenvalues
assert (anisotropic < isotropic + 1e-9).all()
assert (anisotropic > isotropic / (1 + ALPHA) - 1e-9).all()
low, high = isotropic[1] / (1 + ALPHA), isotropic[1]
print(f"ALBO: λ_1 = {anisotropic[1]:.4f}, between {low:.4f} and {high:.4f}")
curves = {
    "LBO": isotropic,
    r"ALBO, $\alpha = 10$": anisotropic,
    r"LBO / $(1 + \alpha)$": isotropic / (1 + ALPHA),
}
plot_spectrum("spectra.png", curves, title="unit sphere")
