"""Remesh a closed surface on its own terms, and know where every new vertex lies on the old one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from finsler.errors import ConvergenceError, InputError
from finsler.mesh.arguments import takes_meshes
from finsler.mesh.measures import surface_area
from finsler.mesh.summary import one_line
from finsler.mesh.topology import edges, euler_number
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray, IntArray

# By default, never go through fewer vertices than this on the way: thin limbs need some around.
_COARSE_FLOOR = 1500
_POLISH_ROUNDS = 6
_FLIP_SWEEPS = 20
# Edges shorter than this share of the ideal length are collapsed while polishing.
_SHORT = 0.6


@one_line("mesh")
@dataclass(frozen=True, eq=False)
class Remeshed:
    """A new mesh of a surface, its vertices on the old one.

    Attributes
    ----------
    mesh : TriMesh
        Vertex i is Σ_c barycentric[i, c] · (corner c of old face under[i]).
    under : (n,)
        Face of the old mesh that each vertex lies in.
    barycentric : (n, 3)
        Coordinates in it, not negative, with sum 1.
    """

    mesh: TriMesh
    under: IntArray
    barycentric: FloatArray


@takes_meshes
def remesh(
    mesh: TriMesh,
    vertices: int,
    rng: np.random.Generator,
    *,
    floor: int = _COARSE_FLOOR,
    polish: int = _POLISH_ROUNDS,
) -> Remeshed:
    """Isotropic remeshing to an exact number of vertices, with its own random connectivity.

    Edges are collapsed in random order, shorter ones first, down to a third of the goal; the
    longest are then split up to it; each round flips edges to the Delaunay condition and moves
    vertices to the area-weighted centre of their faces, along the old surface. Collapses obey the
    link condition, so the topology never changes: a closed manifold of genus 0 stays one.

    Parameters
    ----------
    mesh : TriMesh
        A closed, connected manifold of genus 0, much finer than thin enough parts require; not
        checked beyond its edges and Euler number.
    vertices : int
        Number of vertices of the result.
    rng : Generator
        Decides the order of collapses; the same state gives the same mesh.
    floor : int
        Never go through fewer vertices than this on the way, if there are more in the end: what
        is too thin for them, such as fingers, would be bridged.
    polish : int
        Rounds at the end that replace short edges and even out the faces; without any, edges are
        collapsed and nothing else is done, and the faces stay as unequal as that leaves them.

    Raises
    ------
    InputError
        The mesh is open or has handles, or fewer than four vertices are asked for.
    ConvergenceError
        The number of vertices cannot be reached without a fold.
    """
    if vertices < 4:
        raise InputError(f"vertices is {vertices}; a closed surface needs at least 4")
    if (edges(mesh).counts != 2).any() or euler_number(mesh) != 2:
        raise InputError("the mesh must be closed and without handles; see finsler.health(mesh)")
    template = _template(mesh)
    surface = _Surface.whole(mesh)
    coarse = min(vertices, mesh.n_vertices, max(floor, vertices // 3))
    surface = _coarsened(surface, coarse if polish else vertices, rng, template, bool(polish))
    surface = _refined(surface, vertices, template)
    ideal = np.sqrt(2.0 * surface_area(mesh) / (np.sqrt(3.0) * vertices))
    for _ in range(polish):
        lengths = surface.lengths()
        short = np.flatnonzero(lengths < _SHORT * ideal)
        short = short[np.argsort(lengths[short], kind="stable")]
        surface = _refined(_collapsed(surface, short, len(short), template), vertices, template)
        for _ in range(2):
            surface.relax(template)
            surface.flip()
    corners = mesh.vertices[mesh.faces[surface.under]]
    points = np.einsum("nc,ncx->nx", surface.weights, corners)
    return Remeshed(TriMesh(points, surface.origin.reshape(-1, 3)), surface.under, surface.weights)


_Template = tuple[FloatArray, IntArray, IntArray, IntArray]


def _template(mesh: TriMesh) -> _Template:
    """Points, faces, and the faces around each vertex."""
    corners = mesh.faces.ravel()
    around = np.argsort(corners, kind="stable") // 3
    start = np.r_[0, np.cumsum(np.bincount(corners, minlength=mesh.n_vertices))]
    return mesh.vertices.copy(), mesh.faces.copy(), start, around


@dataclass(frozen=True, eq=False)
class _Surface:
    """A corner table on a template, see `_compiled`; `relax` and `flip` change it in place."""

    points: FloatArray
    under: IntArray
    weights: FloatArray
    origin: IntArray
    twin: IntArray

    @classmethod
    def whole(cls, mesh: TriMesh) -> _Surface:
        """The template as a surface on itself."""
        under, weights = np.zeros(mesh.n_vertices, dtype=np.int64), np.zeros((mesh.n_vertices, 3))
        corner = np.arange(3 * mesh.n_faces)
        last = np.zeros(mesh.n_vertices, dtype=np.int64)
        last[mesh.faces.ravel()] = corner
        under, weights[np.arange(mesh.n_vertices), last % 3] = last // 3, 1.0
        twin = np.empty(3 * mesh.n_faces, dtype=np.int64)
        pairs = edges(mesh).pairs
        twin[pairs[:, 0]], twin[pairs[:, 1]] = pairs[:, 1], pairs[:, 0]
        return cls(mesh.vertices.copy(), under, weights, mesh.faces.ravel().copy(), twin)

    def leaving(self) -> IntArray:
        """One half-edge from each vertex."""
        leaving = np.empty(len(self.points), dtype=np.int64)
        leaving[self.origin] = np.arange(len(self.origin))
        return leaving

    def lengths(self) -> FloatArray:
        """Length of each half-edge; infinite for the second one of an edge."""
        corners = self.origin.reshape(-1, 3)
        span = self.points[corners] - self.points[np.roll(corners, -1, axis=1)]
        lengths: FloatArray = np.linalg.norm(span, axis=2).ravel()
        lengths[self.twin < np.arange(len(self.twin))] = np.inf
        return lengths

    def flip(self) -> None:
        from finsler.synthetic._compiled import flip

        flip(self.points, self.origin, self.twin, self.leaving(), _FLIP_SWEEPS)

    def relax(self, template: _Template) -> None:
        from finsler.synthetic._compiled import relax

        relax(
            self.points,
            self.under,
            self.weights,
            self.origin,
            self.twin,
            self.leaving(),
            template,
        )


def _coarsened(
    surface: _Surface, vertices: int, rng: np.random.Generator, template: _Template, even: bool
) -> _Surface:
    while (excess := len(surface.points) - vertices) > 0:
        lengths = surface.lengths()
        # The noise decides which of many similar edges go, so that no two runs keep the same ones.
        score = lengths * rng.uniform(1.0, 2.0, len(lengths))
        order = np.argsort(score, kind="stable")[: len(lengths) // 4]
        before = len(surface.points)
        surface = _collapsed(surface, order, excess, template)
        if len(surface.points) == before:
            raise ConvergenceError(
                f"the surface cannot be coarsened from {before} to {vertices} vertices without a"
                " fold; ask for more vertices"
            )
        if even:
            surface.flip()
            surface.relax(template)
            surface.flip()
    return surface


def _refined(surface: _Surface, vertices: int, template: _Template) -> _Surface:
    while (missing := vertices - len(surface.points)) > 0:
        lengths = surface.lengths()
        real = np.flatnonzero(np.isfinite(lengths))
        order = real[np.argsort(-lengths[real], kind="stable")][: max(len(real) // 4, 1)]
        surface = _split(surface, order, missing, template)
        surface.flip()
        surface.relax(template)
        surface.flip()
    return surface


def _collapsed(surface: _Surface, order: IntArray, budget: int, template: _Template) -> _Surface:
    from finsler.synthetic._compiled import collapse

    s, leaving = surface, surface.leaving()
    collapse(s.points, s.under, s.weights, s.origin, s.twin, leaving, order, budget, template)
    keep = leaving >= 0
    number = np.cumsum(keep) - 1
    kept_faces = s.origin[::3] >= 0
    kept = np.repeat(kept_faces, 3)
    new_face = np.cumsum(kept_faces) - 1
    twin = s.twin[kept]
    return _Surface(
        s.points[keep],
        s.under[keep],
        s.weights[keep],
        number[s.origin[kept]],
        3 * new_face[twin // 3] + twin % 3,
    )


def _split(surface: _Surface, order: IntArray, budget: int, template: _Template) -> _Surface:
    from finsler.synthetic._compiled import split

    used, s = len(surface.points), surface
    room = min(budget, len(order))
    points = np.concatenate([s.points, np.zeros((room, 3))])
    under = np.concatenate([s.under, np.zeros(room, dtype=np.int64)])
    weights = np.concatenate([s.weights, np.zeros((room, 3))])
    origin, twin = (np.concatenate([x, np.full(6 * room, -1)]) for x in (s.origin, s.twin))
    done = split(points, under, weights, origin, twin, order, budget, used, template)
    n, corners = used + done, 3 * (2 * (used + done) - 4)
    return _Surface(points[:n], under[:n], weights[:n], origin[:corners], twin[:corners])
