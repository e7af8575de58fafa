"""A constant τ changes nothing but a factor.

The Finsler diffusivity is D_F = M⁻¹/λ with λ = 1 − ‖ω‖². For the paper's metric λ is one
constant, so the FLBO is the ALBO divided by 1 − cτ², c = 1/(1+α): the same eigenfunctions,
eigenvalues multiplied by one number, and after the rescaling that Chebyshev filters need, the
same matrices. A network that is trained on rescaled operators cannot tell one constant τ
from another.
"""

import numpy as np

import finsler
from finsler.view import plot_spectrum

ALPHA = 10.0
mesh = finsler.primitives.bumpy_sphere(12)
albo = finsler.albo(mesh, alpha=ALPHA)
rescaled = finsler.chebyshev_operators(finsler.angle_stack(mesh, alpha=ALPHA, tau=0.0))
curves = {"ALBO": finsler.spectrum(albo, k=60).eigenvalues}

for tau in (0.1, 1.0, 3.0):  # valid below √(1+α) = 3.32
    flbo = finsler.flbo(mesh, alpha=ALPHA, tau=tau)
    factor = 1 / (1 - tau**2 / (1 + ALPHA))
    gap = abs(flbo.stiffness - factor * albo.stiffness).max() / abs(flbo.stiffness).max()
    same = finsler.chebyshev_operators(finsler.angle_stack(mesh, alpha=ALPHA, tau=tau))
    network = np.abs(same.values - rescaled.values).max()
    print(f"τ = {tau}: FLBO = {factor:.4f} × ALBO to {gap:.0e}; rescaled, equal to {network:.0e}")
    assert gap < 1e-13 and network < 1e-10
    curves[rf"FLBO, $\tau = {tau:g}$, divided by {factor:.3f}"] = (
        finsler.spectrum(flbo, k=60).eigenvalues / factor
    )
reference, *others = curves.values()
assert all(np.allclose(values, reference, rtol=1e-8, atol=1e-8) for values in others)

reverse = finsler.flbo(mesh, alpha=ALPHA, tau=-1.0).stiffness
assert (reverse != finsler.flbo(mesh, alpha=ALPHA, tau=1.0).stiffness).nnz == 0  # nor does the sign
plot_spectrum("constant_tau.png", curves, title="four operators, one curve")
