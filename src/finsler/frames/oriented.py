"""Oriented fields: a direction on every face, with a sign, from a function on the surface.

Principal directions are axes: v and −v are the same. A drift needs to know forwards from backwards,
and the gradient of an intrinsic function does. See docs/mathematics.md, section 14.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from finsler.errors import InputError
from finsler.mesh.arguments import checked, one_number, per_face
from finsler.mesh.measures import TangentBasis, face_areas, face_basis, face_normals, hat_gradients
from finsler.mesh.summary import one_line
from finsler.mesh.topology import edges
from finsler.mesh.trimesh import TriMesh
from finsler.typing import BoolArray, FloatArray

# Strength below which a gradient is smaller than its error.
_WEAK = 0.5**0.5


class FieldWarning(UserWarning):
    """An oriented field is undefined on much of the surface; the message says on how much."""


@one_line("mesh", "strength", "undefined")
@dataclass(frozen=True, eq=False)
class OrientedField:
    """A tangent vector e on every face, at most of length 1, that turns and moves with the shape.

    Attributes
    ----------
    mesh : TriMesh
        The mesh it belongs to.
    vectors : (m, 3)
        Tangent vectors. Their length is 1 where the direction is certain and fades to 0 where it
        is not.
    """

    mesh: TriMesh
    vectors: FloatArray

    @property
    def strength(self) -> FloatArray:
        """Length of e on each face, (m,), in [0, 1]."""
        return np.asarray(np.linalg.norm(self.vectors, axis=1))

    @property
    def undefined(self) -> BoolArray:
        """Mask (m,) of the faces where the gradient is smaller than its error: critical points."""
        return np.asarray(self.strength < _WEAK)

    @property
    def basis(self) -> TangentBasis:
        """The tangent basis of the mesh, in which `coordinates` are written."""
        return face_basis(self.mesh)

    @property
    def coordinates(self) -> FloatArray:
        """Components (m, 2) of e in `basis`."""
        return self.basis.coordinates(self.vectors)

    @checked
    def turned(self, theta: float) -> OrientedField:
        """R_θ e: turned around the normal, counter-clockwise seen from outside."""
        angle = one_number(theta, "theta")
        across = np.cross(face_normals(self.mesh), self.vectors)
        return OrientedField(self.mesh, np.cos(angle) * self.vectors + np.sin(angle) * across)

    @classmethod
    @checked
    def from_vectors(cls, mesh: TriMesh, vectors: ArrayLike) -> OrientedField:
        """Your own field, (m, 3), or one vector for all faces.

        It is projected into the faces; longer vectors get length 1.

        Raises
        ------
        InputError
            Wrong shape, or values that are not finite.
        """
        given = per_face(vectors, mesh.n_faces, ((3,),), "vectors")
        normal = face_normals(mesh)
        tangent = given - np.einsum("fi,fi->f", given, normal)[:, None] * normal
        length = np.linalg.norm(tangent, axis=1, keepdims=True)
        return cls(mesh, tangent / np.maximum(length, 1.0))


@checked
def oriented_field(mesh: TriMesh, scalar: ArrayLike) -> OrientedField:
    """e = ∇f / √(‖∇f‖² + δ²), the direction in which a function f rises.

    δ is the error of the gradient: the root mean square, over the sides of a face, of the jump of
    ∂f/∂ν to the next face (along the side the gradients agree, since f is continuous). Far from
    critical points δ is a multiple of the edge length smaller than ‖∇f‖ and e has length 1; near
    them, and where f is noise, e fades instead of jumping. No unit and no threshold enters: e is
    the same for f, 2f and f + 1, and depends smoothly on f.

    Parameters
    ----------
    mesh : TriMesh
    scalar : (n,)
        One number a vertex: [`gps`][finsler.gps], a column of [`hks`][finsler.hks], or your own.

    Raises
    ------
    InputError
        Wrong shape, values that are not finite, or f is constant.

    Warns
    -----
    FieldWarning
        The field is undefined on more than a quarter of the area, as on symmetric shapes.

    Examples
    --------
    >>> from finsler.mesh import primitives
    >>> sphere = primitives.sphere(8)
    >>> field = oriented_field(sphere, sphere.vertices[:, 2])
    >>> bool((field.vectors[~field.undefined, 2] > 0.0).all())
    True
    """
    gradient = np.einsum("fc,fci->fi", _unit_range(mesh, scalar)[mesh.faces], hat_gradients(mesh))
    error = np.einsum("fs,fs->f", *2 * [_flux_jumps(mesh, gradient)]) / 3.0
    size = np.sqrt(np.einsum("fi,fi->f", gradient, gradient) + error)
    vectors = np.divide(
        gradient, size[:, None], out=np.zeros_like(gradient), where=size[:, None] > 0.0
    )
    field = OrientedField(mesh, vectors)
    areas = face_areas(mesh)
    share = float(areas[field.undefined].sum() / areas.sum())
    if share > 0.25:
        warnings.warn(
            f"the direction of the field is undefined on {share:.0%} of the surface, where its"
            " scalar has critical points or is noise: operators have no drift there; choose"
            " another scalar",
            FieldWarning,
            stacklevel=2,
        )
    return field


def _unit_range(mesh: TriMesh, scalar: ArrayLike) -> FloatArray:
    """The scalar, checked, shifted and scaled to [0, 1], so that no square of it overflows."""
    f = np.asarray(scalar, dtype=np.float64)
    if f.shape != (mesh.n_vertices,):
        raise InputError(
            f"scalar must be one number a vertex ({mesh.n_vertices}), not of shape {f.shape}"
        )
    if not np.isfinite(f).all():
        raise InputError("scalar holds values that are not finite")
    spread = float(np.ptp(f))
    if not spread > 1e-12 * float(np.abs(f).max()):
        raise InputError("scalar is constant, so that no direction can be told from it")
    return np.asarray((f - f.min()) / spread)


def conormals(mesh: TriMesh) -> FloatArray:
    """Outer unit normal, in the face's plane, of the side from corner c to c + 1, (m, 3, 3)."""
    corners = mesh.vertices[mesh.faces]
    sides = np.roll(corners, -1, axis=1) - corners
    outward = np.cross(sides, face_normals(mesh)[:, None, :])
    return np.asarray(outward / np.linalg.norm(outward, axis=2, keepdims=True))


def _flux_jumps(mesh: TriMesh, gradient: FloatArray) -> FloatArray:
    """Jump (m, 3) of the normal derivative across each side; 0 on boundaries."""
    flux = np.einsum("fsi,fi->fs", conormals(mesh), gradient).ravel()
    jump = np.zeros_like(flux)
    first, second = edges(mesh).pairs.T
    jump[first] = jump[second] = flux[first] + flux[second]
    return np.asarray(jump.reshape(-1, 3))
