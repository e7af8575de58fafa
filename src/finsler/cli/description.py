"""The descriptors that `finsler describe` computes, of one mesh or of many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from finsler.cli.batch import (
    Meshes,
    Row,
    check_folder,
    check_operator,
    compute,
    ensured,
    finish,
    key_of,
    meshes_at,
)
from finsler.cli.options import operator_record, working
from finsler.operator import OperatorSpec

if TYPE_CHECKING:
    from finsler.compute.cluster import Workers
    from finsler.mesh import TriMesh
    from finsler.typing import FloatArray, IntArray

_COLUMNS = (
    *("mesh", "outcome", "seconds", "vertices", "values"),
    *("attempts", "error", "warnings", "file"),
)


class Descriptor(StrEnum):
    """Which descriptor."""

    shot = "shot"
    hks = "hks"
    wks = "wks"
    xyz = "xyz"
    normals = "normals"


SPECTRAL = (Descriptor.hks, Descriptor.wks)


@dataclass(frozen=True)
class Described:
    """Rows of numbers, and of SHOT the radius in the unit of the mesh and the neighbours."""

    values: FloatArray
    radius: float | None = None
    neighbors: IntArray | None = None

    def arrays(self) -> dict[str, Any]:
        """What is written."""
        more = {} if self.neighbors is None else {"neighbors": self.neighbors}
        return {"descriptors": self.values, **more}


@dataclass(frozen=True)
class Description:
    """The descriptor that the options of `finsler describe` ask for."""

    descriptor: Descriptor
    share: float
    bins: int
    as_released: bool
    angles: int
    count: int | None
    k: int
    operator: OperatorSpec

    def names(self) -> tuple[str, ...]:
        """Names of the arrays that are written."""
        more = ("neighbors",) if self.descriptor is Descriptor.shot else ()
        return ("descriptors", *more)

    def check(self) -> None:
        """Raise for options that no mesh can take."""
        from finsler.errors import InputError

        if not 0.0 < self.share < float("inf"):
            raise InputError(f"--radius is {self.share}; it must be positive and finite")
        if self.descriptor in SPECTRAL:
            check_operator(self.operator)

    def config(self) -> dict[str, Any]:
        """The options that matter, for the record in a result."""
        config: dict[str, Any] = {"descriptor": self.descriptor.value}
        if self.descriptor is Descriptor.shot:
            config |= {"radius": self.share, "bins": self.bins, "as_released": self.as_released}
        if self.descriptor in SPECTRAL:
            config |= {"k": self.k, "angles": self.angles, "count": self.count}
            config |= operator_record(self.operator)
        return config

    def of(self, mesh: TriMesh) -> Described:
        """Describe a mesh."""
        if self.descriptor is Descriptor.shot:
            radius = _radius(mesh, self.share)
            values, neighbors = _shot(mesh, radius, self.bins, self.as_released)
            return Described(values, radius, neighbors)
        if self.descriptor in SPECTRAL:
            return Described(
                _signature(mesh, self.descriptor, self.operator, self.angles, self.count, self.k)
            )
        return Described(_plain(mesh, self.descriptor))


def describe_many(
    where: list[str],
    out: str,
    description: Description,
    crew: Callable[[int], Workers],
    *,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Describe meshes, each into a file of its own; what is there is not computed again."""
    from finsler.storage.files import lasting_location, shared_folder

    lasting_location(out)
    meshes = meshes_at(where)
    check_folder(out, "meshes.csv", _COLUMNS, meshes.names, overwrite=overwrite)
    count = len(meshes.names)
    workers = crew(count)
    tasks = _tasks(meshes, shared_folder(out), description)
    rows = compute(describe_mesh, tasks, workers, title="describing", total=count)
    table = {name: {"mesh": name, "file": f"{name}.npz", **rows[name]} for name in meshes.names}
    finish(out, "meshes.csv", _COLUMNS, table, as_json=as_json)


def _tasks(
    meshes: Meshes, target: str, description: Description
) -> Iterator[tuple[str, tuple[Any, ...] | Exception]]:
    from finsler.errors import InputError

    for name in meshes.names:
        try:
            yield name, (f"{target}/{name}.npz", name, meshes.load(name), description)
        except (InputError, OSError) as error:
            yield name, error


def describe_mesh(path: str, name: str, mesh: TriMesh, description: Description) -> Row:
    """Describe one mesh and write it, unless that was done before."""
    config = {"mesh": name, **description.config()}
    key = key_of([mesh], config)
    arrays, how = ensured(
        path, key, config, description.names(), lambda: description.of(mesh).arrays()
    )
    vertices, values = arrays["descriptors"].shape
    return {**how, "vertices": vertices, "values": values}


def _radius(mesh: TriMesh, share: float) -> float:
    """The radius in the unit of the mesh."""
    from finsler.descriptors import shot_radius
    from finsler.errors import InputError

    radius = shot_radius(mesh, share)
    if radius == 0.0:
        raise InputError("the mesh has no area, so there is no radius; mend it: finsler info")
    return radius


def _shot(
    mesh: TriMesh, radius: float, bins: int, as_released: bool
) -> tuple[FloatArray, IntArray]:
    """Descriptors, and the number of neighbours of each vertex."""
    from finsler.descriptors import shot, shot_frames

    with working("SHOT"):
        frames = shot_frames(mesh, radius=radius, as_released=as_released)
        values = shot(mesh, radius=radius, bins=bins, frames=frames, as_released=as_released)
    return values, frames.neighbors


def _signature(
    mesh: TriMesh,
    descriptor: Descriptor,
    spec: OperatorSpec,
    angles: int,
    count: int | None,
    pairs: int,
) -> FloatArray:
    """Heat or wave kernel signatures of one operator for each angle."""
    from finsler.analysis import spectrum
    from finsler.descriptors import hks, wks

    spectra = []
    for number, laplacian in enumerate(spec.stack(mesh, angles), start=1):
        with working(f"{pairs} eigenpairs, angle {number} of {angles}"):
            spectra.append(spectrum(laplacian, pairs))
    signature = hks if descriptor is Descriptor.hks else wks
    return signature(spectra) if count is None else signature(spectra, count=count)


def _plain(mesh: TriMesh, descriptor: Descriptor) -> FloatArray:
    from finsler.mesh.measures import vertex_normals

    return mesh.vertices if descriptor is Descriptor.xyz else vertex_normals(mesh)
