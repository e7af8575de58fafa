"""The networks that can be trained, by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from finsler.baselines.diffusion_net import DiffusionNet, SpectralDomain
from finsler.baselines.field_conv import FieldConvNet, SupportGraph
from finsler.compute.memory.machine import free_for
from finsler.data.store import PreparedShape
from finsler.descriptors.learned import shipped_model
from finsler.errors import InputError
from finsler.nn.cheb_conv import AnisotropicChebConv
from finsler.nn.learned_drift import LearnedDriftNet
from finsler.nn.maps import FeatureNet
from finsler.nn.maps.directed_shapes import BoxFeatures, DirectedFeatures, DirectedShapes
from finsler.nn.network import CorrespondenceNet, SmallNet
from finsler.nn.operators import OperatorStack
from finsler.nn.training.config import TrainConfig


class Domain(Protocol):
    """What a network gets of shapes besides their features, e.g. `OperatorStack`."""

    @classmethod
    def of(cls, shape: PreparedShape, /) -> Self:
        """Of one shape."""

    @classmethod
    def batch(cls, parts: Sequence[Self], /) -> Self:
        """Of several shapes, side by side."""

    def to(self, device: torch.device, /) -> Self:
        """The same on a device."""

    @property
    def sizes(self) -> Sequence[int]:
        """Number of vertices of each shape."""


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


def _chebyshev(kind: type[CorrespondenceNet]) -> Model:
    def build(config: TrainConfig, in_channels: int, classes: int, angles: int) -> nn.Module:
        return kind(
            in_channels,
            classes,
            channels=config.channels,
            layers=config.layers,
            angles=angles,
            order=config.order,
            hidden=config.hidden,
            dropout=config.dropout,
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


def _diffusion_net(config: TrainConfig, in_channels: int, classes: int, angles: int) -> nn.Module:
    return DiffusionNet(
        in_channels,
        classes,
        channels=config.channels or 128,
        blocks=config.layers or 4,
        hidden=config.hidden,
        dropout=config.dropout,
    )


def _directed(config: TrainConfig, in_channels: int, classes: int, angles: int) -> nn.Module:
    raise InputError(
        "the network directed is for objective = maps; set objective=maps, or take model=chebyshev"
    )


_DIRECTED: Any = DirectedShapes
_SUPPORTS: Any = SupportGraph
_SPECTRA: Any = SpectralDomain

MODELS: dict[str, Model] = {
    "chebyshev": _chebyshev(CorrespondenceNet),
    "small": _chebyshev(SmallNet),
    "learned": _chebyshev(LearnedDriftNet),
    "fieldconv": Model(_field_conv, _SUPPORTS),
    "diffusionnet": Model(_diffusion_net, _SPECTRA),
    "directed": Model(_directed, _DIRECTED),
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


def build_for_maps(config: TrainConfig, in_channels: int, out: int, angles: int) -> nn.Module:
    """The network whose `out` numbers a vertex are features; nothing is dropped out."""
    if config.model == "chebyshev":
        return FeatureNet(
            in_channels,
            out,
            channels=config.channels or 128,
            layers=config.layers or 4,
            angles=angles,
            order=config.order,
            hidden=config.hidden,
        )
    if config.model == "directed" and config.maps_start == "box":
        return BoxFeatures.like(shipped_model())
    if config.model == "directed":
        sizes = {"channels": config.channels or 96, "blocks": config.layers or 4}
        return DirectedFeatures(in_channels, out, **sizes)
    whole = dataclasses.replace(config, dropout=0.0)
    return model_named(config.model).build(whole, in_channels, out, angles)


class _ShapesOnly(TorchFunctionMode):
    """While this lasts, the parameters that are made have a shape and take no memory."""

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        options = dict(kwargs or {})
        if function in (torch.empty, torch.zeros, torch.ones):
            options["device"] = "meta"
        return function(*args, **options)


def outline(build: Callable[[], nn.Module], of: str = "configuration") -> nn.Module:
    """The network that `build` makes, with parameters that have a shape and take no memory.

    Raises
    ------
    InputError
        No network has such sizes.
    """
    try:
        with _ShapesOnly():
            return build()
    except InputError:
        raise
    # A network of absurd sizes fails in torch in many ways.
    except (RuntimeError, TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"no network has the sizes of this {of}; lower channels, layers, order or hidden"
        ) from error


def require_memory(network: nn.Module, vertices: int, *, device: torch.device) -> None:
    """Raise where training a network, of which an outline suffices, would not fit into memory.

    On the processor that is its weights four times (themselves, gradients, Adam's two moments) and
    what a step holds for each of its vertices; of another device only the weights are made here.

    Raises
    ------
    InputError
        With what is needed and what is free.
    """
    needed = 4.0 * sum(parameter.numel() for parameter in network.parameters())
    if device.type == "cpu":
        needed = 4.0 * needed + 4.0 * vertices * _numbers_of_a_vertex(network)
    free = free_for(needed)
    if needed > free:
        raise InputError(
            f"training this network needs about {needed / 2**30:.3g} GiB, of which"
            f" {free / 2**30:.2g} are free; lower channels, layers, order, hidden or batch, or say"
            " with FINSLER_MEMORY that there are more GiB"
        )


def _numbers_of_a_vertex(network: nn.Module) -> float:
    """What a step holds for a vertex: terms of convolutions, or logits and their gradient.

    Measured peaks are 0.9 of it.
    """
    kept, largest = 0.0, 0.0
    for module in network.modules():
        if isinstance(module, AnisotropicChebConv):
            channels, order, angles, out = module.weight.shape
            terms = float(order * angles * min(channels, out))
            # Where channels are added, the terms are kept for the backward pass.
            kept += 4.0 * out + (terms if channels < out else 0.0)
            largest = max(largest, 2.0 * terms)
        elif isinstance(module, nn.Linear):
            largest = max(largest, 3.0 * module.out_features)
    return kept + largest
