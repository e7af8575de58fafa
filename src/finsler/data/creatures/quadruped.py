"""A dog, standing square: snout, ears and tail, four legs with paws."""

from __future__ import annotations

from finsler.data.creatures.body import Part, Point
from finsler.data.creatures.skeleton import (
    Bone,
    Hinge,
    Species,
    Trait,
    both_sides,
    mirrored_bones,
    mirrored_parts,
    sided_pose,
)

_X: Point = (1.0, 0.0, 0.0)
_Y: Point = (0.0, 1.0, 0.0)
_Z: Point = (0.0, 0.0, 1.0)
_BACK: Point = (-1.0, 0.0, 0.0)

_SHOULDER: Point = (0.078, 0.475, 0.245)
_ELBOW: Point = (0.098, 0.335, 0.170)
_WRIST: Point = (0.104, 0.150, 0.185)
_FORE_PAW: Point = (0.106, 0.045, 0.190)
_FORE_TOES: Point = (0.108, 0.020, 0.245)

_HIP: Point = (0.070, 0.500, -0.305)
_KNEE: Point = (0.100, 0.340, -0.235)
_HOCK: Point = (0.108, 0.175, -0.385)
_HIND_PAW: Point = (0.110, 0.045, -0.365)
_HIND_TOES: Point = (0.112, 0.020, -0.305)

_BONES = (
    Bone(
        "pelvis",
        None,
        (0.0, 0.545, -0.28),
        (0.0, 0.55, -0.14),
        (Hinge("pitch", _X, -55, 30), Hinge("turn", _Y, -15, 15), Hinge("roll", _Z, -8, 8)),
    ),
    Bone(
        "loin",
        "pelvis",
        (0.0, 0.55, -0.14),
        (0.0, 0.545, 0.04),
        (Hinge("arch", _X, -25, 30), Hinge("side", _Y, -20, 20), Hinge("roll", _Z, -8, 8)),
    ),
    Bone(
        "chest",
        "loin",
        (0.0, 0.545, 0.04),
        (0.0, 0.555, 0.27),
        (Hinge("arch", _X, -20, 25), Hinge("side", _Y, -18, 18), Hinge("roll", _Z, -8, 8)),
    ),
    Bone(
        "neck",
        "chest",
        (0.0, 0.575, 0.25),
        (0.0, 0.735, 0.375),
        (Hinge("lower", _X, -20, 70), Hinge("turn", _Y, -40, 40), Hinge("tilt", _Z, -20, 20)),
    ),
    Bone(
        "head",
        "neck",
        (0.0, 0.735, 0.375),
        (0.0, 0.70, 0.62),
        (Hinge("lower", _X, -30, 35), Hinge("turn", _Y, -40, 40), Hinge("tilt", _Z, -25, 25)),
    ),
    Bone(
        "tail",
        "pelvis",
        (0.0, 0.565, -0.365),
        (0.0, 0.50, -0.50),
        (Hinge("raise", _X, -20, 75), Hinge("wag", _Y, -35, 35)),
    ),
    Bone(
        "tail_middle",
        "tail",
        (0.0, 0.50, -0.50),
        (0.0, 0.445, -0.61),
        (Hinge("raise", _X, -20, 45), Hinge("wag", _Y, -30, 30)),
    ),
    Bone(
        "tail_tip",
        "tail_middle",
        (0.0, 0.445, -0.61),
        (0.0, 0.415, -0.73),
        (Hinge("raise", _X, -20, 45), Hinge("wag", _Y, -30, 30)),
    ),
    Bone(
        "left_ear",
        "head",
        (0.055, 0.795, 0.375),
        (0.090, 0.885, 0.36),
        (Hinge("fold", _BACK, -10, 40), Hinge("out", (0.0, 0.0, -1.0), -10, 35)),
    ),
    Bone(
        "left_arm",
        "chest",
        _SHOULDER,
        _ELBOW,
        (Hinge("swing", _BACK, -45, 55), Hinge("out", _Z, -5, 15)),
    ),
    Bone("left_forearm", "left_arm", _ELBOW, _WRIST, (Hinge("flex", _BACK, -35, 85),)),
    Bone("left_pastern", "left_forearm", _WRIST, _FORE_PAW, (Hinge("flex", _X, -15, 85),)),
    Bone("left_paw", "left_pastern", _FORE_PAW, _FORE_TOES, (Hinge("flex", _X, -30, 40),)),
    Bone(
        "left_thigh",
        "pelvis",
        _HIP,
        _KNEE,
        (Hinge("swing", _BACK, -50, 60), Hinge("out", _Z, -4, 18)),
    ),
    Bone("left_shin", "left_thigh", _KNEE, _HOCK, (Hinge("flex", _X, -40, 80),)),
    Bone("left_hind_pastern", "left_shin", _HOCK, _HIND_PAW, (Hinge("flex", _BACK, -35, 95),)),
    Bone(
        "left_hind_paw", "left_hind_pastern", _HIND_PAW, _HIND_TOES, (Hinge("flex", _X, -45, 55),)
    ),
)

