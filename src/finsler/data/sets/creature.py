"""One synthetic creature: identity, pose, and a mesh that knows where it lies on the template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from finsler.data.collection import Shape
from finsler.errors import InputError
from finsler.mesh.measures import vertex_normals
from finsler.mesh.summary import one_line
from finsler.mesh.topology import edges
from finsler.mesh.trimesh import TriMesh
from finsler.synthetic import species_named, template, triangulate
from finsler.typing import BoolArray, FloatArray, IntArray

_LEAST, _MOST = 500, 20_000
# How many reference vertices are considered before the side of a thin part is given up.
_CANDIDATES = 12
# What it costs, in metres, to leave the bones of a vertex, or its side of a thin part.
_OTHER_BONE, _OTHER_SIDE = 0.1, 1.0


@one_line("species", "mesh")
@dataclass(frozen=True, eq=False)
class Creature:
    """An individual in a pose, meshed on its own, that knows where it lies on the template.

    Attributes
    ----------
    species : str
    identity : dict
        Factor of every trait; 1 is the template's.
    pose : dict
        Angle of every hinge in degrees; 0 is the template's.
    mesh : TriMesh
        Closed, genus 0, facing outwards; in metres, y up, standing on y = 0.
    template_faces : (n,)
        Face of the species' template in which each vertex lies, exactly.
    template_barycentric : (n, 3)
        Coordinates in that face.
    """

    species: str
    identity: dict[str, float]
    pose: dict[str, float]
    mesh: TriMesh
    template_faces: IntArray
    template_barycentric: FloatArray

    def rest_points(self) -> FloatArray:
        """The same points (n, 3) on the template at rest."""
        return self._interpolated(template(self.species).mesh.vertices)

    def rest_normals(self) -> FloatArray:
        """Normals (n, 3) of the template at these points, interpolated and not of unit length."""
        return self._interpolated(vertex_normals(template(self.species).mesh))

    def shape(self, name: str, reference: Creature) -> Shape:
        """This creature as a shape, labelled by the vertices of a reference creature.

        The label of a vertex is the reference vertex nearest to it, both taken to the template at
        rest, among the nearest twelve those that lie on the same side of it (normals less than a
        right angle apart), so that a palm is not labelled by the back of the hand. Distances are
        straight: at rest limbs are held apart, so the nearest point is on the same limb. A vertex
        is named, its label ground truth, where that distance is at most half the mean length of the
        edges at the reference vertex, all measured at rest; others are nearest, but not near.

        Raises
        ------
        InputError
            The reference is of another species.
        """
        if self.species != reference.species:
            raise InputError(f"a {self.species} cannot be labelled by a {reference.species}")
        goals = reference.rest_points()
        count = min(_CANDIDATES, len(goals))
        distance, candidates = cKDTree(goals).query(self.rest_points(), k=count)
        agreement = np.einsum(
            "ni,nki->nk", self.rest_normals(), reference.rest_normals()[candidates]
        )
        # The first candidate on the same side; the very first one where there is none.
        pick = np.argmax(agreement > 0.0, axis=1)[:, None]
        labels = np.take_along_axis(candidates, pick, axis=1)[:, 0].astype(np.int64)
        gap = np.take_along_axis(distance, pick, axis=1)[:, 0]
        named: BoolArray = gap <= 0.5 * _mean_edges(TriMesh(goals, reference.mesh.faces))[labels]
        return Shape(name=name, mesh=self.mesh, labels=labels, named=named)

    def varied_shape(self, name: str, reference: Creature) -> Shape:
        """This creature as a shape with labels, and with the points that all of its species list.

        Point i is vertex i of the reference; each is at the nearest vertex of this creature, both
        taken to the template at rest, where going over to other bones, such as the next finger,
        counts as 0.1 m, and to the other side of a thin part as 1 m. Labels are the same the other
        way round; they are named as in [`shape`][finsler.data.Creature.shape].
        """
        labels, gap = self._nearest(reference)
        points, _ = reference._nearest(self)
        goals = TriMesh(reference.rest_points(), reference.mesh.faces)
        named: BoolArray = gap <= 0.5 * _mean_edges(goals)[labels]
        return Shape(name, self.mesh, labels, named, points, self.species)

    def _nearest(self, other: Creature) -> tuple[IntArray, FloatArray]:
        """Vertex (n,) of another creature at each of this one's, and how far it is at rest."""
        here, there = self.rest_points(), other.rest_points()
        count = min(2 * _CANDIDATES, len(there))
        distance, candidates = cKDTree(there).query(here, k=count)
        weights = template(self.species).weights
        own, others = self._interpolated(weights), other._interpolated(weights)
        bones = 0.5 * np.abs(own[:, None, :] - others[candidates]).sum(axis=2)
        normals = other.rest_normals()[candidates]
        across = np.einsum("ni,nki->nk", self.rest_normals(), normals) <= 0.0
        cost = distance + _OTHER_BONE * bones + _OTHER_SIDE * across
        pick = np.argmin(cost, axis=1)[:, None]
        nearest, gap = (np.take_along_axis(x, pick, axis=1)[:, 0] for x in (candidates, distance))
        return nearest.astype(np.int64), gap

    def _interpolated(self, values: FloatArray) -> FloatArray:
        corners = values[template(self.species).mesh.faces[self.template_faces]]
        return np.asarray(np.einsum("nc,ncx->nx", self.template_barycentric, corners))


