"""A panel as a binary glTF file.

Scalars are drawn through a texture, the panel's table of colours; colours of the vertices as such.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from finsler.mesh.measures import vertex_normals
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray
from finsler.view.colors import GREY, color_table
from finsler.view.panel import Panel

# No blending of rows: level lines stay sharp, and the two ends do not run into each other.
_NEAREST, _CLAMP = 9728, 33071
_SAMPLER = {"magFilter": _NEAREST, "minFilter": _NEAREST, "wrapS": _CLAMP, "wrapT": _CLAMP}

_FINISH = {"metallicFactor": 0.0, "roughnessFactor": 0.9}
# The page's lamps are strong: light colours of vertices would all become white.
_SHADE = {"baseColorFactor": [0.55, 0.55, 0.55, 1.0]}


def colors_and_levels(panel: Panel) -> tuple[FloatArray, FloatArray]:
    """Of a panel without colours of its own: rows of colours (k, 3) and where vertices are, 0..1.

    Grey without scalars. As in a figure, what lies between vertices is interpolated first and
    coloured afterwards.
    """
    if panel.scalars is None or panel.clim is None:
        return np.array([GREY]), np.full(panel.mesh.n_vertices, 0.5)
    low, high = panel.clim
    return color_table(panel), np.clip((panel.scalars - low) / (high - low), 0.0, 1.0)


def as_glb(panel: Panel, vertices: FloatArray) -> bytes:
    """The mesh with its colours, at these positions (n, 3)."""
    import trimesh
    from PIL import Image

    library: Any = trimesh
    if panel.colors is None:
        table, levels = colors_and_levels(panel)
        image = Image.fromarray(np.round(255 * table[None]).astype(np.uint8))
        paint = library.visual.material.PBRMaterial(baseColorTexture=image)
        uv = np.stack([levels, np.full_like(levels, 0.5)], axis=1)
        visual = library.visual.TextureVisuals(uv=uv, material=paint)
    else:
        light = np.round(255 * _linear(panel.colors)).astype(np.uint8)
        visual = library.visual.ColorVisuals(vertex_colors=light)
    # Normals of the vertices make the light smooth.
    surface = library.Trimesh(
        vertices,
        panel.mesh.faces,
        vertex_normals=vertex_normals(TriMesh(vertices, panel.mesh.faces)),
        visual=visual,
        process=False,
    )
    content = library.exchange.gltf.export_glb(
        library.Scene(surface), include_normals=True, tree_postprocessor=_finished
    )
    return bytes(content)


def _linear(colors: FloatArray) -> FloatArray:
    """Amounts of light, as glTF wants the colours of vertices, from colours as files have them."""
    return np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)


def _finished(tree: dict[str, Any]) -> None:
    """Give every surface a dull finish, and every texture its sampler."""
    tree["samplers"] = [_SAMPLER]
    for texture in tree.get("textures", ()):
        texture["sampler"] = 0
    for material in tree.setdefault("materials", [{"pbrMetallicRoughness": _SHADE}]):
        material["pbrMetallicRoughness"] = material.get("pbrMetallicRoughness", {}) | _FINISH
        material["doubleSided"] = True
    for mesh in tree["meshes"]:
        for primitive in mesh["primitives"]:
            primitive.setdefault("material", 0)
