import re
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import finsler  # noqa: E402
from finsler import TriMesh, primitives  # noqa: E402
from finsler.metric.recipes import tau_of_strength  # noqa: E402
from finsler.nn.assembly import (  # noqa: E402
    assemble_torch,
    randers_diffusivity,
    rescale_torch,
    strength_operators,
)
from finsler.nn.geometry import MeshGeometry  # noqa: E402

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
RESCALINGS = ["acscnn", "reference", "plain"]
BOUNDS = ["lanczos", "gershgorin"]
MESH = primitives.bumpy_sphere(6)
FRAMES = finsler.principal_frames(MESH)
GEOMETRY = MeshGeometry.from_mesh(MESH, FRAMES.basis, dtype=torch.float64)
TINY = MeshGeometry.from_mesh(primitives.plane(2, 2), dtype=torch.float64)


def random_metric(m, *, drift=0.8, seed=0, leading=()):
    """Positive definite M (..., m, 2, 2), and ω (..., m, 2) with ‖ω‖_{M⁻¹} below `drift`."""
    rng = np.random.default_rng(seed)
    root = np.eye(2) + 0.4 * rng.uniform(-1, 1, (*leading, m, 2, 2))
    M = root @ np.swapaxes(root, -1, -2)
    unit = rng.standard_normal((*leading, m, 2))
    unit *= drift * rng.uniform(0, 1, (*leading, m, 1)) / np.linalg.norm(unit, axis=-1)[..., None]
    return torch.tensor(M), torch.tensor(np.einsum("...ij,...j->...i", root, unit))


def paper_metric(theta, tau, alpha=10.0):
    """The paper's metric at several angles, (a, m, 2, 2) and (a, m, 2)."""
    metrics = [
        finsler.RandersMetric.from_curvature(MESH, FRAMES, alpha=alpha, tau=tau, theta=angle)
        for angle in theta
    ]
    M = np.stack([metric.M for metric in metrics])
    return torch.tensor(M), torch.tensor(np.stack([metric.omega for metric in metrics]))


def varying_tau(alpha=10.0):
    strength = np.random.default_rng(3).uniform(0.0, 0.95, MESH.n_faces)
    return strength, tau_of_strength(MESH, strength, alpha=alpha)


def close(found, expected, tolerance):
    expected = np.asarray(expected)
    found = found.detach().cpu().numpy()
    return np.abs(found - expected).max() <= tolerance * np.abs(expected).max()


def test_pattern_is_that_of_the_stack_and_places_name_pairs_of_corners():
    stack = finsler.angle_stack(MESH, frames=FRAMES)
    for name in ("indptr", "indices", "diagonal", "mass"):
        assert np.array_equal(getattr(GEOMETRY, name).numpy(), getattr(stack, name)), name
    assert GEOMETRY.indices.dtype == torch.int32
    faces = torch.tensor(MESH.faces)
    assert torch.equal(GEOMETRY.rows[GEOMETRY.entry_indices], faces[:, :, None].expand(-1, 3, 3))
    columns = GEOMETRY.indices.long()[GEOMETRY.entry_indices]
    assert torch.equal(columns, faces[:, None, :].expand(-1, 3, 3))


def test_one_triangle_by_hand():
    triangle = TriMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    geometry = MeshGeometry.from_mesh(triangle, dtype=torch.float64)
    tensor = torch.tensor([[[[2.0, 1.0], [1.0, 3.0]]]], dtype=torch.float64)
    # ∇φ = (−1, −1), (1, 0), (0, 1) and the area is 1/2.
    expected = [[3.5, -1.5, -2.0], [-1.5, 1.0, 0.5], [-2.0, 0.5, 1.5]]
    assert assemble_torch(geometry, tensor).reshape(3, 3).tolist() == expected


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.float64, 1e-12)])
def test_stiffness_of_any_metric_equals_the_compiled_one(device, dtype, tolerance):
    M, omega = random_metric(MESH.n_faces)
    metric = finsler.RandersMetric(MESH, M.numpy(), omega.numpy(), basis=FRAMES.basis)
    expected = finsler.laplacian(MESH, metric.diffusivity()).stiffness.data
    geometry = GEOMETRY.to(device, dtype)
    diffusivity = randers_diffusivity(*(t.to(device, dtype)[None] for t in (M, omega)))
    found = assemble_torch(geometry, diffusivity)
    assert found.dtype == dtype and found.device.type == device
    assert close(found[0], expected, tolerance)


