"""How results are written and drawn: checked targets, files of functions, animations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from finsler.mesh import TriMesh
    from finsler.typing import FloatArray
    from finsler.view import Camera, Panel

FUNCTION_ENDINGS = (".ply", ".vtk", ".npz")
FIGURE_ENDINGS = (".png", ".svg", ".pdf")
ANIMATION_ENDINGS = (".gif",)

_PICTURE = (480, 480)


def checked_target(path: Path | None, endings: tuple[str, ...]) -> None:
    """Raise before the work begins where its result could not be written."""
    from finsler.errors import InputError
    from finsler.storage.files import local_path

    if path is None:
        return
    local_path(path)
    if path.suffix.lower() not in endings:
        raise InputError(f"{path}: the ending {path.suffix!r} is not one of {', '.join(endings)}")
    if path.is_dir():
        raise InputError(f"{path}: this is a folder; give the path of a file")
    if not path.parent.is_dir():
        raise InputError(f"{path}: the folder {path.parent} does not exist; create it first")


def write_functions(
    path: Path,
    mesh: TriMesh,
    functions: Mapping[str, FloatArray],
    arrays: Mapping[str, Any],
    config: Mapping[str, Any],
) -> None:
    """Functions on the vertices as named scalars of a .ply or .vtk, or `arrays` as .npz."""
    from finsler.mesh import write_mesh
    from finsler.storage.npz import write_npz

    if path.suffix.lower() == ".npz":
        write_npz(path, arrays, config)
    else:
        write_mesh(path, mesh, scalars=dict(functions))


def scalar_name(prefix: str, value: float) -> str:
    """A name that mesh formats accept: ("heat", 0.0025) becomes heat_0p0025."""
    digits = repr(value).removesuffix(".0").replace(".", "p").replace("-", "m").replace("+", "")
    return f"{prefix}_{digits}"


def nearest_vertex(mesh: TriMesh) -> int:
    """The vertex nearest to the viewer of a figure: where a source sits unless one is chosen."""
    import numpy as np

    from finsler.view import Camera

    return int(np.argmax(mesh.vertices @ np.asarray(Camera().direction)))


def write_animation(
    path: Path, rows: Sequence[Sequence[Panel]], labels: Sequence[str], *, camera: Camera
) -> None:
    """Draw rows of panels, each row one picture with a label, into a GIF; with a progress bar."""
    import numpy as np
    from rich.console import Console
    from rich.progress import track

    from finsler.view import render_panel, save_animation

    console = Console(stderr=True)
    bar = track(rows, "animation", console=console, disable=not console.is_terminal)
    pictures = [
        np.concatenate([render_panel(p, camera=camera, size=_PICTURE) for p in row], axis=1)
        for row in bar
    ]
    save_animation(path, pictures, labels)
