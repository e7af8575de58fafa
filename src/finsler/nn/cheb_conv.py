"""Anisotropic convolution: Chebyshev polynomials of operators at several angles (ACSCNN; paper §5).

The operators act on rows and the weights on columns, so the two commute, and the recurrence runs on
the narrower side: on the projected features where a layer reduces channels or keeps their number,
on the features themselves where it adds channels.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from finsler.errors import InputError
from finsler.nn.operators import OperatorStack
from finsler.nn.recurrence import chebyshev, clenshaw


class AnisotropicChebConv(nn.Module):
    """out = Σ_θ Σ_{s<S} T_s(L̂_θ) X C_{θ,s} + bias.

    Parameters
    ----------
    in_channels, out_channels : int
    angles : int
        Operators of the stack, and sets of weights.
    order : int
        S, the number of polynomials T_0 .. T_{S−1}.
    bias : bool
    storage : torch.dtype, optional
        What the terms of the sum are stored in: torch.bfloat16 halves the traffic on an
        accelerator. By default the dtype of the features.
    backend : {"auto", "compiled", "triton", "torch"}
        See [`clenshaw`][finsler.nn.recurrence.clenshaw].

    Attributes
    ----------
    weight : (in_channels, order, angles, out_channels)
    bias : (out_channels,) or None

    Examples
    --------
    >>> import torch
    >>> from finsler import angle_stack, chebyshev_operators, primitives
    >>> from finsler.nn import OperatorStack
    >>> mesh = primitives.torus(12, 8)
    >>> operators = OperatorStack.of(chebyshev_operators(angle_stack(mesh, angles=4)))
    >>> layer = AnisotropicChebConv(3, 16, angles=4, order=8)
    >>> layer(torch.tensor(mesh.vertices, dtype=torch.float32), operators).shape
    torch.Size([96, 16])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        angles: int = 8,
        order: int = 16,
        *,
        bias: bool = True,
        storage: torch.dtype | None = None,
        backend: str = "auto",
    ) -> None:
        super().__init__()
        if min(in_channels, out_channels, angles, order) < 1:
            raise InputError("channels, angles and order must all be at least 1")
        self.storage, self.backend = storage, backend
        self.weight = nn.Parameter(torch.empty(in_channels, order, angles, out_channels))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Glorot's uniform weights, as ACSCNN: all terms of the sum count as inputs."""
        channels, order, angles, out = self.weight.shape
        bound = math.sqrt(6.0 / (channels * order * angles + out))
        nn.init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, operators: OperatorStack) -> Tensor:
        """Features (n, in_channels) to (n, out_channels)."""
        channels, order, angles, out = self.weight.shape
        if operators.angles != angles:
            raise InputError(
                f"the layer was made for {angles} angles, the operators have {operators.angles}"
            )
        if x.shape != (operators.n, channels):
            raise InputError(
                f"features must be ({operators.n}, {channels}) here, not {tuple(x.shape)}"
            )
        stored = x.dtype if self.storage is None else self.storage
        if x.device.type == "cpu" and stored == torch.bfloat16:
            # Mixed precision there is for products only.
            x, stored = x.float(), torch.float32
        if channels >= out:
            terms = self._terms(x.to(stored)).to(stored)
            sums = clenshaw(terms, operators, backend=self.backend)
        else:
            z = chebyshev(x, operators, order, backend=self.backend, dtype=stored)
            weight = self.weight.to(stored).permute(1, 2, 0, 3).reshape(-1, out)
            sums = (z.reshape(len(x), -1) @ weight).to(x.dtype)
        return sums if self.bias is None else sums + self.bias

    def _terms(self, x: Tensor) -> Tensor:
        """X C_{θ,s}, (n, S, a, c); in memory as the device's recurrence reads them fastest."""
        channels, order, angles, out = self.weight.shape
        weight = self.weight.to(x.dtype)
        if x.device.type == "cpu":
            return torch.matmul(x, weight.permute(1, 2, 0, 3)).permute(2, 0, 1, 3)
        return (x @ weight.view(channels, -1)).view(-1, order, angles, out)

    def extra_repr(self) -> str:
        """Sizes, for printing."""
        channels, order, angles, out = self.weight.shape
        return f"{channels}, {out}, angles={angles}, order={order}"
