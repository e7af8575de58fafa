"""A person, seven and a half heads tall, arms and legs held away from the body."""

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

_SHOULDER: Point = (0.178, 1.425, -0.025)
_ELBOW: Point = (0.372, 1.205, -0.03)
_WRIST: Point = (0.535, 1.02, -0.005)
_FINGERS: Point = (0.640, 0.895, 0.015)
_ARM: Point = (0.66, -0.75, 0.0)
# Turns the forearm forwards, and the hand towards the palm.
_ELBOW_AXIS: Point = (-0.75, -0.66, 0.0)
_PALM_AXIS: Point = (0.0, 0.0, -1.0)

_HIP: Point = (0.092, 0.925, 0.0)
_KNEE: Point = (0.146, 0.50, 0.012)
_ANKLE: Point = (0.190, 0.085, -0.025)
_TOES: Point = (0.215, 0.02, 0.15)

_BONES = (
    Bone(
        "pelvis",
        None,
        (0.0, 0.96, 0.0),
        (0.0, 1.08, 0.0),
        (Hinge("turn", _Y, -40, 40), Hinge("lean", _X, -20, 60), Hinge("tilt", _Z, -15, 15)),
    ),
    Bone(
        "spine",
        "pelvis",
        (0.0, 1.06, -0.01),
        (0.0, 1.22, -0.015),
        (Hinge("twist", _Y, -25, 25), Hinge("bend", _X, -15, 30), Hinge("side", _Z, -18, 18)),
    ),
    Bone(
        "chest",
        "spine",
        (0.0, 1.22, -0.015),
        (0.0, 1.46, -0.025),
        (Hinge("twist", _Y, -20, 20), Hinge("bend", _X, -15, 25), Hinge("side", _Z, -15, 15)),
    ),
    Bone(
        "neck",
        "chest",
        (0.0, 1.46, -0.03),
        (0.0, 1.56, -0.005),
        (Hinge("turn", _Y, -30, 30), Hinge("nod", _X, -20, 25), Hinge("tilt", _Z, -15, 15)),
    ),
    Bone(
        "head",
        "neck",
        (0.0, 1.56, -0.005),
        (0.0, 1.75, 0.01),
        (Hinge("turn", _Y, -35, 35), Hinge("nod", _X, -20, 20), Hinge("tilt", _Z, -15, 15)),
    ),
    Bone(
        "left_clavicle",
        "chest",
        (0.03, 1.43, -0.01),
        _SHOULDER,
        (Hinge("raise", _Z, -5, 30), Hinge("forward", (0.0, -1.0, 0.0), -15, 20)),
    ),
    Bone(
        "left_arm",
        "left_clavicle",
        _SHOULDER,
        _ELBOW,
        (
            Hinge("swing", _BACK, -45, 110),
            Hinge("raise", _Z, -30, 85),
            Hinge("twist", _ARM, -50, 60),
        ),
    ),
    Bone("left_forearm", "left_arm", _ELBOW, _WRIST, (Hinge("flex", _ELBOW_AXIS, 0, 125),)),
    Bone(
        "left_hand",
        "left_forearm",
        _WRIST,
        _FINGERS,
        (Hinge("flex", _PALM_AXIS, -45, 45), Hinge("side", _ELBOW_AXIS, -20, 20)),
    ),
    Bone(
        "left_thigh",
        "pelvis",
        _HIP,
        _KNEE,
        (
            Hinge("flex", _BACK, -35, 100),
            Hinge("out", _Z, -7, 35),
            Hinge("twist", _Y, -20, 35),
        ),
    ),
    Bone("left_shin", "left_thigh", _KNEE, _ANKLE, (Hinge("flex", _X, 0, 125),)),
    Bone(
        "left_foot",
        "left_shin",
        _ANKLE,
        _TOES,
        (Hinge("point", _X, -25, 45), Hinge("out", _Y, -15, 20)),
    ),
)