def test_only_the_symmetric_part_of_a_tensor_counts():
    M, omega = random_metric(MESH.n_faces)
    skew = torch.tensor([[0.0, 0.3], [-0.3, 0.0]], dtype=torch.float64)
    expected = randers_diffusivity(M, omega)
    assert torch.allclose(randers_diffusivity(M + skew, omega), expected, rtol=1e-14)
    found = assemble_torch(GEOMETRY, (expected + skew)[None])
    assert close(found, assemble_torch(GEOMETRY, expected[None]), 1e-14)


@pytest.mark.parametrize("normalization", RESCALINGS)
def test_from_metrics_at_all_angles_to_rescaled_operators(normalization):
    _, tau = varying_tau()
    stack = finsler.angle_stack(MESH, tau=tau, frames=FRAMES)
    M, omega = paper_metric(stack.theta, tau)
    stiffness = assemble_torch(GEOMETRY, randers_diffusivity(M, omega))
    assert close(stiffness, stack.values, 1e-12)
    still = assemble_torch(GEOMETRY, randers_diffusivity(M, torch.zeros_like(omega)))
    reference = still[:, GEOMETRY.diagonal]
    expected = finsler.chebyshev_operators(stack, normalization=normalization)
    found = rescale_torch(
        GEOMETRY,
        stiffness,
        normalization=normalization,
        lambda_max=torch.tensor(expected.lambda_max),
        reference_diagonal=reference,
    )
    assert close(found, expected.values, 1e-10)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("normalization", RESCALINGS)
@pytest.mark.parametrize("frequency", [3, 6])
def test_strength_operators_equal_those_of_the_stack(frequency, normalization, bound, device):
    mesh = primitives.bumpy_sphere(frequency)
    frames = finsler.principal_frames(mesh)
    strength = np.random.default_rng(3).uniform(0.0, 0.95, mesh.n_faces)
    tau = tau_of_strength(mesh, strength, alpha=4.0)
    stack = finsler.angle_stack(mesh, alpha=4.0, tau=tau, angles=[0.1, 1.0, 2.5], frames=frames)
    expected = finsler.chebyshev_operators(stack, normalization=normalization, bound=bound)
    geometry = MeshGeometry.from_mesh(mesh, frames.basis, dtype=torch.float64, device=device)
    found = strength_operators(
        geometry,
        torch.tensor(strength, device=device),
        alpha=4.0,
        angles=[0.1, 1.0, 2.5],
        normalization=normalization,
        lambda_max=bound,
    )
    assert close(found, expected.values, 1e-10)


def test_spectrum_stays_in_range_on_a_mesh_with_few_distinct_eigenvalues():
    mesh = primitives.sphere(4)
    geometry = MeshGeometry.from_mesh(mesh, dtype=torch.float64)
    identity = torch.eye(2, dtype=torch.float64).expand(1, mesh.n_faces, 2, 2)
    found = rescale_torch(geometry, assemble_torch(geometry, identity))
    dense = np.zeros((mesh.n_vertices, mesh.n_vertices))
    dense[geometry.rows, geometry.indices] = found[0]
    top = np.linalg.eigvals(dense).real.max()
    assert 0.8 < top <= 1.0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_multiples_of_the_identity_end_the_lanczos_steps_early(dtype):
    geometry = GEOMETRY.to(dtype=dtype)
    stiffness = torch.zeros(1, len(geometry.indices), dtype=dtype)
    stiffness[:, geometry.diagonal] = 1.0
    values = rescale_torch(geometry, stiffness)
    assert torch.allclose(values, stiffness, rtol=0.0, atol=4 * torch.finfo(dtype).eps)


