"""What a network names vertices by: vertices of a reference, or points that all shapes list.

The ground truth of a remeshed set lists points: line i of a shape's file is the vertex at point i.
Several points may lie at one vertex, of a shape as of the reference, and a vertex takes as its
label the reference vertex of the first of them. A network that answers where each point lies learns
from all of them, and the label follows by that rule.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from finsler.data.store import PreparedShape, Store
from finsler.nn.training.config import TrainConfig

# A share of exactly 1 would leave nothing to the points after it.
_MOST = 1.0 - 1e-6


def named_points(store: Store, config: TrainConfig) -> NDArray[np.int32] | None:
    """Reference vertex of each point (p,) where points are the classes; None where vertices are.

    They are where the settings ask for it and the labels of the reference and of the first shape
    are those of the first point at each vertex.
    """
    if config.classes != "points":
        return None
    reference = store[store.reference]
    if all(follows_points(shape, reference.points) for shape in (reference, store[store.names[0]])):
        return reference.points
    return None


def follows_points(shape: PreparedShape, reference_points: NDArray[np.int32]) -> bool:
    """Whether the labels of a shape are the reference vertices of the first points."""
    if len(shape.points) != len(reference_points) or len(reference_points) == 0:
        return False
    vertices, first = np.unique(shape.points, return_index=True)
    first, vertices = first[vertices >= 0], vertices[vertices >= 0]
    known = np.zeros(len(shape.named), dtype=np.bool_)
    known[vertices] = True
    same = shape.labels[vertices] == reference_points[first]
    return bool(np.array_equal(known, shape.named) and same.all())


def vertices_of_points(scores: Tensor, points: Tensor, vertices: int) -> Tensor:
    """Scores (n, r) of the reference vertices, of scores (n, p) of the points of one shape.

    With q_i(v) = softmax over v of the scores of point i, the vertex v takes reference vertex c if
    the first point that lies at v is one of those of c: the score is the logarithm of
    Σ_{i of c} q_i(v) Π_{j<i} (1 − q_j(v)).

    Parameters
    ----------
    scores : (n, p)
        Logarithms of probabilities, up to a constant for each point.
    points : (p,)
        Reference vertex of each point.
    vertices : int
        Of the reference, r.

    Examples
    --------
    >>> scores = torch.tensor([[0.9, 0.9, 0.1], [0.1, 0.1, 0.9]]).log()
    >>> vertices_of_points(scores, torch.tensor([1, 0, 0]), 2).exp()
    tensor([[0.0910, 0.9000],
            [0.8190, 0.1000]])
    """
    q = scores.softmax(0)
    gone = torch.log1p(-q.clamp(max=_MOST))
    first = q * torch.exp(gone.cumsum(1) - gone)
    total = first.new_zeros((len(scores), vertices)).index_add_(1, points, first)
    return total.clamp(min=torch.finfo(total.dtype).tiny).log()
