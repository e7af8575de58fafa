"""What do supports of vertices cost, and a training step of the field convolution network?

Supports are compared with the logarithmic maps of the vector heat method, from a sample of vertices
(its transport would come on top). The step is a whole one, of the published network on coordinates
beside that of the Chebyshev network on 352 features; on a GPU also recorded and replayed.

    python benchmarks/field_conv.py [--size 5000] [--share 0.0425] [--device cpu]
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch

import finsler
from common import median_time, print_table, save
from finsler.analysis.log_maps import vertex_support
from finsler.baselines.field_conv import SupportGraph
from finsler.data.store import normalised
from finsler.nn import OperatorStack
from finsler.nn.training import (
    MODELS,
    GraphStepper,
    Sample,
    Stepper,
    TrainConfig,
    make_optimiser,
)

SAMPLE = 20


def supports(mesh: finsler.TriMesh, share: float) -> dict[str, Any]:
    support = vertex_support(mesh, share)
    found: dict[str, Any] = {
        "vertices": mesh.n_vertices,
        "pairs": len(support.indices),
        "support": median_time(lambda: vertex_support(mesh, share), 3),
        "vector heat": None,
    }
    if find_spec("potpourri3d"):
        import potpourri3d

        solver = potpourri3d.MeshVectorHeatSolver(mesh.vertices, mesh.faces)
        sources = np.linspace(0, mesh.n_vertices - 1, SAMPLE).astype(int)
        maps = median_time(lambda: [solver.compute_log_map(i) for i in sources], 3)
        found["vector heat"] = maps * mesh.n_vertices / SAMPLE
    return found


def steps(mesh: finsler.TriMesh, share: float, device: str) -> list[dict[str, Any]]:
    """A training step of both networks, ordinary and recorded, on one shape."""
    n, place = mesh.n_vertices, torch.device(device)
    operators: Any = OperatorStack.of(finsler.chebyshev_operators(finsler.angle_stack(mesh)))
    graph: Any = SupportGraph.from_supports([vertex_support(mesh, share)])
    points = torch.tensor(mesh.vertices, dtype=torch.float32)
    named = torch.ones(n, dtype=torch.bool, device=place)
    rows = []
    for name, features, domain in (
        ("fieldconv", points, graph),
        ("chebyshev", torch.randn(n, 352), operators),
    ):
        labels, weights = torch.arange(n, device=place), torch.full((n,), 1 / n, device=place)
        positions = torch.as_tensor(mesh.vertices, dtype=torch.float32, device=place)
        targets = (positions, labels, labels, weights)
        sample = Sample((name,), features.to(place), domain.to(place), labels, named, *targets)
        config = TrainConfig(model=name)
        for recorded in (False, True)[: 1 + place.type.count("cuda")]:
            torch.manual_seed(0)
            network = MODELS[name].build(config, features.shape[1], n, 8).to(place)
            optimiser = make_optimiser(network, config)
            if place.type == "cuda":
                torch.cuda.reset_peak_memory_stats()
            stepper = (
                GraphStepper(network, optimiser, config, [sample])
                if recorded
                else Stepper(network, optimiser, config)
            )

            def step(stepper: Stepper = stepper, sample: Sample = sample) -> None:
                stepper(sample).item()

            seconds = median_time(step, 5 if place.type == "cuda" else 2)
            memory = torch.cuda.max_memory_allocated() / 2**30 if place.type == "cuda" else None
            rows.append({"name": name, "recorded": recorded, "step": seconds, "GiB": memory})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=5_000)
    parser.add_argument("--share", type=float, default=0.0425)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    mesh = normalised(finsler.primitives.bumpy_sphere(round((arguments.size / 10) ** 0.5)))
    found = supports(mesh, arguments.share)
    heat = found["vector heat"]
    print_table(
        f"Supports of {found['vertices']:,} vertices, {found['pairs']:,} pairs: one thread",
        ["way", "seconds", "support ÷"],
        [
            ("support", found["support"], 1.0),
            ("vector heat", heat, heat and found["support"] / heat),
        ],
    )
    trained = steps(mesh, arguments.share, arguments.device)
    name = torch.cuda.get_device_name() if arguments.device != "cpu" else "one thread"
    print_table(
        f"A training step on one shape of {mesh.n_vertices:,} vertices, float32: {name}",
        ["network", "recorded", "ms", "÷ chebyshev", "GiB"],
        [
            (
                row["name"],
                "yes" if row["recorded"] else "no",
                1000 * row["step"],
                row["step"]
                / next(
                    other["step"]
                    for other in trained
                    if other["name"] == "chebyshev" and other["recorded"] == row["recorded"]
                ),
                row["GiB"],
            )
            for row in trained
        ],
    )
    about = {"share": arguments.share, "device": name, "supports": found, "networks": trained}
    save("field_conv" if arguments.device == "cpu" else "field_conv_accelerator", about)


if __name__ == "__main__":
    main()
