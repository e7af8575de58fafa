"""Networks that name, for each vertex, the vertex of a reference shape it corresponds to."""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar

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
    channels, layers : int
        Width and number of the convolutions; 0 for the published ones.
    angles, order, hidden, dropout
        Sizes.
    storage : torch.dtype, optional
        See [`AnisotropicChebConv`][finsler.nn.AnisotropicChebConv].
    """

    published: ClassVar[tuple[int, int]] = (64, 6)

    def __init__(
        self,
        in_channels: int,
        classes: int,
        *,
        channels: int = 0,
        layers: int = 0,
        angles: int = 8,
        order: int = 16,
        hidden: int = 256,
        dropout: float = 0.5,
        storage: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if min(channels, layers) < 0:
            raise InputError(
                f"channels is {channels} and layers {layers}; neither must be negative"
            )
        widths = self._begin(
            in_channels, channels or self.published[0], layers or self.published[1]
        )
        self.convolutions = nn.ModuleList(
            AnisotropicChebConv(a, b, angles, order, storage=storage) for a, b in pairwise(widths)
        )
        self.norms = nn.ModuleList(self._norm(width) for width in widths[1:])
        self.head = nn.Sequential(nn.Linear(widths[-1], hidden), nn.ReLU(), nn.Dropout(dropout))
        self.classifier = nn.Linear(hidden, classes)

    def _begin(self, in_channels: int, channels: int, layers: int) -> list[int]:
        """Make what stands before the convolutions; the widths between those."""
        self.reduce: nn.Linear | None = None
        return [in_channels, *[channels] * layers]

    def _norm(self, width: int) -> nn.Module:
        return nn.BatchNorm1d(width)

    def hidden(self, features: Tensor, operators: OperatorStack) -> Tensor:
        """What the classifier reads, (n, hidden), of features (n, in_channels)."""
        x = features if self.reduce is None else torch.relu(self.reduce(features))
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            x = torch.relu(norm(convolution(x, operators)))
        read: Tensor = self.head(x)
        return read

    def forward(self, features: Tensor, operators: OperatorStack) -> Tensor:
        """Logits (n, classes) of features (n, in_channels)."""
        logits: Tensor = self.classifier(self.hidden(features, operators))
        return logits


class SmallNet(CorrespondenceNet):
    """The smaller architecture of the same literature (ACNN, Boscaini et al. 2016).

    A linear layer of 16 with ReLU, three anisotropic convolutions of 32, 64 and 128 channels with
    ReLU, a linear layer of 256 with dropout, and one logit for each vertex of the reference.
    `channels` is the width of the first convolution; the next are twice and four times as wide.
    """

    published: ClassVar[tuple[int, int]] = (32, 3)

    def _begin(self, in_channels: int, channels: int, layers: int) -> list[int]:
        widths = [max(channels // 2, 1), *(channels * 2**layer for layer in range(layers))]
        self.reduce = nn.Linear(in_channels, widths[0])
        return widths

    def _norm(self, width: int) -> nn.Module:
        return nn.Identity()
