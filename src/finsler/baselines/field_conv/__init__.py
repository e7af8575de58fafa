"""Field convolutions: networks on tangent vector fields that need no common frame."""

from finsler.baselines.field_conv.echo import EchoDescriptor, disk_bins, echo_histogram
from finsler.baselines.field_conv.graph import SupportGraph
from finsler.baselines.field_conv.layers import (
    ComplexLinear,
    FieldConv,
    Lift,
    ModulusReLU,
    ResidualBlock,
    polar,
)
from finsler.baselines.field_conv.network import FieldConvNet, rotate
from finsler.baselines.field_conv.spread import Spread, ring_radii

__all__ = [
    "ComplexLinear",
    "EchoDescriptor",
    "FieldConv",
    "FieldConvNet",
    "Lift",
    "ModulusReLU",
    "ResidualBlock",
    "Spread",
    "SupportGraph",
    "disk_bins",
    "echo_histogram",
    "polar",
    "ring_radii",
    "rotate",
]
