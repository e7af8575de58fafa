"""The correspondence network of field convolutions."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from finsler.baselines.field_conv.echo import EchoDescriptor
from finsler.baselines.field_conv.graph import SupportGraph
from finsler.baselines.field_conv.layers import ComplexLinear, Lift, ResidualBlock
from finsler.errors import InputError


class FieldConvNet(nn.Module):
    """Field convolution network that names, for each vertex, a vertex of the reference.

    Lift to 16 fields, eight residual blocks of 32 (the last back to 16) with another linear
    shortcut around every two, ECHO descriptors, and two linear layers. Defaults are the published
    ones (Mitchel, Kim, Kazhdan, ICCV 2021), for coordinates as features and supports of radius
    0.0425 √area.

    Shapes: features (n, in_channels) real, result (n, classes).

    Parameters
    ----------
    in_channels, classes : int
    channels, lifted : int
        Fields inside, and after the lift and the last block.
    blocks : int
        Even.
    band, rings, kind
        Of the filters: see [`FieldConv`][finsler.baselines.field_conv.layers.FieldConv].
    descriptors, bins : int
        ECHO histograms and their bins on a radius.
    hidden : int
        Width of the layer before the last.
    dropout : float
        Share of it that is left out in training.

    Examples
    --------
    >>> from finsler import primitives
    >>> from finsler.analysis.log_maps import vertex_support
    >>> mesh = primitives.sphere(4)
    >>> graph = SupportGraph.from_supports([vertex_support(mesh, radius=0.5)])
    >>> net = FieldConvNet(3, 162, channels=4, lifted=4, blocks=2)
    >>> net(torch.tensor(mesh.vertices).float(), graph).shape
    torch.Size([162, 162])
    """

    def __init__(
        self,
        in_channels: int,
        classes: int,
        *,
        channels: int = 32,
        lifted: int = 16,
        blocks: int = 8,
        band: int = 1,
        rings: int = 3,
        kind: str = "phase",
        descriptors: int = 12,
        bins: int = 2,
        hidden: int = 256,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        if blocks < 2 or blocks % 2:
            raise InputError(f"blocks is {blocks}; an even number of at least 2 is needed")
        widths = [lifted, *[channels] * (blocks - 1), lifted]
        self.lift = Lift(in_channels, lifted, rings=rings, kind=kind)
        self.blocks = nn.ModuleList(
            ResidualBlock(a, b, band=band, rings=rings, kind=kind) for a, b in pairwise(widths)
        )
        self.shortcuts = nn.ModuleList(
            ComplexLinear(a, b) for a, b in zip(widths[:-2:2], widths[2::2], strict=True)
        )
        self.echo = EchoDescriptor(
            lifted, channels, channels=descriptors, bins=bins, band=band, rings=rings, kind=kind
        )
        self.head = nn.Sequential(nn.Linear(channels, hidden), nn.ReLU(), nn.Dropout(dropout))
        self.classifier = nn.Linear(hidden, classes)

    def forward(self, features: Tensor, graph: SupportGraph) -> Tensor:
        """Logits (n, classes) of features (n, in_channels)."""
        logits: Tensor = self.classifier(self.hidden(features, graph))
        return logits

    def hidden(self, features: Tensor, graph: SupportGraph) -> Tensor:
        """What the classifier reads, (n, hidden), of features (n, in_channels)."""
        if len(features) != graph.n_vertices:
            raise InputError(
                f"features has {len(features)} rows, but the graph has {graph.n_vertices} vertices"
            )
        x = self.lift(features, graph)
        for pair, shortcut in enumerate(self.shortcuts):
            y = self.blocks[2 * pair](x, graph)
            x = self.blocks[2 * pair + 1](y, graph) + shortcut(x)
        read: Tensor = self.head(self.echo(x, graph))
        return read


def rotate(
    vertices: Tensor, generator: torch.Generator | None = None, *, degrees: float = 45.0
) -> Tensor:
    """Vertices (n, 3) turned about the x, y and z axis by random angles of at most `degrees`."""
    options: Any = {"dtype": torch.float64, "device": vertices.device}
    angles = torch.rand(3, generator=generator, **options) * 2.0 - 1.0
    cosine, sine = (angles * math.radians(degrees)).cos(), (angles * math.radians(degrees)).sin()
    turn = torch.eye(3, **options)
    for axis in range(3):
        c, s, one, zero = cosine[axis], sine[axis], cosine.new_ones(()), cosine.new_zeros(())
        step = torch.stack([one, zero, zero, zero, c, -s, zero, s, c]).view(3, 3)
        # About the first axis; about another with rows and columns moved along.
        turn = step.roll((axis, axis), (0, 1)) @ turn
    return vertices @ turn.T.to(vertices.dtype)
