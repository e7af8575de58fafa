"""What does a trained network lose when its test shapes are turned, mirrored or triangulated anew?

Rotations and scales must change nothing: operators and SHOT are intrinsic or turn with the shape. A
mirrored shape has another orientation, which directed operators see. Other triangulations, noise
and holes change the input.

    python benchmarks/network_variants.py RUN/last.safetensors COLLECTION [--shapes 20]
"""

from __future__ import annotations

import argparse

import numpy as np
import torch

from common import print_table, save
from finsler.analysis.geodesic import geodesic_matrix
from finsler.data import Shape, open_collection, prepare_shape
from finsler.data.variants import vary
from finsler.mesh import surface_area
from finsler.nn.training import Sample, load_model
from finsler.nn.training.models import model_named
from finsler.nn.training.prediction import predicted_vertices
from finsler.typing import IntArray

VARIANTS = ("plain", "rotated", "rescaled", "mirrored", "remeshed", "decimated", "noise", "holes")


def main() -> None:
    """Print exact matches and mean errors for each variant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint")
    parser.add_argument("collection")
    parser.add_argument("--shapes", type=int, default=20)
    options = parser.parse_args()
    network, about = load_model(options.checkpoint)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    network.to(device)
    shapes = open_collection(options.collection)
    reference = shapes.load(shapes.reference).mesh
    names = shapes.test[: options.shapes]

    def predicted(shape: Shape) -> IntArray:
        prepared = prepare_shape(shape, about.prepare)
        sample = Sample.of(prepared, model_named(about.config.model).domain, device=device)
        return predicted_vertices(network, sample).cpu().numpy()

    truths, answers = {}, {}
    for variant in VARIANTS:
        varied = [shapes.load(name) for name in names]
        if variant != "plain":
            varied = [vary(shape, variant) for shape in varied]
        answers[variant] = np.concatenate([predicted(s)[s.named] for s in varied])
        truths[variant] = np.concatenate([s.labels[s.named] for s in varied])
    used, first = np.unique(np.concatenate(list(truths.values())), return_inverse=True)
    distances = geodesic_matrix(reference, used) / np.sqrt(surface_area(reference))
    rows, start = [], 0
    for variant, truth in truths.items():
        rank = first[start : start + len(truth)]
        start += len(truth)
        error = distances[rank, answers[variant]]
        exact = 100.0 * float((answers[variant] == truth).mean())
        same = (
            100.0 * float((answers[variant] == answers["plain"]).mean())
            if len(truth) == len(truths["plain"])
            else None
        )
        rows.append((variant, len(truth), f"{exact:.2f}", f"{100 * error.mean():.3f}", same))
    headings = ("test shapes", "vertices", "exact, %", "mean × 100", "same answer, %")
    print_table(f"{options.checkpoint} on {shapes.name}", headings, rows)
    save("network_variants", {row[0]: row[1:] for row in rows})


if __name__ == "__main__":
    main()
