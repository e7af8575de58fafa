"""Compiled loops of the remesher: local changes of a closed manifold that lies on a template.

A surface is a corner table. Half-edge `3 f + c` runs from corner `c` of face `f` to corner `c + 1`;
`origin` (3 m,) is the vertex it starts from, `twin` (3 m,) its partner in the face across,
`leaving` (n,) one half-edge that starts from each vertex. Every vertex knows the template's
face `under` it and barycentric coordinates in that face. Changes are made in place; only those that
keep the surface a closed manifold are made, and only those that turn no face over.

Templates are those of `_compiled_template`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from finsler.synthetic._compiled_template import (
    Template,
    Vector,
    cross,
    dot,
    middle,
    minus,
    point_at,
    put,
    row,
    walk,
)
from finsler.typing import BoolArray, FloatArray, IntArray

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
def _agree(m: Vector, n: Vector) -> bool:
    return bool(dot(m, n) > _LEAST_COSINE * np.sqrt(dot(m, m) * dot(n, n)))


@njit(cache=True, nogil=True)
def _turns(
    points: FloatArray, origin: IntArray, twin: IntArray, leaving: int, skip: int, p: Vector
) -> bool:
    """Whether moving a vertex to `p` turns over one of its faces that do not hold `skip`."""
    h = leaving
    old = row(points, origin[h])
    while True:
        b, c = origin[_next(h)], origin[_previous(h)]
        if b != skip and c != skip:
            q, r = row(points, b), row(points, c)
            if not _agree(cross(old, q, r), cross(p, q, r)):
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
    under: IntArray,
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
        face, at = walk(template, middle(row(points, a), row(points, b)), under[a])
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
        under[a] = face
        put(points, a, p)
        put(weights, a, at)
        done += 1
    return done


@njit(cache=True, nogil=True)
def split(
    points: FloatArray,
    under: IntArray,
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
        face, at = walk(template, middle(row(points, a), row(points, b)), under[a])
        under[m] = face
        put(points, m, point_at(template, face, at))
        put(weights, m, at)
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
            pa, pb, pc, pd = row(points, a), row(points, b), row(points, c), row(points, d)
            n0, n1 = cross(pa, pb, pc), cross(pb, pa, pd)
            s0, s1 = np.sqrt(dot(n0, n0)), np.sqrt(dot(n1, n1))
            cotangents = (
                dot(minus(pa, pc), minus(pb, pc)) * s1 + dot(minus(pa, pd), minus(pb, pd)) * s0
            )
            if cotangents >= -_FLIP_MARGIN * s0 * s1:
                continue
            m0, m1 = cross(pa, pd, pc), cross(pd, pb, pc)
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
    under: IntArray,
    weights: FloatArray,
    origin: IntArray,
    twin: IntArray,
    leaving: IntArray,
    template: Template,
) -> None:
    """Move every vertex towards the area-weighted centre of its faces, within the template."""
    for v in range(len(points)):
        here = row(points, v)
        h = leaving[v]
        x = y = z = nx = ny = nz = total = 0.0
        while True:
            b, c = row(points, origin[_next(h)]), row(points, origin[_previous(h)])
            normal = cross(here, b, c)
            area = np.sqrt(dot(normal, normal))
            x += area * (b[0] + c[0] - 2.0 * here[0])
            y += area * (b[1] + c[1] - 2.0 * here[1])
            z += area * (b[2] + c[2] - 2.0 * here[2])
            nx, ny, nz, total = nx + normal[0], ny + normal[1], nz + normal[2], total + area
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
        face, at = walk(template, goal, under[v])
        p = point_at(template, face, at)
        if not _turns(points, origin, twin, h, -1, p):
            under[v] = face
            put(points, v, p)
            put(weights, v, at)
