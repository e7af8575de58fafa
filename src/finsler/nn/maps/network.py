"""The network that describes vertices, so that those that correspond get the same description."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from finsler.errors import InputError
from finsler.nn.cheb_conv import AnisotropicChebConv
from finsler.nn.operators import OperatorStack


class FeatureNet(nn.Module):
    """Residual blocks of anisotropic convolutions; what all of them find is read together.

    x ← x + W relu(norm(conv(x))) for each block, norms being those of the channels of one vertex:
    no shape changes what is found on another. A perceptron reads the input and the result of each
    block side by side, so that the features are not confined to the width of a block.

    Parameters
    ----------
    in_channels, out_channels : int
        Numbers at a vertex before and after.
    channels, layers : int
        Width and number of the blocks.
    angles, order : int
        Of the convolutions.
    hidden : int
        Width of the perceptron.

    Examples
    --------
    >>> net = FeatureNet(8, 32, channels=4, layers=2, angles=2, order=3, hidden=16)
    >>> sum(weight.numel() for weight in net.parameters())
    1044
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        channels: int = 128,
        layers: int = 4,
        angles: int = 8,
        order: int = 16,
        hidden: int = 256,
    ) -> None:
        super().__init__()
        if min(channels, layers) < 1:
            raise InputError(f"channels is {channels} and layers {layers}; both must be at least 1")
        self.first = nn.Linear(in_channels, channels)
        self.convolutions = nn.ModuleList(
            AnisotropicChebConv(channels, channels, angles, order) for _ in range(layers)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(channels) for _ in range(layers))
        self.mixers = nn.ModuleList(nn.Linear(channels, channels) for _ in range(layers))
        self.head = nn.Sequential(nn.Linear((layers + 1) * channels, hidden), nn.ReLU())
        self.last = nn.Linear(hidden, out_channels)

    def forward(self, features: Tensor, operators: OperatorStack) -> Tensor:
        """Features (n, out_channels) of descriptors (n, in_channels)."""
        # Sums over blocks keep the precision of the input where products have less.
        x = self.first(features).to(features.dtype)
        found = [x]
        blocks = zip(self.convolutions, self.norms, self.mixers, strict=True)
        for convolution, norm, mixer in blocks:
            x = x + mixer(torch.relu(norm(convolution(x, operators))))
            found.append(x)
        out: Tensor = self.last(self.head(torch.cat(found, dim=1)))
        return out
