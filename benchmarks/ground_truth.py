"""How exact is the ground truth of a collection: what error has a map that knows it all around?

Lists of corresponding points are rounded to the vertices of both shapes, and a few of their points
are wrong. A tenth of the vertices of the first shape is left out; each of these goes to the vertex
of the second shape that is nearest to the mean of its neighbours' true places. The errors of this
map, over the faces, in √area × 100, are about the least that a matcher can have which does not know
how points were rounded.

    python benchmarks/ground_truth.py tosca_r_within:data/TOSCA_r [--pairs 100] [--shapes all]
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree

from common import print_table, save
from finsler import TriMesh
from finsler.data import open_collection
from finsler.evaluation.benchmark.measuring import choose_sample
from finsler.evaluation.maps import score_map
from finsler.mesh import edges
from finsler.typing import FloatArray, IntArray

LEFT_OUT = 0.1


def links(mesh: TriMesh) -> sparse.csr_array:
    """1 where two vertices share an edge, (n, n)."""
    i, j = edges(mesh).vertices.T
    ones = sparse.csr_array((np.ones(len(i)), (i, j)), (mesh.n_vertices,) * 2)
    return sparse.csr_array(ones + ones.T)


def errors(first: TriMesh, second: TriMesh, truth: IntArray, seed: int) -> FloatArray:
    """Errors of the vertices that are left out, where a neighbour is known."""
    known = np.unique(truth[:, 0])
    out = np.random.default_rng(seed).permutation(known)[: round(LEFT_OUT * len(known))]
    used = truth[~np.isin(truth[:, 0], out)]
    count, places = np.zeros(first.n_vertices), np.zeros((first.n_vertices, 3))
    np.add.at(count, used[:, 0], 1.0)
    np.add.at(places, used[:, 0], second.vertices[used[:, 1]])
    near = links(first)
    total = near @ count
    asked = truth[np.isin(truth[:, 0], out) & (total[truth[:, 0]] > 0)]
    images = np.zeros(first.n_vertices, dtype=np.int64)
    middle = (near @ places)[asked[:, 0]] / total[asked[:, 0], None]
    images[asked[:, 0]] = cKDTree(second.vertices).query(middle)[1]
    return score_map(first, second, asked, images).fast_marching


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collection")
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--shapes", choices=("test", "train", "all"), default="test")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    collection = open_collection(options.collection)
    names = {"test": collection.test, "train": collection.train, "all": collection.names}
    sample = choose_sample(collection, names[options.shapes], options.pairs, seed=options.seed)
    means: list[float] = []
    medians: list[float] = []
    for a, b in (pair for pair in sample.pairs if pair[0] != pair[1]):
        one, other = collection[a], collection[b]
        found = 100.0 * errors(one.mesh, other.mesh, collection.truth(one, other), options.seed)
        means.append(float(found.mean()))
        medians.append(float(np.median(found)))
    result: dict[str, Any] = {
        "collection": collection.name,
        "pairs": len(means),
        "mean": float(np.mean(means)),
        "median": float(np.mean(medians)),
        "best pair": min(means),
        "worst pair": max(means),
    }
    print_table("Ground truth", list(result), [list(result.values())])
    save("ground_truth", result)


if __name__ == "__main__":
    main()
