"""What do supports of vertices cost, and a training step of the field convolution network?

Supports are compared with the logarithmic maps of the vector heat method, from a sample of vertices
(its transport would come on top). The step is forward, loss and backward of the published network.

    python benchmarks/field_conv.py [--size 5000] [--share 0.0425] [--device cpu]
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch

import finsler
from common import median_time, peak_memory_gib, print_table, save
from finsler.data.store import normalised
from finsler.data.support import Support, vertex_support
from finsler.nn.field_conv import FieldConvNet, SupportGraph

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


def step(mesh: finsler.TriMesh, support: Support, device: str) -> dict[str, Any]:
    n = mesh.n_vertices
    torch.manual_seed(0)
    model = FieldConvNet(3, n).to(device)
    graph = SupportGraph.from_supports([support]).to(device)
    features = torch.tensor(mesh.vertices, dtype=torch.float32, device=device)
    labels = torch.arange(n, device=device)

    def wait() -> None:
        if device != "cpu":
            torch.cuda.synchronize()

    def forward() -> None:
        with torch.no_grad():
            model(features, graph)
        wait()

    def train() -> None:
        model.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(features, graph), labels)
        loss.backward()  # type: ignore[no-untyped-call]
        wait()

    found: dict[str, Any] = {"vertices": n, "forward": median_time(forward, 3)}
    found["step"] = median_time(train, 3)
    on_device = device != "cpu"
    found["GiB"] = torch.cuda.max_memory_allocated() / 2**30 if on_device else peak_memory_gib()
    return found


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
    trained = step(mesh, vertex_support(mesh, arguments.share), arguments.device)
    name = torch.cuda.get_device_name() if arguments.device != "cpu" else "one thread"
    print_table(
        f"The published network on one shape of {trained['vertices']:,} vertices: {name}",
        ["forward, s", "with backward, s", "÷ forward", "GiB"],
        [
            (
                trained["forward"],
                trained["step"],
                trained["step"] / trained["forward"],
                trained["GiB"],
            )
        ],
    )
    about = {"share": arguments.share, "device": name, "supports": found, "network": trained}
    save("field_conv" if arguments.device == "cpu" else "field_conv_accelerator", about)


if __name__ == "__main__":
    main()
