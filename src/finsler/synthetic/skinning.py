"""From the template to an individual in a pose: stretched bones, then dual quaternions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from finsler.mesh.trimesh import TriMesh
from finsler.operator.laplacian import laplacian
from finsler.solvers import factorise
from finsler.synthetic.body import nearest_part
from finsler.synthetic.skeleton import (
    Species,
    quaternion_product,
    rotated,
    unit_quaternion,
)
from finsler.typing import FloatArray

# Width of the blend at a joint, as a share of the thickness of the limb.
_BLEND_SHARE = 0.45
_LEAST_WEIGHT = 2e-3


def skinning_weights(species: Species, template: TriMesh) -> FloatArray:
    """How much each bone carries each vertex of the template, (n, bones); rows sum to 1.

    Every vertex starts out with the bone of its nearest part; two implicit steps of the heat
    equation along the surface, (A + L_D) w ← A w, then blend neighbouring bones over a share of
    the thickness of the limb: D = (share · radius)² / 2. Weights below 0.002 are dropped.
    """
    parts = species.parts
    bone = {b.name: i for i, b in enumerate(species.bones)}
    nearest = nearest_part(parts, template.vertices)
    weights: FloatArray = np.zeros((template.n_vertices, len(bone)))
    weights[np.arange(len(weights)), np.array([bone[p.bone] for p in parts])[nearest]] = 1.0

    radius = np.array([max(p.radii) for p in parts])[nearest]
    width = _BLEND_SHARE * radius[template.faces].mean(axis=1)
    heat = laplacian(template, 0.5 * (width**2)[:, None, None] * np.eye(3))
    area = heat.mass[:, None]
    solve = factorise(sparse.csr_array(heat.stiffness + sparse.diags_array(heat.mass)))
    for _ in range(2):
        weights = solve(area * weights)
    # Rounded, and in one memory order: the choice of linear solver must not reach the meshes.
    kept = np.ascontiguousarray(np.where(weights < _LEAST_WEIGHT, 0.0, weights).round(6))
    return np.asarray(kept / kept.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class Build:
    """An individual in rest pose.

    Attributes
    ----------
    scales : (bones, 3, 3)
        The linear map of each bone: stretched along its axis, widened across it.
    old_joints, joints : (bones, 3)
        Joints of the template, and of the individual.
    """

    scales: FloatArray
    old_joints: FloatArray
    joints: FloatArray

    def placed(self, points: FloatArray, bone: int) -> FloatArray:
        """Points (n, 3) of the template that one bone carries, on the individual."""
        return np.asarray(
            (points - self.old_joints[bone]) @ self.scales[bone].T + self.joints[bone]
        )

    def deformed(self, points: FloatArray, weights: FloatArray) -> FloatArray:
        """Vertices (n, 3) of the template on the individual, Σ_b w_b (J'_b + S_b (x − J_b))."""
        local = points[:, None, :] - self.old_joints
        scaled = np.einsum("nb,bij,nbj->ni", weights, self.scales, local, optimize=True)
        return np.asarray(scaled + weights @ self.joints)


def build(species: Species, identity: Mapping[str, float]) -> Build:
    """Stretch and widen the bones by the traits, and move their joints along.

    S_b = [s a aᵀ + g (I − a aᵀ)] diag(w, 1, 1), a the axis of bone b; s, g and w the products of
    the factors that stretch it, widen it all around and along x. A child's joint moves with its
    parent, so neighbouring maps agree where they meet.
    """
    factors = species.factors(identity)
    stretch = {bone.name: 1.0 for bone in species.bones}
    girth, width = dict(stretch), dict(stretch)
    for trait in species.traits:
        effects = ((stretch, trait.stretch), (girth, trait.girth), (width, trait.width))
        for products, names in effects:
            for name in names:
                products[name] *= factors[trait.name]
    old = np.array([bone.joint for bone in species.bones])
    axes = np.array([bone.tip for bone in species.bones]) - old
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    along = np.einsum("bi,bj->bij", axes, axes)
    s, g = (np.array([d[b.name] for b in species.bones])[:, None, None] for d in (stretch, girth))
    scales = s * along + g * (np.eye(3) - along)
    scales[:, :, 0] *= np.array([width[b.name] for b in species.bones])[:, None]
    joints = old.copy()
    for i, parent in enumerate(species.parents):
        if parent >= 0:
            joints[i] = joints[parent] + scales[parent] @ (old[i] - old[parent])
    return Build(scales, old, joints)


@dataclass(frozen=True, eq=False)
class Motion:
    """Rigid motion x ↦ q x q̄ + t of each bone: `rotations` (bones, 4), `shifts` (bones, 3)."""

    rotations: FloatArray
    shifts: FloatArray

    def moved(self, points: FloatArray, bone: int) -> FloatArray:
        """Points (n, 3) that follow one bone."""
        return np.asarray(rotated(self.rotations[bone], points) + self.shifts[bone])

    def skinned(self, points: FloatArray, weights: FloatArray) -> FloatArray:
        """Points (n, 3) moved by the blend of their bones, weights (n, bones).

        Dual quaternion linear blending (Kavan et al. 2008): joints neither shrink nor collapse.
        """
        real = weights @ self.rotations
        shifts = np.concatenate([np.zeros((len(self.shifts), 1)), self.shifts], axis=1)
        dual = weights @ (0.5 * quaternion_product(shifts, self.rotations))
        length = np.linalg.norm(real, axis=1, keepdims=True)
        real, dual = real / length, dual / length
        conjugate = real * np.array([1.0, -1.0, -1.0, -1.0])
        shift = 2.0 * quaternion_product(dual, conjugate)[:, 1:]
        return np.asarray(rotated(real, points) + shift)


def motion(species: Species, individual: Build, pose: Mapping[str, float]) -> Motion:
    """Forward kinematics: the hinges of a bone turn it about its joint, its parent carries it."""
    angles = species.angles(pose)
    rotations, positions = np.empty((len(species.bones), 4)), np.empty((len(species.bones), 3))
    joints = individual.joints
    for i, (bone, parent) in enumerate(zip(species.bones, species.parents, strict=True)):
        turn = np.array([1.0, 0.0, 0.0, 0.0])
        for hinge in bone.hinges:
            angle = angles[f"{bone.name} {hinge.name}"]
            turn = quaternion_product(turn, unit_quaternion(hinge.axis, angle))
        if parent < 0:
            rotations[i], positions[i] = turn, joints[i]
            continue
        turn = quaternion_product(rotations[parent], turn)
        # q and −q turn alike, but only quaternions on the same side blend along the short way.
        rotations[i] = turn if turn @ rotations[parent] >= 0.0 else -turn
        positions[i] = positions[parent] + rotated(rotations[parent], joints[i] - joints[parent])
    return Motion(rotations, positions - rotated(rotations, joints))
