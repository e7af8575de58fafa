"""One mesh in all the forms in which functions take it."""

from types import SimpleNamespace

import pytest

import finsler

KINDS = ["trimesh", "pair", "lists", "path", "text", "scene", "mesh", "pyvista", "strips"]
KINDS += ["open3d", "open3d_tensor", "torch_geometric", "tensors"]


class Vector(list):
    """Open3D's vectors are sequences that numpy reads, not arrays."""


def given_as(kind, mesh, folder):
    """The same mesh as another library holds it; stand-ins where that is not installed."""
    v, f = mesh.vertices, mesh.faces
    if kind in ("path", "text"):
        path = folder / "mesh.obj"
        finsler.write_mesh(path, mesh)
        return path if kind == "path" else str(path)
    if kind in ("tensors", "torch_geometric"):
        torch = pytest.importorskip("torch")
        v = torch.tensor(v, requires_grad=True)
        if kind == "tensors":
            return v, torch.tensor(f)
        return SimpleNamespace(pos=v, face=torch.tensor(f).T.contiguous(), edge_index=None)
    if kind in ("pyvista", "strips"):
        pytest.importorskip("pyvista")
        cut = mesh.to_pyvista()
        return cut.strip() if kind == "strips" else cut
    tensor = SimpleNamespace
    return {
        "mesh": lambda: mesh,
        "pair": lambda: (v, f),
        "lists": lambda: [v.tolist(), f.tolist()],
        "trimesh": mesh.to_trimesh,
        "scene": lambda: mesh.to_trimesh().scene(),
        "open3d": lambda: SimpleNamespace(vertices=Vector(v), triangles=Vector(f)),
        "open3d_tensor": lambda: SimpleNamespace(
            vertex=tensor(positions=v), triangle=tensor(indices=f)
        ),
    }[kind]()
