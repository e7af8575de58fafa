"""Triangle meshes: the data type, files, measures, topology, health and repair."""

from finsler.mesh import primitives
from finsler.mesh.conversion import as_mesh
from finsler.mesh.crossings import crossing_faces
from finsler.mesh.filling import Filling, fill_holes
from finsler.mesh.health import MeshHealth, MeshWarning, health
from finsler.mesh.io import load_mesh, write_mesh
from finsler.mesh.measures import (
    TangentBasis,
    degenerate_faces,
    edge_lengths,
    face_areas,
    face_basis,
    face_cross,
    face_normals,
    hat_gradients,
    needle_faces,
    require_usable_faces,
    signed_volume,
    surface_area,
    vertex_areas,
    vertex_normals,
)
from finsler.mesh.repair import Repair, duplicate_faces, repair
from finsler.mesh.topology import (
    Edges,
    Orientation,
    boundary_loops,
    component_volumes,
    corner_fans,
    edges,
    euler_number,
    inconsistent_edges,
    nonmanifold_edges,
    nonmanifold_vertices,
    orientation,
    referenced_vertices,
    vertex_components,
)
from finsler.mesh.trimesh import TriMesh

__all__ = [
    "Edges",
    "Filling",
    "MeshHealth",
    "MeshWarning",
    "Orientation",
    "Repair",
    "TangentBasis",
    "TriMesh",
    "as_mesh",
    "boundary_loops",
    "component_volumes",
    "corner_fans",
    "crossing_faces",
    "degenerate_faces",
    "duplicate_faces",
    "edge_lengths",
    "edges",
    "euler_number",
    "face_areas",
    "face_basis",
    "face_cross",
    "face_normals",
    "fill_holes",
    "hat_gradients",
    "health",
    "inconsistent_edges",
    "load_mesh",
    "needle_faces",
    "nonmanifold_edges",
    "nonmanifold_vertices",
    "orientation",
    "primitives",
    "referenced_vertices",
    "repair",
    "require_usable_faces",
    "signed_volume",
    "surface_area",
    "vertex_areas",
    "vertex_components",
    "vertex_normals",
    "write_mesh",
]
