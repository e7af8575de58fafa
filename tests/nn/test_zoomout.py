"""ZoomOut by blocks of products: the same maps as on the processor."""

from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import finsler
from finsler import TriMesh
from finsler.errors import InputError
from finsler.matching import refine
from finsler.mesh import primitives
from finsler.nn import zoomout, zoomout_torch

DEVICES = [
    "cpu",
    pytest.param(
        "cuda",
        marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an accelerator"),
    ),
]


def basis(amplitude: float, order: np.ndarray | None = None):
    """60 functions of a bumpy sphere of 812 vertices, perhaps numbered otherwise."""
    mesh = primitives.bumpy_sphere(9, amplitude=amplitude)
    if order is not None:
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        mesh = TriMesh(mesh.vertices[order], place[mesh.faces])
    return finsler.spectrum(finsler.lbo(mesh), 60)


@pytest.fixture(scope="module")
def pair():
    """Bases of two surfaces that are bent differently, and a map that is partly wrong."""
    rng = np.random.default_rng(0)
    order = rng.permutation(812)
    right = np.argsort(order)
    wrong = rng.integers(0, 812, 812)
    start = np.where(rng.random(812) < 0.3, wrong, right)
    return basis(0.25), basis(0.2, order), start, right


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("start", "step", "samples"), [(10, 15, 5000), (20, 20, 500), (99, 1, 300)]
)
def test_maps_are_those_of_the_processor(pair, device, start, step, samples):
    one, other, noisy, right = pair
    expected = refine(noisy, one, other, first=start, step=step, samples=samples, seed=3)
    found = zoomout_torch(
        noisy, one, other, start=start, step=step, samples=samples, seed=3, device=device
    )
    assert (found.map_12 == expected.map_12).mean() > 0.998  # up to ties
    assert found.map_12.dtype == np.int64 and found.functional.shape == (60, 60)
    np.testing.assert_allclose(found.functional, expected.functional, atol=2e-2)
    if samples > 812:
        np.testing.assert_allclose(found.functional, expected.functional, atol=1e-3)
        assert (found.map_12 == right).mean() > (noisy == right).mean()


@pytest.mark.parametrize("device", DEVICES)
def test_a_surface_is_mapped_onto_itself(pair, device):
    one, order = pair[0], np.random.default_rng(1).permutation(812)
    other = basis(0.25, order)
    start = np.roll(np.argsort(order), 1)
    found = zoomout_torch(start, one, other, start=10, step=10, device=device)
    assert (found.map_12 == np.argsort(order)).mean() > 0.99
    # The functional map is that of the vertex map, in the direction that the docstring says.
    carried = one.coefficients(other.eigenvectors[found.map_12])
    np.testing.assert_allclose(found.functional, carried, atol=1e-7)


def test_it_stops_where_it_is_told(pair):
    one, other, noisy, _ = pair
    found = zoomout_torch(noisy, one, other, start=10, stop=40, device="cpu")
    fewer = [
        finsler.analysis.Spectrum(
            each.eigenvalues[:40], each.eigenvectors[:, :40], each.mass, each.residuals[:40]
        )
        for each in (one, other)
    ]
    expected = zoomout_torch(noisy, *fewer, start=10, device="cpu")
    assert np.array_equal(found.map_12, expected.map_12)
    assert found.functional.shape == (40, 40)


class Largest(TorchDispatchMode):
    """Entries of the largest result of an operation."""

    entries = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.entries = max(self.entries, result.numel())
        return result


@pytest.mark.parametrize("device", DEVICES)
def test_products_stay_within_the_memory(device):
    generator = torch.Generator().manual_seed(0)
    queries, points = (
        torch.randn(n, 3, generator=generator, dtype=torch.float64).to(device) for n in (700, 900)
    )
    expected = torch.cdist(queries, points).argmin(dim=1)
    for memory in (1, 4 * 900 * 10, 2**31):
        with Largest() as seen:
            found = zoomout._nearest(queries, points, memory)
        assert torch.equal(found, expected)
        rows = min(700, max(1, memory // (4 * 900)))
        assert seen.entries == max(900 * rows, 900 * 4)


def test_what_is_refused(pair):
    one, other, noisy, _ = pair

    def zoom(map_12=noisy, first=one, **options):
        return zoomout_torch(map_12, first, other, device="cpu", **options)

    with pytest.raises(InputError, match="one vertex for each of the 812"):
        zoom(noisy[:-1])
    with pytest.raises(InputError, match=r"outside 0\.\.811"):
        zoom(noisy + 1)
    for name in ("start", "step", "samples", "memory"):
        with pytest.raises(InputError, match=f"{name} is 0; it must lie between 1"):
            zoom(**{name: 0})
    with pytest.raises(InputError, match="stop is 61; it must lie between 1 and 60"):
        zoom(stop=61)
    mesh = primitives.bumpy_sphere(9)
    full = finsler.operator.consistent_mass(mesh)
    dense = finsler.spectrum(finsler.lbo(mesh), 20, mass=full)
    with pytest.raises(InputError, match="sparse mass"):
        zoom(first=dense)
