"""The VTK renderer: same surfaces, same view, same light, drawn by OpenGL into memory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finsler.view.scene import AMBIENT, DIFFUSE, SHEEN, SHEEN_POWER, Surface, View

WINDOW_VARIABLE = "VTK_DEFAULT_OPENGL_WINDOW"


def draw_offscreen(
    surfaces: Sequence[Surface], view: View, window: str | None
) -> NDArray[np.uint8]:
    """Draw surfaces on white, (height, width, 3).

    `window` is the VTK window class that the probe found to work, None for VTK's own choice.
    Call it only after [`vtk_window`][finsler.view.renderer.vtk_window]: without an OpenGL library
    VTK kills the process.
    """
    import pyvista as pv

    _load_before_opengl()
    with _window_class(window):
        plotter: Any = pv.Plotter(
            off_screen=True, window_size=[view.width, view.height], lighting="none"
        )
        try:
            # The caller averages several pixels into one; OpenGL need not do it as well.
            plotter.render_window.SetMultiSamples(0)
            plotter.background_color = "white"
            for surface in surfaces:
                _add(plotter, surface)
            _aim(plotter, view)
            image = plotter.screenshot(None, return_img=True)
        finally:
            plotter.close()
    return np.array(image, dtype=np.uint8)[..., :3]


def _add(plotter: Any, surface: Surface) -> None:
    import pyvista as pv
    from matplotlib.colors import ListedColormap

    points = surface.corners.reshape(-1, 3)
    cells = np.column_stack(
        [np.full(len(surface.corners), 3), np.arange(len(points)).reshape(-1, 3)]
    )
    data: Any = pv.PolyData(points, cells)
    data.point_data.active_normals = surface.normals.reshape(-1, 3).astype(np.float32)
    options: dict[str, Any] = {
        "smooth_shading": True,
        "ambient": AMBIENT,
        "diffuse": DIFFUSE,
        "specular": SHEEN,
        "specular_power": SHEEN_POWER,
        "show_scalar_bar": False,
    }
    if surface.colors is not None:
        data.point_data["color"] = np.rint(255 * surface.colors.reshape(-1, 3)).astype(np.uint8)
        options |= {"scalars": "color", "rgb": True}
    elif surface.levels is None or surface.table is None:
        options["color"] = surface.color
    else:
        data.point_data["level"] = surface.levels.ravel()
        options["scalars"] = "level"
        options["clim"] = (0.0, 1.0)
        options["cmap"] = ListedColormap(surface.table.tolist())
        options["n_colors"] = len(surface.table)
        options["interpolate_before_map"] = True
    actor = plotter.add_mesh(data, **options)
    actor.prop.specular_color = "white"


def _aim(plotter: Any, view: View) -> None:
    import pyvista as pv

    # VTK computes the sheen as if the eye were near, whatever the projection; so it stands far.
    distance = 100 * view.radius
    eye = view.center + distance * view.axes[2]
    lamp = view.center + distance * view.light
    light = pv.Light(position=tuple(lamp), focal_point=tuple(view.center), light_type="scene light")
    light.positional = False
    plotter.add_light(light)
    plotter.camera_position = [tuple(eye), tuple(view.center), tuple(view.axes[1])]
    camera = plotter.camera
    camera.parallel_projection = True
    camera.parallel_scale = 0.5 * view.height * view.scale
    plotter.renderer.reset_camera_clipping_range()


def _load_before_opengl() -> None:
    """Load triton, which torch loads later: after the LLVM of a software OpenGL it crashes."""
    if find_spec("triton"):
        with suppress(ImportError):
            import_module("triton._C.libtriton")


@contextmanager
def _window_class(window: str | None) -> Iterator[None]:
    """Ask VTK for a window class, and leave the environment as it was."""
    before = os.environ.get(WINDOW_VARIABLE)
    if window is not None:
        os.environ[WINDOW_VARIABLE] = window
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(WINDOW_VARIABLE, None)
        else:
            os.environ[WINDOW_VARIABLE] = before
