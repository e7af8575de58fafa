"""Partial shapes with ground truth.

A part of a shape keeps the ground truth: `vertex_map` gives the vertex of the full mesh for each
of its own. Cuts keep one side of a random plane, holes remove discs, until the given share of
the area is left. The same seed gives the same part. Inside, where no face is missing, operators
are not affected: the rows of the Laplacian are those of the full mesh.
"""

import numpy as np

import finsler
from finsler.data import cut, holes, make_creature
from finsler.view import Camera, Panel, save_figure

mesh = make_creature("humanoid", vertices=1500, seed=0).mesh
full = finsler.lbo(mesh)
panels = [Panel(mesh, mesh.vertices[:, 1], "full")]
for title, part in (
    ("cut, 60%", cut(mesh, share=0.6, seed=4)),
    ("holes, 70%", holes(mesh, share=0.7, seed=1)),
):
    assert np.array_equal(part.mesh.vertices, mesh.vertices[part.vertex_map])
    own, kept = finsler.lbo(part.mesh), full.mass[part.vertex_map]
    inside = np.isclose(own.mass, kept, rtol=1e-12)
    rows = own.stiffness[inside] - full.stiffness[part.vertex_map][:, part.vertex_map][inside]
    assert abs(rows).max() < 1e-10
    loops = finsler.health(part.mesh).boundary_loops
    print(f"{title}: {100 * part.share:.1f}% of the area, {loops} loops of boundary,", end=" ")
    print(f"{100 * inside.mean():.0f}% of the vertices have all their faces")
    assert abs(part.share - float(title[-3:-1]) / 100) < 0.05 and loops >= 1
    panels.append(Panel(part.mesh, mesh.vertices[part.vertex_map, 1], title))
lower, upper = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
camera = Camera(
    direction=(0.3, 0.1, 1.0),
    center=tuple(0.5 * (lower + upper)),
    radius=float(0.5 * np.linalg.norm(upper - lower)),
)
save_figure("partial_shapes.png", [panels], camera=camera, colorbars=False, panel_size=(2.2, 2.2))
