"""How good a map between two surfaces is: its errors in two conventions, and its own defects."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from finsler.errors import ConvergenceError, InputError
from finsler.evaluation.surface_distances import SurfaceDistances
from finsler.mesh.arguments import checked_map, takes_meshes
from finsler.mesh.health import collect_warnings
from finsler.mesh.summary import one_line
from finsler.mesh.trimesh import TriMesh
from finsler.operator import lbo
from finsler.typing import FloatArray, IntArray

# Vertices at which the strict error is measured, drawn at random where there are more.
STRICT_POINTS = 1000


@one_line()
@dataclass(frozen=True, eq=False)
class MapScore:
    """What is measured of a map from surface 1 to surface 2; lengths in √area of theirs.

    Attributes
    ----------
    along_edges : (k,)
        Errors as the literature measures them: at every point of the ground truth, those listed
        twice twice, by the shortest way along the edges of surface 2.
    fast_marching : (p,)
        Strict errors: at distinct pairs of the ground truth, at most 1,000 drawn at random, by the
        shortest way over the faces.
    coverage : float
        Share of the vertices of surface 2 that are an image.
    dirichlet : float
        Dirichlet energy of the map, both surfaces divided by their √area: 1 for an isometry that is
        as smooth as it can be; the rougher the map, the larger.
    bijectivity : float
        Mean distance along edges of surface 1 between a vertex and where the map and the one back
        bring it; NaN where no map back is known.
    notes : tuple of str
        What could not be measured as it should.
    """

    along_edges: FloatArray
    fast_marching: FloatArray
    coverage: float
    dirichlet: float
    bijectivity: float
    notes: tuple[str, ...]


@takes_meshes
def score_map(
    mesh_1: TriMesh,
    mesh_2: TriMesh,
    truth: IntArray,
    map_12: ArrayLike,
    map_21: ArrayLike | None = None,
    *,
    seed: int = 0,
) -> MapScore:
    """Measure a map against the ground truth, in both conventions.

    No defect of a mesh stops it: what cannot be measured is noted. An image on another component
    than the truth counts as the diagonal of the bounding box away.

    Parameters
    ----------
    mesh_1, mesh_2 : TriMesh
    truth : (k, 2)
        A vertex of mesh 1 and the one of mesh 2 that it belongs to, as `Collection.truth` gives it.
    map_12, map_21 : (n_1,), (n_2,)
        The map, and one back if there is one.
    seed : int
        Of the points of the strict error.

    Raises
    ------
    InputError
        A map of another length, or with what is not a vertex; a surface without area.

    Examples
    --------
    >>> from finsler.mesh import primitives
    >>> mesh = primitives.sphere(4)
    >>> every = np.arange(mesh.n_vertices)
    >>> score = score_map(mesh, mesh, np.stack([every, every], axis=1), every, every)
    >>> float(score.along_edges.max()), score.coverage, round(score.dirichlet, 12)
    (0.0, 1.0, 1.0)
    """
    there = checked_map(map_12, mesh_1.n_vertices, mesh_2.n_vertices, "the map")
    target, notes = SurfaceDistances(mesh_2), list[str]()
    right, image = truth[:, 1], there[truth[:, 0]]
    edges = _finite(target.along_edges(right, image), mesh_2, target.area, notes)
    distinct = np.unique(truth, axis=0)
    if len(distinct) > STRICT_POINTS:
        rng = np.random.default_rng(seed)
        distinct = distinct[np.sort(rng.permutation(len(distinct))[:STRICT_POINTS])]
    right, image = distinct[:, 1], there[distinct[:, 0]]
    try:
        strict = target.fast_marching(right, image)
    except (InputError, ConvergenceError) as error:
        notes.append(f"strict errors are measured along edges, as fast marching fails: {error}")
        strict = target.along_edges(right, image)
    return MapScore(
        along_edges=edges,
        fast_marching=_finite(strict, mesh_2, target.area, []),
        coverage=len(np.unique(there)) / mesh_2.n_vertices,
        dirichlet=_dirichlet(mesh_1, target, there, notes),
        bijectivity=_bijectivity(mesh_1, mesh_2, there, map_21),
        notes=tuple(notes),
    )


def _bijectivity(
    mesh_1: TriMesh, mesh_2: TriMesh, map_12: IntArray, map_21: ArrayLike | None
) -> float:
    """Mean length of the round trips from mesh 1 to mesh 2 and back; NaN without a map back."""
    if map_21 is None:
        return float("nan")
    back = checked_map(map_21, mesh_2.n_vertices, mesh_1.n_vertices, "the map back")
    source = SurfaceDistances(mesh_1)
    trips = source.along_edges(np.arange(mesh_1.n_vertices), back[map_12])
    return float(_finite(trips, mesh_1, source.area, []).mean())


def _finite(errors: FloatArray, mesh: TriMesh, area: float, notes: list[str]) -> FloatArray:
    """Errors with the diagonal of the bounding box where no way leads to the truth."""
    far = np.isinf(errors)
    if far.any():
        notes.append(f"{int(far.sum())} images lie on another component than the truth")
        errors = np.where(
            far, np.linalg.norm(np.ptp(mesh.vertices, axis=0)) / np.sqrt(area), errors
        )
    return errors


def _dirichlet(
    mesh_1: TriMesh, target: SurfaceDistances, map_12: IntArray, notes: list[str]
) -> float:
    """½ tr(Yᵀ W Y) for the images Y of the vertices, on surfaces of area 1."""
    try:
        sound, number = SurfaceDistances(mesh_1).sound
        images = np.zeros((sound.n_vertices, 3))
        images[number] = target.mesh.vertices[map_12] / np.sqrt(target.area)
        # Edges with three faces are no obstacle here, and who matched the meshes has been warned.
        stiffness = collect_warnings(lambda: lbo(sound))[0].stiffness
        return 0.5 * float(np.einsum("ni,ni->", images, stiffness @ images))
    except (InputError, ConvergenceError) as error:
        notes.append(f"the Dirichlet energy cannot be computed: {error}")
        return float("nan")