_PARTS = (
    # Trunk
    Part("pelvis", (0.0, 0.955, -0.005), (0.0, 1.03, 0.0), (0.150, 0.134), (1.0, 1.0, 0.72)),
    Part("spine", (0.0, 1.06, 0.0), (0.0, 1.20, -0.005), (0.116, 0.124), (1.0, 1.0, 0.76), 0.05),
    Part(
        "chest", (0.0, 1.25, -0.015), (0.0, 1.345, -0.022), (0.146, 0.146), (1.05, 0.95, 0.70), 0.06
    ),
    Part("chest", (0.070, 1.345, 0.050), (0.076, 1.315, 0.052), (0.046, 0.050), blend=0.07),
    Part("pelvis", (0.070, 0.915, -0.075), (0.068, 0.93, -0.07), (0.070, 0.070), blend=0.05),
    # Shoulders and neck
    Part(
        "left_clavicle", (0.04, 1.435, -0.03), (0.165, 1.422, -0.028), (0.050, 0.047), blend=0.045
    ),
    Part("neck", (0.0, 1.43, -0.03), (0.0, 1.555, -0.008), (0.062, 0.053), blend=0.05),
    # Head: skull, jaw, chin, nose, ears
    Part("head", (0.0, 1.655, -0.008), (0.0, 1.655, -0.008), (0.098, 0.098), (0.79, 0.98, 1.0)),
    Part("head", (0.0, 1.60, 0.030), (0.0, 1.565, 0.055), (0.060, 0.036), (0.95, 1.0, 1.0), 0.035),
    Part("head", (0.0, 1.647, 0.088), (0.0, 1.612, 0.103), (0.011, 0.017), blend=0.018),
    Part(
        "head",
        (0.077, 1.652, -0.012),
        (0.080, 1.622, -0.006),
        (0.020, 0.015),
        (0.6, 1.0, 1.0),
        0.012,
    ),
    # Arms
    Part("left_arm", (0.180, 1.410, -0.025), (0.225, 1.365, -0.026), (0.059, 0.054), blend=0.05),
    Part("left_arm", (0.225, 1.37, -0.025), _ELBOW, (0.047, 0.033), blend=0.03),
    Part("left_arm", (0.262, 1.33, -0.012), (0.30, 1.285, -0.010), (0.037, 0.036), blend=0.05),
    Part("left_forearm", _ELBOW, (0.42, 1.15, -0.02), (0.032, 0.038), blend=0.015),
    Part("left_forearm", (0.42, 1.15, -0.02), _WRIST, (0.038, 0.023), blend=0.015),
    Part(
        "left_hand",
        (0.545, 1.010, -0.003),
        (0.585, 0.962, 0.006),
        (0.026, 0.036),
        (0.78, 0.78, 1.2),
    ),
    Part(
        "left_hand",
        (0.585, 0.962, 0.006),
        (0.640, 0.893, 0.012),
        (0.033, 0.019),
        (0.8, 0.8, 1.4),
        0.02,
    ),
    Part("left_hand", (0.552, 0.995, 0.025), (0.578, 0.945, 0.066), (0.019, 0.0135), blend=0.018),
    # Legs
    Part("left_thigh", (0.094, 0.90, -0.005), _KNEE, (0.090, 0.047), blend=0.045),
    Part("left_thigh", (0.112, 0.78, 0.022), (0.130, 0.63, 0.022), (0.063, 0.051), blend=0.06),
    Part("left_shin", _KNEE, (0.158, 0.40, -0.012), (0.046, 0.046), blend=0.015),
    Part("left_shin", (0.155, 0.42, -0.020), (0.163, 0.32, -0.030), (0.043, 0.040), blend=0.05),
    Part("left_shin", (0.158, 0.40, -0.008), (0.188, 0.10, -0.022), (0.043, 0.029), blend=0.02),
    Part("left_foot", (0.188, 0.085, -0.022), (0.189, 0.038, -0.042), (0.033, 0.034), blend=0.025),
    Part(
        "left_foot",
        (0.189, 0.045, -0.02),
        (0.206, 0.030, 0.105),
        (0.040, 0.036),
        (1.0, 0.85, 1.0),
        0.03,
    ),
    Part(
        "left_foot",
        (0.204, 0.027, 0.10),
        (0.210, 0.020, 0.150),
        (0.038, 0.029),
        (1.15, 0.62, 1.0),
        0.03,
    ),
)

_TRUNK = ("pelvis", "spine", "chest")
_ARMS = both_sides(["_arm", "_forearm"])
_LEGS = both_sides(["_thigh", "_shin"])
_ENDS = both_sides(["_hand", "_foot"])
_EVERY = tuple(bone.name for bone in mirrored_bones(_BONES))

_TRAITS = (
    Trait("size", 0.85, 1.12, stretch=_EVERY, girth=_EVERY),
    Trait("legs", 0.90, 1.10, stretch=_LEGS),
    Trait("arms", 0.92, 1.09, stretch=_ARMS),
    Trait("trunk", 0.93, 1.07, stretch=_TRUNK),
    Trait("shoulders", 0.85, 1.18, stretch=both_sides(["_clavicle"])),
    Trait("head", 0.92, 1.15, stretch=("head",), girth=("head", "neck")),
    Trait("weight", 0.86, 1.25, girth=(*_TRUNK, *_LEGS)),
    Trait("hips", 0.92, 1.10, girth=("pelvis",)),
    Trait("muscle", 0.86, 1.20, girth=(*_ARMS, *_LEGS, *both_sides(["_clavicle"]))),
    Trait("hands and feet", 0.90, 1.12, stretch=_ENDS, girth=_ENDS),
)


