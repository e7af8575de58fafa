import dataclasses
import sys

import numpy as np
import pytest
from scipy import sparse

import finsler
from exact import rate, relabelled, rotation, union
from finsler import TriMesh, primitives


def check(laplacian, spectrum, mass=None):
    """The definition: residual, orthonormality, order."""
    phi, values = spectrum.eigenvectors, spectrum.eigenvalues
    weights = sparse.diags_array(laplacian.mass) if mass is None else mass
    assert np.allclose(phi.T @ (weights @ phi), np.eye(len(values)), atol=1e-8)
    assert (np.diff(values) >= -1e-9 * abs(values).max()).all()
    residual = laplacian.stiffness @ phi - weights @ (phi * values)
    norms = np.sqrt(np.einsum("ij,ij,i->j", residual, residual, 1 / laplacian.mass))
    assert (norms <= 1e-6 * max(values[-1], 1e-300)).all() or len(values) == 1
    assert (spectrum.residuals <= 1e-5).all()


def eigenvalues_of_sphere(count):
    return np.array([degree * (degree + 1) for degree in range(20) for _ in range(2 * degree + 1)])[
        :count
    ]


@pytest.mark.parametrize("consistent", [False, True])
def test_sphere_converges_to_l_times_l_plus_1(consistent):
    exact = eigenvalues_of_sphere(25)
    errors = []
    for frequency in (8, 16, 32):
        mesh = primitives.sphere(frequency)
        mass = finsler.consistent_mass(mesh) if consistent else None
        laplacian = finsler.lbo(mesh)
        found = finsler.spectrum(laplacian, k=25, mass=mass)
        check(laplacian, found, mass)
        errors.append(np.abs(found.eigenvalues[1:] / exact[1:] - 1).max())
    assert rate([1 / 8, 1 / 16, 1 / 32], errors) > 1.8
    assert errors[-1] < 0.01


def test_rectangle_with_constant_anisotropic_tensor_converges():
    # −div(D∇u) on [0, 2] × [0, 1], D = diag(1/11, 1), free boundary: π² (i²/44 + j²).
    grid = np.array([np.pi**2 * (i**2 / 44 + j**2) for i in range(20) for j in range(8)])
    exact = np.sort(grid)[:15]
    errors = []
    for level in (10, 20, 40):
        mesh = primitives.plane(2 * level, level, size=(2.0, 1.0), jitter=0.2)
        frames = finsler.FaceFrames.from_directions(mesh, np.tile([1.0, 0, 0], (mesh.n_faces, 1)))
        found = finsler.spectrum(finsler.albo(mesh, alpha=10.0, frames=frames), k=15)
        errors.append(np.abs(found.eigenvalues[1:] / exact[1:] - 1).max())
        wrong = finsler.spectrum(
            finsler.albo(mesh, alpha=10.0, theta=np.pi / 2, frames=frames), k=15
        )
        assert np.abs(wrong.eigenvalues[1:] / exact[1:] - 1).max() > 0.2
    assert rate([1 / 10, 1 / 20, 1 / 40], errors) > 1.7


@pytest.mark.parametrize(
    "mesh",
    [
        primitives.bumpy_sphere(12),
        primitives.plane(30, 30, jitter=0.3),
        primitives.cylinder(40, 20),
    ],
    ids=repr,
)
@pytest.mark.parametrize("k", [1, 2, 30, 150])
def test_agrees_with_a_dense_solver(mesh, k):
    laplacian = finsler.flbo(mesh, tau=0.3, theta=0.5)
    found = finsler.spectrum(laplacian, k)
    check(laplacian, found)
    half = 1 / np.sqrt(laplacian.mass)
    dense = half[:, None] * laplacian.stiffness.toarray() * half
    exact = np.linalg.eigvalsh(dense)
    assert np.allclose(found.eigenvalues, exact[:k], atol=1e-10 * exact[max(k, 2) - 1], rtol=1e-9)


def test_every_k_on_a_tiny_mesh():
    mesh = primitives.sphere(1)
    laplacian = finsler.lbo(mesh)
    for k in range(1, mesh.n_vertices + 1):
        found = finsler.spectrum(laplacian, k)
        check(laplacian, found)
        assert abs(found.eigenvalues[0]) < 1e-12
    single = finsler.lbo(TriMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]))
    assert finsler.spectrum(single, 3).eigenvectors.shape == (3, 3)


