"""What a mesh is made of, and what is wrong with it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from finsler.errors import InputError
from finsler.mesh.arguments import checked
from finsler.mesh.crossings import crossing_faces
from finsler.mesh.measures import degenerate_faces, needle_faces, surface_area
from finsler.mesh.repair import duplicate_faces, repair
from finsler.mesh.summary import one_line
from finsler.mesh.topology import (
    Orientation,
    boundary_loops,
    component_volumes,
    edges,
    euler_number,
    inconsistent_edges,
    nonmanifold_edges,
    nonmanifold_vertices,
    orientation,
    referenced_vertices,
    vertex_components,
)
from finsler.mesh.trimesh import TriMesh

__all__ = ["MeshHealth", "MeshWarning", "health"]

Point = tuple[float, float, float]


class MeshWarning(UserWarning):
    """A mesh can be used, but a defect of it changes the result; the message names the defect."""


@one_line("n_vertices", "n_faces", "area", "components", "usable", "problems")
@dataclass(frozen=True)
class MeshHealth:
    """Sizes, topology and defects of a mesh; lengths and areas in mesh units.

    Attributes
    ----------
    n_vertices, n_edges, n_faces : int
        Counts.
    area, diagonal : float
        Surface area, and the diagonal of the box from `lower` to `upper`.
    lower, upper : (3,)
        Corners of the bounding box of all vertices.
    shortest_edge, median_edge, longest_edge : float
        Edge lengths.
    smallest_angle : float
        Smallest angle of a face, in degrees.
    components : int
        Connected components; faces that share a vertex belong together.
    boundary_loops : int
        Holes and outer borders.
    euler_number : int
        Vertices in use − edges + faces.
    genus : int or None
        Number of handles of a closed, orientable, connected manifold; None for others.
    orientable, consistent : bool
        Whether the faces can be, and are, oriented alike.
    outward : bool or None
        Whether every closed component faces outwards; None where no component is both closed
        and oriented consistently.
    inconsistent_edges, nonmanifold_edges, nonmanifold_vertices : int
        Edges that both faces traverse alike; edges with three or more faces; vertices around
        which the faces form several fans.
    degenerate_faces, needle_faces, duplicate_faces : int
        Faces without area; faces thinner than 1e-6 of their length; faces with the same corners as
        an earlier one.
    crossing_faces : int
        Faces that pass through another one.
    duplicate_vertices, unreferenced_vertices : int
        Vertices that coincide with another one along a crack, as many as `repair` merges; vertices
        that no face uses.
    """

    n_vertices: int
    n_edges: int
    n_faces: int
    area: float
    lower: Point
    upper: Point
    diagonal: float
    shortest_edge: float
    median_edge: float
    longest_edge: float
    smallest_angle: float
    components: int
    boundary_loops: int
    euler_number: int
    genus: int | None
    orientable: bool
    consistent: bool
    outward: bool | None
    inconsistent_edges: int
    nonmanifold_edges: int
    nonmanifold_vertices: int
    degenerate_faces: int
    needle_faces: int
    duplicate_faces: int
    crossing_faces: int
    duplicate_vertices: int
    unreferenced_vertices: int

    @property
    def usable(self) -> bool:
        """Whether operators can be built: every face has area and every vertex a face."""
        return self.degenerate_faces == 0 and self.unreferenced_vertices == 0

    @property
    def problems(self) -> list[str]:
        """One sentence for each finding: what it is, what it does, what to do."""
        counted = [f"{finding}." for finding in _findings(vars(self))]
        if not self.orientable:
            counted.append(
                "The surface is not orientable: normals and signed curvature have no consistent"
                " sign on it; cut it open if you need them."
            )
        if self.outward is False:
            counted.append(
                "A closed component faces inwards: its normals and curvatures have the wrong sign;"
                " repair turns it."
            )
        return counted

    def to_dict(self) -> dict[str, Any]:
        """All fields, with `usable` and `problems`, in types that JSON knows."""
        return {**asdict(self), "usable": self.usable, "problems": self.problems}


_FINDINGS = {
    "degenerate_faces": (
        "face without area",
        "faces without area",
        "no operator exists on such a mesh; repair drops them",
    ),
    "unreferenced_vertices": (
        "vertex without a face",
        "vertices without a face",
        "no operator exists on such a mesh; repair drops them",
    ),
    "needle_faces": (
        "face that is thinner than 1e-6 of its length",
        "faces that are thinner than 1e-6 of their length",
        "solutions lose digits, as many as the thickness has zeros; remesh, or repair with a"
        " merge_tolerance",
    ),
    "duplicate_vertices": (
        "duplicate vertex",
        "duplicate vertices",
        "the surface is torn open along them; repair merges them",
    ),
    "duplicate_faces": (
        "duplicate face",
        "duplicate faces",
        "they count twice in every integral; repair keeps one of each",
    ),
    "nonmanifold_edges": (
        "edge with more than two faces",
        "edges with more than two faces",
        "sheets meet there; repair separates them",
    ),
    "nonmanifold_vertices": (
        "vertex that joins separate fans of faces",
        "vertices that join separate fans of faces",
        "heat leaks through them; repair gives each fan its own copy",
    ),
    "inconsistent_edges": (
        "edge between oppositely oriented faces",
        "edges between oppositely oriented faces",
        "normals flip across them; repair turns faces over where the surface is orientable",
    ),
    "crossing_faces": (
        "face that passes through another",
        "faces that pass through others",
        "what is measured along the surface does not notice, what is measured in space does; repair"
        " leaves them",
    ),
}


def warn_of(defects: Mapping[str, int]) -> None:
    """Warn of each defect that is counted, by the names of [`MeshHealth`][finsler.MeshHealth].

    The warning is always given from here, so that Python shows each sentence once.
    """
    for finding in _findings(defects):
        warnings.warn(
            f"the mesh has {finding}: finsler.repair(mesh), or finsler info --repair",
            MeshWarning,
            stacklevel=1,
        )


def _findings(counts: Mapping[str, int]) -> list[str]:
    """What was counted, what it does, and what to do."""
    return [
        f"{counts[name]} {kind if counts[name] == 1 else plural}: {advice}"
        for name, (kind, plural, advice) in _FINDINGS.items()
        if counts.get(name)
    ]


@checked
def health(mesh: TriMesh) -> MeshHealth:
    """Report on a mesh; nothing is changed.

    Examples
    --------
    >>> report = health(TriMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [5, 5, 5]], [[0, 1, 2]]))
    >>> report.usable, report.boundary_loops
    (False, 1)
    >>> report.problems
    ['1 vertex without a face: no operator exists on such a mesh; repair drops them.']
    """
    ends = mesh.vertices[edges(mesh).vertices]
    lengths = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
    lower, upper = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    sheets = orientation(mesh)
    inconsistent = len(inconsistent_edges(mesh))
    bad_edges, bad_vertices = len(nonmanifold_edges(mesh)), len(nonmanifold_vertices(mesh))
    return MeshHealth(
        n_vertices=mesh.n_vertices,
        n_edges=len(lengths),
        n_faces=mesh.n_faces,
        area=surface_area(mesh),
        lower=_point(lower),
        upper=_point(upper),
        diagonal=float(np.linalg.norm(upper - lower)),
        shortest_edge=float(lengths.min()),
        median_edge=float(np.median(lengths)),
        longest_edge=float(lengths.max()),
        smallest_angle=_smallest_angle(mesh),
        components=int(vertex_components(mesh).max()) + 1,
        boundary_loops=len(boundary_loops(mesh)),
        euler_number=euler_number(mesh),
        genus=None if bad_edges or bad_vertices else _genus(mesh, sheets),
        orientable=bool(sheets.orientable.all()),
        consistent=inconsistent == 0,
        outward=_outward(mesh, sheets),
        inconsistent_edges=inconsistent,
        nonmanifold_edges=bad_edges,
        nonmanifold_vertices=bad_vertices,
        degenerate_faces=int(degenerate_faces(mesh).sum()),
        needle_faces=int(needle_faces(mesh).sum()),
        duplicate_faces=int(duplicate_faces(mesh).sum()),
        crossing_faces=int(crossing_faces(mesh).sum()),
        duplicate_vertices=_mergeable_vertices(mesh),
        unreferenced_vertices=int((~referenced_vertices(mesh)).sum()),
    )


def _point(coordinates: np.ndarray[Any, Any]) -> Point:
    x, y, z = coordinates.tolist()
    return (x, y, z)


def _smallest_angle(mesh: TriMesh) -> float:
    corners = mesh.vertices[mesh.faces]
    u, v = np.roll(corners, -1, axis=1) - corners, np.roll(corners, 1, axis=1) - corners
    sine = np.linalg.norm(np.cross(u, v), axis=2)
    return float(np.degrees(np.arctan2(sine, np.einsum("fci,fci->fc", u, v))).min())


def _genus(mesh: TriMesh, sheets: Orientation) -> int | None:
    if len(sheets.closed) > 1 or not sheets.closed[0] or not sheets.orientable[0]:
        return None
    return (2 - euler_number(mesh)) // 2


def _outward(mesh: TriMesh, sheets: Orientation) -> bool | None:
    turned = np.bincount(sheets.component, sheets.flip) > 0
    solid = sheets.closed & sheets.orientable & ~turned
    if not solid.any():
        return None
    return bool((component_volumes(mesh, sheets.component)[solid] >= 0.0).all())


def _mergeable_vertices(mesh: TriMesh) -> int:
    try:
        return repair(mesh).changes["merged_vertices"]
    except InputError:  # no face has area
        return 0


def collect_warnings(function: Callable[..., Any], *args: Any) -> tuple[Any, list[str]]:
    """What a function returns, and the sentences of the warnings that it gave, each once.

    None of them is shown. In a process that computes in several threads a sentence may be kept
    with the result of another thread.

    Examples
    --------
    >>> from finsler import TriMesh, lbo
    >>> corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]
    >>> fan = TriMesh(corners, [[0, 1, 2], [0, 1, 3], [0, 1, 4]])
    >>> laplacian, notes = collect_warnings(lbo, fan)
    >>> [note.partition(":")[0] for note in notes]
    ['the mesh has 1 edge with more than two faces', ...]
    """
    with warnings.catch_warnings(record=True) as caught:
        # Python shows a sentence once in a process; here each mesh is to be named.
        warnings.simplefilter("always", MeshWarning)
        value = function(*args)
    return value, list(dict.fromkeys(str(warning.message) for warning in caught))
