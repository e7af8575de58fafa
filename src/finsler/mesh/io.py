"""Read and write mesh files."""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from finsler.errors import InputError
from finsler.mesh.arguments import checked, real_array, require_type
from finsler.mesh.formats import gltf, obj, off, ply, stl, vtk
from finsler.mesh.formats.content import stored_bytes
from finsler.mesh.trimesh import TriMesh
from finsler.storage.files import write_bytes
from finsler.typing import FloatArray

__all__ = ["load_mesh", "write_mesh"]

_READERS = {".off": off.read, ".obj": obj.read, ".ply": ply.read, ".stl": stl.read}
_READABLE = (*_READERS, ".glb", ".gltf")
# What writes each kind of file, and what it can hold besides the mesh.
_WRITERS: dict[str, tuple[Callable[..., bytes], set[str]]] = {
    ".off": (off.write, {"colors"}),
    ".obj": (obj.write, set()),
    ".ply": (ply.write, {"scalars", "colors"}),
    ".stl": (stl.write, set()),
    ".glb": (gltf.write, {"colors"}),
    ".vtk": (vtk.write, {"scalars"}),
}
# Beyond this the fourth power of a length, which areas are computed from, overflows.
_LARGEST_COORDINATE = 1e75


@checked
def load_mesh(path: str | os.PathLike[str]) -> TriMesh:
    """Read a mesh from OFF, OBJ, PLY, STL, glTF or GLB, by the ending of the name.

    Vertices keep their order and number, and faces theirs; polygons are cut into fans of
    triangles. STL stores no shared vertices, so corners at exactly equal positions become one
    vertex there. Colours, normals and texture coordinates are dropped.

    Raises
    ------
    InputError
        The file is missing, unknown, damaged, cut short, or holds no triangles; one sentence
        that begins with the path.
    """
    path = Path(path)
    ending = _ending(path, _READABLE)
    try:
        data = _content(path)
        if ending != ".stl":  # whose binary header may begin with anything
            data = data.removeprefix(BOM_UTF8)
        mesh = gltf.read(data, path) if ending in (".glb", ".gltf") else _READERS[ending](data)
        _check_magnitude(mesh)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    return mesh


def write_mesh(
    path: str | os.PathLike[str],
    mesh: TriMesh,
    *,
    scalars: dict[str, ArrayLike] | None = None,
    colors: ArrayLike | None = None,
) -> None:
    """Write a mesh as OFF, OBJ, PLY, STL, GLB or VTK, by the ending of the name.

    OFF, OBJ, PLY and VTK keep every digit; STL and GLB store single precision, and STL no shared
    vertices. The file appears under its name only when it is complete.

    Parameters
    ----------
    path : path
    mesh : TriMesh
    scalars : dict of (n,) arrays, optional
        Values at the vertices by name, stored as doubles; PLY and VTK only.
    colors : (n, 3) uint8 array, optional
        Red, green, blue of the vertices; PLY, OFF and GLB only.

    Raises
    ------
    InputError
        Unknown ending, missing folder, or values that the format cannot hold.
    """
    require_type(path, "str | os.PathLike[str]", "path")
    mesh = require_type(mesh, "TriMesh", "mesh")
    require_type(scalars, "dict | None", "scalars")
    path = Path(path)
    ending = _ending(path, tuple(_WRITERS))
    given: dict[str, Any] = {}
    if scalars:
        given["scalars"] = _checked_scalars(scalars, mesh)
    if colors is not None:
        given["colors"] = _checked_colors(colors, mesh)
    write, able = _WRITERS[ending]
    for name in given.keys() - able:
        others = " or ".join(other for other in (".ply", ".vtk") if name in _WRITERS[other][1])
        what = {"colors": "colours"}.get(name, name)
        raise InputError(f"{path}: {ending} files cannot hold {what}; write a {others} file")
    if ending in (".stl", ".glb") and np.abs(mesh.vertices).max() > np.finfo(np.float32).max:
        raise InputError(f"{path}: a coordinate overflows single precision; write a .ply file")
    write_bytes(path, write(mesh, **given))


def _ending(path: Path, known: tuple[str, ...]) -> str:
    ending = path.suffix.lower()
    if ending not in known:
        raise InputError(
            f"{path}: the ending {ending!r} is none of the known ones; use {', '.join(known)}"
        )
    return ending


def _content(path: Path) -> bytes:
    try:
        if not path.exists():
            raise InputError("there is no such file; check the path")
        if not path.is_file():
            raise InputError("this is a folder or device; give the path of a mesh file")
        data = stored_bytes(path)
    except OSError as error:
        raise InputError(f"the file cannot be read ({error.strerror}); check its rights") from error
    if not data or data.isspace():
        raise InputError("the file is empty; export the mesh again")
    return data


def _check_magnitude(mesh: TriMesh) -> None:
    largest = float(np.abs(mesh.vertices).max())
    if largest > _LARGEST_COORDINATE:
        raise InputError(
            f"a coordinate is {largest:g}; beyond {_LARGEST_COORDINATE:g} areas overflow, so"
            " rescale the mesh"
        )


def _checked_scalars(scalars: dict[str, ArrayLike], mesh: TriMesh) -> dict[str, FloatArray]:
    taken = {"x", "y", "z", "red", "green", "blue"}
    checked = {}
    if not isinstance(scalars, dict):
        raise InputError(f"scalars is a {type(scalars).__name__}; it must be a dict of arrays")
    for name, values in scalars.items():
        if (
            not isinstance(name, str)
            or not (name.isascii() and name.isidentifier())
            or name in taken
        ):
            raise InputError(
                f"a scalar is named {name!r}; use letters, digits and _, and none of"
                f" {', '.join(sorted(taken))}"
            )
        checked[name] = real_array(values, f"scalar {name!r}", finite=False)
        if checked[name].shape != (mesh.n_vertices,):
            raise InputError(
                f"scalar {name!r} has shape {checked[name].shape}; it must hold one value for"
                f" each of the {mesh.n_vertices} vertices"
            )
    return checked


def _checked_colors(colors: ArrayLike, mesh: TriMesh) -> NDArray[np.uint8]:
    try:
        given = np.asarray(colors)
    except ValueError as error:
        raise InputError("colors must be an array (n, 3): its rows differ in length") from error
    if given.dtype != np.uint8 or given.shape != (mesh.n_vertices, 3):
        raise InputError(
            f"colors has shape {given.shape} and type {given.dtype}; it must be"
            f" ({mesh.n_vertices}, 3) of type uint8, from 0 to 255"
        )
    return given
