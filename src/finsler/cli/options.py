"""Options that several commands share, what they build, and how results are written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from finsler.frames import FaceFrames
    from finsler.mesh import TriMesh
    from finsler.mesh.trimesh import FloatArray
    from finsler.metric import RandersMetric
    from finsler.operator import AngleStack
    from finsler.view import Camera


class Omega(StrEnum):
    """How the strength of ω is spread over the surface."""

    constant = "constant"
    curved = "curved"
    flat = "flat"


class Kind(StrEnum):
    """Which Laplacian."""

    lbo = "lbo"
    albo = "albo"
    flbo = "flbo"


MeshFile = Annotated[
    Path, typer.Argument(metavar="MESH", help="Mesh file: .off, .obj, .ply, .stl, .glb, .gltf.")
]
Alpha = Annotated[
    float, typer.Option(help="Anisotropy: diffusion along one axis is slowed by 1 + alpha.")
]
Tau = Annotated[
    float,
    typer.Option(
        help="Length of ω. A constant one multiplies the operator by a constant: see --omega."
    ),
]
OmegaField = Annotated[
    Omega,
    typer.Option(
        "--omega",
        help="constant: ω has length tau everywhere; curved, flat: its strength follows curvature"
        " up to --peak, and tau is not used.",
    ),
]
Peak = Annotated[
    float, typer.Option(help="With --omega curved or flat: the largest strength of ω, below 1.")
]
Smoothing = Annotated[
    int, typer.Option(help="Rounds of one-ring averaging of the curvature tensors.")
]
OperatorKind = Annotated[
    Kind, typer.Option("--operator", help="Isotropic, anisotropic or Finsler Laplacian.")
]
FigureFile = Annotated[
    Path | None, typer.Option("--figure", metavar="FILE", help="Draw it: .png, .svg or .pdf.")
]
FunctionFile = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", metavar="FILE", help="Write the functions found: .ply, .vtk or .npz."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def tau_field(mesh: TriMesh, omega: Omega, tau: float, alpha: float, peak: float) -> Any:
    """The τ that `--omega`, `--tau` and `--peak` ask for: a number, or one number a face."""
    from finsler.metric import curvature_strength, tau_of_strength

    if omega is Omega.constant:
        return tau
    strength: FloatArray = curvature_strength(mesh, peak=peak, where=omega.value)
    return tau_of_strength(mesh, strength, alpha=alpha)


@contextmanager
def working(on: str) -> Iterator[None]:
    """A spinner on stderr while the block runs; nothing where stderr is not a terminal."""
    from rich.console import Console

    with Console(stderr=True).status(on):
        yield


def frames_of(mesh: TriMesh, smoothing: int) -> FaceFrames:
    """Principal frames with a progress line."""
    from finsler.frames import principal_frames

    with working("principal curvature directions"):
        return principal_frames(mesh, smoothing=smoothing)


@dataclass(frozen=True)
class OperatorChoice:
    """The operator that `--operator` and its options ask for."""

    kind: Kind
    alpha: float
    tau: float
    omega: Omega
    peak: float
    smoothing: int

    def config(self) -> dict[str, Any]:
        """The options that matter, for the record in a result."""
        config: dict[str, Any] = {"operator": self.kind.value}
        if self.kind is not Kind.lbo:
            config |= {"alpha": self.alpha, "smoothing": self.smoothing}
        if self.kind is Kind.flbo:
            constant = self.omega is Omega.constant
            strength = {"tau": self.tau} if constant else {"peak": self.peak}
            config |= {"omega": self.omega.value, **strength}
        return config

    def metric(self, mesh: TriMesh, degrees: float) -> RandersMetric:
        """The metric at one angle; the operator is that of its diffusivity."""
        import numpy as np

        from finsler.metric import RandersMetric

        if self.kind is Kind.lbo:
            return RandersMetric.isotropic(mesh)
        theta = float(np.radians(degrees))
        frames, tau = frames_of(mesh, self.smoothing), self._tau(mesh)
        return RandersMetric.from_curvature(mesh, frames, alpha=self.alpha, tau=tau, theta=theta)

    def stack(self, mesh: TriMesh, degrees: Sequence[float]) -> AngleStack:
        """The operators at several angles."""
        import numpy as np

        from finsler.frames import FaceFrames
        from finsler.mesh.measures import face_basis
        from finsler.operator import angle_stack

        if self.kind is Kind.lbo:
            any_frames = FaceFrames.from_directions(mesh, face_basis(mesh).first)
            return angle_stack(
                mesh, alpha=0.0, tau=0.0, angles=[0.0] * len(degrees), frames=any_frames
            )
        frames, tau = frames_of(mesh, self.smoothing), self._tau(mesh)
        angles = np.radians(degrees)
        return angle_stack(mesh, alpha=self.alpha, tau=tau, angles=angles, frames=frames)

    def _tau(self, mesh: TriMesh) -> Any:
        if self.kind is Kind.albo:
            return 0.0
        return tau_field(mesh, self.omega, self.tau, self.alpha, self.peak)


def checked_target(path: Path | None, endings: tuple[str, ...]) -> None:
    """Raise before the work begins where its result could not be written."""
    from finsler.errors import InputError

    if path is None:
        return
    if path.suffix.lower() not in endings:
        raise InputError(f"{path}: the ending {path.suffix!r} is not one of {', '.join(endings)}")
    if path.is_dir():
        raise InputError(f"{path}: this is a folder; give the path of a file")
    if not path.parent.is_dir():
        raise InputError(f"{path}: the folder {path.parent} does not exist; create it first")


FUNCTION_ENDINGS = (".ply", ".vtk", ".npz")
FIGURE_ENDINGS = (".png", ".svg", ".pdf")


def write_functions(
    path: Path,
    mesh: TriMesh,
    functions: Mapping[str, FloatArray],
    arrays: Mapping[str, Any],
    config: Mapping[str, Any],
) -> None:
    """Functions on the vertices as named scalars of a .ply or .vtk, or `arrays` as .npz."""
    from finsler.files import write_bytes, write_npz
    from finsler.mesh import write_mesh

    ending = path.suffix.lower()
    if ending == ".npz":
        write_npz(path, arrays, config)
    elif ending == ".vtk":
        write_bytes(path, _vtk(mesh, functions))
    else:
        write_mesh(path, mesh, scalars=dict(functions))


def _vtk(mesh: TriMesh, functions: Mapping[str, FloatArray]) -> bytes:
    """Legacy VTK polydata, big-endian as that format wants it; ParaView shows its scalars."""
    import numpy as np

    n, m = mesh.n_vertices, mesh.n_faces
    polygons = np.column_stack([np.full(m, 3), mesh.faces]).astype(">i4")
    parts = [
        b"# vtk DataFile Version 3.0\nfinsler\nBINARY\nDATASET POLYDATA\n",
        f"POINTS {n} double\n".encode(),
        mesh.vertices.astype(">f8").tobytes(),
        f"\nPOLYGONS {m} {4 * m}\n".encode(),
        polygons.tobytes(),
        f"\nPOINT_DATA {n}\n".encode(),
    ]
    for name, values in functions.items():
        parts.append(f"SCALARS {name} double 1\nLOOKUP_TABLE default\n".encode())
        parts.append(values.astype(">f8").tobytes() + b"\n")
    return b"".join(parts)


def scalar_name(prefix: str, value: float) -> str:
    """A name that mesh formats accept: ("heat", 0.0025) becomes heat_0p0025."""
    digits = repr(value).removesuffix(".0").replace(".", "p").replace("-", "m").replace("+", "")
    return f"{prefix}_{digits}"


def nearest_vertex(mesh: TriMesh) -> int:
    """The vertex nearest to the viewer of a figure: where a source sits unless one is chosen."""
    import numpy as np

    from finsler.view import Camera

    return int(np.argmax(mesh.vertices @ np.asarray(Camera().direction)))


def camera_facing(mesh: TriMesh, vertex: int, *, steepness: float = 0.5) -> Camera:
    """The usual camera where it looks down on the vertex, else one straight above it.

    `steepness` is the least cosine of the angle between its direction and the vertex normal.
    """
    import numpy as np

    from finsler.mesh.measures import vertex_normals
    from finsler.view import Camera

    usual = Camera()
    normal = vertex_normals(mesh)[vertex]
    if normal @ usual.direction > steepness * np.linalg.norm(usual.direction) or not normal.any():
        return usual
    x, y, z = (float(c) for c in normal)
    up = usual.up if abs(y) < 0.9 else (0.0, 0.0, -1.0)
    return Camera(direction=(x, y, z), up=up)


def gif(pictures: Sequence[NDArray[np.uint8]], labels: Sequence[str]) -> bytes:
    """An endless animation of RGB pictures, each with its label in the upper left corner."""
    import io

    import numpy as np
    from PIL import Image, ImageDraw, ImageFont

    # One palette for all, from a strip of pictures, so that colours do not flicker.
    strip = Image.fromarray(np.concatenate(pictures[:: max(1, len(pictures) // 12)]))
    common = strip.quantize(colors=254, method=Image.Quantize.MAXCOVERAGE).getpalette() or []
    palette = Image.new("P", (1, 1))
    palette.putpalette([*common[: 3 * 254], 0, 0, 0, 255, 255, 255])
    images = [Image.fromarray(picture) for picture in pictures]
    font = ImageFont.load_default(18)
    for image, label in zip(images, labels, strict=True):
        ImageDraw.Draw(image).text((12, 10), label, fill="black", font=font)
    first, *rest = (image.quantize(palette=palette) for image in images)
    buffer = io.BytesIO()
    pauses = [80] * len(rest) + [1000]
    first.save(buffer, "GIF", save_all=True, append_images=rest, duration=pauses, loop=0)
    return buffer.getvalue()
