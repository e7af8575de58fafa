"""Directed operators with gradients: the scalar behind the field, p and α can be learned.

The numbers are those of `finsler.oriented_field`, `finsler.directed_stack` and
`finsler.chebyshev_operators`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from finsler.errors import InputError
from finsler.frames.oriented import conormals
from finsler.mesh.arguments import takes_meshes
from finsler.mesh.measures import TangentBasis, face_basis
from finsler.mesh.summary import one_line
from finsler.mesh.topology import edges
from finsler.mesh.trimesh import TriMesh
from finsler.nn.assembly import assemble_torch, rescale_torch
from finsler.nn.geometry import MeshGeometry
from finsler.operator.angles import angles_of


@one_line("faces")
@dataclass(frozen=True, eq=False)
class FieldGeometry:
    """What an oriented field needs of a mesh, as tensors.

    Attributes
    ----------
    faces : (m, 3) int64
    conormals : (m, 3, 2)
        Outer unit normals of the sides, in the tangent basis of the face.
    pairs : (p, 2) int64
        The two sides 3 f + c that lie on each inner edge.
    """

    faces: Tensor
    conormals: Tensor
    pairs: Tensor

    @classmethod
    @takes_meshes
    def from_mesh(
        cls, mesh: TriMesh, basis: TangentBasis | None = None, *, dtype: torch.dtype = torch.float32
    ) -> FieldGeometry:
        """Of a mesh; the basis is that of its `MeshGeometry`."""
        basis = face_basis(mesh) if basis is None else basis
        axes = np.stack([basis.first, basis.second], axis=1)
        outward = np.einsum("fsi,fxi->fsx", conormals(mesh), axes)
        return cls(
            torch.from_numpy(mesh.faces.copy()),
            torch.from_numpy(outward).to(dtype),
            torch.from_numpy(edges(mesh).pairs),
        )


def oriented_field_torch(geometry: MeshGeometry, sides: FieldGeometry, scalar: Tensor) -> Tensor:
    """e = ∇f/√(‖∇f‖² + δ²) of a scalar f (n,), (m, 2) in the tangent basis of `geometry`.

    The field of [`oriented_field`][finsler.oriented_field]; e = 0 where f is constant.
    """
    if scalar.shape != geometry.mass.shape:
        raise InputError(
            f"scalar must be one number a vertex ({len(geometry.mass)}), not {tuple(scalar.shape)}"
        )
    gradient = torch.einsum("fc,fcx->fx", scalar[sides.faces], geometry.gradients)
    flux = torch.einsum("fsx,fx->fs", sides.conormals, gradient).flatten()
    first, second = sides.pairs.T
    jump = flux[first] + flux[second]
    error = torch.zeros_like(flux).index_add(0, sides.pairs.T.flatten(), jump.square().repeat(2))
    squared = gradient.square().sum(1) + error.reshape(-1, 3).mean(1)
    # The root has no slope at 0, where the gradient vanishes too.
    size = torch.where(squared > 0.0, squared, 1.0).sqrt()
    return gradient / size[:, None]


def directed_operators(
    geometry: MeshGeometry,
    field: Tensor,
    *,
    peclet: float | Tensor = 0.3,
    alpha: float | Tensor = 0.0,
    directions: int | Sequence[float] = 8,
    normalization: str = "acscnn",
    lambda_max: str | float | Tensor = "lanczos",
) -> Tensor:
    """Values (a, nnz) of L̂ for the directions b_k = R_{θ_k} e of a field e, (m, 2).

    Parameters
    ----------
    geometry : MeshGeometry
    field : (m, 2)
        At most of length 1, in the tangent basis of `geometry`.
    peclet, alpha : number or (a,)
        p and α, one for all directions or one each.
    directions : int or sequence
        So many evenly spaced in [0, 2π), or angles in radians.
    normalization, lambda_max
        As for [`rescale_torch`][finsler.nn.assembly.rescale_torch].

    Raises
    ------
    InputError
        Wrong shapes.
    """
    if field.shape != (len(geometry.areas), 2):
        raise InputError(
            f"field must have shape ({len(geometry.areas)}, 2), not {tuple(field.shape)}"
        )
    theta = angles_of(directions) * (2.0 if np.ndim(directions) == 0 else 1.0)
    turn = torch.as_tensor(np.stack([np.cos(theta), np.sin(theta)], axis=1)).to(field)
    across = torch.stack([-field[:, 1], field[:, 0]], dim=1)
    b = turn[:, :1, None] * field + turn[:, 1:, None] * across
    p, a = (_each(value, len(theta), field)[:, None, None] for value in (peclet, alpha))
    side = torch.stack([-b[..., 1], b[..., 0]], dim=-1)
    outer = side[..., :, None] * side[..., None, :]
    tensor = torch.eye(2).to(field) - (a / (1.0 + a))[..., None] * outer
    # area/6 ⟨v, ∇φ⟩ with v = p b/h, h = √(2 area).
    weight = geometry.areas.sqrt() / (6.0 * 2.0**0.5)
    slopes = p * weight[:, None] * torch.einsum("afx,fcx->afc", b, geometry.gradients)
    elements = slopes[:, :, None, :] - slopes[:, :, :, None]
    drift = elements.new_zeros(len(elements), len(geometry.indices))
    return rescale_torch(
        geometry,
        assemble_torch(geometry, tensor),
        normalization=normalization,
        lambda_max=lambda_max,
        drift=drift.index_add(1, geometry.entry_indices.flatten(), elements.flatten(1)),
    )


def _each(value: float | Tensor, count: int, like: Tensor) -> Tensor:
    """A number, or one for each direction, as (count,)."""
    given = torch.as_tensor(value, dtype=like.dtype, device=like.device)
    if given.shape not in ((), (count,)):
        raise InputError(
            f"peclet and alpha must be numbers or one for each of the {count} directions, not"
            f" {tuple(given.shape)}"
        )
    return given.expand(count)
