"""Meshes by name, from files, a folder or a collection, read when they are asked for."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from finsler.data.collection import Collection, Shape
from finsler.data.sets.opening import open_collection
from finsler.errors import InputError
from finsler.mesh.io import load_mesh
from finsler.mesh.trimesh import TriMesh

_ENDINGS = (".off", ".obj", ".ply", ".stl", ".glb", ".gltf")


@dataclass(frozen=True)
class Meshes:
    """Names, and a function that reads the mesh of a name."""

    names: tuple[str, ...]
    load: Callable[[str], TriMesh]


def open_meshes(where: Sequence[str]) -> Meshes:
    """Several mesh files, or those of one folder, or the shapes of one collection.

    Raises
    ------
    InputError
        There are none, or two would get the same name.
    """
    paths = [Path(text) for text in where]
    if len(paths) == 1 and paths[0].is_dir():
        paths = sorted(path for path in paths[0].iterdir() if path.suffix.lower() in _ENDINGS)
    if len(where) == 1 and (not paths or paths[0].suffix.lower() not in _ENDINGS):
        shapes = open_collection(where[0])
        return Meshes(tuple(dict.fromkeys(shapes.names)), lambda name: shapes.load(name).mesh)
    files = {_name(path): path for path in paths}
    for name, count in Counter(map(_name, paths)).items():
        if count > 1:
            raise InputError(f"{count} meshes are called {name!r}; their results need other names")
    return Meshes(tuple(files), lambda name: load_mesh(files[name]))


def _name(path: Path) -> str:
    """The name of a file without its ending, as text: bytes that are none are written \\xff."""
    return os.fsencode(path.stem).decode(errors="backslashreplace")


def unlabelled_collection(folder: str | os.PathLike[str]) -> Collection | None:
    """The meshes of a folder as shapes to learn from, without ground truth; None if it has none."""
    path = Path(folder)
    if not path.is_dir() or not any(p.suffix.lower() in _ENDINGS for p in path.iterdir()):
        return None
    meshes = open_meshes([str(folder)])

    def load(name: str) -> Shape:
        mesh = meshes.load(name)
        n = mesh.n_vertices
        return Shape(name, mesh, np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.bool_))

    return Collection(path.absolute().name, meshes.names, (), meshes.names[0], load)
