"""Collections that the package makes itself: creatures with known correspondence, no download.

Humanoids and quadrupeds differ moderately and are meshed evenly. Persons and animals vary widely:
builds from child to giant and from cat to hippopotamus, strong poses, fingers that curl, a relief
of the skin that belongs to the identity. Each of their shapes has 0.2 to 1.6 times the vertices of
the reference, but 1,000 or more, one of five kinds of triangulation, and some have a flaw. Their
truth is a list of points (`Shape.points`) beside the labels: point i is vertex i of the reference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

import numpy as np

from finsler.compute.cluster import Workers, run
from finsler.data.collection import Collection, Shape
from finsler.data.sets.creature import Creature, make_creature, require_counts
from finsler.data.variants import vary
from finsler.errors import ConvergenceError, InputError
from finsler.synthetic import (
    TRIANGULATIONS,
    sample_identity,
    sample_pose,
    sample_relief,
    species_named,
    template,
)

# Random streams, one for each purpose: default_rng([seed, purpose, identity, pose]).
_IDENTITY, _POSE, _MESH, REFERENCE, _VARIETY, _RELIEF = 1, 2, 3, 4, 5, 6
# Vertices of varied shapes, as shares of the reference's, and never fewer than the third number.
_FEWER, _MORE, _FEWEST = 0.2, 1.6, 1000
# How many streams of poses are tried: one shape must not stop a collection of many.
_ATTEMPTS = 4
_FLAWS = ("noise", "holes", "crumbs")


def synthetic_collection(
    species: str = "humanoid",
    *,
    train: int = 80,
    test: int = 20,
    poses: int = 10,
    vertices: int = 2000,
    seed: int = 0,
    flaws: float = 0.25,
) -> Collection:
    """A collection of creatures, each shape generated when it is loaded.

    Identities are numbered through, `poses` poses each; "humanoid_i03_p02" is pose 2 of identity 3.
    Training takes the first ones, testing starts with a new identity: identities, poses and meshes
    of the test shapes are unseen in training. The reference, whose vertices are the classes, is the
    template itself, meshed evenly; it belongs to neither split. The same arguments give the same
    bytes at every call, and a shape does not depend on how many others there are.

    Parameters
    ----------
    species : {"humanoid", "quadruped", "person", "animal"}
    train, test : int
        Number of shapes.
    poses : int
        Poses of each identity.
    vertices : int
        Of the reference, and of every humanoid and quadruped; 500 to 20,000, of persons and
        animals to 12,500.
    seed : int
    flaws : float
        Share of the persons and animals with noise, holes or crumbs (`finsler.data.variants`).

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
    varied = bool(species_named(species).builds)
    least = {"train": (train, 0), "test": (test, 0), "poses": (poses, 1), "seed": (seed, 0)}
    require_counts(vertices, **least)
    if varied:
        _require_varied(vertices, flaws)
    numbers = _numbers(species, train, test, poses)
    names = tuple(numbers)
    load = partial(_load_varied, flaws) if varied else _load
    return Collection(
        name=f"synthetic {species}",
        train=names[:train],
        test=names[train:],
        reference=f"{species}_reference",
        load=partial(load, species, vertices, seed, numbers),
    )


def _numbers(species: str, train: int, test: int, poses: int) -> dict[str, tuple[int, int]]:
    """Identity and pose of each shape by its name; testing starts with a new identity."""
    first_unseen = -(-train // poses)
    return {
        f"{species}_i{start + k // poses:02d}_p{k % poses:02d}": (start + k // poses, k % poses)
        for start, count in ((0, train), (first_unseen, test))
        for k in range(count)
    }


def load_all(
    collection: Collection,
    workers: Workers | None = None,
    *,
    progress: Callable[[str], None] = lambda name: None,
) -> Collection:
    """The same collection with all of its shapes in memory, loaded once and by many processes.

    What takes long to load, as synthetic shapes do, is then quick to pack or to train on.

    Parameters
    ----------
    collection : Collection
    workers : Workers, optional
        Who loads the shapes; by default this process.
    progress : callable
        Called with the name of each shape that is there.

    Raises
    ------
    Exception
        The first error of a shape.
    """
    names = dict.fromkeys((collection.reference, *collection.names))
    shapes = {}
    for done in run(collection.load, ((name, (name,)) for name in names), workers):
        shapes[done.name] = done.required()
        progress(done.name)
    return replace(collection, load=shapes.__getitem__)


def _require_varied(vertices: int, flaws: float) -> None:
    if round(_MORE * vertices) > 20_000:
        raise InputError(
            f"vertices is {vertices}; of persons and animals, which may have {_MORE} times as many,"
            " it must be at most 12500"
        )
    if not 0.0 <= flaws <= 1.0:
        raise InputError(f"flaws is {flaws}; it must be a share, from 0 to 1")


def _load(
    species: str, vertices: int, seed: int, numbers: dict[str, tuple[int, int]], name: str
) -> Shape:
    _require_name(species, numbers, name)
    reference = _reference(species, vertices, seed)
    if name == f"{species}_reference":
        return reference.shape(name, reference)
    number, which = numbers[name]
    identity, pose = _drawn(species, seed, number, which)
    creature = make_creature(
        species, identity, pose, vertices=vertices, seed=[seed, _MESH, number, which]
    )
    return creature.shape(name, reference)


def _load_varied(
    flaws: float,
    species: str,
    vertices: int,
    seed: int,
    numbers: dict[str, tuple[int, int]],
    name: str,
) -> Shape:
    _require_name(species, numbers, name)
    reference = _reference(species, vertices, seed)
    if name == f"{species}_reference":
        return reference.varied_shape(name, reference)
    number, which = numbers[name]
    identity, pose = _drawn(species, seed, number, which)
    relief = sample_relief(template(species), np.random.default_rng([seed, _RELIEF, number, 0]))
    rng = np.random.default_rng([seed, _VARIETY, number, which])
    count = max(_FEWEST, round(vertices * np.exp(rng.uniform(np.log(_FEWER), np.log(_MORE)))))
    kind, flaw = (words[rng.integers(len(words))] for words in (TRIANGULATIONS, _FLAWS))
    creature = make_creature(
        species,
        identity,
        pose,
        vertices=count,
        seed=[seed, _MESH, number, which],
        relief=relief,
        triangulation=kind,
    )
    shape = creature.varied_shape(name, reference)
    return vary(shape, flaw, seed=seed) if rng.random() < flaws else shape


def _drawn(
    species: str, seed: int, number: int, which: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Identity and pose of a shape; of a varied species, another pose where none was found."""
    common = template(species)
    identity = sample_identity(common.species, np.random.default_rng([seed, _IDENTITY, number, 0]))
    stream = [seed, _POSE, number, which]
    for attempt in range(_ATTEMPTS if common.species.builds else 0):
        try:
            rng = np.random.default_rng([*stream, attempt] if attempt else stream)
            return identity, sample_pose(common, identity, rng)
        except ConvergenceError:
            continue
    return identity, sample_pose(common, identity, np.random.default_rng(stream))


def _require_name(species: str, numbers: dict[str, tuple[int, int]], name: str) -> None:
    if name not in numbers and name != f"{species}_reference":
        raise InputError(f"synthetic {species} has no shape {name!r}; see `names`")


@cache
def _reference(species: str, vertices: int, seed: int) -> Creature:
    return make_creature(species, vertices=vertices, seed=[seed, REFERENCE, 0, 0])
