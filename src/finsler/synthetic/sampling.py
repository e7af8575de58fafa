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
# A limb may sink into another by this share of the other's radius, of a species with overlays by
# the second one: crouching people press their limbs together.
_SINK, _DEEP = 0.15, 0.3
# Draws of a species with overlays that keep to one stance, so that strong ones are not rare.
_PATIENCE = 12


def sample_identity(species: Species, rng: np.random.Generator) -> dict[str, float]:
    """Factors of all traits, even on a logarithmic scale between their limits.

    Of a species with builds, around a mixture of two of them drawn at random: each factor is theirs
    times that even one to a power up to 0.45, common to all traits, and cut at its limits.
    """
    if species.builds:
        return _around_builds(species, rng)
    return {
        trait.name: float(np.exp(rng.uniform(np.log(trait.low), np.log(trait.high))))
        for trait in species.traits
    }


def _around_builds(species: Species, rng: np.random.Generator) -> dict[str, float]:
    names = list(species.builds)
    one, other = (species.builds[names[i]] for i in rng.integers(len(names), size=2))
    share, spread = rng.beta(0.5, 0.5), rng.uniform(0.1, 0.45)
    factors = {}
    for trait in species.traits:
        middle = one.get(trait.name, 1.0) ** (1.0 - share) * other.get(trait.name, 1.0) ** share
        drift = spread * rng.uniform(np.log(trait.low), np.log(trait.high))
        factors[trait.name] = float(np.clip(middle * np.exp(drift), trait.low, trait.high))
    return factors


def sample_pose(
    template: Template, identity: Mapping[str, float], rng: np.random.Generator
) -> dict[str, float]:
    """Angles of all hinges: a stance, stronger or weaker, perhaps mirrored, with noise.

    Overlays of the species may replace the stance of a limb. The noise of an angle is normal, a
    fourteenth of its range wide, of a species with overlays a fiftieth to a tenth, and cut at its
    limits. Poses in which a limb sinks into another are drawn again from the same stream, of a
    species with overlays twelve times from one stance before another is drawn.

    Raises
    ------
    ConvergenceError
        No pose without such a collision in 100 draws.
    """
    species = template.species
    names = list(species.stances)
    drawn: Mapping[str, float] = {}
    patience, deepest = (_PATIENCE, _DEEP) if species.overlays else (1, _SINK)
    for number in range(_TRIES):
        if number % patience == 0:
            drawn = species.stances[names[rng.integers(len(names))]]
        strength, mirror = rng.uniform(0.6, 1.05), rng.random() < 0.5
        narrow = rng.uniform(10.0, 50.0) if species.overlays else 14.0
        stance = {**drawn, **_overlaid(species, rng)}
        pose = {}
        for name, hinge in species.hinges.items():
            noise = rng.normal(0.0, (hinge.high - hinge.low) / narrow)
            angle = strength * stance.get(name, 0.0) + noise
            pose[name] = float(np.clip(angle, hinge.low, hinge.high))
        pose = species.mirrored(pose) if mirror else pose
        if deepest_sink(template, identity, pose) <= deepest:
            return pose
    raise ConvergenceError(
        f"no pose of a {species.name} without colliding limbs was found in {_TRIES} draws; use"
        " another seed"
    )


def _overlaid(species: Species, rng: np.random.Generator) -> dict[str, float]:
    """Angles of the limbs whose overlay is drawn."""
    angles: dict[str, float] = {}
    for overlay in species.overlays.values():
        if rng.random() < overlay.chance:
            pose = overlay.poses[rng.integers(len(overlay.poses))]
            angles |= {name: pose.get(name, 0.0) for name in overlay.angles}
    return angles


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
