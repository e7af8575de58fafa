"""What does SHOT cost: compiled, in torch, and on an accelerator for many shapes at once?

Each pair of neighbours reads a position and a normal, 48 bytes; the time that reading them all from
memory would take is the limit that no way can beat unless it keeps them in its caches. All times
are of one thread, after compilation; the accelerator gets all shapes in one call, in both
precisions.

    python benchmarks/shot.py [--size 5000] [--share 0.09] [--shapes 80]
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import torch

import finsler
from common import median_time, print_table, save
from finsler.descriptors import shot, shot_frames, shot_radius
from finsler.nn import shot_torch

BYTES_PER_PAIR = 48
# Large enough to keep an accelerator busy, small enough for one with 8 GiB.
CHUNK = 2**23


def bandwidth() -> float:
    """Bytes a second that one thread reads from memory."""
    values = np.ones(2**25)
    return float(values.nbytes / median_time(values.sum, 5))


def on_cpu(mesh: finsler.TriMesh, radius: float) -> dict[str, Any]:
    vertices, faces = torch.tensor(mesh.vertices), torch.tensor(mesh.faces)
    frames = shot_frames(mesh, radius=radius)
    pairs = int(frames.neighbors.sum())
    difference = shot_torch(vertices, faces, radius).numpy() - shot(mesh, radius=radius)
    assert np.abs(difference).max() < 1e-8, "both must find the same descriptors"
    return {
        "vertices": mesh.n_vertices,
        "pairs": pairs,
        "limit": pairs * BYTES_PER_PAIR / bandwidth(),
        "compiled": median_time(lambda: shot(mesh, radius=radius), 7),
        "frames": median_time(lambda: shot_frames(mesh, radius=radius), 7),
        "torch": median_time(lambda: shot_torch(vertices, faces, radius), 3),
        "torch float32": median_time(lambda: shot_torch(vertices.float(), faces, radius), 3),
    }


def on_accelerator(mesh: finsler.TriMesh, radius: float, shapes: int) -> dict[str, Any]:
    n = mesh.n_vertices
    offsets = n * torch.arange(shapes).repeat_interleave(mesh.n_faces)[:, None]
    faces = (torch.tensor(mesh.faces).repeat(shapes, 1) + offsets).cuda()
    found: dict[str, Any] = {"device": torch.cuda.get_device_name(), "shapes": shapes}
    for dtype in (torch.float64, torch.float32):
        vertices = torch.tensor(mesh.vertices, dtype=dtype).repeat(shapes, 1).cuda()

        def job(vertices: torch.Tensor = vertices) -> None:
            shot_torch(vertices, faces, radius, sizes=[n] * shapes, chunk=CHUNK)
            torch.cuda.synchronize()

        torch.cuda.reset_peak_memory_stats()
        name = str(dtype).removeprefix("torch.")
        found[name] = median_time(job, 5)
        found[f"{name} GiB"] = torch.cuda.max_memory_allocated() / 2**30
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=5_000)
    parser.add_argument("--share", type=float, default=0.09)
    parser.add_argument("--shapes", type=int, default=80)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    mesh = finsler.primitives.bumpy_sphere(round((arguments.size / 10) ** 0.5))
    radius = shot_radius(mesh, arguments.share)
    cpu = on_cpu(mesh, radius)
    print_table(
        f"SHOT of one shape, {cpu['vertices']:,} vertices, {cpu['pairs']:,} pairs: one thread",
        ["way", "seconds", "ns a pair", "compiled ÷", "÷ limit"],
        [
            (
                way,
                cpu[way],
                1e9 * cpu[way] / cpu["pairs"],
                cpu["compiled"] / cpu[way],
                cpu[way] / cpu["limit"],
            )
            for way in ("compiled", "frames", "torch", "torch float32", "limit")
        ],
    )
    results: dict[str, Any] = {"share": arguments.share, "cpu": cpu}
    if torch.cuda.is_available():
        gpu = results["accelerator"] = on_accelerator(mesh, radius, arguments.shapes)
        print_table(
            f"SHOT of {arguments.shapes} shapes at once: {gpu['device']}",
            ["precision", "seconds", "ms a shape", "compiled a shape ÷", "GiB"],
            [
                (
                    name,
                    gpu[name],
                    1e3 * gpu[name] / arguments.shapes,
                    cpu["compiled"] * arguments.shapes / gpu[name],
                    gpu[f"{name} GiB"],
                )
                for name in ("float64", "float32")
            ],
        )
    save("shot", results)


if __name__ == "__main__":
    main()
