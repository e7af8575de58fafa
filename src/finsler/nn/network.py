"""Networks that name, for each vertex, the vertex of a reference shape it corresponds to."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

from finsler.errors import InputError
from finsler.nn.cheb_conv import AnisotropicChebConv
from finsler.nn.operators import OperatorStack


class CorrespondenceNet(nn.Module):
    """The network of the paper and of ACSCNN.

    Six anisotropic convolutions of 64 channels, each followed by batch norm and ReLU, then a linear
    layer of 256 with ReLU and dropout, and one logit for each vertex of the reference. Batch norm
    takes its statistics over all vertices of all shapes of a step.

    Parameters
    ----------
    in_channels : int
        Of the descriptor, 352 for SHOT.
    classes : int
        Vertices of the reference shape.
    channels, layers, angles, order, hidden, dropout
        Sizes.
    storage : torch.dtype, optional
        See [`AnisotropicChebConv`][finsler.nn.AnisotropicChebConv].
    """

    def __init__(
        self,
        in_channels: int,
        classes: int,
        *,
        channels: int = 64,
        layers: int = 6,
        angles: int = 8,
        order: int = 16,
        hidden: int = 256,
        dropout: float = 0.5,
        storage: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if layers < 1:
            raise InputError(f"a network needs at least one layer, not {layers}")
        widths = [in_channels, *[channels] * layers]
        self.convolutions = nn.ModuleList(
            AnisotropicChebConv(a, b, angles, order, storage=storage) for a, b in pairwise(widths)
        )
        self.norms = nn.ModuleList(nn.BatchNorm1d(channels) for _ in range(layers))
        self.head = _head(channels, hidden, dropout)
        self.classifier = nn.Linear(hidden, classes)

    def hidden(self, features: Tensor, operators: OperatorStack) -> Tensor:
        """What the classifier reads, (n, hidden), of features (n, in_channels)."""
        x = features
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            x = torch.relu(norm(convolution(x, operators)))
        found: Tensor = self.head(x)
        return found

    def forward(self, features: Tensor, operators: OperatorStack) -> Tensor:
        """Logits (n, classes) of features (n, in_channels)."""
        logits: Tensor = self.classifier(self.hidden(features, operators))
        return logits


class SmallNet(nn.Module):
    """The smaller architecture of the same literature (ACNN, Boscaini et al. 2016).

    A linear layer of 16 with ReLU, three anisotropic convolutions of 32, 64 and 128 channels with
    ReLU, a linear layer of 256 with dropout, and one logit for each vertex of the reference.
    `channels` is the width of the first convolution; the next are twice and four times as wide.
    """

    def __init__(
        self,
        in_channels: int,
        classes: int,
        *,
        channels: int = 32,
        layers: int = 3,
        angles: int = 8,
        order: int = 16,
        hidden: int = 256,
        dropout: float = 0.5,
        storage: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if layers < 1:
            raise InputError(f"a network needs at least one layer, not {layers}")
        widths = [max(channels // 2, 1), *(channels * 2**layer for layer in range(layers))]
        self.reduce = nn.Linear(in_channels, widths[0])
        self.convolutions = nn.ModuleList(
            AnisotropicChebConv(a, b, angles, order, storage=storage) for a, b in pairwise(widths)
        )
        self.head = _head(widths[-1], hidden, dropout)
        self.classifier = nn.Linear(hidden, classes)

    def hidden(self, features: Tensor, operators: OperatorStack) -> Tensor:
        """What the classifier reads, (n, hidden), of features (n, in_channels)."""
        x = torch.relu(self.reduce(features))
        for convolution in self.convolutions:
            x = torch.relu(convolution(x, operators))
        found: Tensor = self.head(x)
        return found

    def forward(self, features: Tensor, operators: OperatorStack) -> Tensor:
        """Logits (n, classes) of features (n, in_channels)."""
        logits: Tensor = self.classifier(self.hidden(features, operators))
        return logits


def _head(channels: int, hidden: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(nn.Linear(channels, hidden), nn.ReLU(), nn.Dropout(dropout))
