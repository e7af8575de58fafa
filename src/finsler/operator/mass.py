"""Mass matrices of the hat functions."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from finsler.mesh.arguments import checked
from finsler.mesh.measures import face_areas, require_usable_faces, vertex_areas
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray


@checked
def lumped_mass(mesh: TriMesh) -> FloatArray:
    """Diagonal of the lumped mass, (n,): one third of the area of the incident faces."""
    require_usable_faces(mesh)
    return vertex_areas(mesh)


@checked
def consistent_mass(mesh: TriMesh) -> sparse.csr_array:
    """Consistent mass ∫ φ_i φ_j, (n, n): area/6 on a face's diagonal, area/12 beside it.

    Its rows sum to the lumped mass.
    """
    require_usable_faces(mesh)
    local = (np.ones((3, 3)) + np.eye(3)) / 12.0
    values = face_areas(mesh)[:, None, None] * local
    rows = np.repeat(mesh.faces, 3, axis=1)
    columns = np.tile(mesh.faces, (1, 3))
    shape = (mesh.n_vertices, mesh.n_vertices)
    return sparse.csr_array((values.ravel(), (rows.ravel(), columns.ravel())), shape)
