"""The authors' released code, run on three small meshes; see tests/golden/README.md."""

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import finsler
from finsler import FaceFrames, TriMesh

GOLDEN = Path(__file__).parent.parent / "golden"


@pytest.fixture(scope="module", params=["torus", "bumpy_sphere", "open_patch"])
def golden(request):
    with np.load(GOLDEN / f"{request.param}.npz") as data:
        return dict(data)


@pytest.fixture(scope="module")
def mesh(golden):
    return TriMesh(golden["vertices"], golden["faces"])


def matrix(golden, values):
    n = len(golden["vertices"])
    csr = (values, golden["stiffness_indices"], golden["stiffness_indptr"])
    return sparse.csr_array(csr, shape=(n, n))


def difference(found, expected):
    return abs(found - expected).max() / abs(expected).max()


def test_mass(golden, mesh):
    assert np.allclose(finsler.lumped_mass(mesh), golden["mass"], rtol=1e-12, atol=0)


def test_stiffness_at_every_angle_and_tau_from_the_authors_frames(golden, mesh):
    # Their tensor acts on edges, with 1/(1+α) on u_slow; on gradients that is 1/(1+α) on u_fast.
    for angle in range(8):
        frames = FaceFrames.from_directions(mesh, golden["u_fast"][angle])
        for which, tau in enumerate(golden["tau"]):
            found = finsler.flbo(
                mesh, alpha=float(golden["alpha"]), tau=tau, frames=frames, omega_axis="min"
            )
            expected = matrix(golden, golden["stiffness_data"][angle, which])
            assert difference(found.stiffness, expected) < 1e-10


def test_the_angle_stack_turns_as_the_authors_do(golden, mesh):
    frames = FaceFrames.from_directions(mesh, golden["u_fast"][0])
    for which, tau in enumerate(golden["tau"]):
        stack = finsler.angle_stack(
            mesh, alpha=float(golden["alpha"]), tau=tau, frames=frames, omega_axis="min"
        )
        assert np.allclose(stack.theta, golden["theta"])
        for angle in range(8):
            expected = matrix(golden, golden["stiffness_data"][angle, which])
            assert difference(stack[angle].stiffness, expected) < 1e-10


def test_rescaled_operators(golden, mesh):
    frames = FaceFrames.from_directions(mesh, golden["u_fast"][0])
    stack = finsler.angle_stack(
        mesh, alpha=float(golden["alpha"]), tau=golden["tau"][1], frames=frames, omega_axis="min"
    )
    operators = finsler.chebyshev_operators(stack, normalization="acscnn", bound="converged")
    for angle in range(8):
        expected = matrix(golden, golden["chebyshev_data"][angle])
        assert difference(operators[angle], expected) < 1e-8


def test_own_frames_find_the_authors_directions(golden, mesh):
    # Not the same algorithm (theirs averages eigenvectors), so most faces and not all.
    frames = finsler.principal_frames(mesh, smoothing=int(golden["curvature_smoothing"]))
    cosine = np.abs(np.einsum("fi,fi->f", frames.u_max, golden["u_fast"][0]))
    clear = frames.confidence > 0.3
    assert np.quantile(cosine[clear], 0.1) > 0.95


def test_tensor_turned_by_90_degrees_fails(golden, mesh):
    frames = FaceFrames.from_directions(mesh, golden["u_slow"][0])
    found = finsler.flbo(mesh, alpha=10.0, tau=0.0, frames=frames)
    expected = matrix(golden, golden["stiffness_data"][0, 0])
    assert difference(found.stiffness, expected) > 0.1
