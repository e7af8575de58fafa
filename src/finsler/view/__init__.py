"""Pictures: meshes coloured by functions, with arrows, paths and markers; spectra; animations.

Importing this package does not load matplotlib; drawing does (`pip install finsler[view]`).
"""

from finsler.view.animation import save_animation
from finsler.view.curves import plot_error_curves, plot_spectrum
from finsler.view.figures import save_figure
from finsler.view.notebook import Viewer, show
from finsler.view.panel import Camera, Panel
from finsler.view.renderer import render_panel
from finsler.view.surfaces import (
    figure_correspondence,
    figure_distances,
    figure_eigenfunctions,
    figure_heat,
    figure_kernels,
)
from finsler.view.upright import Viewpoint

__all__ = [
    "Camera",
    "Panel",
    "Viewer",
    "Viewpoint",
    "figure_correspondence",
    "figure_distances",
    "figure_eigenfunctions",
    "figure_heat",
    "figure_kernels",
    "plot_error_curves",
    "plot_spectrum",
    "render_panel",
    "save_animation",
    "save_figure",
    "show",
]
