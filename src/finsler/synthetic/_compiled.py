"""Compiled loops of the remesher: local changes of a closed manifold that lies on a template.

A surface is a corner table. Half-edge `3 f + c` runs from corner `c` of face `f` to corner `c + 1`;
`origin` (3 m,) is the vertex it starts from, `twin` (3 m,) its partner in the face across,
`leaving` (n,) one half-edge that starts from each vertex. Every vertex knows its `place`: a face of
the template and barycentric coordinates in it. Changes are made in place; only those that keep the
surface a closed manifold are made, and only those that turn no face over.

A template is `points` (p, 3), `faces` (q, 3) and the faces around each vertex, `around[start[v]:
start[v + 1]]`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from finsler.typing import BoolArray, FloatArray, IntArray

Template = tuple[FloatArray, IntArray, IntArray, IntArray]
Vector = tuple[float, float, float]

# Cosine of the largest turn of a face that a change may cause.
_LEAST_COSINE = 0.3
# A flip must improve the sum of the two cotangents by more than rounding does.
_FLIP_MARGIN = 1e-9


@njit(cache=True, nogil=True)
def _next(h: int) -> int:
    return h - 2 if h % 3 == 2 else h + 1


@njit(cache=True, nogil=True)
def _previous(h: int) -> int:
    return h + 2 if h % 3 == 0 else h - 1


@njit(cache=True, nogil=True)
def _row(points: FloatArray, i: int) -> Vector:
    return points[i, 0], points[i, 1], points[i, 2]


@njit(cache=True, nogil=True)
def _put(points: FloatArray, i: int, p: Vector) -> None:
    points[i, 0], points[i, 1], points[i, 2] = p


@njit(cache=True, nogil=True)
def _minus(a: Vector, b: Vector) -> Vector:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@njit(cache=True, nogil=True)
def _middle(a: Vector, b: Vector) -> Vector:
    return 0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1]), 0.5 * (a[2] + b[2])


@njit(cache=True, nogil=True)
def _dot(a: Vector, b: Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(cache=True, nogil=True)
def _cross(a: Vector, b: Vector, c: Vector) -> Vector:
    """(b − a) × (c − a)."""
    u, v = _minus(b, a), _minus(c, a)
    return u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]


@njit(cache=True, nogil=True)
def _agree(m: Vector, n: Vector) -> bool:
    return bool(_dot(m, n) > _LEAST_COSINE * np.sqrt(_dot(m, m) * _dot(n, n)))


@njit(cache=True, nogil=True)
def closest_in_triangle(p: Vector, a: Vector, b: Vector, c: Vector) -> Vector:
    """Barycentric coordinates of the point of a triangle nearest to `p`, by its Voronoi regions."""
    ab, ac, ap = _minus(b, a), _minus(c, a), _minus(p, a)
    d1, d2 = _dot(ab, ap), _dot(ac, ap)
    if d1 <= 0.0 and d2 <= 0.0:
        return 1.0, 0.0, 0.0
    bp = _minus(p, b)
    d3, d4 = _dot(ab, bp), _dot(ac, bp)
    if d3 >= 0.0 and d4 <= d3:
        return 0.0, 1.0, 0.0
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        share = d1 / (d1 - d3)
        return 1.0 - share, share, 0.0
    cp = _minus(p, c)
    d5, d6 = _dot(ab, cp), _dot(ac, cp)
    if d6 >= 0.0 and d5 <= d6:
        return 0.0, 0.0, 1.0
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        share = d2 / (d2 - d6)
        return 1.0 - share, 0.0, share
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        share = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        return 0.0, 1.0 - share, share
    v, w = vb / (va + vb + vc), vc / (va + vb + vc)
    return 1.0 - v - w, v, w


@njit(cache=True, nogil=True)
def point_at(template: Template, face: int, w: Vector) -> Vector:
    """Point of the template with barycentric coordinates `w` in a face."""
    points, faces = template[0], template[1]
    a, b, c = faces[face, 0], faces[face, 1], faces[face, 2]
    return (
        w[0] * points[a, 0] + w[1] * points[b, 0] + w[2] * points[c, 0],
        w[0] * points[a, 1] + w[1] * points[b, 1] + w[2] * points[c, 1],
        w[0] * points[a, 2] + w[1] * points[b, 2] + w[2] * points[c, 2],
    )


@njit(cache=True, nogil=True)
def _nearest_in_face(template: Template, p: Vector, face: int) -> tuple[Vector, float]:
    """Barycentric coordinates of the point of a face nearest to `p`, and its squared distance."""
    points, faces = template[0], template[1]
    a, b, c = (
        _row(points, faces[face, 0]),
        _row(points, faces[face, 1]),
        _row(points, faces[face, 2]),
    )
    weights = closest_in_triangle(p, a, b, c)
    gap = _minus(point_at(template, face, weights), p)
    return weights, _dot(gap, gap)


@njit(cache=True, nogil=True)
def walk(template: Template, p: Vector, face: int) -> tuple[int, Vector]:
    """Face and barycentric coordinates nearest to `p`, found by walking downhill from `face`.

    A walk stays on its part of the surface: it never jumps to a limb that happens to be close.
    """
    _, faces, start, around = template
    best, distance = _nearest_in_face(template, p, face)
    while min(best[0], best[1], best[2]) <= 0.0:
        found = -1
        for corner in range(3):
            # Faces that hold the point reached so far hold a corner with weight.
            if best[corner] == 0.0:
                continue
            v = faces[face, corner]
            for k in range(start[v], start[v + 1]):
                weights, candidate = _nearest_in_face(template, p, around[k])
                if candidate < distance * (1.0 - 1e-12):
                    found, best, distance = around[k], weights, candidate
            if found >= 0:
                break
        if found < 0:
            break
        face = found
    return face, best


@njit(cache=True, nogil=True)
def _turns(
    points: FloatArray, origin: IntArray, twin: IntArray, leaving: int, skip: int, p: Vector
) -> bool:
    """Whether moving a vertex to `p` turns over one of its faces that do not hold `skip`."""
    h = leaving
    old = _row(points, origin[h])
    while True:
        b, c = origin[_next(h)], origin[_previous(h)]
        if b != skip and c != skip:
            q, r = _row(points, b), _row(points, c)
            if not _agree(_cross(old, q, r), _cross(p, q, r)):
                return True
        h = twin[_previous(h)]
        if h == leaving:
            return False


@njit(cache=True, nogil=True)
def _linked(origin: IntArray, twin: IntArray, h: int, mark: IntArray) -> bool:
    """Link condition: the ends of an edge share only its two opposite vertices, of valence > 3."""
    a, b = origin[h], origin[_next(h)]
    walker = h
    while True:
        mark[origin[_next(walker)]] = h + 1
        walker = twin[_previous(walker)]
        if walker == h:
            break
    shared = 0
    first = twin[h]
    walker = first
    while True:
        if mark[origin[_next(walker)]] == h + 1 and origin[_next(walker)] != a:
            shared += 1
        walker = twin[_previous(walker)]
        if walker == first:
            break
    mark[b] = 0
    if shared != 2:
        return False
    for corner in (_previous(h), _previous(twin[h])):
        valence, walker = 0, corner
        while True:
            valence += 1
            walker = twin[_previous(walker)]
            if walker == corner:
                break
        if valence <= 3:
            return False
    return True


@njit(cache=True, nogil=True)
def _lock_ring(origin: IntArray, twin: IntArray, h: int, locked: BoolArray) -> None:
    walker = h
    locked[origin[h]] = True
    while True:
        locked[origin[_next(walker)]] = True
        walker = twin[_previous(walker)]
        if walker == h:
            return


@njit(cache=True, nogil=True)
def collapse(
    points: FloatArray,
    place: IntArray,
    weights: FloatArray,
    origin: IntArray,
    twin: IntArray,
    leaving: IntArray,
    order: IntArray,
    budget: int,
    template: Template,
) -> int:
    """Collapse up to `budget` of the edges in `order` to their midpoints; how many were done.

    Edges of one call do not touch. Removed faces and vertices keep −1 in `origin` and `leaving`.
    """
    locked = np.zeros(len(points), dtype=np.bool_)
    mark = np.zeros(len(points), dtype=np.int64)
    done = 0
    for h in order:
        if done == budget:
            break
        a, b = origin[h], origin[_next(h)]
        if a < 0 or locked[a] or locked[b] or not _linked(origin, twin, h, mark):
            continue
        t = twin[h]
        face, at = walk(template, _middle(_row(points, a), _row(points, b)), place[a])
        p = point_at(template, face, at)
        if _turns(points, origin, twin, h, b, p) or _turns(points, origin, twin, t, a, p):
            continue
        _lock_ring(origin, twin, h, locked)
        _lock_ring(origin, twin, t, locked)
        walker = t
        while True:
            origin[walker] = a
            walker = twin[_previous(walker)]
            if walker == t:
                break
        for side in (h, t):
            left, right = twin[_next(side)], twin[_previous(side)]
            twin[left], twin[right] = right, left
            leaving[origin[left]], leaving[origin[right]] = left, right
            base = side - side % 3
            origin[base : base + 3] = -1
        leaving[b] = -1
        place[a] = face
        _put(points, a, p)
        _put(weights, a, at)
        done += 1
    return done


@njit(cache=True, nogil=True)
def split(
    points: FloatArray,
    place: IntArray,
    weights: FloatArray,
    origin: IntArray,
    twin: IntArray,
    order: IntArray,
    budget: int,
    used: int,
    template: Template,
) -> int:
    """Split up to `budget` of the edges in `order` at their midpoints; how many were done.

    Edges of one call share no face. The arrays have room: vertices and faces from `used` and
    2 `used` − 4 on (the counts of a closed surface of genus 0) are filled.
    """
    locked = np.zeros(len(points), dtype=np.bool_)
    done = 0
    top = 2 * used - 4
    for h in order:
        if done == budget:
            break
        t = twin[h]
        a, b, c, d = origin[h], origin[t], origin[_previous(h)], origin[_previous(t)]
        if locked[a] or locked[b] or locked[c] or locked[d]:
            continue
        locked[a] = locked[b] = locked[c] = locked[d] = True
        m, left, right = used + done, 3 * (top + 2 * done), 3 * (top + 2 * done) + 3
        face, at = walk(template, _middle(_row(points, a), _row(points, b)), place[a])
        place[m] = face
        _put(points, m, point_at(template, face, at))
        _put(weights, m, at)
        hn, tn = _next(h), _next(t)
        across_h, across_t = twin[hn], twin[tn]
        # The faces abc and bad keep their corners c, a and d, b; their corners b and a become m.
        origin[hn], origin[tn] = m, m
        origin[left], origin[left + 1], origin[left + 2] = m, b, c
        origin[right], origin[right + 1], origin[right + 2] = m, a, d
        twin[left + 1], twin[across_h] = across_h, left + 1
        twin[right + 1], twin[across_t] = across_t, right + 1
        twin[hn], twin[left + 2] = left + 2, hn
        twin[tn], twin[right + 2] = right + 2, tn
        twin[h], twin[right] = right, h
        twin[t], twin[left] = left, t
        done += 1
    return done


@njit(cache=True, nogil=True)
def _joined(origin: IntArray, twin: IntArray, h: int, other: int) -> bool:
    walker = h
    while True:
        if origin[_next(walker)] == other:
            return True
        walker = twin[_previous(walker)]
        if walker == h:
            return False


@njit(cache=True, nogil=True)
def flip(
    points: FloatArray, origin: IntArray, twin: IntArray, leaving: IntArray, sweeps: int
) -> int:
    """Flip edges whose opposite angles add up to more than π, until there are none; how many."""
    total = 0
    for _ in range(sweeps):
        done = 0
        for h in range(len(origin)):
            t = twin[h]
            if h > t:
                continue
            hn, hp, tn, tp = _next(h), _previous(h), _next(t), _previous(t)
            a, b, c, d = origin[h], origin[t], origin[hp], origin[tp]
            pa, pb, pc, pd = _row(points, a), _row(points, b), _row(points, c), _row(points, d)
            n0, n1 = _cross(pa, pb, pc), _cross(pb, pa, pd)
            s0, s1 = np.sqrt(_dot(n0, n0)), np.sqrt(_dot(n1, n1))
            cotangents = (
                _dot(_minus(pa, pc), _minus(pb, pc)) * s1
                + _dot(_minus(pa, pd), _minus(pb, pd)) * s0
            )
            if cotangents >= -_FLIP_MARGIN * s0 * s1:
                continue
            m0, m1 = _cross(pa, pd, pc), _cross(pd, pb, pc)
            mean = (n0[0] + n1[0], n0[1] + n1[1], n0[2] + n1[2])
            if not (_agree(m0, mean) and _agree(m1, mean) and _agree(m0, m1)):
                continue
            if _joined(origin, twin, hp, d) or not (
                _valence_above_three(twin, h) and _valence_above_three(twin, t)
            ):
                continue
            x_bc, x_ca, x_ad, x_db = twin[hn], twin[hp], twin[tn], twin[tp]
            origin[h], origin[hn], origin[hp] = a, d, c
            origin[t], origin[tn], origin[tp] = d, b, c
            twin[h], twin[x_ad] = x_ad, h
            twin[hp], twin[x_ca] = x_ca, hp
            twin[t], twin[x_db] = x_db, t
            twin[tn], twin[x_bc] = x_bc, tn
            twin[hn], twin[tp] = tp, hn
            leaving[a], leaving[b], leaving[c], leaving[d] = h, tn, hp, t
            done += 1
        total += done
        if done == 0:
            break
    return total


@njit(cache=True, nogil=True)
def _valence_above_three(twin: IntArray, h: int) -> bool:
    return bool(twin[_previous(twin[_previous(twin[_previous(h)])])] != h)


@njit(cache=True, nogil=True)
def relax(
    points: FloatArray,
    place: IntArray,
    weights: FloatArray,
    origin: IntArray,
    twin: IntArray,
    leaving: IntArray,
    template: Template,
) -> None:
    """Move every vertex towards the area-weighted centre of its faces, within the template."""
    for v in range(len(points)):
        here = _row(points, v)
        h = leaving[v]
        x = y = z = nx = ny = nz = total = 0.0
        while True:
            b, c = _row(points, origin[_next(h)]), _row(points, origin[_previous(h)])
            cross = _cross(here, b, c)
            area = np.sqrt(_dot(cross, cross))
            x += area * (b[0] + c[0] - 2.0 * here[0])
            y += area * (b[1] + c[1] - 2.0 * here[1])
            z += area * (b[2] + c[2] - 2.0 * here[2])
            nx, ny, nz, total = nx + cross[0], ny + cross[1], nz + cross[2], total + area
            h = twin[_previous(h)]
            if h == leaving[v]:
                break
        square = nx * nx + ny * ny + nz * nz
        if square == 0.0:
            continue
        # The step (x, y, z) / (3 total) to the centre, less its part along the normal.
        lift = (x * nx + y * ny + z * nz) / square
        step = 1.0 / (3.0 * total)
        goal = (
            here[0] + step * (x - lift * nx),
            here[1] + step * (y - lift * ny),
            here[2] + step * (z - lift * nz),
        )
        face, at = walk(template, goal, place[v])
        p = point_at(template, face, at)
        if not _turns(points, origin, twin, h, -1, p):
            place[v] = face
            _put(points, v, p)
            _put(weights, v, at)