def test_no_drift_gives_the_anisotropic_stack_and_constant_drift_a_multiple():
    stack = finsler.angle_stack(MESH, tau=0.0, frames=FRAMES)
    theta, expected = stack.theta, stack.values
    still = assemble_torch(GEOMETRY, randers_diffusivity(*paper_metric(theta, 0.0)))
    assert close(still, expected, 1e-12)
    drifting = assemble_torch(GEOMETRY, randers_diffusivity(*paper_metric(theta, 2.0)))
    assert close(drifting, expected / (1.0 - 4.0 / 11.0), 1e-12)
    assert close(rescale_torch(GEOMETRY, drifting), rescale_torch(GEOMETRY, still), 1e-12)


def test_constant_strength_shows_only_where_the_bound_is_given():
    weak, strong = (torch.full((MESH.n_faces,), s, dtype=torch.float64) for s in (0.0, 0.8))
    for normalization in RESCALINGS:
        first, second = (
            strength_operators(GEOMETRY, s, normalization=normalization) for s in (weak, strong)
        )
        assert close(second, first, 1e-12), normalization
    values = [strength_operators(GEOMETRY, s, lambda_max=3.0) for s in (weak, strong)]
    unit = torch.zeros_like(values[0])
    unit[:, GEOMETRY.diagonal] = 1.0
    assert close(values[1] + unit, (values[0] + unit) / 0.36, 1e-12)


def test_gradients_of_diffusivity_and_assembly():
    m = len(TINY.areas)
    M, omega = (t.requires_grad_() for t in random_metric(m, leading=(2,)))
    assert torch.autograd.gradcheck(randers_diffusivity, (M, omega))
    diffusivity = randers_diffusivity(M, omega).detach().requires_grad_()
    assert torch.autograd.gradcheck(lambda D: assemble_torch(TINY, D), (diffusivity,))


@pytest.mark.parametrize("bound", [*BOUNDS, 3.0])
@pytest.mark.parametrize("normalization", RESCALINGS)
def test_gradients_reach_the_metric_through_the_rescaling(normalization, bound):
    def operators(M, omega):
        still = assemble_torch(TINY, randers_diffusivity(M, torch.zeros_like(omega)))
        return rescale_torch(
            TINY,
            assemble_torch(TINY, randers_diffusivity(M, omega)),
            normalization=normalization,
            lambda_max=bound,
            reference_diagonal=still[:, TINY.diagonal],
        )

    M, omega = (t.requires_grad_() for t in random_metric(len(TINY.areas), leading=(2,)))
    assert torch.autograd.gradcheck(operators, (M, omega))


