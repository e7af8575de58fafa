"""The one assembly behind every operator: W_ij = Σ_faces area ∇φ_iᵀ D ∇φ_j."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from finsler.errors import InputError
from finsler.mesh.health import warn_of
from finsler.mesh.measures import NEEDLE, TangentBasis, require_usable_faces
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray


@dataclass(frozen=True, eq=False)
class Assembly:
    """Stiffness values of several tensors on one sparsity pattern.

    Attributes
    ----------
    indptr, indices : (n + 1,), (nnz,) int32
        Compressed rows; a vertex and its neighbours, columns sorted. Zero weights stay stored.
    diagonal : (n,)
        Where in a row of values the diagonal entries are.
    values : (t, nnz)
        One stiffness matrix a row: symmetric, rows summing to zero.
    mass : (n,)
        Lumped mass, one third of the area of the incident faces.
    """

    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    diagonal: NDArray[np.int32]
    values: FloatArray
    mass: FloatArray


def assemble(
    mesh: TriMesh,
    basis: TangentBasis,
    tensors: FloatArray,
    weights: FloatArray | None = None,
) -> Assembly:
    """Assemble −div(w D ∇·) for t tensor fields D at once.

    Parameters
    ----------
    mesh : TriMesh
    basis : TangentBasis
        Orthonormal, right-handed, one a face.
    tensors : (m, t, 3) or (1, t, 3)
        D₁₁, D₁₂, D₂₂ in that basis; they act on gradients. One entry means the same for all faces.
    weights : (m,), optional
        A factor w for the tensors of each face.

    Raises
    ------
    InputError
        A face has no area or a vertex no face.

    Warns
    -----
    MeshWarning
        Needles, repeated faces, edges with more than two faces, vertices that join separate fans:
        the assembly is what the formula says, summed over whatever faces there are.
    """
    from finsler.operator import _compiled

    if max(3 * mesh.n_faces, mesh.n_vertices) * 3 >= 2**31:
        raise InputError(f"a mesh of {mesh.n_faces} faces is too large for 32-bit indices")
    weights = np.ones(mesh.n_faces) if weights is None else np.ascontiguousarray(weights)
    sides, areas, bad, thin = _compiled.edge_weights(
        mesh.vertices, mesh.faces, basis.first, basis.second, tensors, weights, NEEDLE
    )
    start, corner = _compiled.corners_by_vertex(mesh.faces, mesh.n_vertices)
    if bad >= 0 or (np.diff(start) == 0).any():
        require_usable_faces(mesh)
        raise InputError(f"the basis of face {bad} is not a right-handed tangent basis")
    crowded, several, repeats = _compiled.defects(mesh.faces, start, corner)
    warn_of(
        {
            "needle_faces": thin,
            "duplicate_faces": repeats,
            "nonmanifold_edges": crowded,
            "nonmanifold_vertices": several,
        }
    )
    indptr, indices, diagonal = _compiled.pattern(mesh.faces, start, corner)
    values = _compiled.gather(mesh.faces, start, corner, indptr, indices, diagonal, sides)
    mass = np.bincount(mesh.faces.ravel(), np.repeat(areas / 3.0, 3), mesh.n_vertices)
    return Assembly(indptr, indices, diagonal, values, np.asarray(mass, dtype=np.float64))


def assemble_skew(mesh: TriMesh, assembly: Assembly, slopes: FloatArray) -> FloatArray:
    """Values (t, nnz) of C_ij = Σ_faces s_j − s_i on the pattern of an assembly of the same mesh.

    With slopes s_c = area/6 ⟨v, ∇φ_c⟩, (m, 3, t), this is ½ ∫ (φ_i ⟨v, ∇φ_j⟩ − φ_j ⟨v, ∇φ_i⟩).
    """
    from finsler.operator import _compiled

    start, corner = _compiled.corners_by_vertex(mesh.faces, mesh.n_vertices)
    made = _compiled.gather_skew(
        mesh.faces, start, corner, assembly.indptr, assembly.indices, slopes
    )
    return np.asarray(made)
