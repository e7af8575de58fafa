"""How much a metric changes from face to face: whether the mesh is fine enough for it."""

from __future__ import annotations

import numpy as np

from finsler.mesh.topology import edges
from finsler.metric.randers import RandersMetric, inverse_2x2
from finsler.typing import FloatArray, IntArray


def metric_jumps(metric: RandersMetric) -> FloatArray:
    """Largest |log F₁(v)/F₂(v)| over directions v, for each pair of neighbouring faces, (p,).

    One face is unfolded into the plane of the other. Pairs are those of `edges(mesh).pairs`; 0
    where both faces have the same metric, as in a plane with a constant one or where M = I, ω = 0.
    The directions tried are those in which F₁ or F₂ is least or largest for its M, and the
    extremes of ‖v‖_{M₁}/‖v‖_{M₂}.
    """
    mesh = metric.mesh
    first, second = edges(mesh).pairs.T
    start = mesh.faces.ravel()
    alike = start[first] == start[second]
    a, omega_a = _along_side(metric, first, np.ones(len(first)), 1.0)
    b, omega_b = _along_side(metric, second, np.where(alike, 1.0, -1.0), -1.0)
    tried = [*_extremes(a, b)]
    for tensor, omega in ((a, omega_a), (b, omega_b)):
        raised = np.einsum("pij,pj->pi", inverse_2x2(tensor), omega)
        tried.append(np.where(raised.any(axis=1)[:, None], raised, tried[0]))
    jumps = np.zeros(len(first))
    for v in (sign * vector for vector in tried for sign in (1.0, -1.0)):
        ratio = _norm(a, omega_a, v) / _norm(b, omega_b, v)
        jumps = np.maximum(jumps, np.abs(np.log(ratio)))
    return jumps


def _along_side(
    metric: RandersMetric, halfedges: IntArray, sign: FloatArray, inward: float
) -> tuple[FloatArray, FloatArray]:
    """M and ω with ± the side of the face as first axis, and ± its inner normal as second."""
    mesh, face = metric.mesh, halfedges // 3
    corners = mesh.vertices[mesh.faces[face]]
    k, side = np.arange(len(face)), halfedges % 3
    along = corners[k, (side + 1) % 3] - corners[k, side]
    x = np.einsum("pi,pi->p", along, metric.basis.first[face])
    y = np.einsum("pi,pi->p", along, metric.basis.second[face])
    x, y = x / np.hypot(x, y), y / np.hypot(x, y)
    axes = np.stack([sign * x, sign * y, -inward * y, inward * x], axis=1).reshape(-1, 2, 2)
    tensor = np.einsum("pai,pij,pbj->pab", axes, metric.M[face], axes, optimize=True)
    return tensor, np.asarray(np.einsum("pai,pi->pa", axes, metric.omega[face]))


def _extremes(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvectors of the pencil (a, b), in closed form through the Cholesky factor of b."""
    l11 = np.sqrt(b[:, 0, 0])
    l21 = b[:, 0, 1] / l11
    l22 = np.sqrt(b[:, 1, 1] - l21**2)
    zero = np.zeros_like(l11)
    inverse = np.stack([1 / l11, zero, -l21 / (l11 * l22), 1 / l22], axis=1).reshape(-1, 2, 2)
    c = np.einsum("pai,pij,pbj->pab", inverse, a, inverse, optimize=True)
    angle = 0.5 * np.arctan2(2.0 * c[:, 0, 1], c[:, 0, 0] - c[:, 1, 1])
    cosine, sine = np.cos(angle), np.sin(angle)
    turned = np.stack([cosine, sine], axis=1), np.stack([-sine, cosine], axis=1)
    first, second = (np.einsum("pai,pa->pi", inverse, y) for y in turned)
    return first, second


def _norm(tensor: FloatArray, omega: FloatArray, v: FloatArray) -> FloatArray:
    riemannian = np.sqrt(np.einsum("pi,pij,pj->p", v, tensor, v))
    return np.asarray(riemannian + np.einsum("pi,pi->p", omega, v))