@pytest.mark.parametrize("bound", [*BOUNDS, 3.0])
@pytest.mark.parametrize("normalization", RESCALINGS)
def test_gradients_reach_the_strength(normalization, bound):
    def operators(strength):
        return strength_operators(
            TINY, strength, angles=3, normalization=normalization, lambda_max=bound
        )

    strength = torch.linspace(0.1, 0.9, len(TINY.areas), dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(operators, (strength,))


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("normalization", RESCALINGS)
def test_gradient_vanishes_along_a_common_factor(normalization, bound):
    """A factor of the stiffness cancels against λ_max, for Lanczos steps too."""
    stack = finsler.angle_stack(MESH, tau=varying_tau()[1], angles=2, frames=FRAMES)
    stiffness = torch.tensor(stack.values, requires_grad=True)
    values = rescale_torch(
        GEOMETRY,
        stiffness,
        normalization=normalization,
        lambda_max=bound,
        reference_diagonal=torch.tensor(stack.reference_diagonal),
    )
    (values**3).sum().backward()
    along = (stiffness.grad * stiffness.detach()).sum(dim=1).abs()
    assert (along < 1e-10 * (stiffness.grad * stiffness.detach()).abs().sum(dim=1)).all()


def test_a_hidden_strength_is_found_from_operators():
    mesh = primitives.bumpy_sphere(2)
    frames = finsler.principal_frames(mesh)
    geometry = MeshGeometry.from_mesh(mesh, frames.basis, dtype=torch.float64)
    x, _, z = torch.tensor(mesh.vertices[mesh.faces].mean(axis=1)).unbind(1)
    hidden = 0.5 + 0.3 * torch.sin(2.0 * x + z)

    def operators(strength):
        return strength_operators(geometry, strength, angles=4, lambda_max=3.0)

    target = operators(hidden)
    free = torch.zeros(mesh.n_faces, dtype=torch.float64, requires_grad=True)
    search = torch.optim.LBFGS(
        [free],
        max_iter=150,
        history_size=50,
        tolerance_grad=1e-11,
        tolerance_change=0.0,
        line_search_fn="strong_wolfe",
    )

    def misfit():
        search.zero_grad()
        loss = (operators(free.sigmoid()) - target).square().sum()
        loss.backward()
        return loss

    assert (free.sigmoid() - hidden).abs().max() > 0.29
    search.step(misfit)
    assert (free.sigmoid() - hidden).abs().max() < 1e-3


def test_bad_metrics_are_refused_and_the_face_named():
    M, omega = random_metric(5, leading=(3,))
    omega[1, 3] *= 1.01 / (omega[1, 3] @ torch.linalg.solve(M[1, 3], omega[1, 3])).sqrt()
    with pytest.raises(finsler.InputError, match=r"face 3 has .* = 1\.0201; it must be below 1"):
        randers_diffusivity(M, omega)
    M[2, 4] = torch.tensor([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(finsler.InputError, match=r"M of face 4 is not positive definite \(1 such"):
        randers_diffusivity(M, omega)
    M[2, 4] = torch.nan
    with pytest.raises(finsler.InputError, match="M of face 4 is not positive definite"):
        randers_diffusivity(M, omega)
    for bad in (omega[:, :4], omega[..., :1]):
        with pytest.raises(finsler.InputError, match=r"omega \(\.\.\., m, 2\) for m faces"):
            randers_diffusivity(M, bad)
    with pytest.raises(finsler.InputError, match="for m faces"):
        randers_diffusivity(M[0, 0], omega[0, 0])


def test_bad_stiffness_and_options_are_refused():
    m, n, nnz = len(TINY.areas), len(TINY.mass), len(TINY.indices)
    with pytest.raises(finsler.InputError, match=rf"\(a, {m}, 2, 2\)"):
        assemble_torch(TINY, torch.ones(m, 2, 2))
    stiffness = assemble_torch(TINY, torch.eye(2, dtype=torch.float64).expand(2, m, 2, 2))
    with pytest.raises(finsler.InputError, match=rf"stiffness must have shape \(a, {nnz}\)"):
        rescale_torch(TINY, stiffness[0])
    with pytest.raises(finsler.InputError, match='"reference" needs reference_diagonal of shape'):
        rescale_torch(TINY, stiffness, normalization="reference")
    with pytest.raises(finsler.InputError, match="not 'none'"):
        rescale_torch(TINY, stiffness, normalization="none")
    with pytest.raises(finsler.InputError, match="not 'exact'"):
        rescale_torch(TINY, stiffness, lambda_max="exact")
    for bad in (0.0, torch.ones(3), torch.tensor([1.0, torch.nan])):
        with pytest.raises(finsler.InputError, match="one for each of the 2 operators"):
            rescale_torch(TINY, stiffness, lambda_max=bad)
    negative = torch.ones(2, n, dtype=torch.float64)
    negative[1, 5] = 0.0
    with pytest.raises(finsler.InputError, match="at vertex 5 is not positive"):
        rescale_torch(TINY, stiffness, normalization="reference", reference_diagonal=negative)


def test_bad_strengths_and_angles_are_refused():
    strength = torch.zeros(len(TINY.areas), dtype=torch.float64)
    with pytest.raises(finsler.InputError, match="one number a face"):
        strength_operators(TINY, strength[1:])
    with pytest.raises(finsler.InputError, match="alpha is -1"):
        strength_operators(TINY, strength, alpha=-1.0)
    with pytest.raises(finsler.InputError, match="angles must be at least 1, not 0"):
        strength_operators(TINY, strength, angles=0)
    for angles in ([], [0.0, float("inf")]):
        with pytest.raises(finsler.InputError, match="angles must be a count"):
            strength_operators(TINY, strength, angles=angles)
    strength[2] = 1.0
    with pytest.raises(finsler.InputError, match="face 2 has"):
        strength_operators(TINY, strength)


GUIDE = Path(__file__).parents[2] / "docs/learned_metrics.md"


def test_the_guide_runs():
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), flags=re.DOTALL)
    namespace = {}
    for block in blocks:
        exec(block, namespace)
    assert namespace["after"] < 0.1 * namespace["before"]
