"""Which renderer draws: VTK where it demonstrably works, numpy otherwise."""

from __future__ import annotations

import functools
import importlib.util
import os
import subprocess
import sys
import warnings
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from finsler.errors import InputError
from finsler.view.colors import color_table
from finsler.view.offscreen import WINDOW_VARIABLE, draw_offscreen
from finsler.view.panel import Camera, Panel, resolve_colors
from finsler.view.raster import rasterize
from finsler.view.scene import scene_of, view_of

RENDERER_VARIABLE = "FINSLER_RENDERER"
RendererName = Literal["vtk", "matplotlib"]

# Pictures are drawn this many times larger in each direction and averaged: smooth outlines.
_OVERSAMPLING = 3

_PROBE_SECONDS = 60.0

# A red square must appear in the middle of a white picture.
_PROBE = """
import pyvista
plotter = pyvista.Plotter(off_screen=True, window_size=[64, 64])
plotter.set_background("white")
plotter.add_mesh(pyvista.Plane(), color="red", lighting=False)
plotter.view_xy()
image = plotter.screenshot(None, return_img=True)
plotter.close()
red, green = (int(c) for c in image[32, 32, :2])
raise SystemExit(0 if red > 200 and green < 50 else 1)
"""

_NO_PYVISTA = "pyvista is not installed (pip install 'finsler[view]')"
_NO_OPENGL = (
    "VTK finds no working OpenGL library (on Debian or Ubuntu: apt install libegl1 libgl1 libx11-6)"
)


class RendererWarning(UserWarning):
    """Pictures are drawn by the simple renderer; the message says what to install."""


def renderer_name() -> RendererName:
    """The renderer in use: "vtk" (OpenGL) or "matplotlib" (a numpy rasteriser and matplotlib).

    The environment variable FINSLER_RENDERER forces one. Otherwise VTK is tried once per process,
    in a process of its own, since it crashes where there is no OpenGL library; should it fail, one
    `RendererWarning` says why.

    Raises
    ------
    InputError
        matplotlib, which both need, is not installed; FINSLER_RENDERER has another value, or forces
        VTK where it does not work.
    """
    require_matplotlib()
    forced = os.environ.get(RENDERER_VARIABLE, "")
    if forced == "":
        return _automatic()
    if forced == "matplotlib":
        return "matplotlib"
    if forced == "vtk":
        problem = _vtk_problem()
        if problem is not None:
            raise InputError(f"{RENDERER_VARIABLE}=vtk cannot be obeyed: {problem}")
        return "vtk"
    raise InputError(f"{RENDERER_VARIABLE} is {forced!r}; it must be vtk or matplotlib, or unset")


def render_panel(
    panel: Panel,
    *,
    camera: Camera | None = None,
    size: tuple[int, int] = (400, 400),
    renderer: RendererName | None = None,
) -> NDArray[np.uint8]:
    """Picture of one panel without title or colour bar, on white, (height, width, 3), RGB.

    Parameters
    ----------
    panel : Panel
    camera : Camera, optional
    size : (width, height)
        In pixels.
    renderer : "vtk" or "matplotlib", optional
        By default [`renderer_name`][finsler.view.renderer_name] chooses.

    Raises
    ------
    InputError
        The size is not positive, the colour map unknown, or the renderer does not work here.
    """
    width, height = size
    if width < 1 or height < 1:
        raise InputError(f"the size of a picture is {size}; both numbers must be positive")
    if renderer not in (None, "vtk", "matplotlib"):
        raise InputError(f"renderer is {renderer!r}; it must be vtk or matplotlib")
    name = renderer or renderer_name()
    if name == "vtk" and (problem := _vtk_problem()) is not None:
        raise InputError(f"the renderer vtk does not work here: {problem}")
    k = _OVERSAMPLING
    view = view_of(panel.mesh, camera or Camera(), k * width, k * height)
    [resolved] = resolve_colors([panel])
    scene = scene_of(resolved, view, color_table(resolved))
    large = draw_offscreen(scene, view, vtk_window()) if name == "vtk" else rasterize(scene, view)
    mean = large.reshape(height, k, width, k, 3).mean(axis=(1, 3), dtype=np.float32)
    return np.asarray(np.rint(mean), dtype=np.uint8)


@functools.cache
def vtk_window() -> str | None:
    """The VTK window class that works here, None for VTK's own choice.

    Raises
    ------
    InputError
        None works: every attempt crashed, drew nothing or took too long.
    """
    for window in _window_candidates():
        if _probe_succeeds(window):
            return window
    raise InputError(_NO_OPENGL)


def _window_candidates() -> list[str | None]:
    """Most likely first. Without a display, VTK's own choice on Linux would try X11."""
    if not sys.platform.startswith("linux") or os.environ.get(WINDOW_VARIABLE):
        return [None]
    headless: list[str | None] = ["vtkEGLRenderWindow", "vtkOSOpenGLRenderWindow"]
    return [None, *headless] if os.environ.get("DISPLAY") else [*headless, None]


def _probe_succeeds(window: str | None) -> bool:
    environment = dict(os.environ)
    if window is not None:
        environment[WINDOW_VARIABLE] = window
    try:
        done = subprocess.run(
            [sys.executable, "-c", _PROBE],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


@functools.cache
def _vtk_problem() -> str | None:
    """Why VTK cannot draw here, None when it can."""
    if not _installed("pyvista"):
        return _NO_PYVISTA
    try:
        vtk_window()
    except InputError as error:
        return str(error)
    return None


@functools.cache
def _automatic() -> RendererName:
    problem = _vtk_problem()
    if problem is None:
        return "vtk"
    warnings.warn(
        f"{problem}; pictures are drawn by the slower built-in renderer"
        f" ({RENDERER_VARIABLE}=matplotlib accepts it without this message)",
        RendererWarning,
        stacklevel=2,
    )
    return "matplotlib"


def require_matplotlib() -> None:
    """Raise where matplotlib, which lays out every figure, is missing."""
    if not _installed("matplotlib"):
        raise InputError(
            "matplotlib is not installed; pictures need it: pip install 'finsler[view]'"
        )


def _installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None