_PARTS = (
    # Trunk: deep chest, tucked loin, rump
    Part("chest", (0.0, 0.512, 0.06), (0.0, 0.515, 0.20), (0.132, 0.136), (0.82, 1.0, 1.0)),
    Part("loin", (0.0, 0.533, -0.15), (0.0, 0.512, 0.06), (0.100, 0.132), (0.82, 1.0, 1.0), 0.01),
    Part(
        "pelvis", (0.0, 0.532, -0.29), (0.0, 0.533, -0.15), (0.098, 0.100), (0.88, 1.0, 1.0), 0.01
    ),
    # Neck and head: skull, cheeks, snout, nose, brow
    Part("neck", (0.0, 0.56, 0.235), (0.0, 0.735, 0.372), (0.110, 0.068), (0.88, 1.0, 1.0), 0.06),
    Part("head", (0.0, 0.748, 0.395), (0.0, 0.742, 0.435), (0.080, 0.072), (0.98, 1.0, 1.0), 0.04),
    Part("head", (0.0, 0.722, 0.45), (0.0, 0.697, 0.585), (0.053, 0.036), (0.98, 1.0, 1.0), 0.035),
    Part("head", (0.0, 0.717, 0.608), (0.0, 0.717, 0.612), (0.016, 0.016), (1.1, 0.9, 1.0), 0.012),
    Part("head", (0.034, 0.782, 0.438), (0.034, 0.778, 0.444), (0.024, 0.022), blend=0.02),
    Part(
        "left_ear",
        (0.050, 0.800, 0.375),
        (0.078, 0.868, 0.362),
        (0.034, 0.013),
        (1.15, 1.0, 0.60),
        0.022,
    ),
    # Tail
    Part("tail", (0.0, 0.562, -0.36), (0.0, 0.50, -0.50), (0.036, 0.028), blend=0.04),
    Part("tail_middle", (0.0, 0.50, -0.50), (0.0, 0.445, -0.61), (0.028, 0.022), blend=0.01),
    Part("tail_tip", (0.0, 0.445, -0.61), (0.0, 0.415, -0.715), (0.022, 0.013), blend=0.01),
    # Forelegs
    Part(
        "left_arm",
        (0.068, 0.535, 0.215),
        (0.076, 0.475, 0.238),
        (0.060, 0.066),
        (0.75, 1.0, 1.0),
        0.04,
    ),
    Part("left_arm", (0.078, 0.470, 0.235), _ELBOW, (0.064, 0.044), (0.85, 1.0, 1.0), 0.04),
    Part("left_forearm", _ELBOW, _WRIST, (0.042, 0.025), blend=0.02),
    Part("left_pastern", _WRIST, _FORE_PAW, (0.0255, 0.025), blend=0.012),
    Part(
        "left_paw",
        (0.106, 0.036, 0.195),
        (0.108, 0.024, 0.240),
        (0.031, 0.024),
        (1.05, 0.9, 1.0),
        0.02,
    ),
    # Hind legs
    Part(
        "left_thigh",
        (0.062, 0.500, -0.300),
        (0.095, 0.365, -0.245),
        (0.092, 0.058),
        (0.72, 1.0, 1.0),
        0.045,
    ),
    Part("left_shin", (0.100, 0.350, -0.245), _HOCK, (0.050, 0.0255), blend=0.03),
    Part("left_hind_pastern", _HOCK, _HIND_PAW, (0.0255, 0.0245), blend=0.015),
    Part(
        "left_hind_paw",
        (0.110, 0.036, -0.358),
        (0.112, 0.024, -0.312),
        (0.030, 0.024),
        (1.05, 0.9, 1.0),
        0.02,
    ),
)

_TRUNK = ("pelvis", "loin", "chest")
_TAIL = ("tail", "tail_middle", "tail_tip")
_FORE = both_sides(["_arm", "_forearm", "_pastern"])
_HIND = both_sides(["_thigh", "_shin", "_hind_pastern"])
_PAWS = both_sides(["_paw", "_hind_paw"])
_EARS = both_sides(["_ear"])
_EVERY = tuple(bone.name for bone in mirrored_bones(_BONES))

_TRAITS = (
    Trait("size", 0.80, 1.20, stretch=_EVERY, girth=_EVERY),
    Trait("legs", 0.80, 1.18, stretch=(*_FORE, *_HIND)),
    Trait("back", 0.90, 1.14, stretch=_TRUNK),
    Trait("neck", 0.88, 1.18, stretch=("neck",)),
    Trait("snout", 0.85, 1.18, stretch=("head",)),
    Trait("head", 0.92, 1.12, stretch=("head",), girth=("head",)),
    Trait("weight", 0.88, 1.22, girth=(*_TRUNK, "neck")),
    Trait("legs girth", 0.90, 1.20, girth=(*_FORE, *_HIND, *_PAWS)),
    Trait("tail", 0.75, 1.25, stretch=_TAIL),
    Trait("ears", 0.85, 1.35, stretch=_EARS, girth=_EARS),
)


