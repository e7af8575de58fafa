"""What does a trained network lose when its test shapes are turned, mirrored or triangulated anew?

Rotations and scales must change nothing: operators and SHOT are intrinsic or turn with the shape. A
mirrored shape has another orientation, which directed operators see. Other triangulations, noise
and holes change the input.

    python benchmarks/network_variants.py RUN/last.safetensors COLLECTION [--store STORE]

A network whose classes are points needs the store of its training as well.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import torch

from common import print_table, save
from finsler.analysis.geodesic import geodesic_matrix
from finsler.data import PrepareConfig, PreparedShape, Shape, Store, open_collection, prepare_shape
from finsler.data.variants import vary
from finsler.mesh import surface_area
from finsler.nn.training import Sample, load_model
from finsler.nn.training.models import model_named
from finsler.nn.training.naming import Points
from finsler.nn.training.prediction import predicted_vertices
from finsler.typing import IntArray

VARIANTS = ("plain", "rotated", "rescaled", "mirrored", "remeshed", "decimated", "noise", "holes")


def main() -> None:
    """Print exact matches and mean errors for each variant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint")
    parser.add_argument("collection")
    parser.add_argument("--shapes", type=int, default=20)
    parser.add_argument("--store", help="that of training, for a network of points")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes that prepare")
    options = parser.parse_args()
    network, about = load_model(options.checkpoint)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    network.to(device)
    shapes = open_collection(options.collection)
    points = Points.of(Store.open(options.store), about.config, device) if options.store else None
    reference = shapes.load(shapes.reference).mesh
    names = shapes.test[: options.shapes]

    def predicted(prepared: PreparedShape) -> IntArray:
        sample = Sample.of(prepared, model_named(about.config.model).domain, device=device)
        vertices = predicted_vertices(network, sample, softmax=about.config.softmax, points=points)
        return vertices.cpu().numpy()

    truths, answers = {}, {}
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        tasks = {
            variant: [pool.submit(_prepared, shapes.load(n), variant, about.prepare) for n in names]
            for variant in VARIANTS
        }
        for variant, waiting in tasks.items():
            varied = [task.result() for task in waiting]
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


def _prepared(shape: Shape, variant: str, config: PrepareConfig) -> PreparedShape:
    return prepare_shape(shape if variant == "plain" else vary(shape, variant), config)


if __name__ == "__main__":
    main()
