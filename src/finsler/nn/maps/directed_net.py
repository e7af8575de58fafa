"""The network behind the model in the box: diffusion, and derivatives along and across a direction.

DiffusionNet (Sharp et al. 2022) spreads functions and compares their gradients with each other.
Here the tangent planes have a direction of their own, e, which points towards the ends of limbs:
derivatives along e and across it, the drift terms of the directed operators, are read as they are.
They tell forwards from backwards, and left from right.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from finsler.descriptors.directed import LENGTH, DirectedDomain
from finsler.errors import InputError


@dataclass(frozen=True, eq=False)
class DirectedTensors:
    """A surface as the network needs it; see `finsler.descriptors.directed.DirectedDomain`.

    Attributes
    ----------
    eigenvalues, eigenvectors, mass : (k,), (n, k), (n,)
    derivative, transposed : sparse (2n, n), (n, 2n)
        Derivatives of functions along e, then across it, and the transpose for gradients.
    strength : (n,)
    """

    eigenvalues: Tensor
    eigenvectors: Tensor
    mass: Tensor
    derivative: Tensor
    transposed: Tensor
    strength: Tensor

    @classmethod
    def of(cls, domain: DirectedDomain, device: torch.device | str = "cpu") -> DirectedTensors:
        """Of a `DirectedDomain`."""
        n = len(domain.mass)
        derivative = domain.derivative()
        return cls(
            torch.as_tensor(domain.eigenvalues).to(device),
            torch.as_tensor(domain.eigenvectors).to(device),
            torch.as_tensor(domain.mass).to(device),
            _sparse(derivative, (2 * n, n)).to(device),
            _sparse(derivative.T.tocsr(), (n, 2 * n)).to(device),
            torch.as_tensor(domain.strength).to(device),
        )

    def to(self, device: torch.device | str) -> DirectedTensors:
        """The same on a device."""
        return replace(self, **{name: tensor.to(device) for name, tensor in vars(self).items()})


def _sparse(matrix: Any, shape: tuple[int, int]) -> Tensor:
    with warnings.catch_warnings():
        # Torch says once that its sparse matrices are new.
        warnings.simplefilter("ignore", UserWarning)
        return torch.sparse_csr_tensor(
            torch.as_tensor(matrix.indptr),
            torch.as_tensor(matrix.indices),
            torch.as_tensor(matrix.data),
            size=shape,
            check_invariants=False,
        )


class _Product(torch.autograd.Function):
    """A sparse matrix times a dense one; gradients for the dense one."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, transposed: Tensor, x: Tensor) -> Tensor:
        ctx.transposed = transposed
        return matrix @ x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, None, Tensor]:
        return None, None, ctx.transposed @ grad


class DirectedBlock(nn.Module):
    """x + perceptron(x, spread, products of gradients, derivatives along e and across it)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        # Times from 1e-4 to 1e-1 of the area.
        self.log_time = nn.Parameter(torch.linspace(-9.2, -2.3, channels))
        self.real = nn.Linear(channels, channels, bias=False)
        self.imaginary = nn.Linear(channels, channels, bias=False)
        self.perceptron = nn.Sequential(
            nn.Linear(5 * channels, channels),
            nn.ReLU(),
            nn.Linear(channels, channels),
        )

    def forward(self, x: Tensor, domain: DirectedTensors) -> Tensor:
        """(n, c) of x (n, c); only the linear layers may compute in half precision."""
        with torch.autocast(x.device.type, enabled=False):
            basis, x = domain.eigenvectors, x.float()
            coefficients = basis.T @ (domain.mass[:, None] * x)
            decay = torch.exp(-torch.outer(domain.eigenvalues, self.log_time.exp()))
            spread = basis @ (decay * coefficients)
            derivatives = cast(Any, _Product).apply(domain.derivative, domain.transposed, spread)
            along, across = (LENGTH * derivatives).chunk(2)
        real = self.real(along) - self.imaginary(across)
        imaginary = self.real(across) + self.imaginary(along)
        products = torch.tanh(along * real + across * imaginary)
        strength = domain.strength[:, None]
        read = [x, spread, products, strength * along, strength * across]
        out: Tensor = x + self.perceptron(torch.cat(read, dim=1))
        return out


class DirectedNet(nn.Module):
    """Features of vertices, such that those that correspond on two surfaces are alike.

    Shapes: inputs (n, in_channels), result (n, out_channels), rows of length 1.

    Examples
    --------
    >>> net = DirectedNet(4, 8, channels=6, blocks=1)
    >>> sum(weight.numel() for weight in net.parameters())
    392
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        channels: int = 128,
        blocks: int = 4,
    ) -> None:
        super().__init__()
        if min(channels, blocks) < 1:
            raise InputError(f"channels is {channels} and blocks {blocks}; both must be at least 1")
        self.first = nn.Linear(in_channels, channels)
        self.blocks = nn.ModuleList(DirectedBlock(channels) for _ in range(blocks))
        self.last = nn.Linear(channels, out_channels)

    def forward(self, inputs: Tensor, domain: DirectedTensors) -> Tensor:
        """Features of one surface."""
        x = self.first(inputs)
        for block in self.blocks:
            x = block(x, domain)
        return nn.functional.normalize(self.last(x).float(), dim=1)


def contrastive_loss(
    features: Sequence[Tensor], apart: Tensor, scale: Tensor, near: float
) -> Tensor:
    """Mean cross entropy of the soft maps between every two shapes, both ways.

    Row i of each features (m, c) is the same point on every shape. Its partner is point i, and
    points nearby in proportion to exp(−d²/2 near²), with `apart` (m, m) the distances d: to take a
    neighbour for it is no great mistake.
    """
    wanted = torch.softmax(-(apart**2) / (2.0 * near**2), dim=1)
    total, count = features[0].new_zeros(()), 0
    for i, one in enumerate(features):
        for other in features[i + 1 :]:
            logits = scale * (one @ other.T)
            for rows in (logits, logits.T):
                total = total - (wanted * torch.log_softmax(rows, dim=1)).sum(dim=1).mean()
                count += 1
    return total / count
