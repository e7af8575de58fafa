"""A mixed stack whose anisotropy, drift and directions are learned with the network.

All of it is made of the numbers of the stack itself, so that the spectrum stays where it was:

- the anisotropic half: L̄ + s_k (L̂_k − L̄) with L̄ the mean over the angles and 0 ≤ s_k ≤ 1, convex
  sums of operators that are self-adjoint with eigenvalues in [−1, 1];
- the directed half: Ŵ + g_k ∘ Ĉ_e + h_k ∘ Ĉ_Je, with Ŵ the diffusion, Ĉ_e and Ĉ_Je the drifts along
  the field and across it, and numbers g_k, h_k at each vertex, of which an entry (i, j) takes the
  mean of both ends, so that the drift stays skew. They come from the descriptors, which do not
  change when the shape moves: a field ω that is learned, equivariant, and no longer than `longest`
  times that of the stack.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from finsler.errors import InputError
from finsler.nn.network import CorrespondenceNet
from finsler.nn.operators import OperatorStack

# Width of the layer between descriptors and drift.
_WIDTH = 32


class LearnedDrift(nn.Module):
    """Operators of a mixed stack with anisotropy and drift that are learned.

    At first they are those of the stack, with 98% of its anisotropy.

    Parameters
    ----------
    in_channels : int
        Of the descriptors.
    angles : int
        Operators of the stack: a first half anisotropic, a second half directed with directions
        that are evenly spaced over the circle. A multiple of 8.
    longest : float
        Bound on the length of the drift, in units of that of the stack.

    Examples
    --------
    >>> import torch
    >>> from finsler import OperatorSpec, primitives
    >>> mesh = primitives.bumpy_sphere(6)
    >>> stack = OperatorStack.of(OperatorSpec("mixed", angles=8).chebyshev(mesh))
    >>> learned = LearnedDrift(3, 8)(torch.tensor(mesh.vertices, dtype=torch.float32), stack)
    >>> bool((learned.values - stack.values).abs().max() < 0.05)
    True
    """

    def __init__(self, in_channels: int, angles: int, *, longest: float = 2.0) -> None:
        super().__init__()
        if angles % 8:
            raise InputError(
                f"the stack has {angles} operators; a drift is learned from a mixed stack of 8, 16,"
                " ...: prepare the shapes with --operator mixed --angles 8"
            )
        self.longest, half = longest, angles // 2
        self.anisotropy = nn.Parameter(torch.full((half,), 4.0))
        self.head = nn.Sequential(
            nn.Linear(in_channels, _WIDTH), nn.ReLU(), nn.Linear(_WIDTH, 2 * half)
        )
        last: Any = self.head[-1]
        nn.init.zeros_(last.weight)
        turn = 2.0 * math.pi * torch.arange(half) / half
        # tanh of it is 1/longest: the drift of the stack.
        length = math.atanh(1.0 / longest)
        with torch.no_grad():
            last.bias.copy_(length * torch.stack([turn.cos(), turn.sin()], dim=1).flatten())

    def forward(self, features: Tensor, operators: OperatorStack) -> OperatorStack:
        """The operators for features (n, in_channels)."""
        values = operators.values
        half = len(values) // 2
        still, directed = values[:half], values[half:]
        mean = still.mean(0)
        share = self.anisotropy.to(values).sigmoid()[:, None]
        quarter = half // 4
        diffusion = directed.mean(0)
        along = directed[0] - diffusion
        across = directed[quarter] - diffusion
        strength = self._drift(features, values.dtype)
        rows = torch.repeat_interleave(
            torch.arange(operators.n, device=values.device),
            operators.indptr.diff(),
            output_size=len(operators.indices),
        )
        on_edges = 0.5 * (strength[rows] + strength[operators.indices.long()])
        drift = on_edges[..., 0].T * along + on_edges[..., 1].T * across
        learned = torch.cat([mean + share * (still - mean), diffusion + drift])
        return replace(operators, values=learned)

    def _drift(self, features: Tensor, dtype: torch.dtype) -> Tensor:
        """Along and across the field, (n, half, 2), at most `longest` long."""
        raw = self.head(features).to(dtype).view(len(features), -1, 2)
        length = raw.square().sum(2, keepdim=True).add(1e-12).sqrt()
        drift: Tensor = raw * (self.longest * torch.tanh(length) / length)
        return drift


class LearnedDriftNet(CorrespondenceNet):
    """The network of the paper on a mixed stack whose anisotropy and drift are learned with it."""

    def __init__(self, in_channels: int, classes: int, *, angles: int = 8, **sizes: Any) -> None:
        super().__init__(in_channels, classes, angles=angles, **sizes)
        self.drift = LearnedDrift(in_channels, angles)

    def hidden(self, features: Tensor, operators: OperatorStack) -> Tensor:
        """What the classifier reads, (n, hidden), of features (n, in_channels)."""
        return super().hidden(features, self.drift(features, operators))
