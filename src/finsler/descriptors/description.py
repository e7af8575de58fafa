"""Which descriptor to compute, as one record that describes meshes and writes results to files."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from finsler.analysis.spectrum import spectrum
from finsler.compute.batch import Row, ensure_result
from finsler.compute.memory import require
from finsler.descriptors.hks import MOST_VALUES, hks
from finsler.descriptors.shot import MOST_BINS, shot, shot_frames, shot_radius
from finsler.descriptors.wks import wks
from finsler.errors import InputError
from finsler.mesh import primitives
from finsler.mesh.arguments import require_one_of, require_whole
from finsler.mesh.health import collect_warnings
from finsler.mesh.measures import vertex_normals
from finsler.mesh.trimesh import TriMesh
from finsler.spec import OperatorSpec
from finsler.storage.hashing import content_key
from finsler.typing import FloatArray, IntArray

DESCRIPTORS = ("shot", "hks", "wks", "xyz", "normals")
SPECTRAL = ("hks", "wks")
# Values for each angle where `count` does not say how many.
_COUNTS = {"hks": 16, "wks": 100}


@dataclass(frozen=True, eq=False)
class Described:
    """The descriptors of a mesh.

    Attributes
    ----------
    values : (n, c)
    radius : float or None
        Of SHOT, in the unit of the mesh.
    neighbors : (n,) or None
        Of SHOT, how many vertices lie within the radius.
    """

    values: FloatArray
    radius: float | None = None
    neighbors: IntArray | None = None

    def arrays(self) -> dict[str, Any]:
        """What is written to a file."""
        more = {} if self.neighbors is None else {"neighbors": self.neighbors}
        return {"descriptors": self.values, **more}

    def norms(self) -> FloatArray:
        """Euclidean norm of each row, (n,)."""
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", self.values, self.values)))


@dataclass(frozen=True)
class Description:
    """Which descriptor to compute.

    Attributes
    ----------
    descriptor : {"shot", "hks", "wks", "xyz", "normals"}
    radius : float
        Of SHOT, as a share of √area.
    bins : int
        Of SHOT: 32 (bins + 1) values a vertex.
    as_released : bool
        Of SHOT, see [`shot`][finsler.shot].
    count : int, optional
        Of signatures: values for each angle, by default 16 (hks) and 100 (wks).
    k : int
        Of signatures: number of eigenpairs.
    operator : OperatorSpec
        Of signatures: one operator for each of its angles.

    Raises
    ------
    InputError
        An unknown descriptor, or a number out of its range.

    Examples
    --------
    >>> Description("wks", k=30).describe(primitives.sphere(8)).values.shape
    (642, 100)
    """

    descriptor: str = "shot"
    radius: float = 0.09
    bins: int = 10
    as_released: bool = False
    count: int | None = None
    k: int = 100
    operator: OperatorSpec = field(default_factory=lambda: OperatorSpec("lbo", angles=1))

    def __post_init__(self) -> None:
        require_one_of(self.descriptor, DESCRIPTORS, "descriptor")
        if not 0.0 < self.radius < float("inf"):
            raise InputError(f"radius is {self.radius}; it must be positive and finite")
        require_whole(self.bins, 1, MOST_BINS, "bins")
        require_whole(1 if self.count is None else self.count, 1, MOST_VALUES, "count")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the arrays that are written."""
        return ("descriptors", "neighbors") if self.descriptor == "shot" else ("descriptors",)

    @property
    def columns(self) -> int:
        """Values of each vertex."""
        if self.descriptor == "shot":
            return 32 * (self.bins + 1)
        if self.descriptor in SPECTRAL:
            return (self.count or _COUNTS[self.descriptor]) * self.operator.angles
        return 3

    def check(self) -> None:
        """Try the operator on a small sphere, before many meshes are read."""
        if self.descriptor in SPECTRAL:
            self.operator.metric(primitives.sphere(1))

    def record(self) -> dict[str, Any]:
        """The options that have an effect, for the record in a result."""
        options: dict[str, Any] = {}
        if self.descriptor == "shot":
            options = {"radius": self.radius, "bins": self.bins, "as_released": self.as_released}
        elif self.descriptor in SPECTRAL:
            options = {"k": self.k, "count": self.count, **self.operator.record()}
            options["operator"] = options.pop("kind")
            del options["normalization"]
        return {"descriptor": self.descriptor, **options}

    def describe(
        self, mesh: TriMesh, *, progress: Callable[[str], None] = lambda step: None
    ) -> Described:
        """Describe the vertices of a mesh; `progress` is called with the name of each step.

        Raises
        ------
        InputError
            The mesh has no area, or the descriptors and their file need more memory than is free.
        """
        require("description", mesh.n_vertices, channels=self.columns)
        if self.descriptor == "shot":
            return self._shot(mesh, progress)
        if self.descriptor in SPECTRAL:
            return Described(self._signature(mesh, progress))
        return Described(mesh.vertices if self.descriptor == "xyz" else vertex_normals(mesh))

    def _shot(self, mesh: TriMesh, progress: Callable[[str], None]) -> Described:
        radius = shot_radius(mesh, self.radius)
        if radius == 0.0:
            raise InputError("the mesh has no area, so there is no radius; repair it: finsler info")
        progress("SHOT")
        frames = shot_frames(mesh, radius=radius, as_released=self.as_released)
        values = shot(
            mesh, radius=radius, bins=self.bins, frames=frames, as_released=self.as_released
        )
        return Described(values, radius, frames.neighbors)

    def _signature(self, mesh: TriMesh, progress: Callable[[str], None]) -> FloatArray:
        progress("operators")
        spectra = []
        for number, laplacian in enumerate(self.operator.stack(mesh), start=1):
            progress(f"{self.k} eigenpairs, angle {number} of {self.operator.angles}")
            spectra.append(spectrum(laplacian, self.k))
        signature = hks if self.descriptor == "hks" else wks
        return signature(spectra, count=self.count or _COUNTS[self.descriptor])


def describe_to_file(
    path: str | os.PathLike[str], name: str, mesh: TriMesh, description: Description
) -> Row:
    """Describe a mesh and write it, unless that was done before; a row of the table of a batch."""
    config = {"mesh": name, **description.record()}
    key = content_key(config, (mesh.vertices, mesh.faces))
    arrays, row = ensure_result(
        path,
        key,
        config,
        description.names,
        lambda: collect_warnings(lambda: description.describe(mesh).arrays()),
    )
    vertices, values = arrays["descriptors"].shape
    return {**row, "vertices": vertices, "values": values}
