"""A layer's work as jobs to be timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from finsler.nn.cheb_conv import AnisotropicChebConv
from finsler.nn.operators import OperatorStack
from finsler.operator.rescale import ChebyshevOperators


def layer_steps(operators: ChebyshevOperators) -> Iterator[tuple[str, Callable[[], None]]]:
    """One convolution of 64 channels, forward and backward: a device, and the job on it."""
    stack = OperatorStack.of(operators)
    for device in ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]:
        placed = stack.to(device)
        layer = AnisotropicChebConv(64, 64, angles=stack.angles).to(device)
        features = torch.randn(stack.n, 64, device=device)

        def step(
            layer: AnisotropicChebConv = layer,
            features: torch.Tensor = features,
            placed: OperatorStack = placed,
        ) -> None:
            layer.zero_grad()
            torch.autograd.backward(layer(features, placed).sum())
            if features.is_cuda:
                torch.cuda.synchronize()

        yield device, step
