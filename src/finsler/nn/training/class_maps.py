"""Maps between the shapes of a store, from a network that names classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor, nn

from finsler.data.store import Store
from finsler.nn.training.checkpoint import About
from finsler.nn.training.models import model_named
from finsler.nn.training.naming import Points
from finsler.nn.training.prediction import check_fit, class_scores
from finsler.nn.training.samples import Sample

# Classes of a vertex and vertices of a class that are kept, and the weight of the classes of a
# vertex where classes look for vertices, so that every vertex has some.
_KEPT, _REST = 12, 1e-3


def class_maps(
    network: nn.Module, about: About, store: Store, names: Sequence[str]
) -> Iterator[tuple[str, str, NDArray[np.int32]]]:
    """Both shapes of every ordered pair, and for each vertex of the first its partner (n_1,).

    Vertex x goes to the y of largest Σ_c p(c at x) p(c at y), the chance that the same class lies
    at both, where p is a probability over the vertices of a class if classes are points, and over
    the classes of a vertex otherwise. Of p the twelve largest entries of each row and column count.

    Raises
    ------
    InputError
        The store was prepared in another way than that of training.
    """
    check_fit(about, store)
    device = next(network.parameters()).device
    points = Points.of(store, about.config, device)
    domain = model_named(about.config.model).domain
    tables = {}
    for name in names:
        sample = Sample.of(store[name], domain, device=device)
        scores = class_scores(network, sample, points=points is not None)
        tables[name] = _table(scores, sample.positions, points)
    for a, b in permutations(names, 2):
        product = tables[a] @ tables[b].T
        yield a, b, np.asarray(product.argmax(axis=1)).ravel().astype(np.int32)


def _table(scores: Tensor, positions: Tensor, points: Points | None) -> sparse.csr_array:
    """Probabilities of classes at vertices (n, c), the largest ones."""
    if points is None:
        parts = [(scores.softmax(1), 1.0)]
    else:
        places = points.corrected(scores, positions).softmax(0)
        parts = [(places, 1.0), (scores.softmax(1), _REST)]
    total = sparse.csr_array(tuple(scores.shape), dtype=np.float32)
    for values, weight in parts:
        kept = torch.zeros_like(values)
        for axis in (0, 1):
            count = min(_KEPT, values.shape[axis])
            largest = values.topk(count, dim=axis)
            kept.scatter_(axis, largest.indices, largest.values)
        total += weight * sparse.csr_array(kept.cpu().numpy())
    return total