_DOWN = {"arm raise": -25.0, "forearm flex": 15.0, "thigh out": -4.0}

_STANCES = {
    "stand": sided_pose({}, _DOWN, _DOWN),
    "walk": sided_pose(
        {"pelvis turn": -6, "chest twist": 12},
        {**_DOWN, "arm swing": -28, "thigh flex": 30, "shin flex": 12, "foot point": -10},
        {
            **_DOWN,
            "arm swing": 30,
            "forearm flex": 30,
            "thigh flex": -18,
            "shin flex": 22,
            "foot point": 20,
        },
    ),
    "run": sided_pose(
        {"pelvis lean": 14, "spine twist": 10, "chest twist": 12, "head nod": -12},
        {"arm raise": -24, "arm swing": -42, "forearm flex": 85, "thigh flex": 70, "shin flex": 85},
        {
            "arm raise": -26,
            "arm swing": 45,
            "forearm flex": 95,
            "thigh flex": -18,
            "shin flex": 45,
            "foot point": 30,
        },
    ),
    "cheer": sided_pose(
        {"spine bend": -8, "head nod": -12},
        {"clavicle raise": 25, "arm raise": 80, "forearm flex": 30, "thigh out": 8},
        {"clavicle raise": 25, "arm raise": 72, "forearm flex": 45, "thigh out": 6},
    ),
    "wave": sided_pose(
        {"head tilt": 8, "chest side": -5},
        {
            "clavicle raise": 18,
            "arm raise": 50,
            "arm twist": -40,
            "forearm flex": 90,
            "hand flex": -15,
        },
        _DOWN,
    ),
    "spread": sided_pose({}, {"arm raise": 42}, {"arm raise": 42}),
    "sit": sided_pose(
        {"pelvis lean": -6, "spine bend": 8, "head nod": 6},
        {
            "arm raise": -26,
            "arm swing": 30,
            "forearm flex": 50,
            "thigh flex": 85,
            "shin flex": 85,
            "thigh out": 4,
        },
        {
            "arm raise": -26,
            "arm swing": 28,
            "forearm flex": 55,
            "thigh flex": 82,
            "shin flex": 76,
            "thigh out": 4,
        },
    ),
    "squat": sided_pose(
        {"pelvis lean": 30, "spine bend": 10, "head nod": -18},
        {
            "arm raise": -26,
            "arm swing": 85,
            "thigh flex": 95,
            "shin flex": 110,
            "foot point": -22,
            "thigh out": 12,
        },
        {
            "arm raise": -26,
            "arm swing": 85,
            "thigh flex": 95,
            "shin flex": 110,
            "foot point": -22,
            "thigh out": 12,
        },
    ),
    "lunge": sided_pose(
        {"spine bend": -5},
        {"arm raise": 35, "thigh flex": 75, "shin flex": 80},
        {"arm raise": 35, "thigh flex": -22, "shin flex": 30, "foot point": 25},
    ),
    "kick": sided_pose(
        {"pelvis lean": -12, "chest twist": 12},
        {"arm raise": -10, "arm swing": -35, "thigh flex": 80, "shin flex": 15, "foot point": 25},
        {"arm raise": -10, "arm swing": 50, "forearm flex": 40, "thigh flex": -8, "shin flex": 12},
    ),
    "bow": sided_pose(
        {"pelvis lean": 30, "spine bend": 15, "chest bend": 10, "head nod": -5},
        {"arm raise": -26, "arm swing": 40, "thigh flex": 34, "shin flex": 10},
        {"arm raise": -26, "arm swing": 48, "thigh flex": 34, "shin flex": 10},
    ),
    "reach": sided_pose(
        {"chest twist": 14, "spine side": 8, "head turn": 15, "head nod": -12},
        {**_DOWN, "arm raise": -20},
        {"clavicle raise": 25, "arm raise": 60, "arm swing": 30, "thigh out": 10},
    ),
}


HUMANOID = Species(
    name="humanoid",
    bones=tuple(mirrored_bones(_BONES)),
    parts=tuple(mirrored_parts(_PARTS)),
    traits=_TRAITS,
    stances=_STANCES,
    spacing=0.011,
    template_vertices=20_000,
)
