"""How results are written and printed: checked targets, files of functions, animations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import track

from finsler.errors import InputError
from finsler.mesh import TriMesh, write_mesh
from finsler.storage.files import local_path
from finsler.storage.npz import write_npz
from finsler.storage.outputs import require_outputs
from finsler.typing import FloatArray
from finsler.view import Camera, Panel
from finsler.view.animation import save_panel_animation

FUNCTION_ENDINGS = (".ply", ".vtk", ".npz")
FIGURE_ENDINGS = (".png", ".svg", ".pdf")
ANIMATION_ENDINGS = (".gif",)

Overwrite = Annotated[
    bool,
    typer.Option(
        "--overwrite",
        help="Replace existing files, even those that this command did not write.",
    ),
]


def check_outputs(
    outputs: Iterable[tuple[Path | None, tuple[str, ...]]],
    inputs: Iterable[Path | str] = (),
    *,
    overwrite: bool = False,
) -> list[str]:
    """Names of the files that will be written; raises before the work where they cannot be.

    `outputs` are paths, None where nothing is asked for, with the endings that they may have. A
    file that is read is never written; one that exists is replaced only if the same command wrote
    it, or with `overwrite`.

    Raises
    ------
    InputError
        Another ending, a folder that does not exist, or a file that must not be replaced.
    """
    targets = []
    for path, endings in outputs:
        if path is not None:
            _check_path(path, endings)
            targets.append(path)
    require_outputs(targets, inputs, overwrite=overwrite)
    return [str(path) for path in targets]


def _check_path(path: Path, endings: tuple[str, ...]) -> None:
    local_path(path)
    if path.suffix.lower() not in endings:
        raise InputError(f"{path}: the ending {path.suffix!r} is not one of {', '.join(endings)}")
    if path.is_dir():
        raise InputError(f"{path}: this is a folder; give the path of a file")
    if not path.parent.is_dir():
        raise InputError(f"{path}: the folder {path.parent} does not exist; create it first")


def write_functions(
    path: Path | None,
    mesh: TriMesh,
    functions: Mapping[str, FloatArray],
    arrays: Mapping[str, Any],
    config: Mapping[str, Any],
) -> None:
    """Functions on the vertices as named scalars of a .ply or .vtk, or `arrays` as .npz."""
    if path is None:
        return
    if path.suffix.lower() == ".npz":
        write_npz(path, arrays, config)
    else:
        write_mesh(path, mesh, scalars=dict(functions))


def scalar_name(prefix: str, value: float) -> str:
    """A name that mesh formats accept: ("heat", 0.0025) becomes heat_0p0025."""
    digits = repr(value).removesuffix(".0").replace(".", "p").replace("-", "m").replace("+", "")
    return f"{prefix}_{digits}"


def write_animation(
    path: Path, rows: Sequence[Sequence[Panel]], labels: Sequence[str], *, camera: Camera
) -> None:
    """Draw rows of panels, each row one picture with a label, into a GIF; with a progress bar."""
    console = Console(stderr=True)
    bar = track(rows, "animation", console=console, disable=not console.is_terminal)
    save_panel_animation(path, bar, labels, camera=camera)


def stdout_console() -> Console:
    """Where tables are printed; names that look like markup are printed as they are."""
    return Console(highlight=False, soft_wrap=True, markup=False)


def print_report(report: Mapping[str, Any], lines: Iterable[str], *, as_json: bool) -> None:
    """Print a report as JSON, or as these lines and the files that were written."""
    if as_json:
        print(json.dumps(report, indent=2))
        return
    for line in lines:
        print(line)
    for path in report["files"]:
        print(f"Wrote {path}")
