"""Meshes to be turned with the mouse, inside a page: the arrays that its script draws."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finsler.errors import InputError
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray, IntArray
from finsler.view.colors import GREY, color_table
from finsler.view.panel import Camera, Panel, resolve_colors
from finsler.view.renderer import require_matplotlib
from finsler.view.report.blocks import Html, escaped
from finsler.view.scene import (
    AMBIENT,
    DIFFUSE,
    LAMP,
    SHEEN,
    SHEEN_POWER,
    bounding_sphere,
    projection_of,
)
from finsler.view.upright import PAGE, Stance, stance_of

_NO_SCENE = "Here a browser with scripts and WebGL 2 shows surfaces to be turned with the mouse."
_HELP = "Drag to turn, click and scroll to zoom, double-click to return, point to read a value."


@dataclass(frozen=True, eq=False)
class View:
    """One mesh of a scene with the colours to choose from.

    Parameters
    ----------
    title : str
        Above the mesh, plain text.
    fields : mapping of str to Panel
        By the name to choose it with; all panels show one mesh. Of a panel, its scalars or colours,
        their map, range, level lines and grey end, and the marker count.
    partners : (n,) integer array, optional
        For each vertex, a vertex of another view of the scene: pointing at one marks both.
    partner_view : int
        Which view the partners are in.
    stance : Stance, optional
        How the mesh stands; by default a guess. It has no effect where the scene has a camera.
    """

    title: str
    fields: Mapping[str, Panel]
    partners: IntArray | None = None
    partner_view: int = 0
    stance: Stance | None = None

    @property
    def mesh(self) -> TriMesh:
        """The mesh of all fields."""
        return next(iter(self.fields.values())).mesh


def scene(
    views: Sequence[View],
    *,
    camera: Camera | None = None,
    view: str | None = None,
    caption: str = "",
) -> Html:
    """Linked views of meshes: turning one turns all, one choice of colours serves all.

    Each mesh fills its view. A view that does not have the chosen field is grey. A mesh that
    several views show is stored once: about 25 bytes a vertex (40 beyond 65,536 of them), and 5 for
    each field.

    Parameters
    ----------
    views : sequence of View
    camera : Camera, optional
        Where one looks from at first; its direction and up count. By default every mesh stands
        upright, seen on its broad side.
    view : str, optional
        The side that is seen at first, as for [`Viewpoint`][finsler.view.Viewpoint], where there is
        no camera.
    caption : str
        Below the views.

    Raises
    ------
    InputError
        No view, a view without field or with several meshes, partners that do not fit, an unknown
        colour map, or matplotlib is not installed.
    """
    require_matplotlib()
    _check(views)
    first = {id(each.mesh): each for each in reversed(views)}
    shown = list(dict.fromkeys(id(each.mesh) for each in views))
    index = {mesh: i for i, mesh in enumerate(shown)}
    meshes = [_mesh(first[mesh].mesh, _turn(first[mesh], camera)) for mesh in shown]
    seen = camera or (Camera() if view is None else PAGE.camera(view))
    axes, up = projection_of(views[0].mesh, seen, 1, 1).axes, np.array(seen.up)
    content = {
        "axes": np.round(axes, 6).tolist(),
        "up": (up / np.linalg.norm(up)).tolist(),
        "light": {
            "lamp": LAMP,
            "weights": [AMBIENT, DIFFUSE, SHEEN, SHEEN_POWER],
            "grey": GREY,
        },
        "meshes": meshes,
        "views": [_view(each, index[id(each.mesh)]) for each in views],
    }
    # A closing tag inside a name must not end the element.
    text = json.dumps(content, allow_nan=False).replace("<", "\\u003c")
    words = f"{escaped(caption)} " if caption else ""
    return Html(
        f'<figure class="scene"><p class="missing">{_NO_SCENE}</p>\n'
        f'<script type="application/json">{text}</script>\n'
        f"<figcaption>{words}{_HELP}</figcaption></figure>"
    )


def _check(views: Sequence[View]) -> None:
    if len(views) == 0 or any(len(view.fields) == 0 for view in views):
        raise InputError("a scene needs at least one view, and each view at least one field")
    for view in views:
        if any(panel.mesh is not view.mesh for panel in view.fields.values()):
            raise InputError(f"view {view.title!r}: its fields show different meshes; give one")
        if view.partners is None:
            continue
        n, m = view.mesh.n_vertices, views[view.partner_view].mesh.n_vertices
        partners = np.asarray(view.partners)
        if partners.shape != (n,) or partners.dtype.kind not in "iu" or not _within(partners, m):
            raise InputError(
                f"view {view.title!r}: partners must name a vertex of the {_which(view)} view,"
                f" 0..{m - 1}, for each of {n} vertices"
            )


def _which(view: View) -> str:
    return ("first", "second")[view.partner_view] if view.partner_view < 2 else "other"


def _turn(view: View, camera: Camera | None) -> FloatArray:
    """The rotation (3, 3) that makes a mesh stand along y and face z, unless a camera is given."""
    if camera is not None:
        return np.eye(3)
    return (view.stance or stance_of(view.mesh)).turn


def _within(values: NDArray[Any], end: int) -> bool:
    return bool((values >= 0).all() and (values < end).all())


def _mesh(mesh: TriMesh, turn: FloatArray) -> dict[str, Any]:
    """Positions, turned, in units of the bounding sphere, as 16-bit numbers."""
    center, radius = bounding_sphere(mesh)
    # Vertices without a face may lie outside the sphere, and are not drawn.
    shares = np.clip((mesh.vertices - center) @ turn.T / radius, -1.0, 1.0)
    return {
        "positions": _encoded(np.rint(32767 * shares), "<i2"),
        "faces": _encoded(mesh.faces, "<u2" if mesh.n_vertices <= 65536 else "<u4"),
        "wide": mesh.n_vertices > 65536,
    }


def _view(view: View, mesh: int) -> dict[str, Any]:
    return {
        "title": view.title,
        "mesh": mesh,
        "fields": {name: _field(panel) for name, panel in view.fields.items()},
        "partners": None if view.partners is None else _encoded(view.partners, "<u4"),
        "partnerView": view.partner_view,
    }


def _field(panel: Panel) -> dict[str, Any]:
    [panel] = resolve_colors([panel])
    about: dict[str, Any] = {"marker": panel.marker}
    if panel.colors is not None:
        return {**about, "colors": _encoded(np.rint(255 * panel.colors), "u1")}
    if panel.scalars is None:
        return about
    table = _encoded(np.rint(255 * color_table(panel)), "u1")
    return {**about, "scalars": _encoded(panel.scalars, "<f4"), "clim": panel.clim, "table": table}


def _encoded(values: NDArray[Any], kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode("ascii")
