"""Tiny data sets in the layouts of the real ones, made of spheres, with truth that is known."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from finsler.data.partial import cut
from finsler.mesh import TriMesh, primitives, write_mesh

FAUST = [f"tr_reg_{i:03d}" for i in range(100)]
SCAPE = [f"mesh{i:03d}" for i in range(72) if i != 51]


@dataclass(frozen=True)
class Remeshed:
    """A set whose shapes are one sphere with shuffled vertices.

    `place[name]` (n,) is the sphere's vertex behind each vertex; `points` (p,) the sphere's vertex
    at each canonical point, some twice and some never.
    """

    folder: Path
    place: dict[str, np.ndarray]
    points: np.ndarray


def remeshed(folder, names, *, off="off", corres="corres", ending=".off", frequency=2):
    sphere = primitives.sphere(frequency)
    rng = np.random.default_rng(0)
    n = sphere.n_vertices
    points = rng.choice(n, size=3 * n // 4, replace=False)
    points = np.r_[points, points[:3]]
    place = {}
    for path in (folder / off, folder / corres):
        path.mkdir(parents=True, exist_ok=True)
    for name in names:
        place[name] = rng.permutation(n)
        rank = np.argsort(place[name])
        mesh = TriMesh(sphere.vertices[place[name]], rank[sphere.faces])
        write_mesh(folder / off / f"{name}{ending}", mesh)
        numbers(folder / corres / f"{name}.vts", rank[points] + 1)
    return Remeshed(folder, place, points)


def registrations(folder, names=FAUST):
    folder.mkdir(parents=True, exist_ok=True)
    sphere = primitives.sphere(1)
    for i, name in enumerate(names):
        write_mesh(folder / f"{name}.ply", TriMesh(sphere.vertices * (1 + i / 500), sphere.faces))


def numbers(path, values):
    path.write_text("".join(f"{value}\n" for value in values), encoding="ascii")


def shrec16(
    folder,
    *,
    kind="cuts",
    count=15,
    category="cat",
    off="off",
    corres="corres",
    truth=".vts",
    part=None,
):
    """Parts of a sphere; returns the vertex of the null shape behind each vertex, by name."""
    null = primitives.sphere(4)
    part = part or kind
    for path in (folder / "null" / off, folder / part / off, folder / part / corres):
        path.mkdir(parents=True, exist_ok=True)
    write_mesh(folder / "null" / off / f"{category}.off", null)
    maps = {}
    for k in range(1, count + 1):
        name = f"{kind}_{category}_shape_{k}"
        piece = cut(null, share=0.6, seed=k)
        write_mesh(folder / part / off / f"{name}.off", piece.mesh)
        maps[name] = piece.vertex_map
        target = folder / part / corres / f"{name}{truth}"
        if truth == ".vts":
            numbers(target, piece.vertex_map + 1)
        else:
            target.write_text(barycentric(null, piece.vertex_map), encoding="ascii")
    return maps


def barycentric(null, vertices):
    """A face at each vertex, from 1, with most of the weight on its corner."""
    lines = []
    for vertex in vertices:
        face = int(np.flatnonzero((null.faces == vertex).any(axis=1))[0])
        weight = np.where(null.faces[face] == vertex, 0.8, 0.1)
        lines.append(f"{face + 1} {weight[0]} {weight[1]} {weight[2]}\n")
    return "".join(lines)
