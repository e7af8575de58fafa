"""One mesh of the page, and the functions that are computed on it, with their operators kept."""

from __future__ import annotations

import functools

import numpy as np

from finsler.analysis.angle_kernels import KernelFilter, angle_kernels
from finsler.analysis.distance import randers_distance
from finsler.analysis.heat import diffuser
from finsler.analysis.kernels import chebyshev_filter, chebyshev_polynomial, convolution_kernel
from finsler.analysis.spectrum import Spectrum, spectrum
from finsler.frames import FaceFrames, OrientedField, principal_frames
from finsler.matching.descriptions import DescribedSurface, describe
from finsler.mesh.measures import face_normals, surface_area
from finsler.mesh.trimesh import TriMesh
from finsler.metric import RandersMetric
from finsler.operator import AngleStack, chebyshev_operators, directed_stack
from finsler.spec import OperatorSpec
from finsler.typing import FloatArray, IntArray
from finsler.view.web.settings import Settings, Shown

PAIRS = 200
# Operators to keep, and the bytes that spectra, which are larger, may take.
_KEPT = 32
_MEMORY = 512 * 2**20
_HEAT_STEPS = 8
# As many faces carry directions; they are as long as this share of the distance between them.
_ARROWS = 800
_ARROW_SHARE = 0.8
_LIFT = 0.1


class MeshFunctions:
    """Functions on a mesh for any settings; operators and spectra of the latest are kept.

    Not for several threads at once.
    """

    def __init__(self, mesh: TriMesh) -> None:
        self.mesh = mesh
        self._stack = functools.lru_cache(_KEPT)(self._new_stack)
        fitting = _MEMORY // (8 * PAIRS * mesh.n_vertices)
        self._spectrum = functools.lru_cache(min(_KEPT, max(2, fitting)))(self._new_spectrum)
        self._metric = functools.lru_cache(_KEPT)(self._new_metric)
        self._directed = functools.lru_cache(_KEPT)(self._new_directed)
        self.frames = functools.lru_cache(2)(self._new_frames)

    def values(self, settings: Settings, vertex: int) -> FloatArray:
        """The function that the settings ask for, from a vertex, (n,).

        Kernels have the unit 1/area; heat has mean 1; distances are not finite without a way.

        Raises
        ------
        InputError
            A metric that is not valid: ω is too long.
        """
        kind, meant = settings.shown, (settings.operator, settings.theta)
        if kind is Shown.wide:
            pairs = self._spectrum(*meant)
            polynomial = chebyshev_polynomial(settings.order, float(pairs.eigenvalues[-1]))
            return convolution_kernel(pairs, polynomial, vertex)
        if kind is Shown.directed:
            directed = self._directed(settings.operator.peclet, settings.theta)
            return angle_kernels(directed, KernelFilter("heat", settings.time), vertex)[0]
        if kind in (Shown.kernel, Shown.heat):
            stack = self._stack(*meant)
            spike = np.zeros(self.mesh.n_vertices)
            spike[vertex] = 1.0 / stack.mass[vertex]
            if kind is Shown.heat:
                area = float(stack.mass.sum())
                return diffuser(stack[0], settings.time * area, steps=_HEAT_STEPS)(area * spike)
            operator = chebyshev_operators(stack, normalization="plain")[0]
            return chebyshev_filter(operator, spike, np.eye(settings.order + 1)[-1])
        metric = self._metric(*meant)
        if kind is Shown.difference:
            there, back = (randers_distance(metric, vertex, reverse=r) for r in (False, True))
            with np.errstate(invalid="ignore"):
                return there - back
        return randers_distance(metric, vertex, reverse=kind is Shown.back)

    def direction_segments(self, operator: OperatorSpec, axis: str) -> FloatArray:
        """Segments (p, 2 ends, 3) along "max" or "min" curvature, on some of the faces."""
        faces, centers, length = self._sample
        frames = self.frames(operator.smoothing)
        directions = frames.u_max if axis == "max" else frames.u_min
        half = 0.5 * length * directions[faces]
        return np.stack([centers - half, centers + half], axis=1)

    def omega_arrows(self, operator: OperatorSpec, theta: float) -> FloatArray:
        """Arrows (p, 2 ends, 3) along ω, as long as its strength ‖ω‖_{M⁻¹}; none where it is 0."""
        faces, centers, length = self._sample
        randers = self._metric(operator, theta)
        omega = randers.basis.vectors(randers.omega)[faces]
        size = np.linalg.norm(omega, axis=1)
        drawn = size > 0.0
        strength = np.sqrt(randers.drift_squared()[faces][drawn])
        vectors = omega[drawn] * (length * strength / size[drawn])[:, None]
        return np.stack([centers[drawn], centers[drawn] + vectors], axis=1)

    @functools.cached_property
    def described(self) -> DescribedSurface:
        """The mesh with what matching needs of it."""
        return describe(self.mesh)

    @functools.cached_property
    def _sample(self) -> tuple[IntArray, FloatArray, float]:
        """Faces that carry directions, points a little above them, and the length to draw."""
        m = self.mesh.n_faces
        faces = np.unique(np.linspace(0, m - 1, min(m, _ARROWS)).astype(np.int64))
        length = _ARROW_SHARE * float(np.sqrt(surface_area(self.mesh) / len(faces)))
        centers = self.mesh.vertices[self.mesh.faces[faces]].mean(axis=1)
        return faces, centers + _LIFT * length * face_normals(self.mesh)[faces], length

    def _new_frames(self, smoothing: int) -> FaceFrames:
        return principal_frames(self.mesh, smoothing=smoothing)

    def _new_metric(self, operator: OperatorSpec, theta: float) -> RandersMetric:
        frames = self.frames(operator.smoothing)
        return operator.metric(self.mesh, float(np.radians(theta)), frames=frames)

    def _new_stack(self, operator: OperatorSpec, theta: float) -> AngleStack:
        frames = self.frames(operator.smoothing)
        return operator.stack(self.mesh, [float(np.radians(theta))], frames=frames)

    def _new_directed(self, peclet: float, theta: float) -> AngleStack:
        directions = [float(np.radians(theta))]
        return directed_stack(self._field, peclet=peclet, directions=directions)

    @functools.cached_property
    def _field(self) -> OrientedField:
        return OperatorSpec("directed").oriented_field(self.mesh)

    def _new_spectrum(self, operator: OperatorSpec, theta: float) -> Spectrum:
        return spectrum(self._stack(operator, theta)[0], min(PAIRS, self.mesh.n_vertices))
