"""What a network names vertices by: vertices of a reference, or points that all shapes list.

The ground truth of a remeshed set lists points: line i of a shape's file is the vertex at point i.
Several points may lie at one vertex, of a shape as of the reference, and a vertex takes as its
label the reference vertex of the first of them. A network that answers where each point lies learns
from all of them, and the label follows by that rule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from finsler.data.store import PreparedShape, Store
from finsler.mesh.summary import one_line
from finsler.nn.training.config import TrainConfig

# A share of exactly 1 would leave nothing to the points after it.
_MOST = 1.0 - 1e-6
# Vertices at which a point may lie, of those with the largest scores; rounds of correction; and
# the distance from where its neighbours say that counts as far, in mean edges. Chosen on training
# shapes that were held out.
_PLACES, _ROUNDS, _FAR = 12, 4, 0.4
# Training shapes that weights are computed from, at most about; share of the mean square distance
# that is added to those of the neighbours; and points whose weights are computed at once.
_SHAPES, _RIDGE, _BLOCK = 200, 0.3, 128


@one_line("vertices")
@dataclass(frozen=True, eq=False)
class Points:
    """Points as the classes of a network, and how one lies between others.

    Attributes
    ----------
    vertices : (p,)
        Reference vertex of each point.
    neighbors : (p, k)
        Points near each one, none where k = 0.
    weights : (p, k)
        With which their places make its place, on the mean over the training shapes.
    """

    vertices: Tensor
    neighbors: Tensor
    weights: Tensor

    @classmethod
    def of(
        cls, store: Store, config: TrainConfig, device: torch.device | str = "cpu"
    ) -> Points | None:
        """Those of a store; None where the classes are vertices.

        Points are the classes where the settings ask for it and the labels of the reference and of
        the first shape are those of the first point at each vertex.
        """
        vertices = named_points(store, config)
        if vertices is None:
            return None
        some = store.train[:: max(1, -(-len(store.train) // _SHAPES))]
        shapes = [store[name] for name in some] if config.point_neighbors else []
        # Others are refused where they are learned from.
        shapes = [shape for shape in shapes if len(shape.points) == len(vertices)]
        if any((shape.points < 0).any() for shape in shapes):
            shapes = []
        places = [torch.as_tensor(shape.vertices[shape.points], device=device) for shape in shapes]
        count = min(config.point_neighbors, len(vertices) - 1) if places else 0
        return cls(
            torch.as_tensor(vertices.astype(np.int64), device=device),
            *neighbor_weights(places, count, len(vertices), device),
        )

    def named_by(self, scores: Tensor, positions: Tensor) -> Tensor:
        """Reference vertex of each vertex (n,), of the scores (n, p) and positions of one shape."""
        vertices = int(self.vertices.max()) + 1
        corrected = self.corrected(scores, positions)
        return vertices_of_points(corrected, self.vertices, vertices).argmax(dim=1)

    def corrected(self, scores: Tensor, positions: Tensor) -> Tensor:
        """Scores lowered by how far a vertex is from where the neighbours of a point say.

        Point i is expected at Σ_j w_ij x_j, with x_j the mean place of its neighbour j, and the
        score of vertex v falls by |x_v − that|²/2σ². Without neighbours they stay as they are.
        """
        if not self.neighbors.shape[1]:
            return scores
        scores, vertices = scores.topk(min(_PLACES, len(scores)), dim=0)
        places, given = positions[vertices.T], scores.T
        # The edge of n equilateral triangles of area 1/2n each, around n vertices.
        far = _FAR * math.sqrt(2.0 / (math.sqrt(3.0) * len(positions)))
        now = given
        for _ in range(_ROUNDS):
            mean = torch.einsum("pa,pax->px", now.softmax(1), places)
            expected = torch.einsum("pk,pkx->px", self.weights, mean[self.neighbors])
            square = (places - expected[:, None]).square().sum(2)
            now = given - square / (2.0 * far**2)
        lowest = now.new_full((len(positions), len(given)), -torch.inf)
        return lowest.scatter(0, vertices, now.T)


def neighbor_weights(
    places: list[Tensor], count: int, points: int, device: torch.device | str = "cpu"
) -> tuple[Tensor, Tensor]:
    """The `count` points nearest to each one on the mean over shapes, and weights (p, count).

    They sum to 1 and minimise the mean over shapes of |x_i − Σ_j w_ij x_j|² plus a share of the
    squares of the weights, which keeps places apart that are rounded to vertices. The result moves
    with every affine motion of the shapes.

    Parameters
    ----------
    places : list of (p, 3)
        Of the points, on each of some shapes.
    count, points : int
        0 ≤ count < p = points.
    """
    neighbors = torch.empty((points, count), dtype=torch.int64, device=device)
    weights = torch.empty((points, count), device=device)
    if count == 0:
        return neighbors, weights
    for first in range(0, points, _BLOCK):
        rows = torch.arange(first, min(first + _BLOCK, points), device=device)
        square = sum(torch.cdist(x[rows], x).square() for x in places)
        assert isinstance(square, Tensor)
        square[torch.arange(len(rows), device=device), rows] = torch.inf
        near = square.topk(count, largest=False).indices
        gram = torch.zeros((len(rows), count, count), dtype=torch.float64, device=device)
        for x in places:
            apart = (x[near] - x[rows][:, None]).double()
            gram += apart @ apart.mT
        share = _RIDGE * gram.diagonal(dim1=1, dim2=2).mean(1)
        gram += share[:, None, None] * torch.eye(count, dtype=torch.float64, device=device)
        solved = torch.linalg.solve(gram, torch.ones_like(gram[..., :1]))[..., 0]
        neighbors[rows] = near
        weights[rows] = (solved / solved.sum(1, keepdim=True)).float()
    return neighbors, weights


def named_points(store: Store, config: TrainConfig) -> NDArray[np.int32] | None:
    """Reference vertex of each point (p,) where points are the classes; None where vertices are."""
    if config.classes != "points":
        return None
    reference = store[store.reference]
    if all(follows_points(shape, reference.points) for shape in (reference, store[store.names[0]])):
        return reference.points
    return None


def follows_points(shape: PreparedShape, reference_points: NDArray[np.int32]) -> bool:
    """Whether a shape has all points, and the first at each vertex give the labels.

    Parts lack points, and each point looks for its vertex: there, vertices are the better classes.
    """
    if len(shape.points) != len(reference_points) or len(reference_points) == 0:
        return False
    if (shape.points < 0).any():
        return False
    vertices, first = np.unique(shape.points, return_index=True)
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
