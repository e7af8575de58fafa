import numpy as np
import pytest

import finsler
from finsler import primitives

MESH = primitives.bumpy_sphere(8)
FRAMES = finsler.principal_frames(MESH)
VARYING = finsler.tau_of_strength(MESH, finsler.curvature_strength(MESH, peak=0.9), alpha=5.0)


def relative(a, b):
    return abs(a - b).max() / abs(b).max()


@pytest.mark.parametrize("tau", [0.0, 0.4, VARYING], ids=["none", "constant", "varying"])
def test_three_matrices_give_every_angle(tau):
    stack = finsler.angle_stack(MESH, alpha=5.0, tau=tau, angles=8, frames=FRAMES)
    assert np.allclose(stack.theta, np.pi * np.arange(8) / 8)
    for theta, laplacian in zip(stack.theta, stack, strict=True):
        alone = finsler.flbo(MESH, alpha=5.0, tau=tau, theta=theta, frames=FRAMES)
        assert relative(laplacian.stiffness, alone.stiffness) < 1e-13
        assert np.allclose(laplacian.mass, alone.mass, rtol=1e-13)


@pytest.mark.parametrize("tau", [0.4, VARYING], ids=["constant", "varying"])
def test_reference_diagonal_is_that_without_omega(tau):
    stack = finsler.angle_stack(MESH, alpha=5.0, tau=tau, frames=FRAMES)
    plain = finsler.angle_stack(MESH, alpha=5.0, tau=0.0, frames=FRAMES)
    assert np.allclose(stack.reference_diagonal, plain.values[:, plain.diagonal])


def test_pattern_is_shared_sorted_and_complete():
    stack = finsler.angle_stack(MESH, angles=3, frames=FRAMES)
    n = MESH.n_vertices
    assert stack.indptr.dtype == stack.indices.dtype == np.int32
    assert len(stack.indices) == n + 2 * len(finsler.mesh.edges(MESH).vertices)
    rows = np.repeat(np.arange(n), np.diff(stack.indptr))
    assert (np.diff(rows * n + stack.indices) > 0).all()
    assert np.array_equal(stack.indices[stack.diagonal], np.arange(n))


def test_opposite_angles_average_to_the_isotropic_operator():
    # H_θ + H_{θ+π/2} = (1 + 1/(1+α)) I.
    stack = finsler.angle_stack(MESH, alpha=5.0, tau=0.0, angles=[0.3, 0.3 + np.pi / 2])
    total = stack[0].stiffness + stack[1].stiffness
    assert relative(total, (1 + 1 / 6) * finsler.lbo(MESH).stiffness) < 1e-13


def test_own_angles_and_refusals():
    stack = finsler.angle_stack(MESH, angles=[0.1, 2.0, -3.0], frames=FRAMES)
    assert len(stack) == 3 and np.allclose(stack.theta, [0.1, 2.0, -3.0])
    for bad in (0, [], [np.nan]):
        with pytest.raises(finsler.InputError, match="angles must be"):
            finsler.angle_stack(MESH, angles=bad, frames=FRAMES)
    tau = np.zeros(MESH.n_faces)
    tau[17] = 4.0
    with pytest.raises(finsler.InputError, match="face 17"):
        finsler.angle_stack(MESH, alpha=5.0, tau=tau, frames=FRAMES)


@pytest.mark.filterwarnings("ignore::finsler.mesh.health.MeshWarning")
def test_non_manifold_edges_and_several_faces_a_side_assemble():
    # Three faces on one edge: the weights add up, nothing else changes.
    fan = finsler.TriMesh(
        [[0, 0, 0], [0, 0, 1], [1, 0, 0.5], [-1, 1, 0.5], [-1, -1, 0.5]],
        [[0, 1, 2], [0, 1, 3], [0, 1, 4]],
    )
    alone = [
        finsler.lbo(finsler.TriMesh(fan.vertices[[0, 1, k]], [[0, 1, 2]])).stiffness.toarray()
        for k in (2, 3, 4)
    ]
    stiffness = finsler.lbo(fan).stiffness.toarray()
    assert stiffness[0, 1] == pytest.approx(sum(a[0, 1] for a in alone))
