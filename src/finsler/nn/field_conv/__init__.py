"""Field convolutions: networks on tangent vector fields that need no common frame."""

from finsler.nn.field_conv.echo import EchoDescriptor, disk_bins, echo_histogram
from finsler.nn.field_conv.graph import SupportGraph
from finsler.nn.field_conv.layers import (
    ComplexLinear,
    FieldConv,
    Lift,
    ModulusReLU,
    ResidualBlock,
    polar,
)
from finsler.nn.field_conv.network import FieldConvNet, rotate
from finsler.nn.field_conv.spread import Spread, ring_radii

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
