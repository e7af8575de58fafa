"""The last layer: vectors to scalars by a histogram in which neighbours vote."""

from __future__ import annotations

import functools

import torch
from torch import Tensor, nn

from finsler.baselines.field_conv.graph import SupportGraph
from finsler.baselines.field_conv.layers import FieldConv, polar
from finsler.errors import InputError


def disk_bins(bins: int) -> Tensor:
    """Centres (k, 2) of the bins: points of the integer grid within bins + 1/2 of the origin.

    >>> len(disk_bins(2))
    21
    """
    if bins < 1:
        raise InputError(f"bins is {bins}; at least 1 for the radius is needed")
    line = torch.arange(-bins, bins + 1)
    grid = torch.cartesian_prod(line, line)
    return grid[(grid**2).sum(1) <= (bins + 0.5) ** 2]


def echo_histogram(x: Tensor, graph: SupportGraph, bins: int) -> Tensor:
    r"""ECHO descriptors of vector fields x (n, c): real, (n, c, k), k the number of disk bins.

    .. math:: E_i(z) = k |\sum_j w_j P_{i←j} X_j K(z - b r e^{i(θ - \arg X_j)})|

    Each neighbour j votes with its vector, brought to i, at the point where it sees i when its own
    vector points along the first axis; K shares a vote linearly among the four grid points around
    it, b is `bins`, and r a share of the radius. Votes outside the disk of bins are left out. The
    factor k keeps entries at the size of the vectors.
    """
    n, channels = x.shape
    side, k = 2 * bins + 3, len(disk_bins(bins))
    table = _bin_numbers(bins, x.device)
    unit = polar(x)[1]
    point = torch.polar(bins * graph.r, graph.theta)[:, None] * unit[graph.columns].conj()
    vote = torch.polar(graph.weight, graph.phi)[:, None] * x[graph.columns]
    low_x, low_y = point.real.detach().floor(), point.imag.detach().floor()
    share_x, share_y = point.real - low_x, point.imag - low_y
    corner = (low_x.long() + bins + 1) * side + low_y.long() + bins + 1
    # One more bin a channel takes the votes that are left out.
    first = graph.rows[:, None] * channels + torch.arange(channels, device=x.device)
    histogram = x.new_zeros(n * channels * (k + 1))
    for step, share in (
        (0, (1.0 - share_x) * (1.0 - share_y)),
        (1, (1.0 - share_x) * share_y),
        (side, share_x * (1.0 - share_y)),
        (side + 1, share_x * share_y),
    ):
        bin_number = table[(corner + step).clamp(max=side * side - 1)]
        index = (first * (k + 1) + bin_number).flatten()
        histogram = histogram.index_add(0, index, (vote * share).flatten())
    return k * histogram.view(n, channels, k + 1)[:, :, :k].abs()


@functools.cache
def _bin_numbers(bins: int, device: torch.device) -> Tensor:
    """Numbers of the bins on a grid with a border, flat; outside the disk their count."""
    centres = disk_bins(bins)
    side = 2 * bins + 3
    table = torch.full((side, side), len(centres))
    table[centres[:, 0] + bins + 1, centres[:, 1] + bins + 1] = torch.arange(len(centres))
    return table.flatten().to(device)


class EchoDescriptor(nn.Module):
    """A field convolution, ECHO histograms of its result, and a perceptron with one hidden layer.

    Shapes: x (n, in) complex, result (n, out) real; it does not depend on frames.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        channels: int = 12,
        bins: int = 2,
        band: int = 1,
        rings: int = 3,
        kind: str = "phase",
    ) -> None:
        super().__init__()
        self.bins = bins
        self.conv = FieldConv(in_channels, channels, band=band, rings=rings, kind=kind)
        self.perceptron = nn.Sequential(
            nn.Linear(channels * len(disk_bins(bins)), out_channels),
            nn.ReLU(),
            nn.Linear(out_channels, out_channels),
            nn.ReLU(),
        )

    def forward(self, x: Tensor, graph: SupportGraph) -> Tensor:
        """Scalars of vectors (n, in)."""
        histogram = echo_histogram(self.conv(x, graph), graph, self.bins)
        scalars: Tensor = self.perceptron(histogram.flatten(1))
        return scalars
