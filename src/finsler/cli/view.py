"""`finsler view`: meshes in the browser, where a click shows kernels and distances."""

from __future__ import annotations

import sys
import threading
import warnings
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from finsler.cli.options import MeshFile, camera_options, viewpoint_of, with_options
from finsler.cli.results import Overwrite, check_outputs
from finsler.data.labels import read_vts
from finsler.errors import InputError
from finsler.matching.landmarks import read_landmarks
from finsler.matching.offers import read_maps
from finsler.mesh import TriMesh, load_mesh
from finsler.storage.npz import read_npz
from finsler.typing import IntArray
from finsler.view.upright import Viewpoint
from finsler.view.web import Outputs, Page, Scene

# Share of the vertices with a known partner below which this is said.
_FEW = 0.5
_LANDMARK_ENDINGS = (".txt", ".csv")

Second = Annotated[
    Path | None, typer.Argument(metavar="[MESH2]", help="Another mesh, shown beside it.")
]
MapFile = Annotated[
    Path | None,
    typer.Option(
        "--map",
        metavar="FILE",
        help="Map from MESH to MESH2: an .npz file of finsler match; its alternatives are offered"
        " too.",
    ),
]
Labels = Annotated[
    tuple[Path, Path] | None,
    typer.Option(
        metavar="FILE FILE2",
        help="Known partners instead of a map: a .vts file for each mesh, whose line i gives"
        " the number of the vertex at point i, counted from 1.",
    ),
]
Values = Annotated[
    str | None,
    typer.Option(
        metavar="FILE[:NAME]",
        help="Values at the vertices of MESH: array NAME of an .npz file, by default error.",
    ),
]
Save = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Where the button *Keep this map* writes the map that is shown: .npz.",
    ),
]
LandmarkFile = Annotated[
    Path | None,
    typer.Option(
        "--landmarks",
        metavar="FILE",
        help="Where the button *Save the pairs* writes the landmarks that were clicked, as finsler"
        " match reads them: .txt or .csv. Pairs that it holds are shown at the start.",
    ),
]
Host = Annotated[
    str, typer.Option(help="Numeric address to serve on; 127.0.0.1 is this machine only.")
]
Port = Annotated[int, typer.Option(help="Port to serve on; 0 takes a free one.")]
Browser = Annotated[
    bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
]


@with_options(viewpoint=camera_options)
def view(
    mesh: MeshFile,
    *,
    second: Second = None,
    map_file: MapFile = None,
    labels: Labels = None,
    error: Values = None,
    landmarks: LandmarkFile = None,
    save: Save = None,
    overwrite: Overwrite = False,
    viewpoint: Viewpoint,
    host: Host = "127.0.0.1",
    port: Port = 0,
    browser: Browser = True,
) -> None:
    """Show one or two meshes in the browser.

    Click a vertex to see its convolution kernel, its heat kernel, or the distance there and back;
    move the sliders, and the picture follows. Of two meshes, choose one of the maps of a file, or
    click a few pairs that correspond and match again. Stop with Ctrl-C.

    Example: `finsler view A.off B.off --map map.npz --error map.npz:cycle`, or choose and keep
    `finsler view A.off B.off --map map.npz --landmarks pairs.txt --save chosen.npz`
    """
    if map_file is not None and labels is not None:
        raise InputError("--map and --labels both say who corresponds; give one of them")
    asked = (map_file, labels, landmarks, save)
    if second is None and any(given is not None for given in asked):
        raise InputError("a correspondence needs two meshes; give MESH2 too")
    values = None if error is None else _named(error)
    read = [mesh, second, map_file, *(labels or ()), values and Path(values[0])]
    targets = [(save, (".npz",)), (landmarks, _LANDMARK_ENDINGS)]
    check_outputs(targets, [path for path in read if path is not None], overwrite=overwrite)
    meshes = [load_mesh(path) for path in (mesh, second) if path is not None]
    scene = Scene(
        *meshes,
        map_12=None if labels is None else _partners(labels, meshes),
        maps=() if map_file is None else read_maps(map_file),
        error=None if values is None else _array(*values),
        landmarks=read_landmarks(landmarks) if landmarks and landmarks.exists() else (),
        viewpoint=viewpoint_of(viewpoint, mesh),
    )
    about = {"mesh_1": mesh.name, "mesh_2": None if second is None else second.name}
    _serve(scene, Outputs(save, landmarks, overwrite, about), host, port, browser=browser)


def _serve(scene: Scene, outputs: Outputs, host: str, port: int, *, browser: bool) -> None:
    """Show the page until Ctrl-C."""
    with Page(scene, host=host, port=port, outputs=outputs) as page:
        # Ctrl-C ends the command whenever it comes, also before anybody waits for it.
        try:
            print(f"{page.url} (Ctrl-C stops)", flush=True)
            if not page.is_private:
                print(_warning(host, outputs), file=sys.stderr)
            if browser:
                page.open()
            _wait()
        except KeyboardInterrupt:
            print()


def _warning(host: str, outputs: Outputs) -> str:
    files = [str(path) for path in (outputs.map, outputs.landmarks) if path is not None]
    writing = f", and have {' and '.join(files)} written" if files else ""
    return f"warning: every machine that reaches {host} can see these shapes{writing}"


def _wait() -> None:
    """Until Ctrl-C."""
    threading.Event().wait()


def _array(path: str | Path, name: str) -> NDArray[Any]:
    return read_npz(path, (name,))[name]


def _named(text: str) -> tuple[str, str]:
    """File and name of FILE[:NAME]; a colon within the path belongs to it."""
    path, _, name = text.rpartition(":")
    return (path, name) if path.endswith(".npz") else (text, "error")


def _partners(labels: tuple[Path, Path], meshes: list[TriMesh]) -> IntArray:
    """The vertex of the second mesh that names the same point, -1 where there is none."""
    first, second = (
        read_vts(path, mesh.n_vertices) for path, mesh in zip(labels, meshes, strict=True)
    )
    if len(first) != len(second):
        raise InputError(
            f"{labels[0]} has {len(first)} lines and {labels[1]} has {len(second)}; line i of both"
            " must name the same point"
        )
    partners = np.full(meshes[0].n_vertices, -1)
    partners[first] = second
    known = int((partners >= 0).sum())
    if known < _FEW * len(partners):
        warnings.warn(
            f"{labels[0]} names {known:,} of the {len(partners):,} vertices of its mesh; the others"
            " have no partner",
            stacklevel=2,
        )
    return partners