_STANCES = {
    "stand": sided_pose({"tail raise": 10}, {}, {}),
    "alert": sided_pose(
        {
            "neck lower": -14,
            "head lower": 8,
            "tail raise": 60,
            "tail_middle raise": 25,
            "tail_tip raise": 20,
        },
        {},
        {"arm swing": -4},
    ),
    "walk": sided_pose(
        {"neck lower": 10, "chest side": 4, "tail wag": 15},
        {
            "arm swing": 26,
            "forearm flex": 6,
            "thigh swing": -20,
            "shin flex": -8,
            "hind_pastern flex": -8,
        },
        {
            "arm swing": -24,
            "forearm flex": 14,
            "pastern flex": 25,
            "thigh swing": 24,
            "shin flex": 6,
            "hind_pastern flex": 10,
        },
    ),
    "trot": sided_pose(
        {"neck lower": -5, "tail raise": 35},
        {
            "arm swing": 40,
            "forearm flex": 45,
            "pastern flex": 55,
            "thigh swing": -30,
            "shin flex": -15,
            "hind_pastern flex": -10,
        },
        {
            "arm swing": -30,
            "forearm flex": -5,
            "pastern flex": 5,
            "thigh swing": 35,
            "shin flex": 25,
            "hind_pastern flex": 35,
        },
    ),
    "stretch": sided_pose(
        {
            "loin arch": -10,
            "chest arch": -10,
            "neck lower": 20,
            "head lower": -15,
            "tail raise": 45,
        },
        {
            "arm swing": 52,
            "forearm flex": 20,
            "thigh swing": -44,
            "shin flex": -25,
            "hind_pastern flex": -25,
        },
        {
            "arm swing": 45,
            "forearm flex": 28,
            "thigh swing": -38,
            "shin flex": -25,
            "hind_pastern flex": -20,
        },
    ),
    "gather": sided_pose(
        {"loin arch": 22, "chest arch": 12, "neck lower": 5, "head lower": -10, "tail raise": 20},
        {
            "arm swing": -20,
            "forearm flex": -8,
            "pastern flex": 30,
            "thigh swing": 26,
            "thigh out": 8,
            "hind_pastern flex": 10,
        },
        {
            "arm swing": -12,
            "forearm flex": -8,
            "pastern flex": 35,
            "thigh swing": 32,
            "thigh out": 8,
            "hind_pastern flex": 10,
        },
    ),
    "sit": sided_pose(
        {
            "pelvis pitch": -42,
            "loin arch": 4,
            "chest arch": 4,
            "neck lower": 20,
            "head lower": 15,
            "tail raise": 22,
        },
        {
            "arm swing": -34,
            "forearm flex": -2,
            "thigh swing": 14,
            "shin flex": 72,
            "hind_pastern flex": 88,
            "hind_paw flex": 48,
            "thigh out": 8,
        },
        {
            "arm swing": -34,
            "forearm flex": -2,
            "thigh swing": 14,
            "shin flex": 72,
            "hind_pastern flex": 88,
            "hind_paw flex": 48,
            "thigh out": 8,
        },
    ),
    "sniff": sided_pose(
        {"chest arch": 6, "neck lower": 66, "head lower": -5, "tail raise": 25},
        {"arm swing": 12, "thigh swing": -8},
        {"arm swing": -10, "thigh swing": 10},
    ),
    "look": sided_pose(
        {
            "neck turn": 34,
            "head turn": 32,
            "head tilt": 8,
            "loin side": 8,
            "chest side": 10,
            "tail wag": -25,
        },
        {"ear fold": 20},
        {},
    ),
    "bow": sided_pose(
        {
            "pelvis pitch": 24,
            "chest arch": -12,
            "neck lower": -18,
            "head lower": -6,
            "tail raise": 65,
            "tail_middle raise": 20,
        },
        {"arm swing": 52, "forearm flex": 42, "pastern flex": -10, "thigh swing": 22},
        {"arm swing": 48, "forearm flex": 46, "pastern flex": -10, "thigh swing": 20},
    ),
    "paw": sided_pose(
        {"neck turn": 12, "head tilt": 12, "tail raise": 30, "tail wag": 20},
        {"arm swing": 45, "forearm flex": 50, "pastern flex": 60},
        {},
    ),
    "wag": sided_pose(
        {
            "tail raise": 50,
            "tail wag": 32,
            "tail_middle wag": 25,
            "tail_tip wag": 20,
            "loin side": -14,
            "chest side": -8,
        },
        {},
        {"thigh swing": -8},
    ),
}


QUADRUPED = Species(
    name="quadruped",
    bones=tuple(mirrored_bones(_BONES)),
    parts=tuple(mirrored_parts(_PARTS)),
    traits=_TRAITS,
    stances=_STANCES,
    spacing=0.0095,
    template_vertices=20_000,
)
