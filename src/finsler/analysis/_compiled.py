"""Compiled loops of the distance solvers."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from finsler.typing import BoolArray, FloatArray, IntArray

Int32Array = NDArray[np.int32]
# Vertices of the open band in a ring; those that wait for later; whether a vertex waits; head and
# tail of the ring, the number that wait for later and that of visits; the end of the open band.
Queue = tuple[IntArray, IntArray, BoolArray, IntArray, FloatArray]

# Share of an edge to which the time at the corner across it must fit a virtual source, and how many
# times better than the other one, to decide between them. Next to nothing: times that have not
# settled yet fit the wrong one by chance, and what is too small is never corrected.
_FITS = 1e-6
_CLEARLY = 5.0
# Share of a face's size by which a virtual source must lie inside it to be refused.
_INSIDE = 1e-6


@njit(cache=True, nogil=True)
def corner_update(
    geometry: FloatArray, da: float, db: float, dapex: float, trust: float
) -> tuple[float, float]:
    """Arrival time at the corner c of a face from the times at the ends a, b of the opposite edge.

    The smallest of: along ac, along bc, across ab with times interpolated linearly on it
    (Hopf-Lax), and straight from a point s in the plane of the face whose distances to a and b are
    d_a and d_b (the virtual source). The last is exact for a point source in a plane with constant
    metric. Elsewhere it may be far too early: times that come from different fronts, or through
    faces with another metric, can put s next to the edge. So it must be confirmed by the corner of
    the face across ab; unconfirmed, it may be earlier than the interpolated time by a share `trust`
    of the time from the edge to c. Times then are at least 1 − trust times those of Hopf-Lax.

    `geometry` holds nine numbers, in coordinates where M = I, a = 0, b = (B, 0) and c lies above
    the first axis: B, c, ω, F(c − a), F(c − b), and the corner of the face across ab, unfolded,
    whose time is `dapex` (NaN if there is none). Returned with the time is where the way to c
    crosses the edge, 0 at a and 1 at b.
    """
    length, cx, cy, wx, wy = geometry[0], geometry[1], geometry[2], geometry[3], geometry[4]
    best, share = da + geometry[5], 0.0
    if db + geometry[6] < best:
        best, share = db + geometry[6], 1.0
    # ω adds ⟨ω, c − a⟩ and ⟨ω, c − b⟩ to the two values; what is left is Riemannian.
    rb = db - wx * length
    difference = rb - da
    if np.isinf(da) or np.isinf(db) or abs(difference) >= length:
        return best, share
    slope = difference / np.sqrt(length * length - difference * difference)
    crossing = cx - cy * slope
    if 0.0 < crossing < length:
        across = difference * crossing / length + cy * np.sqrt(1.0 + slope * slope)
        if da + wx * cx + wy * cy + across < best:
            best, share = da + wx * cx + wy * cy + across, crossing / length
    if np.isnan(dapex):
        return best, share
    straight, crossing, confirmed = _from_virtual_source(geometry, da, rb, dapex)
    if not confirmed:
        on_edge = da + (db - da) * crossing / length
        earliest = on_edge + (1.0 - trust) * _norm(cx - crossing, cy, wx, wy)
        straight = max(straight, earliest)
    if straight < best:
        best, share = straight, crossing / length
    return best, share


@njit(cache=True, nogil=True)
def _from_virtual_source(
    geometry: FloatArray, ra: float, rb: float, dapex: float
) -> tuple[float, float, bool]:
    """F(c − s) for |s| = r_a + ⟨ω, s⟩, |s − b| = r_b + ⟨ω, s⟩; where the way to c crosses ab; and
    whether the time at the corner across ab confirms s.

    The difference of the two squared equations is linear in s, which leaves a quadratic equation
    for s's second coordinate. Its two roots are points that a and b cannot tell apart. With a
    strong drift both may lie below the edge, or the one above, that the front does come from, may
    be the later. The corner across the edge decides if its time fits one root and not the other;
    otherwise the later of the two is taken, which errs on the safe side.
    """
    length, cx, cy, wx, wy = geometry[0], geometry[1], geometry[2], geometry[3], geometry[4]
    difference = rb - ra
    scale = length + difference * wx
    if scale <= 0.0:
        return np.inf, 0.0, False
    x0 = 0.5 * (length * length - difference * (ra + rb)) / scale
    x1 = -difference * wy / scale
    p, q = ra + wx * x0, wx * x1 + wy
    a, b, c = x1 * x1 + 1.0 - q * q, x0 * x1 - p * q, x0 * x0 - p * p
    discriminant = b * b - a * c
    if a <= 0.0 or discriminant < 0.0:
        return np.inf, 0.0, False
    root = np.sqrt(discriminant)
    low = -(b + root) / a
    high = -(b - root) / a
    if low >= 0.0:
        return np.inf, 0.0, False
    ax, ay = geometry[7], geometry[8]
    misfit_low = abs(_norm(ax - x0 - x1 * low, ay - low, wx, wy) - dapex)
    misfit_high = abs(_norm(ax - x0 - x1 * high, ay - high, wx, wy) - dapex)
    confirmed = min(misfit_low, misfit_high) < _FITS * length
    if confirmed and _CLEARLY * misfit_high < misfit_low:
        time, crossing = _straight(x0 + x1 * high, high, geometry, ra, rb)
    else:
        time, crossing = _straight(x0 + x1 * low, low, geometry, ra, rb)
        if not (confirmed and _CLEARLY * misfit_low < misfit_high):
            time = max(time, _norm(cx - x0 - x1 * high, cy - high, wx, wy))
    return time, crossing, confirmed


@njit(cache=True, nogil=True)
def _straight(
    x: float, y: float, geometry: FloatArray, ra: float, rb: float
) -> tuple[float, float]:
    """F(c − s) and the crossing for s = (x, y); infinite unless s sees c through ab from below.

    Nor can s lie inside the face across ab, where no source is.
    """
    length, cx, cy, wx, wy = geometry[0], geometry[1], geometry[2], geometry[3], geometry[4]
    if y >= 0.0 or ra + wx * x + wy * y < 0.0 or rb + wx * x + wy * y < 0.0:
        return np.inf, 0.0
    depth = y / geometry[8]
    left, right = depth * geometry[7], depth * geometry[7] + (1.0 - depth) * length
    edge = _INSIDE * length
    if _INSIDE < depth < 1.0 - _INSIDE and left + edge < x < right - edge:
        return np.inf, 0.0
    crossing = x + (cx - x) * y / (y - cy)
    if crossing <= 0.0 or crossing >= length:
        return np.inf, 0.0
    return _norm(cx - x, cy - y, wx, wy), crossing


@njit(cache=True, nogil=True)
def _norm(x: float, y: float, wx: float, wy: float) -> float:
    return float(np.sqrt(x * x + y * y) + wx * x + wy * y)


@njit(cache=True, nogil=True)
def march(
    faces: IntArray,
    start: Int32Array,
    corner: Int32Array,
    geometry: FloatArray,
    across: IntArray,
    trust: float,
    width: float,
    distance: FloatArray,
    queue: Queue,
    tolerance: float,
    most: int,
) -> bool:
    """Relax arrival times in place; True once nothing changes, False after so many visits.

    Vertices wait in bands of the given width of arrival time; inside a band first come, first
    served, as often as needed. No order of arrival is assumed: with strong anisotropy or drift a
    front crosses faces towards vertices that it reached before. `queue` holds who waits, so that a
    call that was cut short is taken up again by the next; gains below the share `tolerance` of a
    time are not handed on.
    """
    ring, later, waiting, counts, limit = queue
    size = len(ring)
    last = counts[3] + most
    while counts[0] != counts[1] or counts[2] > 0:
        if counts[0] == counts[1]:
            _open_band(distance, width, queue)
        while counts[0] != counts[1]:
            if counts[3] >= last:
                return False
            counts[3] += 1
            v = ring[counts[0]]
            counts[0] = (counts[0] + 1) % size
            waiting[v] = False
            for p in range(start[v], start[v + 1]):
                for step in range(3):
                    f, i = corner[p] // 3, (corner[p] % 3 + step) % 3
                    if step == 0:
                        # v lies across an edge from the corner of another face.
                        if across[f, i] < 0:
                            continue
                        f, i = across[f, i] // 3, across[f, i] % 3
                    w = faces[f, i]
                    a, b = faces[f, (i + 1) % 3], faces[f, (i + 2) % 3]
                    far = across[f, i]
                    beyond = distance[faces[far // 3, far % 3]] if far >= 0 else np.nan
                    time = corner_update(geometry[f, i], distance[a], distance[b], beyond, trust)[0]
                    if time < distance[w] * (1.0 - tolerance):
                        distance[w] = time
                        if not waiting[w]:
                            waiting[w] = True
                            if time <= limit[0]:
                                ring[counts[1]] = w
                                counts[1] = (counts[1] + 1) % size
                            else:
                                later[counts[2]] = w
                                counts[2] += 1
    return True


@njit(cache=True, nogil=True)
def _open_band(distance: FloatArray, width: float, queue: Queue) -> None:
    """Move the vertices of the next band from those that wait for later into the ring."""
    ring, later, _, counts, limit = queue
    smallest = np.inf
    for k in range(counts[2]):
        smallest = min(smallest, distance[later[k]])
    limit[0] = smallest + width
    kept = 0
    for k in range(counts[2]):
        v = later[k]
        if distance[v] <= limit[0]:
            ring[counts[1]] = v
            counts[1] = (counts[1] + 1) % len(ring)
        else:
            later[kept] = v
            kept += 1
    counts[2] = kept


@njit(cache=True, nogil=True)
def unit_flux(
    faces: IntArray,
    gradients: FloatArray,
    dual_tensor: FloatArray,
    dual_omega: FloatArray,
    weights: FloatArray,
    functions: FloatArray,
) -> FloatArray:
    """Weak divergence ∫ ⟨∇φ_i, D X⟩ of X = −∇u / F*(−∇u), for each column u.

    `gradients` (m, 3, 2), `dual_tensor` and `weights` (m, 3) hold a symmetric tensor each as three
    numbers; `weights` is D times the face's area. u is scaled by its size on the face first: far
    from the source it is as small as numbers get.
    """
    n, columns = functions.shape
    out = np.zeros((n, columns))
    for f in range(len(faces)):
        i, j, k = faces[f]
        for col in range(columns):
            ui, uj, uk = functions[i, col], functions[j, col], functions[k, col]
            largest = max(abs(ui), abs(uj), abs(uk))
            if not largest > 0.0:
                continue
            ui, uj, uk = ui / largest, uj / largest, uk / largest
            g = gradients[f]
            px = -(ui * g[0, 0] + uj * g[1, 0] + uk * g[2, 0])
            py = -(ui * g[0, 1] + uj * g[1, 1] + uk * g[2, 1])
            t = dual_tensor[f]
            squared = t[0] * px * px + 2.0 * t[1] * px * py + t[2] * py * py
            norm = np.sqrt(max(squared, 0.0)) + dual_omega[f, 0] * px + dual_omega[f, 1] * py
            if not norm > 0.0:
                continue
            w = weights[f]
            fx, fy = (w[0] * px + w[1] * py) / norm, (w[1] * px + w[2] * py) / norm
            out[i, col] += fx * g[0, 0] + fy * g[0, 1]
            out[j, col] += fx * g[1, 0] + fy * g[1, 1]
            out[k, col] += fx * g[2, 0] + fy * g[2, 1]
    return out
