"""Bones that turn about hinges, and what a species is made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from finsler.errors import InputError
from finsler.synthetic.body import Part, Point
from finsler.typing import FloatArray


@dataclass(frozen=True)
class Hinge:
    """An axis that a bone turns about, given in the rest pose, with its limits in degrees."""

    name: str
    axis: Point
    low: float
    high: float


@dataclass(frozen=True)
class Bone:
    """A bone, from its joint to its tip, in the rest pose.

    The hinges act one after the other, the last one first: each is carried along by those before.
    """

    name: str
    parent: str | None
    joint: Point
    tip: Point
    hinges: tuple[Hinge, ...] = ()


@dataclass(frozen=True)
class Trait:
    """A factor that sets individuals apart: it stretches some bones, widens others, swells skin.

    Bones of `girth` are widened all around, bones of `width` along x alone. Around the points of
    `swell`, each with its reach r, the skin is lifted by (factor − 1) r.
    """

    name: str
    low: float
    high: float
    stretch: tuple[str, ...] = ()
    girth: tuple[str, ...] = ()
    width: tuple[str, ...] = ()
    swell: tuple[tuple[Point, float], ...] = ()


@dataclass(frozen=True)
class Overlay:
    """Partial poses of one limb, drawn on their own by some chance; angles are given in degrees."""

    chance: float
    poses: tuple[Mapping[str, float], ...]

    @property
    def angles(self) -> dict[str, None]:
        """The angles that one of the poses names, in order."""
        return dict.fromkeys(name for pose in self.poses for name in pose)


@dataclass(frozen=True, eq=False)
class Species:
    """A kind of creature, facing +z, its left at +x, y up; lengths in metres.

    Attributes
    ----------
    name : str
    bones : tuple of Bone
        Parents before children, the root first.
    parts : tuple of Part
        Flesh; a part on the left bone of a pair is on the left.
    traits : tuple of Trait
    stances : dict
        Poses to start from, each a mapping from angles to degrees.
    spacing : float
        Grid on which the body is polygonised.
    template_vertices : int
    overlays : dict
        Partial poses of a limb, laid over a stance, and the chance that they are.
    builds : dict
        Identities that individuals are drawn around; without any, they are drawn around 1.
    finer : dict
        Factors with which an individual is remeshed, so that thin limbs get vertices enough.
    """

    name: str
    bones: tuple[Bone, ...]
    parts: tuple[Part, ...]
    traits: tuple[Trait, ...]
    stances: Mapping[str, Mapping[str, float]]
    spacing: float
    template_vertices: int
    overlays: Mapping[str, Overlay] = field(default_factory=dict)
    builds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    finer: Mapping[str, float] = field(default_factory=dict)

    @property
    def hinges(self) -> dict[str, Hinge]:
        """All hinges by the name of their angle, "bone hinge"."""
        return {f"{b.name} {h.name}": h for b in self.bones for h in b.hinges}

    @property
    def parents(self) -> tuple[int, ...]:
        """Index of the parent of each bone, −1 for the root."""
        index = {bone.name: i for i, bone in enumerate(self.bones)}
        return tuple(-1 if b.parent is None else index[b.parent] for b in self.bones)

    def angles(self, pose: Mapping[str, float]) -> dict[str, float]:
        """A pose with every angle named, zero where it was left out.

        Raises
        ------
        InputError
            An angle that the species does not have, or one beyond its limits.
        """
        hinges = self.hinges
        _check_names("pose", pose, hinges, self.name)
        for name, angle in pose.items():
            low, high = hinges[name].low, hinges[name].high
            if not low <= angle <= high:
                raise InputError(f"{name} is {angle} degrees; it must lie in {low}..{high}")
        return {name: float(pose.get(name, 0.0)) for name in hinges}

    def factors(self, identity: Mapping[str, float]) -> dict[str, float]:
        """An identity with every trait named, 1 where it was left out.

        Raises
        ------
        InputError
            A trait that the species does not have, or one beyond its limits.
        """
        traits = {trait.name: trait for trait in self.traits}
        _check_names("identity", identity, traits, self.name)
        for name, factor in identity.items():
            low, high = traits[name].low, traits[name].high
            if not low <= factor <= high:
                raise InputError(f"trait {name} is {factor}; it must lie in {low}..{high}")
        return {name: float(identity.get(name, 1.0)) for name in traits}

    def mirrored(self, pose: Mapping[str, float]) -> dict[str, float]:
        """The pose as seen in a mirror: left and right change places."""
        hinges = self.hinges
        turned = {}
        for name, angle in pose.items():
            swapped = _swap_sides(name)
            # Turning is not reflected like a vector: about x it stays, about y and z it reverses.
            reverse = swapped == name and hinges[name].axis[0] == 0.0
            turned[swapped] = -angle if reverse else angle
        return turned


def mirrored_bones(bones: Iterable[Bone]) -> list[Bone]:
    """The bones, each left one followed by all right ones at the end, reflected in x = 0."""
    left = [bone for bone in bones if bone.name.startswith("left_")]
    right = [
        replace(
            bone,
            name=_swap_sides(bone.name),
            parent=bone.parent and _swap_sides(bone.parent),
            joint=_reflected(bone.joint),
            tip=_reflected(bone.tip),
            hinges=tuple(replace(h, axis=(h.axis[0], -h.axis[1], -h.axis[2])) for h in bone.hinges),
        )
        for bone in left
    ]
    return [*bones, *right]


def mirrored_parts(parts: Iterable[Part]) -> list[Part]:
    """The parts, each left one followed by its reflection."""
    both = []
    for part in parts:
        both.append(part)
        if part.bone.startswith("left_"):
            both.append(
                replace(
                    part,
                    bone=_swap_sides(part.bone),
                    start=_reflected(part.start),
                    end=_reflected(part.end),
                )
            )
        elif part.start[0] != 0.0 or part.end[0] != 0.0:
            both.append(replace(part, start=_reflected(part.start), end=_reflected(part.end)))
    return both


def both_sides(names: Iterable[str]) -> tuple[str, ...]:
    """The names, "left_" and "right_" put before those that start with "_"."""
    return tuple(
        full
        for name in names
        for full in ((f"left{name}", f"right{name}") if name[0] == "_" else (name,))
    )


def sided_pose(
    middle: Mapping[str, float], left: Mapping[str, float], right: Mapping[str, float]
) -> dict[str, float]:
    """A pose from the angles of unpaired bones, of left ones and of right ones."""
    return {
        **middle,
        **{f"left_{name}": angle for name, angle in left.items()},
        **{f"right_{name}": angle for name, angle in right.items()},
    }


def unit_quaternion(axis: Point, degrees: float) -> FloatArray:
    """Rotation about an axis, (w, x, y, z)."""
    half = np.radians(degrees) / 2.0
    direction = np.asarray(axis) / np.linalg.norm(axis)
    return np.asarray(np.r_[np.cos(half), np.sin(half) * direction])


def quaternion_product(p: FloatArray, q: FloatArray) -> FloatArray:
    """Product of quaternions (..., 4)."""
    pw, pv, qw, qv = p[..., :1], p[..., 1:], q[..., :1], q[..., 1:]
    scalar = pw * qw - (pv * qv).sum(axis=-1, keepdims=True)
    vector = pw * qv + qw * pv + np.cross(pv, qv)
    product: FloatArray = np.concatenate([scalar, vector], axis=-1)
    return product


def rotated(q: FloatArray, vectors: FloatArray) -> FloatArray:
    """Vectors (..., 3) turned by unit quaternions (..., 4)."""
    cross = np.cross(q[..., 1:], vectors)
    return np.asarray(vectors + 2.0 * (q[..., :1] * cross + np.cross(q[..., 1:], cross)))


def _swap_sides(name: str) -> str:
    for here, there in (("left_", "right_"), ("right_", "left_")):
        if name.startswith(here):
            return there + name.removeprefix(here)
    return name


def _reflected(point: Point) -> Point:
    return (-point[0], point[1], point[2])


def _check_names(
    argument: str, given: Iterable[str], known: Mapping[str, object], species: str
) -> None:
    for name in given:
        if name not in known:
            raise InputError(
                f"{argument} names {name!r}, which a {species} does not have; it has"
                f" {', '.join(known)}"
            )