@pytest.mark.parametrize("copies", [2, 7, 40])
def test_components_with_equal_spectra_are_all_found(copies):
    one = primitives.torus(12, 8)
    laplacian = finsler.lbo(union(*[one] * copies))
    k = 4 * copies
    found = finsler.spectrum(laplacian, k)
    check(laplacian, found)
    alone = finsler.spectrum(finsler.lbo(one), 4).eigenvalues
    assert np.allclose(found.eigenvalues, np.repeat(alone, copies), atol=1e-9)
    assert (found.eigenvalues[:copies] == 0.0).all()
    assert (found.eigenvalues[copies:] > 0.1).all()


def test_components_of_different_size():
    # The small sphere has large eigenvalues: nearly all pairs belong to the large one.
    laplacian = finsler.lbo(
        union(primitives.sphere(14), primitives.sphere(3, radius=0.05), primitives.plane(20, 20))
    )
    found = finsler.spectrum(laplacian, 60)
    check(laplacian, found)
    half = 1 / np.sqrt(laplacian.mass)
    dense = half[:, None] * laplacian.stiffness.toarray() * half
    exact = np.linalg.eigvalsh(dense)[:60]
    assert np.allclose(found.eigenvalues, exact, atol=1e-8)
    assert (np.abs(found.eigenvalues) < 1e-8).sum() == 3


@pytest.mark.parametrize("k", [5, 642])
def test_the_first_value_is_zero_only_where_constants_are_in_the_kernel(k):
    laplacian = finsler.flbo(primitives.bumpy_sphere(8), tau=0.3)
    found = finsler.spectrum(laplacian, k)
    assert found.eigenvalues[0] == 0.0
    lifted = dataclasses.replace(
        laplacian, stiffness=laplacian.stiffness + 1e-6 * sparse.diags_array(laplacian.mass)
    )
    values = finsler.spectrum(lifted, k).eigenvalues
    assert values[0] == pytest.approx(1e-6, rel=1e-4)
    assert np.allclose(values, found.eigenvalues + 1e-6, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3, 1e9])
def test_units_do_not_matter(scale):
    mesh = primitives.bumpy_sphere(14)
    here = finsler.spectrum(finsler.lbo(mesh), 40)
    laplacian = finsler.lbo(TriMesh(scale * mesh.vertices, mesh.faces))
    there = finsler.spectrum(laplacian, 40)
    check(laplacian, there)
    assert np.allclose(there.eigenvalues * scale**2, here.eigenvalues, rtol=1e-8, atol=1e-9)


@pytest.mark.filterwarnings("ignore::finsler.mesh.health.MeshWarning")
def test_needles_do_not_spoil_it():
    mesh = primitives.bumpy_sphere(14)
    vertices = mesh.vertices.copy()
    a, b, _ = mesh.faces[100]
    vertices[a] = vertices[b] + 1e-7 * (vertices[a] - vertices[b])
    laplacian = finsler.lbo(TriMesh(vertices, mesh.faces))
    found = finsler.spectrum(laplacian, 30)
    clean = finsler.spectrum(finsler.lbo(mesh), 30)
    assert np.allclose(found.eigenvalues, clean.eigenvalues, rtol=0.02, atol=1e-6)


def test_numbering_and_motion_do_not_matter():
    mesh = primitives.bumpy_sphere(14)
    renamed, old, _ = relabelled(TriMesh(mesh.vertices @ rotation(2).T + 3, mesh.faces), 3)
    here = finsler.spectrum(finsler.lbo(mesh), 20)
    there = finsler.spectrum(finsler.lbo(renamed), 20)
    assert np.allclose(here.eigenvalues, there.eigenvalues, atol=1e-9)
    # The shape has no symmetry, so vectors agree too, sign included.
    assert np.allclose(here.eigenvectors[old], there.eigenvectors, atol=1e-5)


def test_repeated_runs_and_other_seeds_agree():
    laplacian = finsler.lbo(primitives.bumpy_sphere(14))
    first, again = (finsler.spectrum(laplacian, 20) for _ in range(2))
    other = finsler.spectrum(laplacian, 20, seed=5)
    assert np.array_equal(first.eigenvectors, again.eigenvectors)
    assert np.allclose(first.eigenvectors, other.eigenvectors, atol=1e-6)
    leading = np.abs(first.eigenvectors).argmax(axis=0)
    assert (first.eigenvectors[leading, range(20)] > 0).all()


