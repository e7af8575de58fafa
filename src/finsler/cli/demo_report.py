"""The page of `finsler demo` about one shape: its functions, eigenvalues and distances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from finsler.view.distance_fields import field_camera, field_panels

if TYPE_CHECKING:
    from finsler.analysis import Spectrum
    from finsler.analysis.distance_fields import DistanceField
    from finsler.mesh import TriMesh
    from finsler.typing import FloatArray
    from finsler.view.report import Html


def shape_blocks(
    mesh: TriMesh,
    kernels: Mapping[float, FloatArray],
    spectra: Sequence[Spectrum],
    eigenvalues: Mapping[str, FloatArray],
    fields: list[DistanceField],
    source: int,
) -> list[Html]:
    """Heat and eigenfunctions at four of the angles (by degrees), eigenvalues, distances."""
    import numpy as np

    from finsler.view import Panel
    from finsler.view.report import Curve, View, line_chart, scene, section

    hottest = max(float(kernel.max()) for kernel in kernels.values())
    views = []
    for (angle, kernel), basis in list(zip(kernels.items(), spectra, strict=True))[::2]:
        heat = Panel(mesh, kernel, cmap="OrRd", clim=(0.0, hottest), marker=source)
        waves = {f"eigenfunction {i}": Panel(mesh, basis.eigenvectors[:, i]) for i in (1, 4, 16)}
        views.append(View(f"θ = {angle:g}°", {"heat from one point": heat, **waves}))
    curves = [Curve(label, np.arange(len(v)), v) for label, v in eigenvalues.items()]
    panels = field_panels(fields)
    wind = [View(panel.title.replace("\n", ", "), {"distance": panel}) for panel in panels]
    return [
        section("One operator at several angles", scene(views)),
        section("Eigenvalues", line_chart(curves, x_label="index k", y_label="eigenvalue")),
        section(
            "Distances in a wind",
            scene(wind, camera=field_camera(fields), caption="There, back, difference."),
        ),
    ]
