"""Meshes with one defect each, in several severities, and some with many."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from finsler.mesh import TriMesh, edges, primitives

Arrays = tuple[np.ndarray, np.ndarray]
_TETRAHEDRON = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])


def base(frequency: int = 4) -> Arrays:
    """A bumpy sphere, 162 vertices by default."""
    mesh = primitives.bumpy_sphere(frequency)
    return np.array(mesh.vertices), np.array(mesh.faces)


def joined(*parts: Arrays) -> Arrays:
    """Several meshes as one."""
    offsets = np.cumsum([0, *(len(points) for points, _ in parts)])
    faces = [triangles + shift for (_, triangles), shift in zip(parts, offsets, strict=False)]
    return np.concatenate([points for points, _ in parts]), np.concatenate(faces)


def fins(count: int) -> Arrays:
    """Triangles that stand on edges: those have three faces."""
    points, faces = base()
    table = edges(TriMesh(points, faces)).vertices
    chosen = table[:: len(table) // count][:count]
    tips = 1.3 * points[chosen].mean(axis=1)
    new = np.c_[chosen, len(points) + np.arange(count)]
    return np.r_[points, tips], np.r_[faces, new]


def book(pages: int = 3) -> Arrays:
    """Half planes that share a line of edges."""
    sheet = primitives.plane(8, 8)
    back = np.flatnonzero(sheet.vertices[:, 0] == 0.0)
    points, faces = np.array(sheet.vertices), [np.array(sheet.faces)]
    for page in range(1, pages):
        angle = 2.0 * np.pi * page / pages
        turned = sheet.vertices @ _turn(angle).T
        index = np.arange(sheet.n_vertices) + len(points)
        index[back] = back
        points = np.r_[points, turned]
        faces.append(index[sheet.faces])
    used, corners = np.unique(np.concatenate(faces), return_inverse=True)
    return points[used], corners.reshape(-1, 3)


def touching(count: int) -> Arrays:
    """A chain of spheres, each touching the next in one vertex."""
    points, faces = base(3)
    first, last = int(points[:, 0].argmin()), int(points[:, 0].argmax())
    step = points[last] - points[first]
    all_points, all_faces, previous = [points], [faces], last
    for number in range(1, count):
        index = np.arange(len(points)) + number * len(points)
        index[first] = previous
        all_points.append(points + number * step)
        all_faces.append(index[faces])
        previous = int(index[last])
    used, corners = np.unique(np.concatenate(all_faces), return_inverse=True)
    return np.concatenate(all_points)[used], corners.reshape(-1, 3)


def touching_fingers() -> Arrays:
    """One closed surface, a tube bent so far that the caps at its two ends coincide."""
    around, along = 8, 13
    angle = 2.0 * np.pi * np.arange(around) / around
    ring = 0.3 * np.c_[1.0 + np.cos(angle), np.sin(angle)]
    turn = np.linspace(0.0, np.pi, along)[:, None]
    reach = 1.0 + ring[None, :, 0]
    half = np.stack(
        [reach * np.cos(turn), reach * np.sin(turn), np.tile(ring[:, 1], (along, 1))], axis=2
    )
    half[0, :, 1] = 0.0
    rings = np.r_[half, half[-2::-1] * [1.0, -1.0, 1.0]]
    middle = [[1.3, 0.0, 0.0]]
    points = np.r_[rings.reshape(-1, 3), middle, middle]
    a = np.arange(len(rings) * around).reshape(-1, around)
    b, c, d = np.roll(a, -1, 1)[:-1], np.roll(a, -1, 1)[1:], a[1:]
    tube = np.r_[
        np.stack([a[:-1], d, c], 2).reshape(-1, 3), np.stack([a[:-1], c, b], 2).reshape(-1, 3)
    ]
    first, last = len(points) - 2, len(points) - 1
    caps = [np.c_[np.full(around, first), a[0], np.roll(a[0], -1)]]
    caps += [np.c_[np.full(around, last), np.roll(a[-1], -1), a[-1]]]
    return points, np.r_[tube, *caps]


def closed_mouth() -> Arrays:
    """One closed surface with a pocket whose lips lie on each other."""
    points, faces = base()
    throat = int(np.argmax(np.bincount(faces.ravel()) == 6))
    around = [
        np.roll(face, -int(np.argmax(face == throat)))[1:] for face in faces if throat in face
    ]
    following = {int(a): int(b) for a, b in around}
    lips = [int(around[0][0])]
    while len(lips) < 6:
        lips.append(following[lips[-1]])
    for upper, lower in ((lips[1], lips[5]), (lips[2], lips[4])):
        points[[upper, lower]] = points[[upper, lower]].mean(axis=0)
    points[throat] *= 0.7
    return points, faces


def coincident_sheets() -> Arrays:
    """Two planes in the same position, each with its own vertices."""
    return joined(flat(), flat())


def doubled_skin() -> Arrays:
    """A closed surface twice, each with its own vertices."""
    return joined(base(3), base(3))


def thin_plate() -> Arrays:
    """A closed surface without thickness: two discs that share their rim."""
    count, rings = 12, 3
    angle = 2.0 * np.pi * np.arange(count) / count
    circle = np.c_[np.cos(angle), np.sin(angle), np.zeros(count)]
    inner = np.r_[[[0.0, 0.0, 0.0]], *(r * circle / rings for r in range(1, rings))]
    side = np.r_[inner, circle]
    a = 1 + np.arange(rings * count).reshape(rings, count)
    b = np.roll(a, -1, axis=1)
    disc = [np.c_[np.zeros(count, int), a[0], b[0]]]
    for i in range(rings - 1):
        disc += [np.c_[a[i], a[i + 1], b[i + 1]], np.c_[a[i], b[i + 1], b[i]]]
    top = np.concatenate(disc)
    index = np.r_[len(side) + np.arange(len(inner)), np.arange(len(inner), len(side))]
    return np.r_[side, inner], np.r_[top, index[top][:, ::-1]]


def collapsed(count: int) -> Arrays:
    """Faces whose three corners are three different vertices on one line."""
    points, faces = base()
    for face in range(0, 7 * count, 7):
        a, b, _ = faces[face]
        points = np.r_[points, [0.5 * (points[a] + points[b])]]
        faces = np.r_[faces, [[a, b, len(points) - 1]]]
    return points, faces


def needles(height: float, count: int = 1) -> Arrays:
    """Vertices moved almost onto the edge opposite to them; `height` relative to the edge."""
    points, faces = base()
    for face in range(0, 40 * count, 40):
        a, b, c = faces[face]
        foot, side = 0.5 * (points[a] + points[b]), points[b] - points[a]
        away = points[c] - foot
        away -= (away @ side) / (side @ side) * side
        points[c] = foot + height * np.linalg.norm(side) * away / np.linalg.norm(away)
    return points, faces


def repeated(count: int, *, turned: bool = False) -> Arrays:
    """The first faces twice, the second time turned over if asked."""
    points, faces = base()
    again = faces[:count, ::-1] if turned else faces[:count]
    return points, np.r_[faces, again]


def strangers(count: int) -> Arrays:
    """Vertices that no face uses."""
    points, faces = base()
    return np.r_[points, 3.0 + np.random.default_rng(0).random((count, 3))], faces


def turned_over(share: float) -> Arrays:
    """A share of the faces turned over, spread evenly."""
    points, faces = base()
    chosen = np.random.default_rng(0).random(len(faces)) < share
    chosen[0] = True
    faces[chosen] = faces[chosen][:, ::-1]
    return points, faces


def moebius() -> Arrays:
    """A band that cannot be oriented."""
    n, width = 40, 4
    u = np.linspace(0.0, 2.0 * np.pi, n, endpoint=False)
    v = np.linspace(-0.4, 0.4, width + 1)
    radius = 1.0 + v[None, :] * np.cos(0.5 * u)[:, None]
    height = v[None, :] * np.sin(0.5 * u)[:, None]
    points = np.stack(
        [radius * np.cos(u)[:, None], radius * np.sin(u)[:, None], height], axis=2
    ).reshape(-1, 3)
    index = np.arange(n * (width + 1)).reshape(n, width + 1)
    closed = np.r_[index, index[:1, ::-1]]
    a, b, c, d = closed[:-1, :-1], closed[1:, :-1], closed[1:, 1:], closed[:-1, 1:]
    faces = np.r_[
        np.stack([a, b, c], axis=2).reshape(-1, 3), np.stack([a, c, d], axis=2).reshape(-1, 3)
    ]
    return points, faces


def without_faces(share: float) -> Arrays:
    """Holes: faces removed at random, and the vertices that they leave behind."""
    points, faces = base()
    kept = faces[np.random.default_rng(1).random(len(faces)) >= share]
    used, corners = np.unique(kept, return_inverse=True)
    return points[used], corners.reshape(-1, 3)


def hemisphere() -> Arrays:
    """One large hole."""
    points, faces = base()
    kept = faces[points[faces].mean(axis=1)[:, 2] > 0.0]
    used, corners = np.unique(kept, return_inverse=True)
    return points[used], corners.reshape(-1, 3)


def flat() -> Arrays:
    """A plane."""
    mesh = primitives.plane(10, 10)
    return np.array(mesh.vertices), np.array(mesh.faces)


def interpenetrating() -> Arrays:
    """Two spheres that pass through each other."""
    points, faces = base()
    return joined((points, faces), (points + np.array([0.7, 0.1, 0.2]), faces))


def folded() -> Arrays:
    """One surface that passes through itself."""
    points, faces = base()
    points[:, 2] *= 1.0 - 1.6 * np.exp(-4.0 * (points[:, :2] ** 2).sum(axis=1))
    return points, faces


def tetrahedra(count: int) -> Arrays:
    """Hundreds of closed pieces of different sizes."""
    rng = np.random.default_rng(0)
    corners = np.eye(4, 3, k=-1)
    return joined(
        *(
            (size * corners + shift, _TETRAHEDRON)
            for size, shift in zip(
                rng.uniform(0.5, 1.5, count),
                4.0 * np.arange(count)[:, None] * [1, 0, 0],
                strict=True,
            )
        )
    )


def crumbs(count: int) -> Arrays:
    """A sphere and many single triangles."""
    rng = np.random.default_rng(0)
    triangle = np.array([[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0]])
    pieces = [(triangle + shift, np.array([[0, 1, 2]])) for shift in rng.normal(size=(count, 3))]
    return joined(base(), *pieces)


def soup() -> Arrays:
    """No two faces share a vertex, though their positions agree."""
    points, faces = base(3)
    return points[faces].reshape(-1, 3), np.arange(faces.size).reshape(-1, 3)


def cracked() -> Arrays:
    """A seam of doubled vertices."""
    points, faces = base()
    low = points[faces].mean(axis=1)[:, 2] < 0.0
    used, corners = np.unique(faces[low], return_inverse=True)
    faces = np.r_[faces[~low], corners.reshape(-1, 3) + len(points)]
    points = np.r_[points, points[used]]
    used, corners = np.unique(faces, return_inverse=True)
    return points[used], corners.reshape(-1, 3)


def scaled(factor: float) -> Arrays:
    """Coordinates of another order of magnitude."""
    points, faces = base()
    return factor * points, faces


def far(distance: float) -> Arrays:
    """Far from the origin, so that digits are lost."""
    points, faces = base()
    return points + distance * np.array([1.0, -1.0, 1.0]), faces


def whole_numbers() -> Arrays:
    """Integer coordinates, given as integers."""
    points, faces = base()
    return np.round(1000.0 * points).astype(np.int64), faces.astype(np.int32)


def spoiled(value: float, count: int = 1) -> Arrays:
    """Coordinates that are no numbers."""
    points, faces = base()
    points[5 : 5 + count, 1] = value
    return points, faces


def triangle() -> Arrays:
    """One face."""
    return np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]), np.array([[0, 1, 2]])


def usable_mixture() -> Arrays:
    """Holes, faces turned over and doubled, a fin, a needle and crumbs: all that operators bear."""
    points, faces = needles(1e-7)
    faces = faces[12:]
    faces[3::5] = faces[3::5, ::-1]
    faces = np.r_[faces, faces[:2], [[faces[40, 0], faces[40, 1], len(points)]]]
    points = np.r_[points, [[2.0, 0.0, 0.0]]]
    triangle = np.array([[3.0, 0, 0], [3.1, 0, 0], [3.0, 0.1, 0]])
    return joined((points, faces), (triangle, np.array([[0, 1, 2]])))


def everything() -> Arrays:
    """The mixture, with a face without area and vertices without a face, in tiny units."""
    points, faces = usable_mixture()
    faces = np.r_[faces, [[0, 0, 1]]]
    return 1e-12 * np.r_[points, [[9.0, 9.0, 9.0]]], faces


def _turn(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]])


MESHES: dict[str, Callable[[], Arrays]] = {
    "clean": base,
    "fin on an edge": lambda: fins(1),
    "40 fins": lambda: fins(40),
    "book of 3 pages": book,
    "book of 7 pages": lambda: book(7),
    "2 spheres touching": lambda: touching(2),
    "5 spheres touching": lambda: touching(5),
    "touching fingers": touching_fingers,
    "closed mouth": closed_mouth,
    "coincident sheets": coincident_sheets,
    "doubled skin": doubled_skin,
    "thin plate": thin_plate,
    "corner repeated": lambda: (base()[0], np.r_[base()[1], [[0, 0, 1]]]),
    "face on a line": lambda: collapsed(1),
    "20 faces on lines": lambda: collapsed(20),
    "needle 1e-3": lambda: needles(1e-3),
    "needle 1e-5": lambda: needles(1e-5),
    "needle 1e-7": lambda: needles(1e-7),
    "needle 1e-9": lambda: needles(1e-9),
    "needle 1e-11": lambda: needles(1e-11),
    "5 needles 1e-7": lambda: needles(1e-7, 5),
    "face twice": lambda: repeated(1),
    "face and its back": lambda: repeated(1, turned=True),
    "all faces twice": lambda: repeated(10**6),
    "vertex without face": lambda: strangers(1),
    "100 vertices without face": lambda: strangers(100),
    "face turned over": lambda: turned_over(0.0),
    "half turned over": lambda: turned_over(0.5),
    "inside out": lambda: (base()[0], base()[1][:, ::-1].copy()),
    "moebius band": moebius,
    "hemisphere": hemisphere,
    "10% of the faces gone": lambda: without_faces(0.1),
    "half of the faces gone": lambda: without_faces(0.5),
    "plane": flat,
    "one triangle": triangle,
    "two spheres crossing": interpenetrating,
    "crosses itself": folded,
    "200 tetrahedra": lambda: tetrahedra(200),
    "sphere and 100 crumbs": lambda: crumbs(100),
    "no shared vertices": soup,
    "doubled vertices": cracked,
    "unit 1e-12": lambda: scaled(1e-12),
    "unit 1e12": lambda: scaled(1e12),
    "far away": lambda: far(1e6),
    "whole numbers": whole_numbers,
    "NaN": lambda: spoiled(np.nan),
    "9 infinities": lambda: spoiled(np.inf, 9),
    "usable mixture": usable_mixture,
    "everything, unit 1e-12": everything,
}
