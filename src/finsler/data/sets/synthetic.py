"""A collection that the package makes itself: creatures with known correspondence, no download."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from scipy.spatial import cKDTree

from finsler.data.collection import Collection, Shape
from finsler.errors import InputError
from finsler.mesh.measures import vertex_normals
from finsler.mesh.summary import one_line
from finsler.mesh.topology import edges
from finsler.mesh.trimesh import TriMesh
from finsler.synthetic import (
    remesh,
    sample_identity,
    sample_pose,
    species_named,
    template,
)
from finsler.typing import BoolArray, FloatArray, IntArray

_LEAST, _MOST = 500, 20_000
# Random streams, one for each purpose: default_rng([seed, purpose, identity, pose]).
_IDENTITY, _POSE, _MESH, _REFERENCE = 1, 2, 3, 4
# How many reference vertices are considered before the side of a thin part is given up.
_CANDIDATES = 12


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
) -> Creature:
    """Build one creature: an identity, a pose, and a mesh of its own.

    The template is stretched by the identity, posed by dual quaternion skinning and remeshed; its
    shape depends on identity and pose alone, its mesh on the seed too.

    Parameters
    ----------
    species : {"humanoid", "quadruped"}
    identity : mapping, optional
        Factors of traits, such as {"legs": 1.1}; traits left out are 1.
    pose : mapping, optional
        Angles in degrees, such as {"left_forearm flex": 90}; angles left out are 0. Poses given
        here are taken as they are, even where limbs collide.
    vertices : int
        From 500 to 20,000; met exactly.
    seed : int or sequence of int
        Of the mesh.

    Raises
    ------
    InputError
        An unknown species, trait or angle, a value beyond its limits, or a number of vertices
        outside 500..20,000.

    Examples
    --------
    >>> dog = make_creature("quadruped", {"legs": 0.9}, {"head turn": 30}, vertices=600)
    >>> dog.mesh
    TriMesh(600 vertices, 1196 faces, size ...)
    """
    kind = species_named(species)
    _require_counts(vertices)
    factors, angles = kind.factors(identity or {}), kind.angles(pose or {})
    posed = template(species).posed(factors, angles)
    result = remesh(posed, vertices, np.random.default_rng(seed))
    return Creature(species, factors, angles, result.mesh, result.under, result.barycentric)


def synthetic_collection(
    species: str = "humanoid",
    *,
    train: int = 80,
    test: int = 20,
    poses: int = 10,
    vertices: int = 2000,
    seed: int = 0,
) -> Collection:
    """A collection of creatures, each shape generated when it is loaded.

    Identities are numbered through, `poses` poses each; training takes the first ones, testing
    starts with a new identity. Every shape has its own pose and its own mesh, so identities, poses
    and connectivity of the test shapes are unseen in training. Shape "humanoid_i03_p02" is pose 2
    of identity 3. The reference, whose vertices are the classes, is the template itself, meshed
    like the others; it belongs to neither split. The same arguments give the same bytes at every
    call, and a shape does not depend on how many others there are.

    Parameters
    ----------
    species : {"humanoid", "quadruped"}
    train, test : int
        Number of shapes.
    poses : int
        Poses of each identity.
    vertices : int
        Of every shape, exactly; 500 to 20,000.
    seed : int

    Raises
    ------
    InputError
        An unknown species, or a number out of range.

    Examples
    --------
    >>> people = synthetic_collection("humanoid", train=2, test=1, poses=2, vertices=500)
    >>> people.names
    ('humanoid_i00_p00', 'humanoid_i00_p01', 'humanoid_i01_p00')
    >>> people["humanoid_i01_p00"].mesh
    TriMesh(500 vertices, 996 faces, size ...)
    """
    species_named(species)
    least = {"train": (train, 0), "test": (test, 0), "poses": (poses, 1), "seed": (seed, 0)}
    _require_counts(vertices, **least)
    first_unseen = -(-train // poses)
    numbers = {
        f"{species}_i{start + k // poses:02d}_p{k % poses:02d}": (start + k // poses, k % poses)
        for start, count in ((0, train), (first_unseen, test))
        for k in range(count)
    }
    names = tuple(numbers)
    return Collection(
        name=f"synthetic {species}",
        train=names[:train],
        test=names[train:],
        reference=f"{species}_reference",
        load=partial(_load, species, vertices, seed, numbers),
    )


def _require_counts(vertices: int, **others: tuple[int, int]) -> None:
    """Raise where the vertices, or others with their least values, are out of range."""
    for argument, (value, least) in others.items():
        if value < least:
            raise InputError(f"{argument} is {value}; it must be at least {least}")
    if not _LEAST <= vertices <= _MOST:
        raise InputError(f"vertices is {vertices}; it must lie in {_LEAST}..{_MOST}")


def _load(
    species: str, vertices: int, seed: int, numbers: dict[str, tuple[int, int]], name: str
) -> Shape:
    if name not in numbers and name != f"{species}_reference":
        raise InputError(f"synthetic {species} has no shape {name!r}; see `names`")
    reference = _reference(species, vertices, seed)
    if name not in numbers:
        return reference.shape(name, reference)
    number, which = numbers[name]
    common = template(species)
    identity = sample_identity(common.species, np.random.default_rng([seed, _IDENTITY, number, 0]))
    pose = sample_pose(common, identity, np.random.default_rng([seed, _POSE, number, which]))
    creature = make_creature(
        species, identity, pose, vertices=vertices, seed=[seed, _MESH, number, which]
    )
    return creature.shape(name, reference)


@cache
def _reference(species: str, vertices: int, seed: int) -> Creature:
    return make_creature(species, vertices=vertices, seed=[seed, _REFERENCE, 0, 0])


def _mean_edges(mesh: TriMesh) -> FloatArray:
    """Mean length (n,) of the edges at each vertex."""
    ends = edges(mesh).vertices
    lengths = np.linalg.norm(mesh.vertices[ends[:, 0]] - mesh.vertices[ends[:, 1]], axis=1)
    total = np.bincount(ends.ravel(), np.repeat(lengths, 2), mesh.n_vertices)
    return np.asarray(total / np.bincount(ends.ravel(), minlength=mesh.n_vertices))
