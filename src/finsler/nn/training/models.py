"""The networks that can be trained, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import torch
from torch import nn

from finsler.baselines.field_conv import FieldConvNet, SupportGraph
from finsler.data.store.entry import PreparedShape
from finsler.errors import InputError
from finsler.nn.network import CorrespondenceNet, SmallNet
from finsler.nn.operators import OperatorStack
from finsler.nn.training.config import TrainConfig


class Domain(Protocol):
    """What a network knows of shapes beside their features, e.g. `OperatorStack`."""

    @classmethod
    def of(cls, shape: PreparedShape, /) -> Self:
        """Of one shape."""

    @classmethod
    def batch(cls, parts: Sequence[Self], /) -> Self:
        """Of several shapes, side by side."""

    def to(self, device: torch.device, /) -> Self:
        """The same on a device."""


@dataclass(frozen=True)
class Model:
    """A kind of network, called with features (n, c) and a domain, giving logits (n, classes).

    Its `classifier`, a linear layer, makes them of what its method `hidden` finds; training reads
    those two, so that the logits need not be kept.

    Attributes
    ----------
    build : callable
        Makes the network from (config, in_channels, classes, angles).
    domain : type
        Of the network's second argument.
    """

    build: Callable[[TrainConfig, int, int, int], nn.Module]
    domain: type[Domain]


def _chebyshev(kind: Callable[..., nn.Module]) -> Model:
    def build(config: TrainConfig, in_channels: int, classes: int, angles: int) -> nn.Module:
        sizes = {"channels": config.channels, "layers": config.layers}
        return kind(
            in_channels,
            classes,
            angles=angles,
            order=config.order,
            hidden=config.hidden,
            dropout=config.dropout,
            **{name: size for name, size in sizes.items() if size > 0},
        )

    domain: Any = OperatorStack
    return Model(build, domain)


def _field_conv(config: TrainConfig, in_channels: int, classes: int, angles: int) -> nn.Module:
    return FieldConvNet(
        in_channels,
        classes,
        channels=config.channels or 32,
        blocks=config.layers or 8,
        hidden=config.hidden,
        dropout=config.dropout,
    )


_SUPPORTS: Any = SupportGraph

MODELS: dict[str, Model] = {
    "chebyshev": _chebyshev(CorrespondenceNet),
    "small": _chebyshev(SmallNet),
    "fieldconv": Model(_field_conv, _SUPPORTS),
}


def model_named(name: str) -> Model:
    """The kind of network with a name.

    Raises
    ------
    InputError
        There is none.
    """
    if name not in MODELS:
        raise InputError(f"model is {name!r}; it must be one of {', '.join(MODELS)}")
    return MODELS[name]
