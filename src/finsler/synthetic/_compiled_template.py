"""Compiled geometry of a template: points on it, and the nearest one to a point in space.

A template is `points` (p, 3), `faces` (q, 3) and the faces around each vertex, `around[start[v]:
start[v + 1]]`.
"""

from __future__ import annotations

from numba import njit

from finsler.typing import FloatArray, IntArray

Template = tuple[FloatArray, IntArray, IntArray, IntArray]
Vector = tuple[float, float, float]


@njit(cache=True, nogil=True)
def row(points: FloatArray, i: int) -> Vector:
    return points[i, 0], points[i, 1], points[i, 2]


@njit(cache=True, nogil=True)
def put(points: FloatArray, i: int, p: Vector) -> None:
    points[i, 0], points[i, 1], points[i, 2] = p


@njit(cache=True, nogil=True)
def minus(a: Vector, b: Vector) -> Vector:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@njit(cache=True, nogil=True)
def middle(a: Vector, b: Vector) -> Vector:
    return 0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1]), 0.5 * (a[2] + b[2])


@njit(cache=True, nogil=True)
def dot(a: Vector, b: Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(cache=True, nogil=True)
def cross(a: Vector, b: Vector, c: Vector) -> Vector:
    """(b − a) × (c − a)."""
    u, v = minus(b, a), minus(c, a)
    return u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]


@njit(cache=True, nogil=True)
def closest_in_triangle(p: Vector, a: Vector, b: Vector, c: Vector) -> Vector:
    """Barycentric coordinates of the point of a triangle nearest to `p`, by its Voronoi regions."""
    ab, ac, ap = minus(b, a), minus(c, a), minus(p, a)
    d1, d2 = dot(ab, ap), dot(ac, ap)
    if d1 <= 0.0 and d2 <= 0.0:
        return 1.0, 0.0, 0.0
    bp = minus(p, b)
    d3, d4 = dot(ab, bp), dot(ac, bp)
    if d3 >= 0.0 and d4 <= d3:
        return 0.0, 1.0, 0.0
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        share = d1 / (d1 - d3)
        return 1.0 - share, share, 0.0
    cp = minus(p, c)
    d5, d6 = dot(ab, cp), dot(ac, cp)
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
        row(points, faces[face, 0]),
        row(points, faces[face, 1]),
        row(points, faces[face, 2]),
    )
    weights = closest_in_triangle(p, a, b, c)
    gap = minus(point_at(template, face, weights), p)
    return weights, dot(gap, gap)


@njit(cache=True, nogil=True)
def walk(template: Template, p: Vector, face: int) -> tuple[int, Vector]:
    """Face and barycentric coordinates nearest to `p`, by walking downhill from `face`.

    A walk stays on its part of the surface: it never jumps to a limb that happens to be close.
    """
    _, faces, start, around = template
    best, distance = _nearest_in_face(template, p, face)
    while min(best[0], best[1], best[2]) <= 0.0:
        nearer = -1
        for corner in range(3):
            # Faces that hold the point reached so far hold a corner with weight.
            if best[corner] == 0.0:
                continue
            v = faces[face, corner]
            for k in range(start[v], start[v + 1]):
                weights, candidate = _nearest_in_face(template, p, around[k])
                if candidate < distance * (1.0 - 1e-12):
                    nearer, best, distance = around[k], weights, candidate
            if nearer >= 0:
                break
        if nearer < 0:
            break
        face = nearer
    return face, best
