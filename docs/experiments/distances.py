"""The numbers and the picture of distances.md: Randers distances against independent answers."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp
from scipy.spatial import cKDTree

from finsler import RandersMetric, TriMesh, primitives, randers_distance
from finsler.view import Camera, Panel, save_figure

METHODS, CELLS, FREQUENCIES = ("eikonal", "heat"), (36, 72, 144), (11, 22, 44)
# What to solve, and the answer at the vertices, NaN where there is none.
Problem = tuple[TriMesh, RandersMetric, int, np.ndarray]


def constant(n: int, strength: float) -> Problem:
    """Unit square, M = I, ω = (strength, 0): d = |x| + ⟨ω, x⟩."""
    mesh = primitives.plane(n, n, jitter=0.25)
    source = int(np.argmin(np.linalg.norm(mesh.vertices[:, :2] - 0.5, axis=1)))
    omega, x = np.array([strength, 0.0, 0.0]), mesh.vertices - mesh.vertices[source]
    metric = RandersMetric(mesh, RandersMetric.isotropic(mesh).M, np.tile(omega, (mesh.n_faces, 1)))
    return mesh, metric, source, np.linalg.norm(x, axis=1) + x @ omega


def shear(n: int) -> Problem:
    """Unit square, unit speed in the wind W = (0.7 sin 2πy, 0): trajectories."""
    mesh, _, source, _ = constant(n, 0.0)
    wind = np.zeros((mesh.n_faces, 3))
    wind[:, 0] = 0.7 * np.sin(2 * np.pi * mesh.vertices[mesh.faces, 1].mean(axis=1))
    exact = arrival(mesh.vertices[:, :2], mesh.vertices[source])
    return mesh, RandersMetric.from_wind(mesh, RandersMetric.isotropic(mesh).M, wind), source, exact


def fan(start: np.ndarray, rays: int, times: np.ndarray) -> np.ndarray:
    """Place x and momentum p of extremals of H = |p| + ⟨p, W⟩ in the shear, (4, rays, times)."""
    angle = np.linspace(0, 2 * np.pi, rays, endpoint=False)
    p = np.stack([np.cos(angle), np.sin(angle)])
    p /= 1 + 0.7 * np.sin(2 * np.pi * start[1]) * p[0]  # H = 1: p is the gradient of the time

    def velocity(_: float, state: np.ndarray) -> np.ndarray:
        _, y, px, py = state.reshape(4, rays)
        size, turn = np.hypot(px, py), 2 * np.pi * y
        speed = px / size + 0.7 * np.sin(turn), py / size
        return np.concatenate([*speed, 0 * y, -1.4 * np.pi * np.cos(turn) * px])

    first = np.concatenate([np.full(rays, start[0]), np.full(rays, start[1]), *p])
    found = solve_ivp(velocity, (0, times[-1]), first, "DOP853", times, rtol=1e-9, atol=1e-11)
    return found.y.reshape(4, rays, -1)


def arrival(
    points: np.ndarray, start: np.ndarray, rays: int = 1801, steps: int = 601
) -> np.ndarray:
    """t + ⟨p, point − x(t)⟩ from the nearest x(t) on the first sheet of the fan to get there."""
    times = np.linspace(0, 1.2, steps)
    x, p = fan(start, rays, times).reshape(2, 2, rays, steps)
    along, across = np.gradient(x, axis=2), np.roll(x, -1, axis=1) - np.roll(x, 1, axis=1)
    # Past a focal point, where neighbours cross, no trajectory is the shortest.
    early = np.logical_and.accumulate(along[0] * across[1] >= along[1] * across[0], axis=1)
    inside = np.logical_and.accumulate(np.abs(x - 0.5).max(axis=0) < 0.505, axis=1)[early]
    time, place, momentum = np.tile(times, (rays, 1))[early], x[:, early].T, p[:, early].T
    gap, near = cKDTree(place).query(points, 40)
    ahead = np.einsum("kni,kni->kn", momentum[near], points[:, None] - place[near])
    value = time[near] + ahead
    first = value < value.min(axis=1, keepdims=True) + 5e-4
    best = np.arange(len(points)), np.argmin(np.where(first, gap, np.inf), axis=1)
    return np.where(inside[near[best]], value[best], np.nan)


def rotation(frequency: int) -> Problem:
    """Unit sphere, W = ½ e_z × x: the least t with t = angle(source, x turned back by t/2)."""
    mesh = primitives.sphere(frequency)
    centre = mesh.vertices[mesh.faces].mean(axis=1)
    wind = 0.5 * np.cross([0.0, 0.0, 1.0], centre / np.linalg.norm(centre, axis=1, keepdims=True))
    source, (x, y, z) = int(np.argmax(mesh.vertices @ [0.6, -0.4, 0.7])), mesh.vertices.T
    low, high = np.zeros(len(x)), np.full(len(x), np.pi)
    for _ in range(50):
        t = (low + high) / 2
        c, s = np.cos(t / 2), np.sin(t / 2)
        cosine = np.stack([c * x + s * y, c * y - s * x, z], axis=1) @ mesh.vertices[source]
        late = np.arccos(np.clip(cosine, -1, 1)) < t
        low, high = np.where(late, low, t), np.where(late, t, high)
    return mesh, RandersMetric.from_wind(mesh, RandersMetric.isotropic(mesh).M, wind), source, high


def report(name: str, make: Callable[[int], Problem], levels: tuple[int, ...]) -> list[Panel]:
    """Print relative errors in per cent and their orders; pictures of the last level."""
    print(f"{name}: vertices, share with an answer; eikonal rms, max; heat rms, max")
    rows = []
    for level in levels:
        mesh, metric, source, exact = make(level)
        known = np.isfinite(exact)
        gaps = [randers_distance(metric, source, method=m) - exact for m in METHODS]
        norms = [partial(np.linalg.norm, ord=order) for order in (2, np.inf)]
        shares = [100 * norm(gap[known]) / norm(exact[known]) for gap in gaps for norm in norms]
        rows.append([mesh.n_vertices, *shares])
        print(f"{mesh.n_vertices:8d} {known.mean():6.1%}", *(f"{share:10.3g}" for share in shares))
    orders = -2 * np.polyfit(np.log(rows)[:, 0], np.log(rows)[:, 1:], 1)[0]
    print("   order       ", *(f"{order:10.2f}" for order in orders))
    assert rows[-1][1] < (1e-7 if name.startswith("plane") else 0.35), "eikonal must be this close"
    assert rows[-1][3] < 2.5 and orders[2] > 0.5, "the heat method must converge"
    top, width = (float(np.abs(values[known]).max()) for values in (exact, gaps[1]))
    panels = [Panel(mesh, np.where(known, exact, 99), "travel time", clim=(0, top), bands=16)]
    for method, gap in zip(METHODS, gaps, strict=True):
        shown, limit = np.where(known, 100 * gap / top, 99), 100 * width / top
        panels.append(Panel(mesh, shown, f"error of {method}, %", clim=(-limit, limit)))
    return [replace(panel, marker=source, grey_from=panel.clim[1]) for panel in panels]


if __name__ == "__main__":
    for strength in (0.5, 0.9):
        report(f"plane, ω = {strength}", partial(constant, strength=strength), CELLS)
    rows = [report("shear", shear, CELLS), report("rotation", rotation, FREQUENCIES)]
    target = Path(__file__).parents[1] / "images" / "distances.png"
    save_figure(target, rows, camera=Camera(direction=(0.0, 0.0, 1.0), tight=True), dpi=90)