def make_creature(
    species: str,
    identity: Mapping[str, float] | None = None,
    pose: Mapping[str, float] | None = None,
    *,
    vertices: int = 2000,
    seed: int | Sequence[int] = 0,
    relief: FloatArray | None = None,
    triangulation: str = "even",
) -> Creature:
    """Build one creature: an identity, a pose, and a mesh of its own.

    The template is stretched by the identity, posed by dual quaternion skinning and remeshed; its
    shape depends on identity and pose alone, its mesh on the seed too.

    Parameters
    ----------
    species : {"humanoid", "quadruped", "person", "animal"}
    identity : mapping, optional
        Factors of traits, such as {"legs": 1.1}; traits left out are 1.
    pose : mapping, optional
        Angles in degrees, such as {"left_forearm flex": 90}; angles left out are 0. Poses given
        here are taken as they are, even where limbs collide.
    vertices : int
        From 500 to 20,000; met exactly.
    seed : int or sequence of int
        Of the mesh.
    relief : (p,), optional
        Lift of each vertex of the template in metres, such as one that
        [`sample_relief`][finsler.synthetic.relief.sample_relief] draws.
    triangulation : {"even", "stretched", "uneven", "curved", "rough"}
        See [`triangulate`][finsler.synthetic.triangulation.triangulate].

    Raises
    ------
    InputError
        An unknown species, trait, angle or triangulation, a value beyond its limits, or a number of
        vertices outside 500..20,000.

    Examples
    --------
    >>> dog = make_creature("quadruped", {"legs": 0.9}, {"head turn": 30}, vertices=600)
    >>> dog.mesh
    TriMesh(600 vertices, 1196 faces, size ...)
    """
    kind = species_named(species)
    require_counts(vertices)
    factors, angles = kind.factors(identity or {}), kind.angles(pose or {})
    posed = template(species).posed(factors, angles, relief)
    rng = np.random.default_rng(seed)
    if kind.finer:
        # Fingers would neither survive a coarser mesh on the way nor one as coarse as the trunk's.
        larger = template(species).posed({**factors, **kind.finer}, angles, relief)
        result = triangulate(posed, triangulation, vertices, rng, floor=vertices, domain=larger)
    else:
        result = triangulate(posed, triangulation, vertices, rng)
    return Creature(species, factors, angles, result.mesh, result.under, result.barycentric)


def require_counts(vertices: int, **others: tuple[int, int]) -> None:
    """Raise where the vertices, or others with their least values, are out of range."""
    for argument, (value, least) in others.items():
        if value < least:
            raise InputError(f"{argument} is {value}; it must be at least {least}")
    if not _LEAST <= vertices <= _MOST:
        raise InputError(f"vertices is {vertices}; it must lie in {_LEAST}..{_MOST}")


def _mean_edges(mesh: TriMesh) -> FloatArray:
    """Mean length (n,) of the edges at each vertex."""
    ends = edges(mesh).vertices
    lengths = np.linalg.norm(mesh.vertices[ends[:, 0]] - mesh.vertices[ends[:, 1]], axis=1)
    total = np.bincount(ends.ravel(), np.repeat(lengths, 2), mesh.n_vertices)
    return np.asarray(total / np.bincount(ends.ravel(), minlength=mesh.n_vertices))
