"""What is kept of descriptors, and searches that share their work: the same as without."""

import numpy as np
import pytest

import finsler
from finsler.descriptors import shot, wks
from finsler.descriptors.learned import shot_twice
from finsler.matching import summaries
from finsler.matching.points import Step, points_of, sampled
from finsler.matching.refine import zoom
from finsler.matching.search import Search


@pytest.fixture(scope="module")
def mesh():
    bumpy = finsler.primitives.bumpy_sphere(5)
    return finsler.TriMesh(bumpy.vertices / np.sqrt(finsler.mesh.surface_area(bumpy)), bumpy.faces)


def test_signatures_in_the_span_of_all_functions_are_exact(mesh, monkeypatch):
    n = mesh.n_vertices
    monkeypatch.setattr(summaries, "_SPAN", n)
    whole = finsler.spectrum(finsler.lbo(mesh), n)
    found = summaries.summarise_signatures(mesh, whole)

    def signature(laplacian):
        pairs = finsler.spectrum(laplacian, summaries._PAIRS)
        return wks(pairs, summaries._ENERGIES, sigma=summaries._SIGMA)

    turned = np.stack(
        [signature(t) for t in finsler.angle_stack(mesh, alpha=10.0, tau=0.0, angles=8)]
    )
    columns = [signature(finsler.lbo(mesh)), turned.mean(axis=0), turned.std(axis=0)]
    values = np.hstack(columns)
    expected = whole.coefficients(values)[:64]
    assert np.allclose(found.coefficients, expected, atol=1e-4 * np.abs(expected).max())
    assert found.square == pytest.approx((whole.mass @ values**2).mean() / whole.mass.sum())


def test_principal_features_are_those_of_the_whole_histograms(mesh):
    other = finsler.TriMesh(mesh.vertices * [1.0, 1.2, 0.9], mesh.faces)
    spectra = [finsler.spectrum(finsler.lbo(m), 40) for m in (mesh, other)]
    both = [
        summaries.summarise_histograms(shot_twice(m, 0.18), s, 0.18)
        for m, s in zip((mesh, other), spectra, strict=True)
    ]
    found = summaries.principal_features(*both, 20)
    rows = [
        np.hstack([shot(m, radius=r, dtype=np.float32) for r in (0.09, 0.18)])
        for m in (mesh, other)
    ]
    middle = 0.5 * (rows[0].mean(axis=0) + rows[1].mean(axis=0))
    covariance = sum((r - middle).T @ (r - middle) / len(r) for r in rows)
    axes = np.linalg.eigh(covariance.astype(np.float64))[1][:, ::-1][:, :20]
    expected = [(r - middle) @ axes for r in rows]
    # Axes are known up to their signs: compare inner products between the two surfaces.
    scale = np.abs(expected[0] @ expected[1].T).max()
    assert np.allclose(found[0] @ found[1].T, expected[0] @ expected[1].T, atol=0.02 * scale)
    assert np.allclose(
        both[0].squares, (spectra[0].mass @ rows[0] ** 2).reshape(2, -1).mean(axis=1)
    )


def test_shared_search_is_zoomout(mesh):
    pairs = finsler.spectrum(finsler.lbo(mesh), 40)
    rng = np.random.default_rng(0)
    features = mesh.vertices.astype(np.float32)
    points = [sampled(points_of(pairs, features), 150, rng) for _ in range(2)]
    start = np.diag(np.sign(rng.normal(size=12)))
    steps = [Step(12, 12, 0.5), Step(20, 20, 0.3), Step(30, 30)]
    expected = zoom(start, *points, steps)
    assert np.allclose(Search.of(*points).zoom(start, steps), expected, atol=1e-8)
