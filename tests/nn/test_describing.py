"""Describing surfaces with torch: the same numbers as on the processor."""

import numpy as np
import pytest
import torch

import finsler
from finsler.data import synthetic_collection
from finsler.descriptors.learned import feature_models
from finsler.matching.surfaces import Processor, describe_unit, describing_on
from finsler.mesh.unit import UnitSurface
from finsler.nn.describing import Accelerator

CUDA = pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="GPU"))


@pytest.fixture(scope="module")
def mesh():
    people = synthetic_collection("person", train=1, test=0, poses=1, vertices=1000, flaws=0.0)
    return people[people.train[0]].mesh


@pytest.mark.parametrize("device", ["cpu", CUDA])
@pytest.mark.parametrize("operator", ["lbo", "albo"])
def test_surfaces_are_described_alike(mesh, device, operator):
    unit, models = UnitSurface.of(mesh), feature_models("box")
    laplacian = getattr(finsler, operator)(unit.mesh)
    one, other = (
        describe_unit(unit, laplacian, 140, models, place)
        for place in (Processor(), Accelerator(device))
    )
    values = one.spectrum.eigenvalues
    assert np.allclose(other.spectrum.eigenvalues, values, rtol=1e-7, atol=1e-7)
    # Features do not depend on the sign of an eigenfunction.
    apart = np.linalg.norm(one.features - other.features, axis=1)
    assert np.median(apart) < 1e-3 and one.features.shape == other.features.shape
    assert np.median(np.abs(one.histograms.squares / other.histograms.squares - 1.0)) < 1e-3
    assert other.model == one.model


def test_a_part_is_described_alike(mesh):
    part = finsler.data.cut(mesh, share=0.6, seed=0).mesh
    unit = UnitSurface.of(part, finsler.mesh.surface_area(mesh))
    models, laplacian = feature_models("box").for_parts(), finsler.lbo(unit.mesh)
    one, other = (
        describe_unit(unit, laplacian, 128, models, place).features
        for place in (Processor(), Accelerator("cpu"))
    )
    assert np.median(np.linalg.norm(one - other, axis=1)) < 1e-3


def test_fine_meshes_and_failures_go_to_the_sparse_solver(mesh, monkeypatch):
    laplacian = finsler.lbo(mesh)
    expected = finsler.spectrum(laplacian, 20).eigenvalues

    def fail(*arguments, **options):
        raise finsler.ConvergenceError("some pairs did not converge")

    monkeypatch.setattr("finsler.nn.describing.spectrum_torch", fail)
    assert np.allclose(Accelerator("cpu").spectrum(laplacian, 20).eigenvalues, expected)
    monkeypatch.setattr("finsler.nn.describing._MOST", 10)
    assert np.allclose(Accelerator("cpu").spectrum(laplacian, 20).eigenvalues, expected)


@pytest.mark.parametrize(
    ("device", "sentence"),
    [
        ("abacus", "must be cpu or cuda"),
        pytest.param(
            "cuda",
            "finds no such device",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="there is a device"),
        ),
    ],
)
def test_no_such_device(device, sentence, finsler_command, tmp_path, mesh):
    with pytest.raises(finsler.InputError, match=sentence):
        describing_on(device)
    with pytest.raises(finsler.InputError, match=sentence):
        finsler.describe(mesh, device=device)
    path = tmp_path / "mesh.off"
    finsler.write_mesh(path, mesh)
    code, _, error = finsler_command("match", path, path, "--device", device)
    assert code == 2 and sentence in " ".join(error.split())