def test_without_cholespy(monkeypatch):
    laplacian = finsler.lbo(primitives.bumpy_sphere(14))
    expected = finsler.spectrum(laplacian, 20)
    monkeypatch.setattr("finsler.solvers.factor.find_spec", lambda name: None)
    found = finsler.spectrum(laplacian, 20)
    assert np.allclose(found.eigenvectors, expected.eigenvectors, atol=1e-6)


def test_refusals(monkeypatch):
    mesh = primitives.sphere(14)
    laplacian = finsler.lbo(mesh)
    for k in (0, -1, mesh.n_vertices + 1):
        with pytest.raises(finsler.InputError, match=r"it must lie in 1\.\.1962"):
            finsler.spectrum(laplacian, k)
    with pytest.raises(finsler.InputError, match="the mass has shape"):
        finsler.spectrum(laplacian, 5, mass=sparse.eye_array(3).tocsr())
    negative = finsler.Laplacian(-laplacian.stiffness, laplacian.mass)
    with pytest.raises(finsler.InputError, match="not positive definite"):
        finsler.spectrum(negative, 5)
    broken = laplacian.stiffness.copy()
    broken.data[7] = np.nan
    with pytest.raises(finsler.InputError, match="not finite"):
        finsler.spectrum(finsler.Laplacian(broken, laplacian.mass), 5)
    with pytest.raises(finsler.ConvergenceError, match="did not converge"):
        finsler.spectrum(laplacian, 5, tolerance=1e-30)
    monkeypatch.setattr(sys.modules["finsler.analysis.spectrum"], "_WORST_RESIDUAL", 1e-30)
    with pytest.raises(finsler.ConvergenceError, match="relative residual"):
        finsler.spectrum(laplacian, 5)


@pytest.mark.parametrize("consistent", [False, True])
class TestFourierTransform:
    mesh = primitives.bumpy_sphere(8)

    def basis(self, consistent, k):
        mass = finsler.consistent_mass(self.mesh) if consistent else None
        return finsler.spectrum(finsler.lbo(self.mesh), k, mass=mass)

    def test_round_trip_and_parseval(self, consistent):
        basis = self.basis(consistent, self.mesh.n_vertices)
        f = np.random.default_rng(0).standard_normal((self.mesh.n_vertices, 3))
        found = basis.coefficients(f)
        assert np.allclose(basis.synthesise(found), f)
        mass = basis.mass if consistent else sparse.diags_array(basis.mass)
        assert np.allclose(found.T @ found, f.T @ (mass @ f))
        assert np.allclose(basis.coefficients(f[:, 0]), found[:, 0])

    def test_projects_onto_the_basis(self, consistent):
        basis = self.basis(consistent, 20)
        f = np.random.default_rng(1).standard_normal(self.mesh.n_vertices)
        once = basis.synthesise(basis.coefficients(f))
        assert np.allclose(basis.synthesise(basis.coefficients(once)), once)
        assert np.allclose(basis.coefficients(f - once), 0.0, atol=1e-8)
        assert np.allclose(basis.coefficients(basis.eigenvectors), np.eye(20), atol=1e-8)

    def test_refusals(self, consistent):
        basis = self.basis(consistent, 5)
        for wrong in (np.ones(3), np.ones((2, 642)), 1.0):
            with pytest.raises(finsler.InputError, match="one value for each of the 642"):
                basis.coefficients(wrong)
        broken = np.ones(642)
        broken[7] = np.nan
        with pytest.raises(finsler.InputError, match="the first at vertex 7"):
            basis.coefficients(broken)
        with pytest.raises(finsler.InputError, match=r"must have shape \(5,\)"):
            basis.synthesise(np.ones(6))


@pytest.mark.parametrize("scale", [1e-60, 1e60])
@pytest.mark.parametrize("frequency", [4, 8])
def test_units_far_from_one(scale, frequency):
    mesh = primitives.sphere(frequency)
    moved = finsler.TriMesh(scale * mesh.vertices, mesh.faces)
    plain, there = (finsler.spectrum(finsler.lbo(m), k=6) for m in (mesh, moved))
    assert np.allclose(there.eigenvalues * scale**2, plain.eigenvalues)
    gram = there.eigenvectors.T @ (there.mass[:, None] * there.eigenvectors)
    assert np.allclose(gram, np.eye(6))
