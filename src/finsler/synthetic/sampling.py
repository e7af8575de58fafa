"""Individuals and poses drawn at random, none of them running limbs through each other."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from finsler.errors import ConvergenceError
from finsler.synthetic.skeleton import Species, rotated
from finsler.synthetic.skinning import build, motion
from finsler.synthetic.template import Template

_TRIES = 100
# Every so many vertices of the template are looked at.
_STRIDE = 5
# What is closer than this to a part at rest, in metres, may touch it in a pose.
_NEIGHBOURHOOD = 0.035
# A limb may sink into another by this share of the other's radius.
_SINK = 0.15


def sample_identity(species: Species, rng: np.random.Generator) -> dict[str, float]:
    """Factors of all traits, even on a logarithmic scale between their limits."""
    return {
        trait.name: float(np.exp(rng.uniform(np.log(trait.low), np.log(trait.high))))
        for trait in species.traits
    }


def sample_pose(
    template: Template, identity: Mapping[str, float], rng: np.random.Generator
) -> dict[str, float]:
    """Angles of all hinges: a stance, stronger or weaker, perhaps mirrored, with noise.

    The noise of an angle is normal, a fourteenth of its range wide, and cut at its limits. Poses
    in which a limb sinks into another are drawn again from the same stream.

    Raises
    ------
    ConvergenceError
        No pose without such a collision in 100 draws.
    """
    species = template.species
    names = list(species.stances)
    for _ in range(_TRIES):
        stance = species.stances[names[rng.integers(len(names))]]
        strength, mirror = rng.uniform(0.6, 1.05), rng.random() < 0.5
        pose = {}
        for name, hinge in species.hinges.items():
            noise = rng.normal(0.0, (hinge.high - hinge.low) / 14.0)
            angle = strength * stance.get(name, 0.0) + noise
            pose[name] = float(np.clip(angle, hinge.low, hinge.high))
        pose = species.mirrored(pose) if mirror else pose
        if deepest_sink(template, identity, pose) <= _SINK:
            return pose
    raise ConvergenceError(
        f"no pose of a {species.name} without colliding limbs was found in {_TRIES} draws; use"
        " another seed"
    )


def deepest_sink(
    template: Template, identity: Mapping[str, float], pose: Mapping[str, float]
) -> float:
    """How deep a vertex sinks into a part that it is clear of at rest, as a share of its radius.

    Vertices are carried back to the template by the bone of the part, where its distance is known.
    Zero where nothing sinks in. Only every fifth vertex is looked at.
    """
    species = template.species
    individual = build(species, identity)
    moving = motion(species, individual, pose)
    rest, weights = template.mesh.vertices[::_STRIDE], template.weights[::_STRIDE]
    points = moving.skinned(individual.deformed(rest, weights), weights)
    inverse = np.linalg.inv(individual.scales)
    conjugate = moving.rotations * np.array([1.0, -1.0, -1.0, -1.0])
    bone = {b.name: i for i, b in enumerate(species.bones)}
    deepest = 0.0
    for part in species.parts:
        b = bone[part.bone]
        free = (weights[:, b] == 0.0) & (part.distance(rest) > _NEIGHBOURHOOD)
        back = rotated(conjugate[b], points[free] - moving.shifts[b]) - individual.joints[b]
        local = back @ inverse[b].T + individual.old_joints[b]
        deepest = max(deepest, -float(part.distance(local).min()) / max(part.radii))
    return deepest
