"""Meshes and maps inside a notebook, to be turned with the mouse: no server, no other package."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from finsler.errors import InputError
from finsler.matching.match import Match
from finsler.mesh.arguments import checked, require_whole, vertex_functions
from finsler.mesh.trimesh import TriMesh
from finsler.storage.files import write_bytes
from finsler.typing import FloatArray
from finsler.view.panel import Panel
from finsler.view.report.blocks import Html, escaped, joined
from finsler.view.report.page import full_page
from finsler.view.report.pages import match_blocks
from finsler.view.report.scene import View, scene
from finsler.view.upright import Viewpoint

__all__ = ["Viewer", "show"]


@dataclass(frozen=True, eq=False)
class Viewer:
    """An interactive picture; a notebook shows it where it is the last value of a cell.

    Attributes
    ----------
    page : str
        The whole page, as HTML that needs no network, server or other file.
    title : str
        What it shows, in plain text.
    height : int
        In pixels, inside a notebook.
    """

    page: str
    title: str
    height: int

    @checked
    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file that any browser opens; its name ends in .html."""
        target = Path(path)
        if target.suffix.lower() != ".html":
            raise InputError(f"path is {target}; it must end in .html")
        return write_bytes(target, self.page.encode(errors="backslashreplace"))

    def __repr__(self) -> str:
        size = f"{len(self.page) / 2**20:.1f} MiB"
        return f"Viewer({self.title}, {size}; a notebook shows it, save(path) writes a page)"

    def _repr_html_(self) -> str:
        """A frame of its own: neither style nor script of the page touches the notebook."""
        return (
            f'<iframe srcdoc="{escaped(self.page)}" title="{escaped(self.title)}"'
            f' sandbox="allow-scripts" width="100%" height="{self.height}"'
            ' style="border: 0"></iframe>'
        )


@checked
def show(
    shape: TriMesh | Match | Panel,
    scalars: ArrayLike | Mapping[str, ArrayLike] | None = None,
    *,
    mesh_1: TriMesh | None = None,
    mesh_2: TriMesh | None = None,
    height: int = 760,
) -> Viewer:
    """Look at a mesh with functions on it, or at a match, in a notebook: drag turns it.

    Parameters
    ----------
    shape : TriMesh, Match or Panel
        A match is shown with the colours of mesh 2 carried to mesh 1, the verdict and the
        confidence; a panel with its own colours, level lines and marker.
    scalars : (n,), (n, c), or mapping of names to such, optional
        A function on the vertices of a mesh, or several to choose from.
    mesh_1, mesh_2 : TriMesh, optional
        Of a match: the meshes as you want to see them instead of the repaired ones.
    height : int
        In pixels, between 100 and 4000.

    Raises
    ------
    InputError
        Scalars that do not fit the mesh, scalars with a match, meshes without one, or matplotlib,
        which has the colour maps, is not installed.

    Examples
    --------
    >>> from finsler import primitives
    >>> mesh = primitives.sphere(6)
    >>> show(mesh, {"height": mesh.vertices[:, 2]})
    Viewer(TriMesh(362 vertices, 720 faces, size 2 × 2 × 2), ... MiB; ...)
    """
    require_whole(height, 100, 4000, "height")
    if isinstance(shape, Match):
        if scalars is not None:
            raise InputError("scalars are for one mesh; with a match, show(mesh, scalars) instead")
        return _match_viewer(shape, (mesh_1 or shape.mesh_1, mesh_2 or shape.mesh_2), height)
    if mesh_1 is not None or mesh_2 is not None:
        raise InputError("mesh_1 and mesh_2 are for a match; show one mesh as show(mesh, scalars)")
    panel = shape if isinstance(shape, Panel) else Panel(shape)
    functions = _functions(panel.mesh, scalars)
    fields = {name: Panel(panel.mesh, values) for name, values in functions.items()}
    view = View(panel.title, fields or {"": panel})
    camera = panel.camera or Viewpoint().camera(panel.mesh)
    return _viewer(repr(shape), [scene([view], camera=camera)], height)


def _match_viewer(result: Match, meshes: tuple[TriMesh, TriMesh], height: int) -> Viewer:
    for i, (mesh, sent) in enumerate(zip(meshes, (result.map_12, result.map_21), strict=True), 1):
        if mesh.n_vertices != len(sent):
            raise InputError(
                f"mesh_{i} has {mesh.n_vertices} vertices; the one that was matched has {len(sent)}"
            )
    title = f"match of {meshes[0]} to {meshes[1]}"
    return _viewer(title, match_blocks(*meshes, result), height)


def _viewer(title: str, blocks: list[Html], height: int) -> Viewer:
    return Viewer(full_page(title, joined(blocks)), title, height)


def _functions(mesh: TriMesh, scalars: Any) -> dict[str, FloatArray]:
    """Functions by the names to choose them with; columns are numbered."""
    named = scalars if isinstance(scalars, Mapping) else {"values": scalars}
    functions: dict[str, FloatArray] = {}
    for name, given in named.items() if scalars is not None else ():
        label = f"scalars[{name!r}]" if named is scalars else "scalars"
        values = vertex_functions(given, mesh.n_vertices, label)
        if values.ndim == 1:
            functions[str(name)] = values
        else:
            functions |= {f"{name} {i}": column for i, column in enumerate(values.T)}
    return functions
