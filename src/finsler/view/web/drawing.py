"""A panel as a binary glTF file whose texture is the panel's table of colours."""

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


def colors_and_levels(panel: Panel) -> tuple[FloatArray, FloatArray]:
    """Rows of colours (k, 3) in 0..1 and, for each vertex, where it lies among them, 0..1.

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
    table, levels = colors_and_levels(panel)
    image = Image.fromarray(np.round(255 * table[None]).astype(np.uint8))
    paint = library.visual.material.PBRMaterial(
        baseColorTexture=image, metallicFactor=0.0, roughnessFactor=0.9, doubleSided=True
    )
    uv = np.stack([levels, np.full_like(levels, 0.5)], axis=1)
    visual = library.visual.TextureVisuals(uv=uv, material=paint)
    # Normals of the vertices make the light smooth.
    surface = library.Trimesh(
        vertices,
        panel.mesh.faces,
        vertex_normals=vertex_normals(TriMesh(vertices, panel.mesh.faces)),
        visual=visual,
        process=False,
    )
    content = library.exchange.gltf.export_glb(
        library.Scene(surface), include_normals=True, tree_postprocessor=_with_sampler
    )
    return bytes(content)


def _with_sampler(tree: dict[str, Any]) -> None:
    tree["samplers"] = [_SAMPLER]
    for texture in tree["textures"]:
        texture["sampler"] = 0
