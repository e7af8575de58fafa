"""The flat torus, which has no embedding in space, as a metric on the embedded one."""

import numpy as np

import finsler
from exact import rate
from finsler import primitives
from finsler.mesh import face_areas, face_basis


def flat_torus(n):
    """Laplacian of the unit square with opposite sides joined, on the mesh of a torus.

    A face's map to the square is x ↦ A x in coordinates of its plane. Gradients pull back with Aᵀ
    and areas with |det A|, so the square's operator is that of D = |det A| A⁻¹ A⁻ᵀ with the
    square's areas as mass.
    """
    mesh = primitives.torus(n, n, jitter=0.2)
    # Parameters of the jittered grid, read back from the positions.
    u = np.arctan2(mesh.vertices[:, 1], mesh.vertices[:, 0]) / (2 * np.pi) % 1.0
    ring = np.hypot(mesh.vertices[:, 0], mesh.vertices[:, 1]) - 1.0
    v = np.arctan2(mesh.vertices[:, 2], ring) / (2 * np.pi) % 1.0
    flat = np.stack([u, v], axis=1)
    corners = flat[mesh.faces]
    sides = corners[:, 1:] - corners[:, :1]
    sides -= np.round(sides)
    basis = face_basis(mesh)
    space = mesh.vertices[mesh.faces]
    local = np.stack([basis.coordinates(space[:, k] - space[:, 0]) for k in (1, 2)], axis=1)
    # Rows of `local` and `sides` are images of the same two edges: sides = local Aᵀ.
    a = np.linalg.solve(local, sides).transpose(0, 2, 1)
    inverse = np.linalg.inv(a)
    determinant = np.abs(np.linalg.det(a))
    tensor = determinant[:, None, None] * inverse @ inverse.transpose(0, 2, 1)
    axes = np.stack([basis.first, basis.second], axis=1)
    made = finsler.laplacian(mesh, np.einsum("fai,fab,fbj->fij", axes, tensor, axes))
    areas = np.repeat(face_areas(mesh) * determinant / 3, 3)
    mass = np.bincount(mesh.faces.ravel(), areas, mesh.n_vertices)
    return flat, finsler.Laplacian(made.stiffness, mass)


def theta_kernel(offset, t):
    """Heat kernel of the circle of length 1: Σ_k e^{−4π²k²t} cos 2πk x."""
    k = np.arange(1, 12)[:, None]
    waves = np.exp(-4 * np.pi**2 * k**2 * t) * np.cos(2 * np.pi * k * offset[None])
    return 1.0 + 2.0 * waves.sum(axis=0)


def test_area_and_first_eigenvalues():
    _, laplacian = flat_torus(24)
    assert np.isclose(laplacian.mass.sum(), 1.0)
    found = finsler.spectrum(laplacian, 9).eigenvalues / (4 * np.pi**2)
    assert np.allclose(found, [0, 1, 1, 1, 1, 2, 2, 2, 2], atol=0.06)


def test_heat_kernel_converges_to_the_product_of_theta_functions():
    t, errors = 0.02, []
    for n in (12, 24, 48):
        flat, laplacian = flat_torus(n)
        kernel = finsler.heat_kernel(finsler.spectrum(laplacian, min(100, n * n)), t, 7)
        x, y = (flat - flat[7]).T
        exact = theta_kernel(x, t) * theta_kernel(y, t)
        mass = laplacian.mass
        errors.append(np.sqrt(mass @ (kernel - exact) ** 2 / (mass @ exact**2)))
    assert rate([1 / 12, 1 / 24, 1 / 48], errors) > 1.6
    assert errors[-1] < 0.02
