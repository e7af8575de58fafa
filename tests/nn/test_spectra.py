"""Spectra by dense inverses and filtered subspaces agree with those of the sparse solver."""

import numpy as np
import pytest
import torch

import finsler
from finsler.analysis import Spectrum
from finsler.errors import ConvergenceError, InputError
from finsler.mesh import primitives
from finsler.nn import spectra, spectra_torch, spectrum_torch
from finsler.operator import Laplacian

DEVICES = [
    "cpu",
    pytest.param(
        "cuda",
        marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an accelerator"),
    ),
]


def operator(kind: str) -> Laplacian:
    mesh = primitives.bumpy_sphere(9)
    if kind == "anisotropic":
        return finsler.albo(mesh, alpha=10.0)
    if kind == "two pieces":
        moved = finsler.TriMesh(mesh.vertices + 9.0, mesh.faces)
        vertices = np.concatenate([mesh.vertices, moved.vertices])
        mesh = finsler.TriMesh(
            vertices, np.concatenate([mesh.faces, mesh.faces + len(mesh.vertices)])
        )
    scale = 1e-40 if kind == "tiny" else 1.0
    return finsler.lbo(finsler.TriMesh(scale * mesh.vertices, mesh.faces))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", ["isotropic", "anisotropic", "two pieces", "tiny"])
@pytest.mark.parametrize("k", [1, 60])
def test_the_sparse_solver_finds_the_same(kind: str, device: str, k: int) -> None:
    laplacian = operator(kind)
    found, expected = spectrum_torch(laplacian, k, device=device), finsler.spectrum(laplacian, k)
    size = expected.eigenvalues[-1] or 1.0 / laplacian.mass.sum()
    np.testing.assert_allclose(found.eigenvalues / size, expected.eigenvalues / size, atol=1e-10)
    inner = found.coefficients(expected.eigenvectors)
    # Up to turns among equal eigenvalues, and what lies beyond the cut.
    inside = expected.eigenvalues < (1.0 - 1e-6) * expected.eigenvalues[-1]
    np.testing.assert_allclose(np.linalg.norm(inner[:, inside], axis=0), 1.0, atol=1e-7)
    gram = found.coefficients(found.eigenvectors)
    np.testing.assert_allclose(gram, np.eye(k), atol=1e-9)
    assert found.solver == "dense"


def test_nearly_all_pairs() -> None:
    laplacian = finsler.lbo(primitives.sphere(4))
    found, expected = (solve(laplacian, 150).eigenvalues for solve in (on_cpu, finsler.spectrum))
    np.testing.assert_allclose(found, expected, atol=1e-9 * expected[-1])


def on_cpu(laplacian: Laplacian, k: int) -> Spectrum:
    return spectrum_torch(laplacian, k, device="cpu")


@pytest.mark.parametrize("device", DEVICES)
def test_several_at_once_are_solved_as_one_by_one(device: str) -> None:
    meshes = [primitives.bumpy_sphere(7, amplitude=a) for a in (0.1, 0.15, 0.2)]
    laplacians = [finsler.lbo(mesh) for mesh in meshes] + [operator("two pieces")]
    found = spectra_torch(laplacians, 40, device=device, at_once=3)
    for laplacian, one in zip(laplacians, found, strict=True):
        alone = spectrum_torch(laplacian, 40, device=device)
        top = alone.eigenvalues[-1]
        np.testing.assert_allclose(one.eigenvalues, alone.eigenvalues, atol=1e-12 * top)
        assert one.eigenvectors.shape == alone.eigenvectors.shape
        assert np.array_equal(one.mass, laplacian.mass)
        inside = alone.eigenvalues < (1.0 - 1e-6) * top
        inner = one.coefficients(alone.eigenvectors)[:, inside]
        np.testing.assert_allclose(np.linalg.norm(inner, axis=0), 1.0, atol=1e-7)
    assert spectra_torch([], 40, device=device) == []


def test_several_at_once_fail_as_one_does() -> None:
    laplacian = operator("isotropic")
    with pytest.raises(InputError, match="at_once is 0"):
        spectra_torch([laplacian], 5, device="cpu", at_once=0)
    with pytest.raises(InputError, match="k is 0"):
        spectra_torch([laplacian, laplacian], 0, device="cpu")


def test_the_dense_matrix_and_its_inverse(monkeypatch: pytest.MonkeyPatch) -> None:
    laplacian = operator("anisotropic")
    root = 1.0 / np.sqrt(laplacian.mass)
    matrix = spectra._dense(laplacian.stiffness, torch.as_tensor(root))
    expected = root[:, None] * laplacian.stiffness.toarray() * root
    np.testing.assert_allclose(matrix.numpy(), expected, rtol=1e-14)
    shifted = expected + 10.0 * np.eye(len(root))
    monkeypatch.setattr(spectra, "_TRIANGLE", 50)
    inverse = torch.tensor(shifted)
    spectra._invert(inverse)
    np.testing.assert_allclose(inverse.numpy() @ shifted, np.eye(len(root)), atol=1e-10)


def test_three_filters_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spectra, "_FILTERS", 3)
    for kind in ("isotropic", "anisotropic"):
        for k in (1, 20, 60, 120):
            assert len(on_cpu(operator(kind), k).eigenvalues) == k


def test_what_cannot_be_solved_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    laplacian = operator("isotropic")
    with pytest.raises(InputError, match="k is 0"):
        on_cpu(laplacian, 0)
    with pytest.raises(InputError, match="tolerance"):
        spectrum_torch(laplacian, 5, device="cpu", tolerance=-1.0)
    with pytest.raises(InputError, match="semidefinite"):
        on_cpu(Laplacian(-laplacian.stiffness, laplacian.mass), 5)
    monkeypatch.setattr(spectra, "_FILTERS", 1)
    with pytest.raises(ConvergenceError, match="of 60 eigenpairs did not converge"):
        on_cpu(laplacian, 60)


def test_a_basis_that_is_nearly_dependent_is_orthonormal_all_the_same() -> None:
    generator = torch.Generator().manual_seed(0)
    few = torch.randn(50, 3, dtype=torch.float64, generator=generator)
    rows = torch.cat([few, few + 1e-14], dim=1)
    basis = spectra._orthonormal(rows)
    assert torch.allclose(basis.T @ basis, torch.eye(6, dtype=torch.float64), atol=1e-9)


def test_a_basis_of_mixed_vectors_spans_what_they_span(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(0)
    turn = torch.linalg.qr(torch.randn(80, 20, dtype=torch.float64, generator=generator)).Q
    mix = torch.randn(20, 20, dtype=torch.float64, generator=generator)
    rows = (turn * torch.logspace(0, -9, 20, dtype=torch.float64)) @ mix
    monkeypatch.delattr(torch.linalg, "qr")  # The Gram matrices are enough.
    basis = spectra._orthonormal(rows)
    assert torch.allclose(basis.T @ basis, torch.eye(20, dtype=torch.float64), atol=1e-13)
    assert torch.allclose((basis.T @ turn).norm(dim=0), torch.ones(20).double(), atol=1e-4)


def test_a_device_of_torch_is_taken():
    laplacian = finsler.lbo(primitives.sphere(6))
    one, other = (
        spectrum_torch(laplacian, 9, device=device) for device in (torch.device("cpu"), "cpu")
    )
    assert np.allclose(one.eigenvalues, other.eigenvalues)
