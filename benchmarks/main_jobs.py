"""What does this machine need for the main jobs: frames, operators, spectrum, distance, SHOT?

Times on one machine say little about another; so each is also given as a multiple of a sparse
matrix product with 64 functions, measured in the same run.

    python benchmarks/main_jobs.py [--vertices 5000] [--repeats 5]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

import numpy as np
import torch

import finsler
from common import median_time, print_table, save
from finsler.nn import AnisotropicChebConv, OperatorStack


def jobs(mesh: finsler.TriMesh) -> Iterator[tuple[str, Callable[[], object]]]:
    """The jobs by name; the first is what the others are compared with."""
    plain = finsler.lbo(mesh)
    functions = np.random.default_rng(0).standard_normal((mesh.n_vertices, 64))
    frames = finsler.principal_frames(mesh)
    stack = finsler.angle_stack(mesh, frames=frames)
    radius = finsler.shot_radius(mesh)
    yield "sparse product with 64 functions", lambda: plain.stiffness @ functions
    yield "principal frames", lambda: finsler.principal_frames(mesh)
    yield "operators at eight angles", lambda: finsler.angle_stack(mesh, frames=frames)
    yield "their rescaling", lambda: finsler.chebyshev_operators(stack)
    yield "50 eigenpairs", lambda: finsler.spectrum(plain, 50)
    yield "distance from one vertex", lambda: finsler.geodesic_distance(mesh, 0)
    yield "SHOT at every vertex", lambda: finsler.shot(mesh, radius=radius)
    operators = OperatorStack.of(finsler.chebyshev_operators(stack))
    for device in ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]:
        yield f"a layer forward and backward, {device}", layer_step(operators, device)


def layer_step(operators: OperatorStack, device: str) -> Callable[[], None]:
    """One convolution of 64 channels, forward and backward."""
    moved = operators.to(device)
    layer = AnisotropicChebConv(64, 64, angles=moved.angles).to(device)
    features = torch.randn(moved.n, 64, device=device)

    def step() -> None:
        layer.zero_grad()
        torch.autograd.backward(layer(features, moved).sum())
        if features.is_cuda:
            torch.cuda.synchronize()

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vertices", type=int, default=5000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    mesh = finsler.primitives.bumpy_sphere(max(4, round(((options.vertices - 2) / 10) ** 0.5)))
    seconds = {name: median_time(job, options.repeats) for name, job in jobs(mesh)}
    unit = next(iter(seconds.values()))
    rows = [(name, 1000 * time, time / unit) for name, time in seconds.items()]
    print_table(f"{mesh.n_vertices:,} vertices", ("job", "ms", "× product"), rows)
    save("main_jobs", {"vertices": mesh.n_vertices, "seconds": seconds})


if __name__ == "__main__":
    main()
