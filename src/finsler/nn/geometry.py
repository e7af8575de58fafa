"""What a differentiable assembly needs of a mesh."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import torch
from torch import Tensor

from finsler.mesh.arguments import takes_meshes
from finsler.mesh.measures import TangentBasis, face_areas, face_basis, hat_gradients
from finsler.mesh.summary import one_line
from finsler.mesh.trimesh import TriMesh
from finsler.operator.stiffness import assemble


@one_line("areas", "mass")
@dataclass(frozen=True, eq=False)
class MeshGeometry:
    """What the assembly needs of a mesh, as tensors.

    Attributes
    ----------
    indptr, indices : (n + 1,), (nnz,) int32
        Pattern of every operator: compressed rows with sorted columns.
    rows : (nnz,) int64
        Row of each entry.
    diagonal : (n,) int64
        Where the diagonal entries are.
    entry_indices : (m, 3, 3) int64
        Where the entry of two corners of a face is.
    gradients : (m, 3, 2)
        Gradients of the hat functions of the corners, in the tangent basis of the face.
    areas : (m,)
    mass : (n,)
        Lumped mass, one third of the area of the incident faces.
    """

    indptr: Tensor
    indices: Tensor
    rows: Tensor
    diagonal: Tensor
    entry_indices: Tensor
    gradients: Tensor
    areas: Tensor
    mass: Tensor

    @classmethod
    @takes_meshes
    def from_mesh(
        cls,
        mesh: TriMesh,
        basis: TangentBasis | None = None,
        *,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> MeshGeometry:
        """Geometry of a mesh whose tangent tensors are written in `basis`.

        By default that of [`face_basis`][finsler.mesh.measures.face_basis]; give `frames.basis` to
        write them in the frame (û_M, û_m).

        Raises
        ------
        InputError
            A face has no area or a vertex no face.
        """
        basis = face_basis(mesh) if basis is None else basis
        pattern = assemble(mesh, basis, np.array([[[1.0, 0.0, 1.0]]]))
        n = mesh.n_vertices
        rows = np.repeat(np.arange(n), np.diff(pattern.indptr))
        pairs = mesh.faces[:, :, None] * n + mesh.faces[:, None, :]
        axes = np.stack([basis.first, basis.second], axis=1)
        geometry = cls(
            indptr=torch.from_numpy(pattern.indptr),
            indices=torch.from_numpy(pattern.indices),
            rows=torch.from_numpy(rows),
            diagonal=torch.from_numpy(pattern.diagonal).long(),
            entry_indices=torch.from_numpy(np.searchsorted(rows * n + pattern.indices, pairs)),
            gradients=torch.from_numpy(np.einsum("fci,fxi->fcx", hat_gradients(mesh), axes)),
            areas=torch.from_numpy(face_areas(mesh)),
            mass=torch.from_numpy(pattern.mass),
        )
        return geometry.to(device, dtype)

    def to(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> MeshGeometry:
        """The same on another device, or with its real numbers in another type."""
        tensors = {field.name: getattr(self, field.name) for field in fields(self)}
        return MeshGeometry(
            **{
                name: tensor.to(device=device, dtype=dtype if tensor.is_floating_point() else None)
                for name, tensor in tensors.items()
            }
        )
