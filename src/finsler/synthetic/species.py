"""The species, each read from the table beside this file."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from finsler.errors import InputError
from finsler.synthetic.body import Part, Point
from finsler.synthetic.skeleton import (
    Bone,
    Hinge,
    Overlay,
    Species,
    Trait,
    both_sides,
    mirrored_bones,
    mirrored_parts,
    sided_pose,
)

SPECIES = ("humanoid", "quadruped", "person", "animal")

_AXES: dict[str, Point] = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


@cache
def species_named(name: str) -> Species:
    """One of the species.

    Raises
    ------
    InputError
        There is none of that name.
    """
    if name not in SPECIES:
        raise InputError(f"species is {name!r}; it must be one of {', '.join(SPECIES)}")
    text = files("finsler.synthetic").joinpath(f"{name}.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    bones = tuple(mirrored_bones([_bone(**row) for row in table["bones"]]))
    every = tuple(bone.name for bone in bones)
    hinges = {f"{bone.name} {hinge.name}" for bone in bones for hinge in bone.hinges}
    return Species(
        name=name,
        bones=bones,
        parts=tuple(mirrored_parts([_part(row) for row in table["parts"]])),
        traits=tuple(_trait(row, every) for row in table["traits"]),
        stances={stance: _stance(**sides) for stance, sides in table["stances"].items()},
        spacing=table["spacing"],
        template_vertices=table["template_vertices"],
        overlays=dict(_overlays(table.get("overlays", {}), hinges)),
        builds=table.get("builds", {}),
        finer=table.get("finer", {}),
    )


def _bone(
    name: str,
    joint: Sequence[float],
    tip: Sequence[float],
    hinges: Sequence[Sequence[Any]],
    parent: str | None = None,
) -> Bone:
    turning = tuple(Hinge(hinge, _axis(axis), low, high) for hinge, axis, low, high in hinges)
    return Bone(name, parent, _point(joint), _point(tip), turning)


def _part(row: Mapping[str, Any]) -> Part:
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}
    return Part(**fields)


def _trait(row: Mapping[str, Any], every: tuple[str, ...]) -> Trait:
    bones = {
        effect: every if row.get(effect) == ["*"] else both_sides(row.get(effect, ()))
        for effect in ("stretch", "girth", "width")
    }
    swell = tuple(
        ((side * x, y, z), reach)
        for x, y, z, reach in row.get("swell", ())
        for side in ((1.0, -1.0) if x else (1.0,))
    )
    return Trait(row["name"], row["low"], row["high"], **bones, swell=swell)


def _overlays(
    rows: Mapping[str, Mapping[str, Any]], hinges: set[str]
) -> Iterator[tuple[str, Overlay]]:
    """The overlays of a table; of a paired limb one for each side."""
    for name, row in rows.items():
        poses = [pose for pose in row.values() if isinstance(pose, Mapping)]
        paired = not hinges.issuperset(angle for pose in poses for angle in pose)
        for side in ("left_", "right_") if paired else ("",):
            sided = tuple({f"{side}{k}": v for k, v in pose.items()} for pose in poses)
            yield f"{side}{name}", Overlay(row["chance"], sided)


def _stance(
    middle: Mapping[str, float] | None = None,
    left: Mapping[str, float] | None = None,
    right: Mapping[str, float] | None = None,
) -> dict[str, float]:
    return sided_pose(middle or {}, left or {}, right or {})


def _axis(axis: str | Sequence[float]) -> Point:
    """An axis by its letter, with a minus for the other way, or as a vector."""
    if not isinstance(axis, str):
        return _point(axis)
    x, y, z = _AXES[axis[-1]]
    return (-x, -y, -z) if axis[0] == "-" else (x, y, z)


def _point(values: Sequence[float]) -> Point:
    x, y, z = values
    return (x, y, z)
