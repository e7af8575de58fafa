"""One mesh of the page, and the functions that are computed on it, with their operators kept."""

from __future__ import annotations

import functools

import numpy as np

from finsler.analysis.distance import randers_distance
from finsler.analysis.heat import diffuser
from finsler.analysis.kernels import chebyshev_filter, chebyshev_polynomial, convolution_kernel
from finsler.analysis.spectrum import Spectrum, spectrum
from finsler.frames import FaceFrames, principal_frames
from finsler.mesh.measures import surface_area
from finsler.mesh.trimesh import TriMesh
from finsler.metric import RandersMetric, curvature_strength, tau_of_strength
from finsler.operator import AngleStack, angle_stack, chebyshev_operators
from finsler.typing import FloatArray
from finsler.view.web.settings import Anisotropy, Settings, Shown

PAIRS = 200
# Operators to keep, and the bytes that spectra, which are larger, may take.
_KEPT = 32
_MEMORY = 512 * 2**20
_HEAT_STEPS = 8
# As many faces carry directions; they are as long as this share of the distance between them.
_ARROWS = 800
_ARROW_SHARE = 0.8
_LIFT = 0.1


class Surface:
    """Functions on a mesh for any settings; operators and spectra of the latest are kept.

    Not for several threads at once.
    """

    def __init__(self, mesh: TriMesh) -> None:
        self.mesh = mesh
        self._stack = functools.lru_cache(_KEPT)(self._new_stack)
        fitting = _MEMORY // (8 * PAIRS * mesh.n_vertices)
        self._spectrum = functools.lru_cache(min(_KEPT, max(2, fitting)))(self._new_spectrum)
        self._metric = functools.lru_cache(_KEPT)(self._new_metric)

    @functools.cached_property
    def frames(self) -> FaceFrames:
        """Principal frames of the faces."""
        return principal_frames(self.mesh)

    def values(self, settings: Settings, vertex: int) -> FloatArray:
        """The function that the settings ask for, from a vertex, (n,).

        Kernels have the unit 1/area; heat has mean 1; distances are not finite without a way.

        Raises
        ------
        InputError
            A metric that is not valid: ω is too long.
        """
        kind, metric = settings.shown, settings.metric
        if kind is Shown.kernel:
            return self._kernel(metric, settings.order, vertex)
        if kind is Shown.wide:
            pairs = self._spectrum(metric)
            polynomial = chebyshev_polynomial(settings.order, float(pairs.eigenvalues[-1]))
            return convolution_kernel(pairs, polynomial, vertex)
        if kind is Shown.heat:
            return self._heat(metric, settings.time, vertex)
        if kind is Shown.difference:
            there, back = (self._distance(metric, vertex, reverse=r) for r in (False, True))
            with np.errstate(invalid="ignore"):
                return there - back
        return self._distance(metric, vertex, reverse=kind is Shown.back)

    def direction_segments(self, axis: str) -> FloatArray:
        """Segments (p, 2 ends, 3) along "max" or "min" curvature, on some of the faces."""
        faces, centers, length = self._sample
        directions = self.frames.u_max if axis == "max" else self.frames.u_min
        half = 0.5 * length * directions[faces]
        return np.stack([centers - half, centers + half], axis=1)

    def omega_arrows(self, metric: Anisotropy) -> FloatArray:
        """Arrows (p, 2 ends, 3) along ω, as long as its strength ‖ω‖_{M⁻¹}; none where it is 0."""
        faces, centers, length = self._sample
        randers = self._metric(metric)
        omega = randers.basis.vectors(randers.omega)[faces]
        size = np.linalg.norm(omega, axis=1)
        drawn = size > 0.0
        strength = np.sqrt(randers.drift_squared()[faces][drawn])
        vectors = omega[drawn] * (length * strength / size[drawn])[:, None]
        return np.stack([centers[drawn], centers[drawn] + vectors], axis=1)

    @functools.cached_property
    def _sample(self) -> tuple[np.ndarray[tuple[int], np.dtype[np.intp]], FloatArray, float]:
        """Faces that carry directions, points a little above them, and the length to draw."""
        m = self.mesh.n_faces
        faces = np.unique(np.linspace(0, m - 1, min(m, _ARROWS)).astype(np.intp))
        length = _ARROW_SHARE * float(np.sqrt(surface_area(self.mesh) / len(faces)))
        centers = self.mesh.vertices[self.mesh.faces[faces]].mean(axis=1)
        return faces, centers + _LIFT * length * self.frames.normal[faces], length

    def _kernel(self, metric: Anisotropy, order: int, vertex: int) -> FloatArray:
        stack = self._stack(metric)
        operator = chebyshev_operators(stack, normalization="plain")[0]
        spike = np.zeros(self.mesh.n_vertices)
        spike[vertex] = 1.0 / stack.mass[vertex]
        return chebyshev_filter(operator, spike, np.eye(order + 1)[order])

    def _heat(self, metric: Anisotropy, time: float, vertex: int) -> FloatArray:
        stack = self._stack(metric)
        area = float(stack.mass.sum())
        spike = np.zeros(self.mesh.n_vertices)
        spike[vertex] = area / stack.mass[vertex]
        return diffuser(stack[0], time * area, steps=_HEAT_STEPS)(spike)

    def _distance(self, metric: Anisotropy, vertex: int, *, reverse: bool) -> FloatArray:
        return randers_distance(self._metric(metric), vertex, reverse=reverse)

    def _new_metric(self, metric: Anisotropy) -> RandersMetric:
        return RandersMetric.from_curvature(
            self.mesh,
            self.frames,
            alpha=metric.alpha,
            tau=self._tau(metric),
            theta=float(np.radians(metric.theta)),
        )

    def _new_stack(self, metric: Anisotropy) -> AngleStack:
        return angle_stack(
            self.mesh,
            alpha=metric.alpha,
            tau=self._tau(metric),
            angles=[float(np.radians(metric.theta))],
            frames=self.frames,
        )

    def _new_spectrum(self, metric: Anisotropy) -> Spectrum:
        return spectrum(self._stack(metric)[0], min(PAIRS, self.mesh.n_vertices))

    def _tau(self, metric: Anisotropy) -> float | FloatArray:
        if metric.omega == "constant":
            return metric.tau
        strength = curvature_strength(self.mesh, peak=metric.peak, where=metric.omega)
        return tau_of_strength(self.mesh, strength, alpha=metric.alpha)
