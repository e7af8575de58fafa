"""Layers on complex tangent vector features (n, c); all but the lift map vectors to vectors."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from finsler.baselines.field_conv.graph import SupportGraph
from finsler.errors import InputError

KINDS = ("real", "phase", "complex")

# Vectors shorter than this have no direction: it would be that of rounding errors.
_SHORT = 1e-6


def polar(x: Tensor) -> tuple[Tensor, Tensor]:
    """Modulus and direction of complex numbers, direction 0 where they vanish.

    Gradients are finite everywhere; at 0 they are 0.
    """
    modulus = x.abs()
    long = modulus > _SHORT
    return modulus, torch.where(long, x, 0.0) / torch.where(long, modulus, 1.0)


class Filters(nn.Module):
    """Coefficients f_m(r_k) of filters, (out, in, frequencies, rings), complex.

    Real numbers ("real"), real numbers with one learned phase for each frequency ("phase"), or
    complex ones ("complex"); stored as real parameters.
    """

    def __init__(
        self, in_channels: int, out_channels: int, frequencies: int, rings: int, kind: str
    ) -> None:
        super().__init__()
        if kind not in KINDS:
            raise InputError(f"kind must be one of {', '.join(KINDS)}, not {kind!r}")
        if min(in_channels, out_channels, frequencies, rings) < 1:
            raise InputError(
                f"a layer from {in_channels} to {out_channels} channels with {rings} rings is not"
                " possible; all must be at least 1"
            )
        shape = (out_channels, in_channels, frequencies, rings)
        self.kind = kind
        self.values = nn.Parameter(torch.empty(*shape, 2 if kind == "complex" else 1))
        self.phases = nn.Parameter(torch.empty(shape[:3])) if kind == "phase" else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Normal numbers that keep the size of a smooth field, and phases all around."""
        _, channels, _, rings, parts = self.values.shape
        nn.init.normal_(self.values, std=math.sqrt(rings / (channels * parts)))
        if self.phases is not None:
            nn.init.uniform_(self.phases, -math.pi, math.pi)

    def forward(self) -> Tensor:
        """The coefficients, with rings before channels, as (frequencies · rings · in, out)."""
        if self.kind == "complex":
            filters = torch.view_as_complex(self.values)
        else:
            real = self.values[..., 0]
            filters = torch.complex(real, torch.zeros_like(real))
        if self.phases is not None:
            filters = filters * torch.polar(torch.ones_like(self.phases), self.phases)[..., None]
        return filters.permute(2, 3, 1, 0).flatten(0, 2)


