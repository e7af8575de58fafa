"""One shape with its operators: heat, eigenfunctions and distances as a picture and as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from finsler.analysis.distance_fields import DistanceField
from finsler.analysis.spectrum import Spectrum
from finsler.frames import FaceFrames
from finsler.mesh.measures import surface_area
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray
from finsler.view.distance_fields import field_camera, field_panels
from finsler.view.figures import save_figure
from finsler.view.panel import Panel
from finsler.view.report.blocks import Html, section
from finsler.view.report.charts import Curve, line_chart
from finsler.view.report.scene import View, scene
from finsler.view.upright import Viewpoint


def draw_shape(
    path: Path,
    mesh: TriMesh,
    frames: FaceFrames,
    eigenvectors: FloatArray,
    kernels: Mapping[float, FloatArray],
    viewpoint: Viewpoint,
) -> None:
    """Heat at eight angles (by degrees), the principal directions, and some eigenfunctions."""
    hottest = max(float(kernel.max()) for kernel in kernels.values())
    every = slice(None, None, max(1, mesh.n_faces // 1200))
    centres = mesh.vertices[mesh.faces[every]].mean(axis=1)
    length = 0.045 * np.sqrt(surface_area(mesh))
    needles = (centres - 0.5 * length * frames.u_max[every], length * frames.u_max[every])
    top = [
        Panel(
            mesh,
            scalars=kernel,
            title=rf"heat, $\theta$ = {angle:g}°",
            cmap="OrRd",
            clim=(0.0, hottest),
            marker=viewpoint.nearest(mesh),
        )
        for angle, kernel in kernels.items()
    ]
    functions = [
        Panel(mesh, scalars=eigenvectors[:, i], title=rf"$\phi_{{{i}}}$, $\theta$ = 0°")
        for i in (1, 4, 16)
    ]
    bottom = [Panel(mesh, arrows=needles, title=r"$\hat u_M$"), *functions]
    save_figure(path, [top[:4], top[4:], bottom], camera=viewpoint.camera(mesh))


def shape_blocks(
    mesh: TriMesh,
    kernels: Mapping[float, FloatArray],
    spectra: Sequence[Spectrum],
    eigenvalues: Mapping[str, FloatArray],
    fields: list[DistanceField],
    viewpoint: Viewpoint,
) -> list[Html]:
    """Heat and eigenfunctions at four of the angles (by degrees), eigenvalues, distances."""
    hottest = max(float(kernel.max()) for kernel in kernels.values())
    source, camera = viewpoint.nearest(mesh), viewpoint.camera(mesh)
    views = []
    for (angle, kernel), basis in list(zip(kernels.items(), spectra, strict=True))[::2]:
        heat = Panel(mesh, kernel, cmap="OrRd", clim=(0.0, hottest), marker=source)
        waves = {f"eigenfunction {i}": Panel(mesh, basis.eigenvectors[:, i]) for i in (1, 4, 16)}
        views.append(View(f"θ = {angle:g}°", {"heat from one point": heat, **waves}))
    curves = [Curve(label, np.arange(len(v)), v) for label, v in eigenvalues.items()]
    panels = field_panels(fields)
    wind = [View(panel.title.replace("\n", ", "), {"distance": panel}) for panel in panels]
    return [
        section("One operator at several angles", scene(views, camera=camera)),
        section("Eigenvalues", line_chart(curves, x_label="index k", y_label="eigenvalue")),
        section(
            "Distances in a wind",
            scene(wind, camera=field_camera(fields, viewpoint), caption="There, back, difference."),
        ),
    ]
