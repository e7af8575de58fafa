"""The directed network on prepared shapes, so that maps between them can be learned with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from finsler.analysis.spectrum import Spectrum
from finsler.data.store import PreparedShape
from finsler.descriptors.directed import INTRINSIC, DirectedDomain
from finsler.descriptors.learned import FeatureModel
from finsler.errors import InputError
from finsler.mesh.trimesh import TriMesh
from finsler.nn.maps.directed_net import DirectedNet, DirectedTensors


@dataclass(frozen=True, eq=False)
class DirectedShapes:
    """One or several surfaces as the directed network needs them; they do not see each other."""

    parts: tuple[DirectedTensors, ...]

    @property
    def sizes(self) -> list[int]:
        """Number of vertices of each."""
        return [len(part.mass) for part in self.parts]

    @classmethod
    def of(cls, shape: PreparedShape) -> DirectedShapes:
        """Of a shape prepared with eigenpairs, of which at most 128 are used."""
        mesh = TriMesh(shape.vertices, shape.faces)
        return cls((DirectedTensors.of(DirectedDomain.of(mesh, stored_spectrum(shape))),))

    @classmethod
    def batch(cls, domains: Sequence[DirectedShapes]) -> DirectedShapes:
        """Several side by side."""
        return cls(tuple(part for domain in domains for part in domain.parts))

    def to(self, device: torch.device | str) -> DirectedShapes:
        """The same on a device."""
        return DirectedShapes(tuple(part.to(device) for part in self.parts))


def stored_spectrum(shape: PreparedShape) -> Spectrum:
    """The eigenpairs of a prepared shape, in double precision.

    Raises
    ------
    InputError
        It was prepared without them.
    """
    count = len(shape.eigenvalues)
    if count == 0:
        raise InputError(
            f"shape {shape.name} was prepared without eigenpairs; prepare the collection again"
            " with some, e.g. finsler prepare --eigenpairs 128"
        )
    vectors, mass = shape.eigenvectors.astype(np.float64), shape.mass.astype(np.float64)
    return Spectrum(shape.eigenvalues, vectors, mass, np.zeros(count))


class DirectedFeatures(nn.Module):
    """`DirectedNet` on shapes side by side.

    Its features have rows of length √c: each number is about 1, which the weight of the resolvent
    mask counts on. Sums over all vertices are too long for half precision, so it computes in single
    precision only.

    Shapes: inputs (n, in_channels) of all shapes, result (n, out_channels).
    """

    def __init__(
        self, in_channels: int, out_channels: int, *, channels: int = 96, blocks: int = 4
    ) -> None:
        super().__init__()
        self.network = DirectedNet(in_channels, out_channels, channels=channels, blocks=blocks)
        self.length = float(out_channels) ** 0.5

    def forward(self, inputs: Tensor, domain: DirectedShapes) -> Tensor:
        """Features of the vertices of all shapes."""
        with torch.autocast(inputs.device.type, enabled=False):
            parts = torch.split(inputs.float(), domain.sizes)
            found = [self.network(*each) for each in zip(parts, domain.parts, strict=True)]
            features: Tensor = self.length * torch.cat(found)
            return features


class BoxFeatures(DirectedFeatures):
    """The network of the model in the box, which reads histograms in a few directions only.

    What it reads is kept with its weights, so that a checkpoint stays as it is when the package
    gets another model.

    Parameters
    ----------
    in_channels, out_channels : int
    channels, blocks, directions : int
        Width and number of blocks; directions in which histograms are read.
    """

    middle: Tensor
    axes: Tensor

    def __init__(
        self, in_channels: int, out_channels: int, *, channels: int, blocks: int, directions: int
    ) -> None:
        super().__init__(INTRINSIC + directions, out_channels, channels=channels, blocks=blocks)
        histogram = in_channels - INTRINSIC
        self.register_buffer("middle", torch.zeros(histogram))
        self.register_buffer("axes", torch.zeros(histogram, directions))

    @classmethod
    def like(cls, model: FeatureModel) -> BoxFeatures:
        """With the sizes of a model, and fresh weights."""
        histogram, directions = model.axes.shape
        return cls(
            INTRINSIC + histogram,
            model.size,
            channels=len(model.weights["first.bias"]),
            blocks=model.blocks,
            directions=directions,
        )

    def start_from(self, model: FeatureModel) -> None:
        """Take the weights of a model of the same sizes."""
        weights = {name: torch.tensor(array) for name, array in model.weights.items()}
        self.network.load_state_dict(weights)
        # Inputs are histograms with rows of length √c, see `input_features`.
        unit = len(model.middle) ** 0.5
        self.middle.copy_(torch.tensor(unit * model.middle))
        self.axes.copy_(torch.tensor(model.axes / (unit * model.scale)))

    def as_model(self, card: Mapping[str, Any]) -> FeatureModel:
        """The same network as plain arrays, which matching evaluates without torch.

        Examples
        --------
        >>> from finsler.descriptors.learned import shipped_model
        >>> network = BoxFeatures.like(shipped_model())
        >>> network.start_from(shipped_model())
        >>> network.as_model({"version": "same"}).size
        128
        """
        state = self.network.state_dict()
        weights = {name: tensor.detach().cpu().numpy() for name, tensor in state.items()}
        unit = len(self.middle) ** 0.5
        middle, axes = (array.cpu().numpy() for array in (self.middle / unit, self.axes * unit))
        # The spread of the histograms is part of the axes here; half precision wants it apart.
        scale = np.maximum(1.0 / np.maximum(np.linalg.norm(axes, axis=0), 1e-12), 1e-12)
        return FeatureModel(weights, middle, axes * scale, scale.astype(np.float32), dict(card))

    def forward(self, inputs: Tensor, domain: DirectedShapes) -> Tensor:
        """Features of the vertices of all shapes."""
        with torch.autocast(inputs.device.type, enabled=False):
            intrinsic, histograms = inputs.float().tensor_split([INTRINSIC], dim=1)
            read = (histograms - self.middle) @ self.axes
            return super().forward(torch.cat([intrinsic, read], dim=1), domain)