class FieldConv(nn.Module):
    r"""Field convolution (Mitchel, Kim, Kazhdan, ICCV 2021).

    .. math::
        Y_i = \sum_j w_j P_{i←j} X_j f(r, θ - \arg X_j),\quad
        f(r, θ) = \sum_{|m| ≤ B} f_m(r) e^{imθ},\quad r e^{iθ} = \log_j i

    Every neighbour places i in its own frame, turned to its own vector, so that the filter needs no
    symmetry. By X f(r, θ - arg X) = Σ f_m(r) e^{imθ} |X| e^{i(1-m) arg X} the sum over j is one
    sparse product for each frequency, and filters are applied by one dense product.

    Shapes: x (n, in) complex, result (n, out) complex.

    Parameters
    ----------
    in_channels, out_channels : int
    band : int
        Highest frequency B.
    rings : int
        Radii at which f_m is given; between them it is linear.
    kind : {"phase", "real", "complex"}
        See [`Filters`][finsler.baselines.field_conv.layers.Filters].
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        band: int = 1,
        rings: int = 3,
        kind: str = "phase",
    ) -> None:
        super().__init__()
        if band < 0:
            raise InputError(f"band is {band}; it must not be negative")
        self.band, self.rings = band, rings
        self.filters = Filters(in_channels, out_channels, 2 * band + 1, rings, kind)

    def forward(self, x: Tensor, graph: SupportGraph) -> Tensor:
        """Convolve the fields x (n, in)."""
        modulus, unit = polar(x)
        terms = [modulus * _power(unit, 1 - m) for m in range(-self.band, self.band + 1)]
        filters: Tensor = self.filters()
        return graph.convolutions(self.band, self.rings)(torch.stack(terms, dim=1)) @ filters


def _power(unit: Tensor, exponent: int) -> Tensor:
    """Whole power of complex numbers of modulus 1 (or 0)."""
    base = unit if exponent >= 0 else unit.conj()
    result = torch.ones_like(unit)
    for _ in range(abs(exponent)):
        result = result * base
    return result


class Lift(nn.Module):
    """Scalars to vectors: a learned gradient gives the direction, a learned mean the length.

    With s_j the scalars, a the angle of log_i(j) and g, z filters over channels and radius,

    X_i = (Σ_j w_j z(r) s_j) · V_i / |V_i|,   V_i = Σ_j w_j g(r) e^{ia} (s_j - s_i).

    The length has a sign. Shapes: scalars (n, in) real, result (n, out) complex.
    """

    def __init__(
        self, in_channels: int, out_channels: int, *, rings: int = 3, kind: str = "phase"
    ) -> None:
        super().__init__()
        self.rings = rings
        self.gradient = Filters(in_channels, out_channels, 1, rings, kind)
        self.mean = Filters(in_channels, out_channels, 1, rings, "real")

    def forward(self, scalars: Tensor, graph: SupportGraph) -> Tensor:
        """Vectors of scalars (n, in)."""
        values = torch.complex(scalars, torch.zeros_like(scalars))
        # One more channel of ones: the sums of the weights themselves.
        values = torch.cat([values, torch.ones_like(values[:, :1])], dim=1)
        sums = graph.averages(self.rings)(torch.stack([values, values], dim=1))
        mean, slope = sums.view(len(values), 2, self.rings, -1).unbind(1)
        slope = slope[..., :-1] - slope[..., -1:] * values[:, None, :-1]
        _, direction = polar(slope.flatten(1) @ self.gradient())
        length: Tensor = (mean[..., :-1].flatten(1) @ self.mean()).real
        return length * direction


class ModulusReLU(nn.Module):
    """ReLU(|X| + b) e^{i arg X} with a learned b for each channel, 0 at first."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(channels))

    def forward(self, x: Tensor) -> Tensor:
        """Shorten or lengthen vectors (n, c)."""
        modulus, unit = polar(x)
        return torch.relu(modulus + self.bias) * unit


class ComplexLinear(nn.Module):
    """X W with W (in, out) complex; without offset, which would depend on frames."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels, 2))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Normal numbers that keep the size of vectors."""
        nn.init.normal_(self.weight, std=math.sqrt(0.5 / len(self.weight)))

    def forward(self, x: Tensor) -> Tensor:
        """Map vectors (n, in) to (n, out)."""
        return x @ torch.view_as_complex(self.weight)


class ResidualBlock(nn.Module):
    """Two field convolutions, each with a nonlinearity, and a linear shortcut around both."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        band: int = 1,
        rings: int = 3,
        kind: str = "phase",
    ) -> None:
        super().__init__()
        self.first = FieldConv(in_channels, out_channels, band=band, rings=rings, kind=kind)
        self.second = FieldConv(out_channels, out_channels, band=band, rings=rings, kind=kind)
        self.between = ModulusReLU(out_channels)
        self.after = ModulusReLU(out_channels)
        self.shortcut = ComplexLinear(in_channels, out_channels)

    def forward(self, x: Tensor, graph: SupportGraph) -> Tensor:
        """Vectors (n, in) to (n, out)."""
        y = self.between(self.first(x, graph))
        out: Tensor = self.after(self.second(y, graph) + self.shortcut(x))
        return out
